"""A few labels a class, the rest of the training rows without: what the unlabelled rows change.

digits (scikit-learn's, half held out) and r8 (the published split). The labelled rows are drawn at random; the same model is fitted on
them alone and on them with all other training rows as unlabelled rows, `unlabelled_weight="auto"`. Documents are rows of one length
(`row_norm=10`): with raw counts posteriors are so sure of themselves that EM confirms its own mistakes.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import log_loss

from ... import figures
from ...estimators.discriminant import GaussianDiscriminant
from ...estimators.naive_bayes import BernoulliNB, MultinomialNB
from ...files import read
from .. import Options, Report, Row

LABELS = (5, 10, 50)


def digits(seed: int) -> tuple:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    return X[train], y[train].astype(str), X[test], y[test].astype(str)


def r8(seed: int) -> tuple:
    folder = Path(os.environ.get("SUFFICE_DATA", "data")) / "text"
    parts = []
    for part in ("train", "test"):
        path = next((p for p in sorted(folder.glob(f"r8-{part}-stemmed.txt*"))), None)
        if path is None:
            raise FileNotFoundError(
                f"r8-{part}-stemmed.txt is not in {folder}: set SUFFICE_DATA to the folder that holds text/"
            )
        tables = list(read(path, format="text"))
        texts = [text for table in tables for text in table.X["text"]]
        parts.append((texts, np.concatenate([table.y for table in tables]).astype(str)))
    (train, y), (test, y_test) = parts
    words = CountVectorizer(token_pattern=r"\S+", dtype=np.float64)
    return words.fit_transform(train), y, words.transform(test), y_test


CASES = {
    "digits, Bernoulli": (digits, lambda loss, seed: BernoulliNB(binarize=7.5, loss=loss, random_state=seed)),
    "digits, tied Gaussian": (digits, lambda loss, seed: GaussianDiscriminant(loss=loss, random_state=seed)),
    "r8, multinomial": (r8, lambda loss, seed: MultinomialNB(loss=loss, row_norm=10.0, random_state=seed)),
}


def run(options: Options) -> Report:
    cases = {name: case for name, case in CASES.items() if not options.quick or name == "digits, Bernoulli"}
    n_seeds = options.seeds or (2 if options.quick else 5)
    losses = ("nll",) if options.quick else ("nll", "ncll")
    scores: dict[tuple, list[np.ndarray]] = {}
    for name, (data, model) in cases.items():
        for seed in range(n_seeds):
            rows = data(seed)
            for n_labels in LABELS:
                for loss in losses:
                    both = compared(rows, lambda loss=loss, seed=seed, model=model: model(loss, seed), n_labels, seed)
                    scores.setdefault((name, loss, n_labels), []).append(both)
            options.say(f"{name}, seed {seed}: " + summary(scores, name))
    report = Report(pictures=[options.folder / "semi-supervised.png"])
    for (name, loss, n_labels), values in scores.items():
        table = np.array(values)  # (seeds, without or with, accuracy or log-loss)
        for place, measure in enumerate(("accuracy", "log-loss")):
            for column, used in enumerate(("labels", "labels + unlabelled")):
                part = table[:, column, place]
                title = f"{name}, {loss}, {n_labels} {used}: {measure}"
                report.rows.append(Row(title, None, float(part.mean()), float(part.std()), len(part)))
        change = table[:, 1, 1] - table[:, 0, 1]
        error = change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else 0.0
        weights = ", ".join(f"{weight:.3g}" for weight in table[:, 1, 2])
        report.notes.append(
            f"{name}, {loss}, {n_labels} labels: unlabelled rows change log-loss by {change.mean():+.3f} +- {error:.3f} "
            f"(worst seed {change.max():+.3f}), accuracy by {(table[:, 1, 0] - table[:, 0, 0]).mean():+.3f}; weights {weights}"
        )
    draw(report.pictures[0], scores)
    return report


def compared(rows: tuple, model, n_labels: int, seed: int) -> np.ndarray:
    """(accuracy, log-loss, weight) without and with the unlabelled rows."""
    X, y, X_test, y_test = rows
    generator = np.random.default_rng(seed)
    shuffled = generator.permutation(len(y))
    chosen = np.concatenate([shuffled[y[shuffled] == label][:n_labels] for label in np.unique(y)])
    labels = np.full(len(y), None, dtype=object)
    labels[chosen] = y[chosen]
    results = []
    for inputs, targets in ((X[np.sort(chosen)], y[np.sort(chosen)]), (X, labels)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = model().fit(inputs, targets)
        probability = fitted.predict_proba(X_test)
        accuracy = float((fitted.classes_[probability.argmax(axis=1)] == y_test).mean())
        loss = float(log_loss(y_test, np.clip(probability, 1e-15, 1), labels=fitted.classes_))
        results.append((accuracy, loss, fitted.unlabelled_weight_))
    return np.array(results)


def summary(scores: dict, name: str) -> str:
    parts = []
    for (case, loss, n_labels), values in scores.items():
        if case == name:
            (a, b, _), (c, d, weight) = values[-1]
            parts.append(f"{loss} {n_labels}: {a:.3f}/{b:.3f} -> {c:.3f}/{d:.3f} ({weight:.2g})")
    return "; ".join(parts)


def draw(path, scores: dict) -> None:
    names = list(dict.fromkeys((name, loss) for name, loss, _ in scores))
    with figures.figure(path, 1, len(names), (3.2, 3.0)) as axes:
        for column, (name, loss) in enumerate(names):
            plot = axes[0, column]
            for place, rows in enumerate(("labelled only", "with unlabelled")):
                values = [np.mean(scores[name, loss, n], axis=0)[place, 1] for n in LABELS]
                plot.plot(LABELS, values, "o-", color=figures.COLOURS[place], label=rows)
            plot.set_xscale("log")
            figures.tidy(plot, f"{name}, {loss}", "labels a class", "log-loss")
        axes[0, 0].legend(frameon=False, fontsize=8)
