"""What a regressor is worth on rows with a target: scores, coverage of intervals, densities of rows, columns that tell, worst rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..evaluation.regression import COVERAGE
from .columns import by_removal, columns_that_tell, some
from .page import Report, Section, Table
from .rows import SHOWN_ROWS, Rows
from .svg import Chart

LEVELS = np.append(np.arange(0.1, 0.95, 0.1), 0.95)  # of central intervals
DRAWN = 400  # rows in the picture of predicted and observed numbers
GRID = 161  # points of a density
MOST_WHOLE = 60  # values of a count that are drawn


def scores(model: Any, given: Rows, page: Report) -> list[Section]:
    """All sections that rows with a target give."""
    X, y = given.at(given.has_label), given.y[given.has_label]
    said = np.asarray(model.predict(X), dtype=float)
    if said.shape != y.shape or not len(y):
        return []
    rows, charts, more = errors(y, said), [against(y, said)], []
    if all(hasattr(model, name) for name in ("log_density", "cdf", "crps")):
        below, log_density = model.cdf(X, y), model.log_density(X, y)
        rows += density_errors(below, log_density, model.crps(X, y))
        charts.append(coverage(below))
        labelled = np.flatnonzero(given.has_label)
        more = [of_single_rows(model, given, labelled), *telling(model, given, labelled, page)]
        more.append(worst_rows(given, labelled, said, log_density))
    page.scores = {row[0].replace(" ", "_"): row[1] for row in rows}
    table = Table(["score", "value", "± std. error", "meaning"], rows, f"On {len(y):,} rows")
    return [Section("Scores", tables=[table], charts=charts), *more]


def telling(model: Any, given: Rows, labelled: np.ndarray, page: Report) -> list[Section]:
    judged = some(labelled)
    page.columns = by_removal(given, judged, lambda own: model.log_density(own, given.y[judged]))
    text = f"How much the log density falls when the column is made missing, on {len(judged):,} rows, with standard errors."
    return columns_that_tell(page, text)


def error_of(values: np.ndarray) -> float:
    """The standard error of a mean."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def errors(y: np.ndarray, said: np.ndarray) -> list[list[Any]]:
    residual, total = y - said, float(((y - y.mean()) ** 2).sum())
    explained = 1.0 - float((residual**2).sum()) / total if total else float("nan")
    return [
        ["R2", explained, None, "share of the variance explained"],
        ["mean squared error", float((residual**2).mean()), error_of(residual**2), ""],
        ["mean absolute error", float(np.abs(residual).mean()), error_of(np.abs(residual)), ""],
    ]


def density_errors(below: np.ndarray, log_density: np.ndarray, crps: np.ndarray) -> list[list[Any]]:
    inside = np.abs(below - 0.5) <= 0.5 * COVERAGE
    return [
        ["negative log density", -float(log_density.mean()), error_of(log_density), "of the target given the row"],
        ["CRPS", float(crps.mean()), error_of(crps), "distance of the distribution from the target, in its units"],
        ["coverage 90", float(inside.mean()), error_of(inside), "share of targets inside their 90 % interval"],
    ]


def against(y: np.ndarray, said: np.ndarray) -> tuple[Chart, Table]:
    """Predicted against observed numbers."""
    places = np.linspace(0, len(y) - 1, min(len(y), DRAWN)).astype(int)
    low, high = float(min(y.min(), said.min())), float(max(y.max(), said.max()))
    chart = Chart("Predicted and observed", (low, high), (low, high), "predicted", "observed")
    chart.line([low, high], [low, high], "perfect", dashed=True).points(said[places], y[places], "rows", 0, 2.4)
    return chart, Table(["row", "predicted", "observed"], [[int(i), float(said[i]), float(y[i])] for i in places])


def coverage(below: np.ndarray) -> tuple[Chart, Table]:
    """How many targets central intervals hold, against what they say."""
    held = (np.abs(below - 0.5)[:, None] <= 0.5 * LEVELS).mean(axis=0)
    error = np.sqrt(held * (1.0 - held) / len(below))
    chart = Chart("Do intervals hold what they say?", (0, 1), (0, 1), "said", "held")
    chart.line([0, 1], [0, 1], "perfect", dashed=True).line(LEVELS, held, "these rows")
    chart.ranges(LEVELS, np.maximum(held - 2 * error, 0.0), np.minimum(held + 2 * error, 1.0))
    rows = [[float(level), float(own), float(e)] for level, own, e in zip(LEVELS, held, error, strict=True)]
    return chart, Table(["interval says", "share of targets inside", "std. error"], rows)


def of_single_rows(model: Any, given: Rows, labelled: np.ndarray) -> Section:
    """The densities of the row that is surest, of a middling one and of the least sure one."""
    judged = some(labelled)
    deviation = np.asarray(model.predict(given.at(judged), return_std=True)[1])
    order = np.argsort(deviation, kind="stable")
    chosen = judged[order[[0, len(order) // 2, -1]]]
    ends = np.asarray(model.predict_quantiles(given.at(chosen), (0.005, 0.995)))
    grid = np.linspace(float(ends.min()), float(ends.max()), GRID)
    first = given.at(chosen[:1])
    if not np.isfinite(model.log_density(first, np.array([grid[0] + 0.5 - grid[0] % 1]))).all():  # whole numbers only
        grid = np.arange(max(np.floor(grid[0]), 0.0), min(np.ceil(grid[-1]), np.floor(grid[0]) + MOST_WHOLE) + 1)
    found = [np.exp(model.log_density(given.at(np.full(len(grid), place)), grid)) for place in chosen]
    top = max(float(np.max(own)) for own in found)
    chart = Chart(
        "Densities of three rows", (float(grid[0]), float(grid[-1]) + (len(grid) < 2)), (0, top * 1.05), "target", "density"
    )  # fmt: skip
    names = [f"row {place} ({kind})" for place, kind in zip(chosen, ("surest", "middling", "least sure"), strict=True)]
    for colour, (name, own) in enumerate(zip(names, found, strict=True)):
        chart.line(grid, own, name, colour)
    rows = [[float(t), *(float(own[i]) for own in found)] for i, t in enumerate(grid)]
    each = zip(chosen, names, strict=True)
    told = [[int(place), name, float(given.y[place]), given.told(int(place))] for place, name in each]
    return Section(
        "Densities of single rows",
        [
            "What the model says of the target of the row it is surest of, of a middling one and of the one it is least sure of."
        ],
        [(chart, Table(["target", *names], rows))],
        [Table(["row", "kind", "target", "cells"], told, "The rows")],
    )


def worst_rows(given: Rows, labelled: np.ndarray, said: np.ndarray, log_density: np.ndarray) -> Section:
    order = np.argsort(log_density, kind="stable")[:SHOWN_ROWS]
    rows = [
        [int(labelled[i]), float(given.y[labelled[i]]), float(said[i]), float(log_density[i]), given.told(int(labelled[i]))]
        for i in order
    ]  # fmt: skip
    text = "Rows whose target was given the lowest density: hard cases, or wrong targets."
    head = ["row", "target", "predicted", "log density", "cells"]
    return Section("Worst rows", [text], tables=[Table(head, rows, "The worst rows")])
