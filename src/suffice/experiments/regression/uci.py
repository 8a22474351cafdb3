"""Twenty splits of six UCI tables: `MixtureRegressor` with default settings beside boosting, and beside what papers report.

Published test NLL: MC dropout (Gal and Ghahramani 2016), deep ensembles (Lakshminarayanan et al. 2017), NGBoost (Duan et al. 2020). The
splits are those of Hernandez-Lobato and Adams (2015), which the first two use.
"""

from __future__ import annotations

import numpy as np

from ...datasets import regression
from ...estimators.regression import MixtureRegressor
from ...evaluation.regression import RegressionScores
from .. import Options, Report, Row
from .peers import boosting

PUBLISHED = {
    "boston": {"MC dropout 2016": 2.46, "deep ensembles 2017": 2.41, "NGBoost 2020": 2.43},
    "concrete": {"MC dropout 2016": 3.04, "deep ensembles 2017": 3.06, "NGBoost 2020": 3.04},
    "energy": {"MC dropout 2016": 1.99, "deep ensembles 2017": 1.38, "NGBoost 2020": 0.60},
    "kin8nm": {"MC dropout 2016": -0.95, "deep ensembles 2017": -1.20, "NGBoost 2020": -0.49},
    "power": {"MC dropout 2016": 2.80, "deep ensembles 2017": 2.79, "NGBoost 2020": 2.79},
    "yacht": {"MC dropout 2016": 1.55, "deep ensembles 2017": 1.18, "NGBoost 2020": 0.20},
}


def run(options: Options) -> Report:
    report = Report()
    names = ["yacht"] if options.quick else list(PUBLISHED)
    for name in names:
        data = regression.load(name)
        splits = options.seeds or (1 if options.quick else len(data.tests))
        found: dict[str, list[dict]] = {"ours": [], "boosting, constant sd": []}
        for number in range(splits):
            X, y, X_test, y_test = data.split(number)
            model = MixtureRegressor(random_state=number, max_iter=20 if options.quick else 100).fit(X, y)
            scores = RegressionScores()
            scores.update(model, X_test, y_test)
            found["ours"].append(scores.summary())
            found["boosting, constant sd"].append(boosting(X, y, X_test, y_test, number))
            last = {label: f"{values[-1]['nll']:.3f}" for label, values in found.items()}
            options.say(f"{name} split {number}: nll {last}")
        for label, values in found.items():
            for what in ("nll", "rmse", "crps", "coverage_90"):
                part = np.array([value[what] for value in values])
                paper = PUBLISHED[name]["NGBoost 2020"] if what == "nll" and label == "ours" else None
                report.rows.append(
                    Row(f"{name}, {label}, {what}", paper, float(part.mean()), float(part.std()), splits)
                )
        others = ", ".join(f"{paper} {value:g}" for paper, value in PUBLISHED[name].items())
        report.notes.append(f"{name}, published test NLL: {others}")
    report.notes.append("the column of the paper is NGBoost's; boosting's deviation is that of held-out training rows")
    return report
