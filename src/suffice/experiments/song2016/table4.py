"""Table 4: test perplexities of topic models, 128 hidden units."""

from __future__ import annotations

from suffice.experiments import Options, Report, Row
from suffice.experiments.song2016 import topics

PAPER = {"NVIL": 1142, "Rec-MCEM-ML": 927, "Rec-MCEM-MAP": 916, "MCEM-ML": 839, "MCEM-MAP": 843}


def run(options: Options) -> Report:
    report = Report()
    data = topics.documents(options, report)
    if data is None:
        return report
    minutes = 0.05 if options.quick else options.minutes or 3.0
    for name, paper in PAPER.items():
        model = topics.train(data, name, minutes)
        result = (
            topics.perplexity(model, data, n_burn=10, n_samples=10) if options.quick else topics.perplexity(model, data)
        )
        report.rows.append(Row(f"20 Newsgroups 128 {name}", paper, result.mean, result.standard_error))
        options.say(f"{name}: {result} after {minutes:g} minutes, paper {paper}")
    report.notes += [
        topics.DEFINITION,
        "RCV1-v2 is not freely available here: suffice.datasets has no copy and none was run.",
    ]
    return report
