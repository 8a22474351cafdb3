"""What a classifier is worth on rows with labels: scores, confusion, reliability, columns that tell, worst rows, densities."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..evaluation.bins import reliability
from ..evaluation.calibration import calibration_error
from ..evaluation.densities import column_density, takes_missing
from .columns import JUDGED_COLUMNS, by_removal, columns_that_tell, some
from .page import Report, Section, Table
from .rows import SHOWN_ROWS, Rows
from .svg import Chart, heat_map

MAX_CLASSES = 12  # with a reliability curve each
DENSITIES = 6


def scores(model: Any, given: Rows, page: Report) -> list[Section]:
    """Scores with standard errors, per class, the confusion matrix, and reliability."""
    X = given.at(given.has_label)
    said = np.searchsorted(model.classes_, model.predict(X))
    what = "rows with a label"
    return score_sections(np.asarray(model.predict_proba(X)), said, given.y[given.has_label], given.classes, page, what)


def score_sections(
    proba: np.ndarray, said: np.ndarray, y: np.ndarray, classes: list[str], page: Report, what: str
) -> list[Section]:
    """The same for probabilities (n, K), predicted codes and true codes of n things (`what`)."""
    n, K = len(y), len(classes)
    right = said == y
    losses = -np.log(np.clip(proba[np.arange(n), y], np.finfo(float).eps, 1.0))
    counts = np.bincount(y, minlength=K)
    confusion = np.zeros((K, K), dtype=int)
    np.add.at(confusion, (y, said), 1)
    hit, of_said = np.diag(confusion), confusion.sum(axis=0)
    recall = hit / np.maximum(counts, 1)
    precision = hit / np.maximum(of_said, 1)
    error = lambda values: float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")  # noqa: E731
    table: list[list[Any]] = [
        ["accuracy", float(right.mean()), error(right), "share of correct predictions"],
        ["log-loss", float(losses.mean()), error(losses), "minus the mean log-probability of the true class"],
        ["balanced accuracy", float(recall[counts > 0].mean()), None, "mean over the classes"],
        [
            "calibration error",
            calibration_error(y, proba, np.arange(K)),
            None,
            "mean distance of confidence and accuracy, 15 bins",
        ],
        ["most frequent class", float(counts.max() / n), None, "accuracy of always predicting it"],
    ]
    page.scores = {row[0].replace(" ", "_").replace("-", "_"): row[1] for row in table}
    section = Section(
        "Scores", tables=[Table(["score", "value", "± std. error", "meaning"], table, f"On {n:,} {what}")]
    )
    harmonic = 2 * hit / np.maximum(of_said + counts, 1)
    per_class = [
        [classes[k], float(precision[k]), float(recall[k]), float(harmonic[k]), int(counts[k])] for k in range(K)
    ]
    section.tables.append(Table(["class", "precision", "recall", "F1", "rows"], per_class, "Every class"))
    confused = Section("Confusion")
    if K <= 30:
        chart = heat_map(
            "True class (down) and predicted class (across)",
            classes,
            classes,
            confusion,
            "predicted",
            "true",
        )
        body = [[classes[k], *map(int, confusion[k])] for k in range(K)]
        confused.charts.append((chart, Table(["true class", *classes], body)))
    else:
        pairs = confusion - np.diag(hit)
        order = np.argsort(-pairs, axis=None)[:20]
        body = [[classes[i // K], classes[i % K], int(pairs.flat[i])] for i in order if pairs.flat[i]]
        confused.tables.append(Table(["true class", "predicted", "rows"], body, "The pairs that are confused most"))
    return [section, confused, *_reliability(classes, y, proba, said)]


def _reliability(classes: list[str], y: np.ndarray, proba: np.ndarray, said: np.ndarray) -> list[Section]:
    K = len(classes)
    curves = [(classes[k], y == k, proba[:, k]) for k in (range(1, 2) if K == 2 else range(K))]
    if K > MAX_CLASSES:
        curves = [("the predicted class", said == y, proba.max(axis=1))]
    section = Section(
        "Reliability",
        [
            "A point on the dashed line is right: of the rows with probability .8 of a class, 80 % are of it. Bars are 95 % intervals."
        ],
    )
    for place, (name, hit, p) in enumerate(curves):
        found = reliability(hit, p)
        chart = Chart(f"Reliability of {name}", (0, 1), (0, 1), "predicted probability", "observed share")
        chart.line([0, 1], [0, 1], "perfectly calibrated", dashed=True)
        chart.ranges(found.predicted, found.low, found.high, place)
        size = 2.5 + 5 * np.sqrt(found.count / found.count.max())
        chart.line(found.predicted, found.observed, colour=place).points(
            found.predicted, found.observed, name, place, size
        )
        body = np.column_stack([found.predicted, found.observed, found.low, found.high]).tolist()
        rows = [[*row, int(c)] for row, c in zip(body, found.count, strict=True)]
        section.charts.append((chart, Table(["predicted", "observed", "low", "high", "rows"], rows)))
    return [section]


def telling(model: Any, given: Rows, page: Report) -> list[Section]:
    """Which columns tell, and the rows that were worst, explained."""
    labelled = np.flatnonzero(given.has_label)
    judged = some(labelled)
    inner = getattr(model, "model_", model)
    if not given.is_texts and not sparse.issparse(given.X) and takes_missing(inner):
        y = given.y[judged]
        page.columns = by_removal(given, judged, lambda X: model.predict_log_proba(X)[np.arange(len(y)), y])
        text = f"How much the log-loss rises when the column is made missing, on {len(judged):,} rows, with standard errors."
    elif hasattr(model, "explain"):
        found = model.explain(given.at(judged))
        names = given.names if len(given.names) == len(found.names) else found.names
        sizes, order = found.importances, np.argsort(-found.importances, kind="stable")[:JUDGED_COLUMNS]
        page.columns = [(names[j], float(sizes[j]), float("nan")) for j in order if sizes[j] > 0]
        text = f"Mean size of what the word or column adds to the log-odds, on {len(judged):,} rows."
    else:
        text = ""
    sections = columns_that_tell(page, text)
    return sections + _worst(model, given, labelled)


def _worst(model: Any, given: Rows, labelled: np.ndarray) -> list[Section]:
    """Rows whose true class was given the least probability, with what spoke against it."""
    proba = np.asarray(model.predict_proba(given.at(labelled)))
    own = proba[np.arange(len(labelled)), given.y[labelled]]
    order = np.argsort(own, kind="stable")[:SHOWN_ROWS]
    places = labelled[order]
    spoke = [""] * len(places)
    if hasattr(model, "explain"):
        found = model.explain(given.at(places))
        names = given.names if len(given.names) == len(found.names) else found.names
        found.names = list(names)
        spoke = [", ".join(f"{name} {part:+.2f}" for name, part in found.of_row(i, 5)) for i in range(len(places))]
    rows: list[list[Any]] = [
        [
            int(i),
            given.classes[given.y[i]],
            given.classes[int(proba[o].argmax())],
            float(own[o]),
            why,
            given.told(int(i)),
        ]
        for i, o, why in zip(places, order, spoke, strict=True)
    ]
    head = ["row", "true class", "said", "p(true class)", "what spoke for what was said (log-odds)", "cells"]
    if not any(spoke):
        head.remove("what spoke for what was said (log-odds)")
        rows = [[*row[:4], row[5]] for row in rows]
    text = "Rows whose true class was given the least probability: hard cases, or wrong labels."
    return [Section("Worst rows", [text], tables=[Table(head, rows, "The worst rows")])]


def densities(model: Any, given: Rows) -> list[Section]:
    """p(x, class) of the columns that tell most, above the rows."""
    inner = getattr(model, "model_", model)
    if given.is_texts or sparse.issparse(given.X) or not takes_missing(inner) or not hasattr(model, "score_samples"):
        return []
    section = Section(
        "Densities by class",
        [
            "What the model believes of a column in every class, p(x, class), all other columns summed out. Bars are the rows."
        ],
    )
    for j in _spread_most(model, given)[:DENSITIES]:
        try:
            found = column_density(model, given.X, int(j), 120)
        except (ValueError, TypeError, NotImplementedError, AttributeError):
            continue
        section.charts.append(_density_chart(found, given, int(j)))
    return [section] if section.charts else []


def _spread_most(model: Any, given: Rows) -> np.ndarray:
    """Columns in the order in which the classes' own densities differ on the rows (a column alone says how much of the class)."""
    told = []
    for j in range(min(len(given.names), 60)):
        try:
            found = column_density(model, given.X, j, 40)
            posterior = found.joint / np.maximum(found.joint.sum(axis=1, keepdims=True), 1e-300)
            weight = found.joint.sum(axis=1)
            prior = weight @ posterior / weight.sum()
            logs = np.log(np.maximum(posterior, 1e-300) / np.maximum(prior, 1e-300))
            told.append(float(weight @ (posterior * logs).sum(axis=1) / weight.sum()))
        except (ValueError, TypeError, NotImplementedError, AttributeError):
            told.append(-1.0)
    order = np.argsort([-t for t in told], kind="stable")
    return np.array([j for j in order if told[j] >= 0], dtype=int)


def _density_chart(found: Any, given: Rows, j: int) -> tuple[Chart, Table]:
    K, name = min(len(found.outcomes), 8), given.names[j]
    cells = given.column(j)
    first = float if found.is_numeric else lambda value: given.value(j, value)
    body = [[first(v), *map(float, p[:K])] for v, p in zip(found.values, found.joint, strict=True)]
    table = Table([name, *(f"p(x, {c})" for c in found.outcomes[:K])], body)
    if not found.is_numeric:
        labels = [given.value(j, v) for v in found.values][:12]
        top = float(found.joint[:12].max()) * 1.05 or 1.0
        chart = Chart(name, (-0.6, len(labels) - 0.4), (0, top), name, "p(x, class)", x_labels=labels)
        places = np.arange(len(labels))
        for k in range(K):
            left = places - 0.4 + 0.8 * k / K
            chart.boxes(left, left + 0.8 / K, found.joint[:12, k], found.outcomes[k], k)
        return chart, table
    values = found.values
    label = f"{name} (days since 1970)" if name in given.dates else name
    chart = Chart(name, (values[0], values[-1]), (0, 1.0), label, "p(x, class)")
    edges = np.linspace(values[0], values[-1], 31)
    bars, top = [], float(found.joint.max())
    for k in range(K if given.y is not None else 0):
        own = np.asarray(cells[given.y == k], dtype=float)
        height = np.histogram(own[np.isfinite(own)], edges)[0] / (given.has_label.sum() * (edges[1] - edges[0]))
        bars.append(height)
        top = max(top, float(height.max(initial=0.0)))
    chart.y = (0, top * 1.05)
    for k, height in enumerate(bars):
        chart.boxes(edges[:-1], edges[1:], height, colour=k, faint=True)
    for k in range(K):
        chart.line(values, found.joint[:, k], found.outcomes[k], k)
    return chart, table
