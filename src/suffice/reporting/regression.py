"""The page of a regression: errors of the mean and, where the model has a density, of the density and its intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..evaluation.densities import takes_missing
from .classification import by_removal, judged_rows, told_columns
from .page import Report, Section, Table
from .rows import SHOWN_ROWS, Rows
from .svg import Chart

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def regression(model: Any, given: Rows, page: Report) -> list[Section]:
    """Scores, predicted against observed numbers, coverage of the intervals, columns that tell, worst rows."""
    X, y = given.at(given.has_label), given.y[given.has_label]
    said = np.asarray(model.predict(X), dtype=float)
    if said.shape != y.shape:
        return []
    below = np.asarray(model.cdf(X, y)) if hasattr(model, "cdf") else None
    section = Section("Scores", tables=[_scores(model, X, y, said, below, page)])
    section.charts.append(_observed(said, y))
    sections = [section]
    if below is not None:
        section.charts.append(_coverage(below))
        judged = judged_rows(given)
        if hasattr(given.X, "shape") and takes_missing(model):
            sections += told_columns(
                by_removal(lambda rows: model.log_density(rows, given.y[judged]), given, judged), page, len(judged),
                "How much the mean log density of the target falls when the column is made missing",
            )  # fmt: skip
    sections.append(_worst(given, y, said))
    return sections


def _scores(model: Any, X: Any, y: np.ndarray, said: np.ndarray, below: Any, page: Report) -> Table:
    residual, n = y - said, len(y)
    error = lambda v: float(np.std(v, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")  # noqa: E731
    total = float(((y - y.mean()) ** 2).sum())
    r2 = 1.0 - float((residual**2).sum()) / total if total else float("nan")
    rows: list[list[Any]] = [
        ["R2", r2, None, "share of the variance explained"],
        ["mean squared error", float((residual**2).mean()), error(residual**2), ""],
        ["mean absolute error", float(np.abs(residual).mean()), error(np.abs(residual)), ""],
    ]
    if below is not None:
        nll, crps = -np.asarray(model.log_density(X, y)), np.asarray(model.crps(X, y))
        inside = np.abs(below - 0.5) <= 0.45
        rows += [
            ["negative log density", float(nll.mean()), error(nll), "of the observed number; lower is better"],
            ["CRPS", float(crps.mean()), error(crps), "distance of the whole distribution from what was observed"],
            ["coverage of 90 % intervals", float(inside.mean()), error(inside), "share of rows inside; should be 0.9"],
        ]
    page.scores = {row[0].replace(" %", "").replace(" ", "_"): row[1] for row in rows}
    return Table(["score", "value", "± std. error", "meaning"], rows, f"On {n:,} rows")


def _observed(said: np.ndarray, y: np.ndarray) -> tuple[Chart, Table]:
    places = np.linspace(0, len(y) - 1, min(len(y), 400)).astype(int)
    low, high = float(min(y.min(), said.min())), float(max(y.max(), said.max()))
    chart = Chart("Predicted and observed", (low, high), (low, high), "predicted", "observed")
    chart.line([low, high], [low, high], "perfect", dashed=True).points(said[places], y[places], "rows", 0, 2.4)
    rows: list[list[Any]] = [[int(i), float(said[i]), float(y[i])] for i in places]
    return chart, Table(["row", "predicted", "observed"], rows)


def _coverage(below: np.ndarray) -> tuple[Chart, Table]:
    """Of central intervals of every level, the share of rows inside."""
    levels = np.array(LEVELS)
    share = np.array([np.mean(np.abs(below - 0.5) <= 0.5 * level) for level in LEVELS])
    spread = 1.96 * np.sqrt(share * (1 - share) / len(below))
    low, high = np.maximum(share - spread, 0.0), np.minimum(share + spread, 1.0)
    chart = Chart("Reliability of the intervals", (0, 1), (0, 1), "level of the interval", "share of rows inside")
    chart.line([0, 1], [0, 1], "perfectly calibrated", dashed=True).ranges(levels, low, high)
    chart.line(levels, share).points(levels, share, "rows inside, 95 % range")
    return chart, Table(["level", "share inside", "low", "high"], np.column_stack([levels, share, low, high]).tolist())


def _worst(given: Rows, y: np.ndarray, said: np.ndarray) -> Section:
    labelled = np.flatnonzero(given.has_label)
    order = np.argsort(-np.abs(y - said), kind="stable")[:SHOWN_ROWS]
    rows: list[list[Any]] = [
        [int(labelled[i]), float(y[i]), float(said[i]), given.told(int(labelled[i]))] for i in order
    ]
    return Section("Worst rows", tables=[Table(["row", "observed", "predicted", "cells"], rows, "The largest errors")])
