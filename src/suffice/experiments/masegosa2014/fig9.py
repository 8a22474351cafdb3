"""Figure 9: NCLL, hinge loss and perplexity per pass of NCLL- and Hinge-LDA, each beside NLL-LDA."""

from __future__ import annotations

import numpy as np

from .. import Options, Report, Row
from .topics import COLORS, LOSSES, NOTE, trace
from .words import canvas, save

MEASURES = {"ncll": "NCLL", "hinge": "Hinge loss", "perplexity": "Perplexity"}


def run(options: Options) -> Report:
    report = Report(
        notes=[
            NOTE,
            "Losses are means over the training documents; perplexity is exp(-log p(x) / |x|), of scaled rows. Mean and standard "
            "deviation over the initialisations (the caption does not say how many the paper has; Figure 4 has ten).",
        ]
    )
    n_seeds = options.seeds or (1 if options.quick else 10)
    n_passes = 2 if options.quick else 10
    epochs = range(1, n_passes + 1)
    names = ("webkb",) if options.quick else ("r8", "webkb")
    titles = [name for name in names for _ in MEASURES]
    figure, panels = canvas(len(titles), titles, list(MEASURES.values()) * len(names), n_rows=len(names))
    for name, row in zip(names, panels.reshape(len(names), -1), strict=True):
        for loss, label in LOSSES.items():
            options.say(f"{name}: {label}, {n_seeds} initialisations")
            traces = [trace(name, loss, seed, n_passes, measure=True) for seed in range(n_seeds)]
            for what, panel in zip(MEASURES, row, strict=True):
                curves = np.array([getattr(values, what) for values in traces])
                mean, spread = curves.mean(axis=0), curves.std(axis=0)
                panel.plot(epochs, mean, f"{COLORS[loss]}-o", label=label)
                panel.fill_between(epochs, mean - spread, mean + spread, color=COLORS[loss], alpha=0.2)
                report.rows.append(
                    Row(f"{name} {label} {what}, last pass", None, float(mean[-1]), float(spread[-1]), n_seeds)
                )
        for panel in row:
            panel.set_yscale("log")
            panel.legend(fontsize="small")
    report.pictures.append(save(figure, options, "masegosa2014-fig9"))
    return report
