"""`suffice report`: a page about a model on the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..files import Reader
from ..files.trained import Trained, stacked
from ..reporting import report as report_of
from .errors import data_errors
from .notices import UsageError, say
from .progress import progress


def refuse_input(output: str, *inputs: str) -> None:
    """An output that is also an input would be destroyed."""
    for path in inputs:
        if "-" not in (path, output) and Path(output).resolve() == Path(path).resolve():
            raise UsageError(f"the report would overwrite {path}: give another name with -o")


def report(trained: Trained, reader: Reader, output: str, max_rows: int, training: Reader | None = None) -> None:
    """Write the page; say what the model is worth."""
    X, y, dates = rows_of(trained, reader, max_rows)
    X_train = None if training is None else rows_of(trained, training, max_rows)[0]
    names = trained.columns if trained.format == "table" else trained.vocabulary
    with data_errors(reader.name):
        page = report_of(
            trained.model,
            X,
            None if all(label is None for label in y) else y,
            X_train=X_train,
            names=None if names is None else list(names),
            categories=trained.categories,
            dates=dates,
            title=f"{type(trained.model).__name__} on {Path(reader.name).name}",
        )
    if output == "-":
        print(page.html(), end="")
        return
    page.save(output)
    scores = ", ".join(f"{name} {value:.4f}" for name, value in page.scores.items())
    say(f"{len(page.html()) / 1e6:.2f} MB, {len(y):,} rows{': ' + scores if scores else ''} -> {output}")


def rows_of(trained: Trained, reader: Reader, max_rows: int) -> tuple[Any, np.ndarray, tuple[str, ...]]:
    """(rows as the model takes them, their labels or None, names of the columns that are dates) of the first rows of a file."""
    parts, labels, n = [], [], 0
    dates: tuple[str, ...] = ()
    with progress("reading") as update, data_errors(reader.name):
        for table in reader:
            parts.append(trained.inputs(table))
            labels.append(np.full(table.n_rows, None, dtype=object) if table.y is None else table.y)
            dates, n = table.dates, n + table.n_rows
            update(reader.fraction, f"{n:,} rows")
            if n >= max_rows:
                say(f"the report is of the first {n:,} rows of {reader.name} (--max-rows)")
                break
    return stacked(parts), np.concatenate(labels), dates
