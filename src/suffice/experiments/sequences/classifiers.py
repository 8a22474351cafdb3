"""Hidden Markov models as classifiers: EM against the conditional likelihood, and logistic regression, on four sets of sequences.

ItalyPowerDemand, GunPoint and Japanese Vowels have published splits; of the surnames a quarter, drawn with seed 0, is for the test. All
settings are the default ones: states, topology, ends, changes and priors are chosen on the training part. Logistic regression sees
means, deviations, first and last steps of the columns of a series, or counts of one and two letters of a name, with C chosen by
cross-validation.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, StandardScaler

from ...datasets import series
from ...estimators.hmm import HMMClassifier
from .. import Options, Report, Row

SETS = ("italy-power-demand", "gun-point", "japanese-vowels", "surnames")
CLIP = 1e-15
PROTOTYPE = {  # of the recipe that this follows: accuracy, log-loss
    ("italy-power-demand", "EM (nll)"): (0.861, 0.936),
    ("italy-power-demand", "ncll"): (0.950, 0.155),
    ("japanese-vowels", "EM (nll)"): (0.981, 0.405),
    ("japanese-vowels", "ncll"): (0.981, 0.092),
    ("surnames", "ncll"): (0.819, None),
    ("surnames", "logistic regression"): (0.829, None),
}


def summaries(X: list) -> np.ndarray:
    """(N, 4 D) array: mean, deviation, first and last step of every column."""
    return np.array([np.concatenate([steps.mean(axis=0), steps.std(axis=0), steps[0], steps[-1]]) for steps in X])


def linear(name: str) -> Any:
    """Logistic regression on what a sequence comes to without its order, C tuned on the training part."""
    if name == "surnames":
        words = CountVectorizer(analyzer="char", ngram_range=(1, 2), lowercase=False)
        model = make_pipeline(words, MaxAbsScaler(), LogisticRegression(max_iter=1000))
        return GridSearchCV(model, {"logisticregression__C": [0.3, 1.0, 3.0, 10.0]}, cv=3, scoring="neg_log_loss")
    regression = LogisticRegressionCV(Cs=np.logspace(-3, 2, 6), cv=4, max_iter=2000, scoring="neg_log_loss")
    return make_pipeline(FunctionTransformer(summaries), StandardScaler(), regression)


def scores(model: Any, X: list, y: np.ndarray) -> tuple[float, float]:
    p = model.predict_proba(X)
    own = p[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float((model.classes_[p.argmax(axis=1)] == y).mean()), float(-np.log(np.maximum(own, CLIP)).mean())


def run(options: Options) -> Report:
    report = Report()
    for name in SETS:
        data = series.load(name)
        X, y = data.X, data.y
        if options.quick and name in ("gun-point", "surnames"):
            continue
        more: dict[str, Any] = {}
        if options.quick:  # nothing is chosen
            more = {"n_states": 3, "topology": "left-right", "changes": True, "prior": 1.0, "max_epochs": 10}
        models = {
            "logistic regression": linear(name),
            "EM (nll)": HMMClassifier(loss="nll", random_state=0, **more),
            "ncll": HMMClassifier(random_state=0, **more),
            "hinge": HMMClassifier(loss="hinge", random_state=0, **more),
        }
        if name == "surnames":  # minutes each
            del models["hinge"]
        for label, model in models.items():
            began = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = scores(model.fit(X, y), data.X_test, data.y_test)
            seconds = time.process_time() - began
            reason = f" ({model.choice_.reason})" if isinstance(model, HMMClassifier) else ""
            options.say(f"{name}, {label}: accuracy {found[0]:.4f}, log-loss {found[1]:.4f}, {seconds:.0f} s{reason}")
            usual = PROTOTYPE.get((name, label), (None, None))
            for what, paper, ours in zip(("accuracy", "log-loss"), usual, found, strict=True):
                report.rows.append(Row(f"{name}, {label}, {what}", paper, ours))
    report.notes.append(
        "default settings; the column of the paper holds the prototype's figures; probabilities not below 1e-15"
    )
    return report
