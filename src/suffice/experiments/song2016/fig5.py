"""Figure 5: perplexity on 20 Newsgroups against training time, Rec-MCEM beside NVIL."""

from __future__ import annotations

import numpy as np

from .. import Options, Report, Row
from . import pictures, topics


def run(options: Options) -> Report:
    report = Report()
    data = topics.documents(options, report)
    if data is None:
        return report
    minutes = 0.05 if options.quick else options.minutes or 2.0
    n_documents = 100 if options.quick else 1000
    lines = {}
    for name in ("Rec-MCEM-MAP", "NVIL"):
        times: list[float] = []
        values: list[float] = []
        due = [0.0]

        def watch(model, seconds, times=times, values=values, due=due):
            if seconds >= due[0]:
                times.append(seconds)
                values.append(topics.perplexity(model, data, n_documents, n_burn=10, n_samples=10).mean)
                due[0] = seconds + 60 * minutes / 12

        topics.train(data, name, minutes, watch=watch)
        lines[name] = [(np.array(times), np.array(values))]
        report.rows.append(Row(f"20 Newsgroups perplexity after {minutes:g} minutes, {name}", None, values[-1]))
        options.say(f"{name}: perplexity {values[-1]:.0f}")
    drawn = pictures.curves(lines, "seconds", "perplexity", "Song et al. 2016, Figure 5")
    report.pictures.append(pictures.save(drawn, options.folder, "song2016-fig5"))
    report.notes += [topics.DEFINITION, f"The first {n_documents} test documents."]
    return report
