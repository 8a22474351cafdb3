"""Table 4: test perplexities of topic models, 128 hidden units, on 20 Newsgroups and (where it can be had) RCV1-v2."""

from __future__ import annotations

from .. import Options, Report, Row
from . import topics

PAPER = {
    "20 Newsgroups": {"NVIL": 1142, "Rec-MCEM-ML": 927, "Rec-MCEM-MAP": 916, "MCEM-ML": 839, "MCEM-MAP": 843},
    "RCV1-v2": {"NVIL": 1260, "Rec-MCEM-ML": 1190, "Rec-MCEM-MAP": 1186, "MCEM-ML": 1031, "MCEM-MAP": 1023},
}


def run(options: Options) -> Report:
    report = Report()
    minutes = 0.05 if options.quick else options.minutes or 3.0
    samples = {"n_burn": 10, "n_samples": 10} if options.quick else {}
    for data_name, methods in PAPER.items():
        data = topics.documents(options, report, data_name)
        if data is None:
            continue
        for name, paper in methods.items():
            model = topics.train(data, name, minutes)
            result = topics.perplexity(model, data, **samples)
            report.rows.append(Row(f"{data_name} 128 {name}", paper, result.mean, result.standard_error))
            options.say(f"{data_name} {name}: {result} after {minutes:g} minutes, paper {paper}")
    report.notes.append(topics.DEFINITION)
    return report
