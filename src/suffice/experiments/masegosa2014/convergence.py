"""Figures 5 and 6: losses and perplexity per pass for both priors, and the accuracy, of NCLL-MNB and Hinge-MNB."""

from __future__ import annotations

from .. import Options, Report, Row
from .words import MARKERS, NOTE_CADE, PRIORS, canvas, liblinear, load, plain, save, set_names, trace

COLORS = {"P1": "r", "P2": "b"}


def run(options: Options, loss: str, rival: str, name_of_figure: str) -> Report:
    report = Report(
        notes=[NOTE_CADE, "Losses are means over the training documents; accuracy is on the test documents."]
    )
    title = f"{'NCLL' if loss == 'ncll' else 'Hinge'}-MNB"
    titles = (f"{title}: losses", f"{title}: perplexity", f"{title}: accuracy")
    figure, (losses, perplexity, accuracy) = canvas(3, titles, ("Loss", "Normalised perplexity", "Accuracy"))
    for name in set_names(options):
        split = load(name)
        for prior, alpha in PRIORS.items():
            options.say(f"{name}: {loss}, prior {prior}")
            values = trace(split, loss, alpha(split.X.shape[1]), epochs=3 if options.quick else 10)
            epochs, mark = range(len(values.hinge)), MARKERS[name]
            losses.plot(epochs, values.ncll, f"{COLORS[prior]}-{mark}", label=f"NCLL {name} {prior}")
            losses.plot(epochs, values.hinge, f"{COLORS[prior]}:{mark}", label=f"Hinge {name} {prior}")
            perplexity.plot(epochs, values.perplexity, f"{COLORS[prior]}-{mark}", label=f"{name} {prior}")
            accuracy.plot(epochs[1:], values.accuracy[1:], f"{COLORS[prior]}-{mark}", label=f"{name} {prior}")
            for what in ("ncll", "hinge", "perplexity", "accuracy"):
                report.rows.append(Row(f"{name} {prior} {what}, last pass", None, getattr(values, what)[-1]))
        line, laplace = liblinear(split, rival), plain(split)
        accuracy.axhline(line, color="g", linewidth=0.8)
        accuracy.axhline(laplace, color="k", linestyle="--", linewidth=0.8)
        report.rows += [Row(f"{name} {rival}", None, line), Row(f"{name} MNB, P1", None, laplace)]
    losses.set_yscale("log")
    for panel in (losses, perplexity, accuracy):
        panel.legend(fontsize="x-small")
    report.pictures.append(save(figure, options, name_of_figure))
    return report
