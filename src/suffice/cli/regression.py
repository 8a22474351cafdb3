"""Targets that are numbers, on the command line: whether they are, training, predictions with intervals, RMSE, NLL, CRPS, coverage."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ..files import DataError, Reader, Table
from ..files.trained import Trained, prepared, stacked
from ..saving import save
from .errors import data_errors, estimator_with
from .holding import held_out_numbers
from .notices import UsageError, say, show
from .options import Learning

TASKS = ("auto", "classification", "regression")
MODELS = ("mixture-regressor", "gaussian-regressor")
CLASSIFIERS = ("auto", "naive-bayes")  # what is asked for where the target is looked at first
MANY = 20  # distinct values: a number and no class, unless they look like codes
ROWS_EACH = 10  # rows a value, on average, of whole numbers that count classes


def numbers_of(labels: np.ndarray) -> np.ndarray | None:
    """(n,) array: targets as numbers, NaN where there is none; None if some are not numbers."""
    try:
        return np.array([np.nan if label is None else float(label) for label in labels])
    except ValueError:
        return None


def is_regression(task: str, model: str, labels: np.ndarray, target: str | None, is_table: bool = True) -> bool:
    """Whether the target is a number; what was assumed is said. Whole numbers beside words or svmlight rows are classes."""
    if model in MODELS or task == "regression":
        return True
    if task == "classification" or model not in CLASSIFIERS:
        return False
    numbers = numbers_of(labels)
    if numbers is None or np.isnan(numbers).all():
        return False
    numbers = numbers[~np.isnan(numbers)]
    values = np.unique(numbers)
    if len(values) <= MANY or not np.isfinite(values).all() or are_codes(values, len(numbers)):
        return False
    if not is_table and np.array_equal(values, np.floor(values)):
        return False
    say(
        f"{target or 'the target'} is taken as a number ({len(values):,} values from {values[0]:g} to {values[-1]:g}), so this is "
        "regression; --task classification takes its values as classes"
    )
    return True


def are_codes(values: np.ndarray, n_rows: int) -> bool:
    """Whether rising values look like classes that were numbered: 0, 1, 2, ... or 1, 2, 3, ... without a gap, and often."""
    is_counted = values[0] in (0, 1) and np.array_equal(values, values[0] + np.arange(len(values)))
    return is_counted and n_rows >= ROWS_EACH * len(values)


def train(
    reader: Reader, tables: list[Table], rest: Iterator[Table], output: str, *, learning: Learning, params: dict[str, Any],
    update: Callable,
) -> None:  # fmt: skip
    """Fit a regressor to the tables, then learn the rest of the file as a stream; scores of rows held out where there is no rest."""
    start = time.perf_counter()
    if reader.format in ("svmlight", "text"):
        raise UsageError(f"regression needs a table (CSV, TSV, Parquet), and {reader.name} is {reader.format}")
    estimator = estimator_of(learning.model, params)
    trained = prepared(estimator, tables, reader.format, None)
    following = next(rest, None)
    with data_errors(reader.name):
        X, y = rows_of(trained, tables)
        scores = ""
        if following is None:
            scores = held_out_numbers(estimator, X, y, learning.holdout, learning.cv, update)
        estimator.fit(X, y)
        n_rows = len(y)
        for table in () if following is None else chain([following], rest):
            X, y = rows_of(trained, [table])
            estimator.partial_fit(X, y)
            n_rows += len(y)
    save(trained, sys.stdout.buffer if output == "-" else output)
    if scores:
        show(scores)
    say(
        f"{type(estimator).__name__} on {n_rows:,} rows, {estimator.n_features_in_:,} features in {time.perf_counter() - start:.1f} s "
        f"({estimator.choice_}) -> {output}"
    )


def estimator_of(model: str, params: dict[str, Any]) -> Any:
    from ..regression import GaussianRegressor, MixtureRegressor

    cls: Any = GaussianRegressor if model == "gaussian-regressor" else MixtureRegressor
    if model not in (*MODELS, *CLASSIFIERS):
        raise UsageError(f"--model {model!r} is no regressor: use {' or '.join(MODELS)}")
    if cls is GaussianRegressor:
        params = {name: value for name, value in params.items() if name != "loss"}
    return estimator_with(cls, params)


def rows_of(trained: Trained, tables: Sequence[Table]) -> tuple[Any, np.ndarray]:
    """Inputs and targets."""
    labels = np.concatenate([table.y for table in tables if table.y is not None])
    y = numbers_of(labels)
    if y is None:
        bad = next(
            label for label in labels if label is not None and numbers_of(np.array([label], dtype=object)) is None
        )
        raise DataError(
            f"the target {bad!r:.40} is not a number: leave out --task regression, or name it in missing= (--na)"
        )
    return stacked([trained.inputs(table) for table in tables]), y


def columns_of(trained: Trained, full: bool) -> list[str]:
    """What a prediction is followed by, where all is asked for: probabilities of the classes, or deviation and interval."""
    if not full:
        return []
    return ["std", "lower_90", "upper_90"] if trained.is_regressor else [f"p({label})" for label in trained.classes]


def predictions(trained: Trained, X: Any, kept: Any, full: bool, explain: bool) -> Iterator[list[Any]]:
    """A row each: columns that are kept, the mean, with `full` the deviation and a 90 % interval, with `explain` what cells add."""
    model = trained.model
    columns: list[Any] = [model.predict(X)]
    if full:
        columns = [*model.predict(X, return_std=True), *model.predict_interval(X, 0.9)]
    columns = [*kept, *(column.tolist() for column in columns)]
    if explain:
        effects = model.explain(X)
        most = np.argsort(-np.abs(effects), axis=1)[:, :5]
        columns.append(
            [{trained.columns[j]: float(own[j]) for j in order} for own, order in zip(effects, most, strict=True)]
        )
    return (list(row) for row in zip(*columns, strict=True))


def evaluate(trained: Trained, reader: Reader) -> dict[str, Any]:
    """RMSE, R2, NLL, CRPS and coverage of 90 % intervals."""
    from ..evaluation.regression import RegressionScores

    scores = RegressionScores()
    with data_errors(reader.name):
        for table in reader:
            if table.y is None:
                raise DataError(f"{reader.name} has no targets: name their column with --target")
            X, y = rows_of(trained, [table])
            seen = np.flatnonzero(~np.isnan(y))
            if len(seen):
                scores.update(trained.model, X.iloc[seen] if hasattr(X, "iloc") else X[seen], y[seen])
    if scores.n_rows == 0:
        raise DataError(f"{reader.name}: no row has a target")
    return scores.summary()


def lines(result: dict[str, Any]) -> Iterator[str]:
    """The result of `evaluate` for a person."""
    from .tables import aligned

    yield from aligned([[name, f"{value:,}" if name == "rows" else f"{value:.4f}"] for name, value in result.items()])
