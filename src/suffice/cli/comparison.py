"""`suffice compare`: two models on the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..files import DataError, Reader
from ..files.trained import Trained
from .errors import data_errors
from .tables import aligned


class Rows(NamedTuple):
    """Of every labelled row: whether the model was right, and its log-loss."""

    labels: list[str]
    right: np.ndarray
    loss: np.ndarray


def scored(trained: Trained, reader: Reader) -> Rows:
    places = {str(label): place for place, label in enumerate(trained.classes)}
    labels: list[str] = []
    right, loss = [], []
    with data_errors(reader.name):
        for table in reader:
            if table.y is None:
                raise DataError(f"{reader.name} has no labels: name their column with --target")
            has_label = np.array([label is not None for label in table.y], dtype=bool)
            found = [str(label) for label in table.y[has_label]]
            if unknown := [label for label in found if label not in places]:
                raise DataError(f"the label {unknown[0]!r} is none of the classes {', '.join(list(places)[:10])}")
            own = np.array([places[label] for label in found], dtype=np.intp)
            logs = trained.model.predict_log_proba(trained.inputs(table))[has_label]
            right.append(logs.argmax(axis=1) == own)
            loss.append(-logs[np.arange(len(own)), own])
            labels += found
    if not labels:
        raise DataError(f"{reader.name}: no row has a label")
    return Rows(labels, np.concatenate(right).astype(float), np.concatenate(loss))


def compared(one: Rows, other: Rows, names: tuple[str, str]) -> dict[str, Any]:
    """Means of both, and of the differences (second minus first) with their standard errors."""
    result: dict[str, Any] = {"rows": len(one.labels), "models": list(names)}
    for name, a, b in (("accuracy", one.right, other.right), ("log_loss", one.loss, other.loss)):
        gap = b - a
        error = float(gap.std(ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else float("nan")
        result[name] = {
            "first": float(a.mean()),
            "second": float(b.mean()),
            "difference": float(gap.mean()),
            "error": error,
        }
    result["only_first_right"] = int(((one.right == 1) & (other.right == 0)).sum())
    result["only_second_right"] = int(((one.right == 0) & (other.right == 1)).sum())
    return result


def lines(result: dict[str, Any]) -> Iterator[str]:
    """For a person."""
    yield f"{result['rows']:,} rows"
    rows = [["", *result["models"], "difference", "+-"]]
    for name in ("accuracy", "log_loss"):
        cells = result[name]
        rows.append([name, *(f"{cells[key]:.4f}" for key in ("first", "second", "difference", "error"))])
    yield from aligned(rows)
    one, other = result["models"]
    yield f"only {one} is right in {result['only_first_right']:,} rows, only {other} in {result['only_second_right']:,}"
    gap = result["accuracy"]
    if abs(gap["difference"]) <= 2 * gap["error"] or gap["difference"] == 0:
        yield "the accuracies do not differ by more than chance (two standard errors)"
    else:
        yield f"{result['models'][gap['difference'] > 0]} is more accurate by more than two standard errors"
