"""Table 3: nearest words of eight words in the space of the weights."""

from __future__ import annotations

from .. import Options, Report, Row
from . import topics

PAPER = {
    "weapons": "weapon guns gun armed assault",
    "god": "jesus christ bible christians worship",
    "baseball": "pitching season players teams winning",
    "images": "jpeg image formats gif mov",
    "patients": "disease treatment cancer medicine doctor",
    "car": "cars engine miles rear honda",
    "clinton": "administration bush secretary president senate",
    "computer": "computers engineering science dept operations",
}


def run(options: Options) -> Report:
    report = Report()
    data = topics.documents(options, report)
    if data is None:
        return report
    model = topics.train(data, "MCEM-MAP", 0.05 if options.quick else options.minutes or 4.0)
    for word, words in PAPER.items():
        if word not in data.vocabulary:
            report.notes.append(f"{word!r} is not among the 2,000 words")
            continue
        found = model.nearest_words(word, data.vocabulary)
        report.rows.append(Row(f"{word}: shared with the paper's five", 5, len(set(found) & set(words.split()))))
        report.notes.append(f"{word}: {' '.join(found)} (paper: {words})")
        options.say(report.notes[-1])
    return report
