"""Which columns tell: how much worse rows are predicted without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .page import Report, Section, Table
from .rows import Rows
from .svg import bar_chart

JUDGED = 1000  # rows that columns are judged on
JUDGED_COLUMNS = 300
TOLD_COLUMNS = 20
LOWEST = -700.0  # of a log-probability


def some(places: np.ndarray) -> np.ndarray:
    """At most JUDGED of the rows."""
    if len(places) <= JUDGED:
        return places
    return np.sort(np.random.default_rng(0).choice(places, JUDGED, replace=False))


def by_removal(
    given: Rows, judged: np.ndarray, log_score: Callable[[Any], np.ndarray]
) -> list[tuple[str, float, float]]:
    """(name, how much the log score falls when the column is made missing, its standard error), the first first."""
    X = given.at(judged)
    before = np.maximum(log_score(X), LOWEST)
    found = []
    for j in range(min(len(given.names), JUDGED_COLUMNS)):
        without: Any = (
            X.copy() if hasattr(X, "iloc") else np.array(X, dtype=float if X.dtype.kind in "iufb" else object)
        )
        if hasattr(X, "iloc"):
            column = without.iloc[:, j]
            kept = column.dtype if column.dtype.kind not in "iub" else float
            without.isetitem(j, column.astype(kept).mask(np.ones(len(column), dtype=bool)))
        else:
            without[:, j] = np.nan
        loss = before - np.maximum(log_score(without), LOWEST)
        error = float(np.std(loss, ddof=1) / np.sqrt(len(loss))) if len(loss) > 1 else float("nan")
        found.append((given.names[j], float(loss.mean()), error))
    return sorted(found, key=lambda c: -c[1])


def columns_that_tell(page: Report, text: str) -> list[Section]:
    """The section of `page.columns`."""
    if not page.columns:
        return []
    shown = page.columns[:TOLD_COLUMNS]
    chart = bar_chart(
        "Columns that tell", [c[0] for c in shown], [c[1] for c in shown], [c[2] for c in shown], "effect"
    )
    table = Table(["column", "effect", "std. error"], [list(c) for c in page.columns])
    return [Section("Columns that tell", [text], [(chart, table)])]
