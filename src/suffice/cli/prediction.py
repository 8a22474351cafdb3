"""`suffice predict` and `suffice evaluate`."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np

from ..evaluation.classification import Scores
from ..files import DataError, Reader, Table
from ..files.trained import Trained
from . import regression
from .errors import data_errors
from .notices import UsageError
from .progress import progress

MOST_REASONS = 5


def reading_options(trained: Trained, with_target: bool) -> dict[str, Any]:
    """How a file is read so that it fits the model."""
    target = {"target": trained.target} if with_target else {}
    if trained.format in ("text", "letters"):
        return {"text": trained.text_column, **target} if trained.text_column is not None else {}
    if trained.format == "svmlight":
        return {"n_features": trained.model.n_features_in_, "zero_based": trained.zero_based}
    options = {"columns": trained.columns, "kinds": dict(trained.kinds), "categories": dict(trained.categories)}
    return options | target | {"bad_cells": "missing"}


def predict(
    trained: Trained, reader: Reader, output: str, *, proba: bool, as_json: bool, explain: bool = False
) -> None:
    """A line for each row: columns that are kept, the class, with `proba` the probability of every class, with `explain` why."""
    if explain and not hasattr(trained.model, "explain"):
        raise UsageError(f"--explain: a {type(trained.model).__name__} cannot say why")
    with output_file(output) as file, progress("predicting") as update, data_errors(reader.name):
        writer = csv.writer(file, lineterminator="\n")
        for table in reader:
            names = [*table.kept, "prediction", *regression.columns_of(trained, proba)]
            names += ["because"] if explain else []
            if table.first_row == 0 and not as_json:
                writer.writerow(names)
            for row in _predictions(trained, table, proba, explain):
                if as_json:
                    file.write(json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n")
                else:
                    writer.writerow([*row[:-1], _because(row[-1])] if explain else row)
            update(reader.fraction, f"{table.first_row + table.n_rows:,} rows")


def _predictions(trained: Trained, table: Table, proba: bool, explain: bool) -> Iterator[list[Any]]:
    X = trained.inputs(table)
    if trained.is_regressor:
        return regression.predictions(trained, X, table.kept.values(), proba, explain)
    probabilities = trained.model.predict_proba(X)
    columns: list[Any] = [*table.kept.values(), trained.classes[probabilities.argmax(axis=1)].tolist()]
    columns += probabilities.T.tolist() if proba else []
    if explain:
        found = trained.model.explain(X)
        found.names = feature_names(trained)
        columns.append([dict(found.of_row(i, MOST_REASONS)) for i in range(table.n_rows)])
    return (list(row) for row in zip(*columns, strict=True))


def _because(parts: dict[str, float]) -> str:
    return "; ".join(f"{name} {part:+.3g}" for name, part in parts.items())


def feature_names(trained: Trained) -> list[str]:
    """Of the model's columns."""
    if trained.vocabulary is not None:
        return list(trained.vocabulary)
    if trained.format == "table":
        return list(trained.columns)
    return [f"x{i}" for i in range(trained.model.n_features_in_)]


@contextmanager
def output_file(path: str) -> Iterator[IO[str]]:
    if path == "-":
        yield sys.stdout
        sys.stdout.flush()
        return
    from ..saving.atomic import replacing

    with replacing(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        yield text
        text.flush()
        text.detach()


def evaluate(trained: Trained, reader: Reader) -> dict[str, Any]:
    """Accuracy, log-loss, calibration error, the three losses per row, and the confusion matrix."""
    classes = [str(label) for label in trained.classes]
    positions = {label: position for position, label in enumerate(classes)}
    scores = Scores(len(classes))
    with progress("evaluating") as update, data_errors(reader.name):
        for table in reader:
            if table.y is None:
                raise DataError(f"{reader.name} has no labels: name their column with --target")
            has_label = np.array([label is not None for label in table.y], dtype=bool)
            y = np.array([position(label, positions, table.first_row) for label in table.y[has_label]], dtype=np.intp)
            X = trained.inputs(table)
            joint, log_proba = trained.model.predict_joint_log_proba(X), trained.model.predict_log_proba(X)
            scores.update(joint[has_label], y, log_proba[has_label])
            update(reader.fraction, f"{scores.n_rows:,} rows")
    if scores.n_rows == 0:
        raise DataError(f"{reader.name}: no row has a label")
    return {**scores.summary(), "classes": classes, "confusion": scores.confusion.tolist()}


def position(label: str, positions: dict[str, int], first_row: int) -> int:
    if label not in positions:
        raise DataError(
            f"the label {label!r} (rows from {first_row + 1}) is none of the model's classes: "
            f"{', '.join(map(repr, list(positions)[:10]))}"
        )
    return positions[label]


def evaluation_lines(result: dict[str, Any]) -> Iterator[str]:
    """The result of `evaluate` for a person."""
    from .tables import aligned

    classes = result["classes"]
    names = ["rows", "accuracy", "log_loss", "calibration_error", "nll", "ncll", "hinge"]
    yield from aligned([[name, f"{result[name]:,}" if name == "rows" else f"{result[name]:.4f}"] for name in names])
    if len(classes) <= 30:
        yield ""
        yield "confusion (rows: label; columns: prediction)"
        body = [[label, *map(str, row)] for label, row in zip(classes, result["confusion"], strict=True)]
        yield from aligned([["", *classes], *body])
