"""Figure 4: accuracy per pass of NLL-, NCLL- and Hinge-LDA with two topics, beside supervised LDA with 50."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec

import numpy as np

from .. import Options, Report, Row
from .peers import SLDA_SWEEPS, lda_and_regression, tomotopy_slda
from .topics import COLORS, LOSSES, NOTE, STAND_IN, trace
from .words import canvas, load, save


def run(options: Options) -> Report:
    report = Report(notes=[NOTE, STAND_IN])
    n_seeds = options.seeds or (1 if options.quick else 10)
    n_passes = 2 if options.quick else 10
    names = ("webkb",) if options.quick else ("r8", "webkb")
    figure, panels = canvas(len(names), names, ("Accuracy",) * len(names))
    for name, panel in zip(names, panels, strict=True):
        for loss, label in LOSSES.items():
            options.say(f"{name}: {label}, {n_seeds} initialisations")
            curves = np.array([trace(name, loss, seed, n_passes).accuracy for seed in range(n_seeds)])
            mean, spread = curves.mean(axis=0), curves.std(axis=0)
            panel.plot(range(1, n_passes + 1), mean, f"{COLORS[loss]}-o", label=label)
            panel.fill_between(range(1, n_passes + 1), mean - spread, mean + spread, color=COLORS[loss], alpha=0.2)
            report.rows.append(Row(f"{name} {label}, last pass", None, float(mean[-1]), float(spread[-1]), n_seeds))
        lines = [("LDA 50 + LR", lda_and_regression)]
        if find_spec("tomotopy") and not options.quick:
            lines.append(("sLDA 50, tomotopy", partial(tomotopy_slda, sweeps=SLDA_SWEEPS[name])))
        for label, peer in lines:
            options.say(f"{name}: {label}")
            value = peer(load(name), 0)
            panel.axhline(value, color="g", linewidth=0.8, linestyle="-" if "LR" in label else "--", label=label)
            report.rows.append(Row(f"{name} {label}", None, value))
        panel.legend(fontsize="small")
    report.pictures.append(save(figure, options, "masegosa2014-fig4"))
    return report
