"""Figure 2: what training for the hinge does to the other losses (prior P2 = ln |W|, lambda 1e-5)."""

from __future__ import annotations

from .. import Options, Report, Row
from .words import MARKERS, NOTE_CADE, PRIORS, canvas, load, save, set_names, trace


def run(options: Options) -> Report:
    report = Report(
        notes=[
            NOTE_CADE,
            "The paper gives no numbers, only curves; perplexity is per word, over the number of documents.",
        ]
    )
    figure, (losses, perplexity) = canvas(2, ("Hinge-MNB (P2)", "Hinge-MNB (P2)"), ("Loss", "Normalised perplexity"))
    for name in set_names(options):
        split = load(name)
        options.say(f"{name}: Hinge-MNB")
        values = trace(split, "hinge", PRIORS["P2"](split.X.shape[1]), epochs=3 if options.quick else 10)
        epochs = range(len(values.hinge))
        losses.plot(epochs, values.hinge, "b-" + MARKERS[name], label=f"Hinge {name}")
        losses.plot(epochs, values.ncll, "r-" + MARKERS[name], label=f"NCLL {name}")
        perplexity.plot(epochs, values.perplexity, "k-" + MARKERS[name], label=name)
        for what in ("hinge", "ncll", "perplexity"):
            series = getattr(values, what)
            report.rows += [
                Row(f"{name} {what}, first pass", None, series[1]),
                Row(f"{name} {what}, last pass", None, series[-1]),
            ]
    losses.set_yscale("log")
    losses.legend(ncols=2, fontsize="small")
    perplexity.legend()
    report.pictures.append(save(figure, options, "masegosa2014-fig2"))
    return report
