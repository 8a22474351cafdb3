"""Mixtures inside classifiers: EM against the conditional likelihood, and logistic regression, on five data sets.

letter-recognition is split 14,000 / 6,000 (by seed), digits, splice and promoters 70 / 30 in proportion to the classes, the toy data of
Masegosa (2014) are drawn anew for each seed. Everything is chosen on the training part.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ...datasets import tabular
from ...estimators.mixture import MixtureClassifier
from .. import Options, Report, Row
from ..masegosa2014.toy import toy_data

CLIP = 1e-15


def split(X, y, seed: int, test_size):
    train, test = train_test_split(np.arange(len(y)), test_size=test_size, random_state=seed, stratify=y)
    take = X.iloc if hasattr(X, "iloc") else X
    return take[train], y[train], take[test], y[test]


def data(name: str, seed: int):
    if name == "toy":
        return *toy_data(6000, seed), *toy_data(30_000, 1_000_000 + seed)
    if name == "digits":
        return split(*load_digits(return_X_y=True), seed, 0.3)
    table = tabular.load(name)
    if name == "letter":
        return split(table.X.to_numpy(float), table.y, seed, 6000)
    codes = table.X.apply(
        lambda column: column.map({letter: i for i, letter in enumerate(sorted(set(column.dropna())))})
    )
    return split(codes.to_numpy(float), table.y, seed, 0.3)


def scores(model, X, y) -> tuple[float, float]:
    p = model.predict_proba(X)
    own = p[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float((model.classes_[p.argmax(axis=1)] == y).mean()), float(-np.log(np.maximum(own, CLIP)).mean())


SETS = {
    "letter": ("gaussian", 4),
    "digits": ("gaussian", 2),
    "toy": ("gaussian", 2),
    "promoters": ("categorical", 2),
    "splice": ("categorical", 2),
}


def run(options: Options) -> Report:
    report = Report()
    seeds = options.seeds or (1 if options.quick else 5)
    for name, (family, n_components) in SETS.items():
        if options.quick and name == "letter":
            continue
        found: dict[str, list] = {}
        for seed in range(seeds):
            X, y, X_test, y_test = data(name, seed)
            encoder = OneHotEncoder(handle_unknown="ignore") if family == "categorical" else StandardScaler()
            models = {
                "logistic regression": make_pipeline(encoder, LogisticRegression(max_iter=2000)),
                "EM (nll)": MixtureClassifier(n_components, family=family, loss="nll", random_state=seed),
                "ncll": MixtureClassifier(n_components, family=family, random_state=seed),
            }
            for label, model in models.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found.setdefault(label, []).append(scores(model.fit(X, y), X_test, y_test))
            options.say(
                f"{name} seed {seed}: " + ", ".join(f"{k} {v[-1][0]:.4f}/{v[-1][1]:.3f}" for k, v in found.items())
            )
        for label, values in found.items():
            for column, what in enumerate(("accuracy", "log-loss")):
                part = np.array(values)[:, column]
                report.rows.append(Row(f"{name}, {label}, {what}", None, float(part.mean()), float(part.std()), seeds))
    report.notes.append("log-loss with probabilities not below 1e-15; mean and standard deviation over seeds")
    return report
