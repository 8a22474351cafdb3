"""Cells removed from the test rows: naive Bayes of mixed columns beside logistic regression after imputation.

Five UCI tables with their own missing cells. The models are trained on the training rows as they are; 0, 10, 30 and 50 % of the
cells of the test rows are removed at random. Logistic regression (C = 1, one-hot and standardised columns) takes the mean or the most
frequent value of the training column instead; MixedNB takes the rows as they are. adult: the official split; others: 30 % held out.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ... import figures
from ...datasets import tabular
from ...estimators.naive_bayes.mixed import MixedNB
from .. import Options, Report, Row

SETS = ("mushroom", "votes", "adult", "hepatitis", "splice")
REMOVED = (0, 10, 30, 50)
FEW = 1000  # rows: sets with fewer are split more often, because a test part says little
MODELS = ("MixedNB, nll", "MixedNB, ncll", "logistic regression")


def run(options: Options) -> Report:
    sets = ("votes", "hepatitis") if options.quick else SETS
    scores: dict[tuple, list[tuple[float, float]]] = {}
    for name in sets:
        data = tabular.load(name)
        n_splits = options.seeds or (2 if options.quick else 30 if len(data.y) < FEW else 5)
        for seed in range(1 if data.y_test is not None else n_splits):
            for key, value in one_split(data, seed).items():
                scores.setdefault((name, *key), []).append(value)
            options.say(f"{name}, seed {seed}: " + summary(scores, name))
    rows = [
        Row(
            f"{name}, {percent} % removed, {model}: {measure}", None, float(np.mean([v[place] for v in values])),
            float(np.std([v[place] for v in values])), len(values),
        )
        for (name, percent, model), values in scores.items()
        for place, measure in enumerate(("accuracy", "log-loss"))
    ]  # fmt: skip
    picture = options.folder / "missing-data.png"
    draw(picture, sets, scores)
    return Report(rows, verdicts(sets, scores), [picture])


def one_split(data, seed: int) -> dict[tuple, tuple[float, float]]:
    """(percent, model): (accuracy, log-loss)."""
    if data.y_test is None:
        X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.3, random_state=seed, stratify=data.y)
    else:
        X, X_test, y, y_test = data.X, data.X_test, data.y, data.y_test
    models = {
        MODELS[0]: MixedNB(loss="nll"),
        MODELS[1]: MixedNB(loss="ncll", random_state=seed),
        MODELS[2]: logistic_regression(),
    }
    scores = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = with_objects(X)
        for name, model in models.items():
            model.fit(plain if name == MODELS[2] else X, y)
        for percent in REMOVED:
            holes = remove(X_test, percent / 100, np.random.default_rng(1000 * seed + percent))
            for name, model in models.items():
                probability = model.predict_proba(with_objects(holes) if name == MODELS[2] else holes)
                accuracy = float((model.classes_[probability.argmax(axis=1)] == y_test).mean())
                scores[percent, name] = accuracy, float(log_loss(y_test, probability, labels=model.classes_))
    return scores


def logistic_regression():
    numbers = make_pipeline(SimpleImputer(strategy="mean"), StandardScaler())
    categories = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (categories, make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(columns, LogisticRegression(max_iter=3000))


def with_objects(X):
    """The table as scikit-learn's imputers take it: columns of floats, or of objects with NaN."""
    X = X.copy()
    for j, dtype in enumerate(X.dtypes):
        column = X.iloc[:, j]
        if str(dtype) == "Int64":  # hepatitis: codes of two answers
            column = column.astype(object)
        if getattr(column.dtype, "kind", "O") in "iuf":
            X.isetitem(j, column.astype(float))
        else:
            X.isetitem(j, column.astype(object).where(column.notna(), np.nan))
    return X


def remove(X, share: float, generator: np.random.Generator):
    return X.mask(generator.random(X.shape) < share) if share else X


def summary(scores: dict, name: str) -> str:
    parts = []
    for model in MODELS:
        last = [scores[name, percent, model][-1] for percent in REMOVED]
        parts.append(f"{model} " + " ".join(f"{accuracy:.3f}/{loss:.3f}" for accuracy, loss in last))
    return "; ".join(parts)


def mean(scores: dict, *key) -> np.ndarray:
    return np.mean(scores[key], axis=0)


def verdicts(sets, scores: dict) -> list[str]:
    """What the issue asks, in words: does training for classification help, and who degrades less."""
    lines = ["accuracy and log-loss (nats); test cells removed at random; nothing was chosen on test rows"]
    for name in sets:
        likelihood, trained = mean(scores, name, 0, MODELS[0]), mean(scores, name, 0, MODELS[1])
        line = f"{name}: ncll minus nll {trained[0] - likelihood[0]:+.4f} accuracy, {trained[1] - likelihood[1]:+.4f} log-loss"
        for percent in REMOVED[2:]:
            lost = {model: mean(scores, name, percent, model) - mean(scores, name, 0, model) for model in MODELS[1:]}
            ours, theirs = lost[MODELS[1]], lost[MODELS[2]]
            line += (
                f"; {percent} % removed changes accuracy {ours[0]:+.3f} (logistic {theirs[0]:+.3f}), "
                f"log-loss {ours[1]:+.3f} (logistic {theirs[1]:+.3f})"
            )
        lines.append(line)
    return lines


def draw(path, sets, scores: dict) -> None:
    with figures.figure(path, 2, len(sets), (3.0, 2.6)) as axes:
        for column, name in enumerate(sets):
            for place, measure in enumerate(("accuracy", "log-loss")):
                plot = axes[place, column]
                for colour, model in zip(figures.COLOURS, MODELS, strict=False):
                    values = [mean(scores, name, percent, model)[place] for percent in REMOVED]
                    plot.plot(REMOVED, values, "o-", color=colour, label=model, markersize=3)
                if place:
                    top = max(mean(scores, name, percent, model)[1] for percent in REMOVED for model in MODELS[1:])
                    plot.set_ylim(0, 1.2 * top)
                figures.tidy(plot, name if place == 0 else "", "% removed" if place else "", measure)
        axes[0, 0].legend(frameon=False, fontsize=7)
