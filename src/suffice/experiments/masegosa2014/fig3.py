"""Figure 3: accuracy per pass of NCLL-MNB (P1) and Hinge-MNB (P2) beside LIBLINEAR and plain naive Bayes."""

from __future__ import annotations

from .. import Options, Report, Row
from .words import MARKERS, NOTE_CADE, PRIORS, canvas, liblinear, load, plain, save, set_names, trace


def run(options: Options) -> Report:
    report = Report(notes=[NOTE_CADE, "LIBLINEAR at C = 1 on the raw counts; the paper names no C."])
    figure, (panel,) = canvas(1, ("NCLL-MNB (P1) and Hinge-MNB (P2)",), ("Accuracy",))
    for name in set_names(options):
        split = load(name)
        for loss, prior, color in (("ncll", "P1", "r"), ("hinge", "P2", "b")):
            options.say(f"{name}: {loss}")
            values = trace(split, loss, PRIORS[prior](split.X.shape[1]), epochs=3 if options.quick else 10)
            panel.plot(
                range(1, len(values.accuracy)), values.accuracy[1:], f"{color}-{MARKERS[name]}", label=f"{loss} {name}"
            )
            report.rows.append(Row(f"{name} {loss}-MNB {prior}", None, values.accuracy[-1]))
        for label, color, value in (("LR", "r", liblinear(split, "LR")), ("SVM", "b", liblinear(split, "SVM"))):
            panel.axhline(value, color=color, linewidth=0.8)
            report.rows.append(Row(f"{name} {label}", None, value))
        panel.axhline(plain(split), color="k", linestyle="--", linewidth=0.8)
        report.rows.append(Row(f"{name} MNB, Laplace prior", None, plain(split)))
    panel.legend(fontsize="small")
    report.pictures.append(save(figure, options, "masegosa2014-fig3"))
    return report
