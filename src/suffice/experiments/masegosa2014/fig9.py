"""Figure 9: NCLL, hinge loss and perplexity per pass of NCLL- and Hinge-LDA, each beside NLL-LDA."""

from __future__ import annotations

from .. import Options, Report, Row
from .topics import LOSSES, NOTE, trace
from .words import canvas, save


def run(options: Options) -> Report:
    report = Report(
        notes=[
            NOTE,
            "Losses are means over the training documents; perplexity is exp(-log p(x) / |x|), of scaled rows.",
        ]
    )
    n_passes = 2 if options.quick else 10
    names = ("webkb",) if options.quick else ("r8", "webkb")
    for name in names:
        figure, panels = canvas(3, ("NCLL", "Hinge loss", "Perplexity"), ("",) * 3)
        for loss, label in LOSSES.items():
            options.say(f"{name}: {label}")
            values = trace(name, loss, 0, n_passes, measure=True)
            for panel, what in zip(panels, ("ncll", "hinge", "perplexity"), strict=True):
                panel.plot(range(1, n_passes + 1), getattr(values, what), "-o", label=label)
                report.rows.append(Row(f"{name} {label} {what}, last pass", None, getattr(values, what)[-1]))
        for panel in panels:
            panel.set_yscale("log")
            panel.legend(fontsize="small")
        report.pictures.append(save(figure, options, f"masegosa2014-fig9-{name}"))
    return report
