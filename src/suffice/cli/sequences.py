"""Sequences on the command line: long tables with a column that names the sequence, `.ts` files, and texts letter by letter."""

from __future__ import annotations

import csv
import json
import sys
import time as clock
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..evaluation.classification import Scores
from ..files import DataError, Reader, Table
from ..files.trained import Trained, stacked
from ..files.ts import SEQUENCE, TIME
from ..saving import save
from .errors import data_errors
from .notices import UsageError, say
from .prediction import output_file, position
from .progress import progress
from .training import estimator_of

FORMATS = ("steps", "letters")


def train(reader: Reader, output: str, *, params: dict[str, Any], sequence: str | None, time: str | None) -> None:
    """Fit on the whole file: a sequence may lie anywhere in it."""
    start = clock.perf_counter()
    if reader.format == "svmlight":
        raise UsageError("--model hmm reads tables of steps, .ts files and texts, not svmlight")
    if reader.format == "ts":
        sequence, time = sequence or SEQUENCE, time or TIME
    elif reader.format != "text" and sequence is None:
        raise UsageError("--model hmm needs --sequence COL: which sequence a row is a step of")
    with progress("reading") as update, data_errors(reader.name):
        tables = list(reader)
        if tables[0].y is None:
            raise DataError(f"{reader.name} has no labels: name their column with --target")
        given = {} if reader.format == "text" else {"sequence": sequence, "time": time}
        for column in filter(None, given.values()):
            if column not in tables[0].columns:
                raise DataError(
                    f"{reader.name}: there is no column {column!r}; it has {', '.join(tables[0].columns[:20])}"
                )
        kinds = {name: kind for name, kind in tables[0].kinds.items() if name not in given.values()}
        model = estimator_of("hmm", reader.format, kinds, params | given)
        trained = around(model, tables, reader.format)
        X, y = gathered(trained, tables)
        update(None, "fitting")
        model.fit(X, y)
    save(trained, sys.stdout.buffer if output == "-" else output)
    say(
        f"HMMClassifier on {int(model.class_count_.sum()):,} sequences, {len(trained.classes)} classes in "
        f"{clock.perf_counter() - start:.1f} s ({model.choice_.reason}) -> {output}"
    )


def around(model: Any, tables: list[Table], format: str) -> Trained:
    """The unfitted model with how its files are read."""
    first = tables[0]
    if format == "text":
        return Trained(model, "letters", first.columns)
    return Trained(model, "steps", first.columns, dict(first.kinds), {}, None, first.target)


def gathered(trained: Trained, tables: list[Table]) -> tuple[Any, np.ndarray | None]:
    """The model's X of all tables, and labels of rows (None where there are none)."""
    parts = [trained.inputs(table) for table in tables]
    X = [text for part in parts for text in part] if trained.format == "letters" else stacked(parts)
    found = [table.y for table in tables if table.y is not None]
    return X, np.concatenate(found) if len(found) == len(tables) else None


def predict(trained: Trained, reader: Reader, output: str, *, proba: bool, as_json: bool) -> None:
    """A line for each sequence: what it is called, the class, and with `proba` the probability of every class."""
    with progress("predicting"), data_errors(reader.name):
        X, _ = gathered(trained, list(reader))
        probabilities = trained.model.predict_proba(X)
    keys = list(X[trained.model.sequence].unique()) if trained.format == "steps" else None
    names = [*([] if keys is None else [str(trained.model.sequence)]), "prediction"]
    names += [f"p({label})" for label in trained.classes] if proba else []
    with output_file(output) as file:
        writer = csv.writer(file, lineterminator="\n")
        if not as_json:
            writer.writerow(names)
        for row in lines(keys, trained.classes, probabilities, proba):
            if as_json:
                file.write(json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n")
            else:
                writer.writerow(row)


def lines(keys: list | None, classes: np.ndarray, probabilities: np.ndarray, proba: bool) -> Iterator[list[Any]]:
    labels = classes.tolist()
    for i, row in enumerate(probabilities):
        name = [] if keys is None else [int(keys[i]) if is_whole(keys[i]) else keys[i]]
        yield [*name, labels[row.argmax()], *(row.tolist() if proba else [])]


def is_whole(value: Any) -> bool:
    """A number such as 12.0: names of sequences that were read as numbers."""
    return isinstance(value, (float, np.floating)) and float(value).is_integer()


def evaluate(trained: Trained, reader: Reader) -> dict[str, Any]:
    """As `prediction.evaluate`, of sequences."""
    from ..estimators.hmm.class_reading import labels_of

    with progress("evaluating"), data_errors(reader.name):
        X, y = gathered(trained, list(reader))
        if y is None:
            raise DataError(f"{reader.name} has no labels: name their column with --target")
        model, classes = trained.model, [str(label) for label in trained.classes]
        steps = model._sequences(X, None, reset=False)
        labels = labels_of(y, steps)
        has_label = np.array([label is not None for label in labels], dtype=bool)
        if not has_label.any():
            raise DataError(f"{reader.name}: no sequence has a label")
        positions = {label: number for number, label in enumerate(classes)}
        codes = np.array([position(label, positions, 0) for label in labels[has_label]], dtype=np.intp)
        scores = Scores(len(classes))
        scores.update(model.predict_joint_log_proba(steps)[has_label], codes, model.predict_log_proba(steps)[has_label])
    return {**scores.summary(), "classes": classes, "confusion": scores.confusion.tolist()}
