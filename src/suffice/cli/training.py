"""`suffice train`: a file of any size to a model file."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np

from ..files import DataError, Reader, Table
from ..files.table import CATEGORICAL, NUMERIC
from ..files.trained import Trained, prepared, stacked
from ..losses import LOSSES
from ..saving import save
from ..saving.atomic import try_path
from . import regression
from .columns import Arrangement
from .errors import data_errors, estimator_with
from .holding import check as check_holding
from .holding import held_out
from .notices import UsageError, say, show
from .options import Learning, LongFile
from .progress import progress, shown_passes

MODELS = {
    "gaussian-nb": ("suffice.naive_bayes:GaussianNB", {NUMERIC}),
    "multinomial-nb": ("suffice.naive_bayes:MultinomialNB", {NUMERIC}),
    "complement-nb": ("suffice.naive_bayes:ComplementNB", {NUMERIC}),
    "bernoulli-nb": ("suffice.naive_bayes:BernoulliNB", {NUMERIC}),
    "poisson-nb": ("suffice.naive_bayes:PoissonNB", {NUMERIC}),
    "categorical-nb": ("suffice.naive_bayes:CategoricalNB", {CATEGORICAL}),
    "mixed-nb": ("suffice.estimators.naive_bayes.mixed:MixedNB", {NUMERIC, CATEGORICAL}),
    "lda": ("suffice.topic:LDAClassifier", {NUMERIC}),
    "discriminant": ("suffice.discriminant:GaussianDiscriminant", {NUMERIC}),
    "mixture": ("suffice.mixture:MixtureClassifier", {NUMERIC, CATEGORICAL}),
    "hmm": ("suffice.hmm:HMMClassifier", {NUMERIC, CATEGORICAL}),
    "table": ("suffice.table:TableClassifier", {NUMERIC, CATEGORICAL}),
}
OF_TABLES = {"max_seconds", "class_weight", "random_state", "n_jobs", "verbose"}  # parameters of a TableClassifier
DENSITIES = {  # models without labels; what is saved is the estimator alone
    "gaussian-mixture": "suffice.mixture:GaussianMixture",
    "gaussian-hmm": "suffice.hmm:GaussianHMM",
    "topics": "suffice.topic:LatentDirichletAllocation",
}
CHOICES = ["auto", "naive-bayes", *MODELS]


@dataclass(frozen=True)
class Asked:
    """How to train, beside the parameters of the model."""

    learning: Learning
    long: LongFile
    kinds: Mapping[str, str]
    text: str | None = None


def check(learning: Learning) -> None:
    """Refuse names and shares that do not exist."""
    for option, choices in (
        ("model", (*CHOICES, *regression.MODELS, *DENSITIES)),
        ("task", regression.TASKS),
        ("loss", LOSSES),
    ):
        value = getattr(learning, option)
        if value is not None and value not in choices:
            raise UsageError(f"--{option} {value!r} is not one of {', '.join(choices)}")
    check_holding(learning.holdout, learning.cv)


def params_of(learning: Learning) -> dict[str, Any]:
    """Parameters of the estimator."""
    loss = {} if learning.loss is None else {"loss": learning.loss}
    return loss | {"random_state": learning.seed} | parsed(learning.settings or [])


def train(reader: Reader, output: str, *, params: dict[str, Any], asked: Asked) -> None:
    """Fit what fits into memory as a whole; of a longer file, learn the rest as a stream."""
    start = time.perf_counter()
    model = asked.learning.model
    try_output(output)
    with progress("reading") as update:
        tables, following = _first_tables(reader, asked.long.memory, update)
        if tables[0].y is None:
            raise DataError(f"{reader.name} has no labels: name their column with --target")
        tables, rest, format, arrangement = _arranged(tables, following, reader, asked)
        if arrangement is not None:
            arrangement.say()
        is_table = format not in ("svmlight", "text")
        if regression.is_regression(asked.learning.task, model, tables[0].y, tables[0].target, is_table):
            regression.train(reader, tables, iter(rest), output, learning=asked.learning, params=params, update=update)
            return
        estimator = estimator_of(model, format, tables[0].kinds, params, is_stream=following is not None)
        text = asked.text if arrangement is None else arrangement.text
        with data_errors(reader.name):
            trained = prepared(estimator, tables, format, asked.long.max_words, text)
        n_rows = sum(table.n_rows for table in tables)
        scores = ""
        if following is None:
            with data_errors(reader.name):
                X, y = _labelled(trained, tables, None)
                _doubt(y, trained.target)
                scores = held_out(estimator, X, y, asked.learning.holdout, asked.learning.cv, update)
                with shown_passes(estimator, update):
                    estimator.fit(X, y)
        else:
            n_rows += _stream(trained, tables, rest, reader, classes_of(asked.long), update)
    save(trained, sys.stdout.buffer if output == "-" else output)
    for line in filter(None, [_kept(estimator), scores]):
        show(line)
    say(
        f"{type(estimator).__name__} on {n_rows:,} rows, {trained.model.n_features_in_:,} features, "
        f"{len(trained.classes)} classes in {time.perf_counter() - start:.1f} s -> {output}"
    )


def _first_tables(reader: Reader, memory: float, update: Any) -> tuple[list[Table], Table | None]:
    """The tables that fit into memory, and the next one."""
    tables: list[Table] = []
    size = 0.0
    with data_errors(reader.name):
        for table in reader:
            tables.append(table)
            size += _megabytes(table)
            update(reader.fraction, "")
            if size > memory:
                break
        return tables, next(reader, None)


def _arranged(tables: list[Table], following: Table | None, reader: Reader, asked: Asked) -> Any:
    """(tables, those that follow, format, arrangement): identifiers and free text taken out, or texts taken for what they are."""
    rest = () if following is None else chain([following], reader)
    if reader.format in ("svmlight", "text") or (tables[0].columns == ("text",) and not tables[0].kinds):
        format = reader.format if reader.format in ("svmlight", "text") else "text"
        return tables, rest, format, None
    arrangement = Arrangement(tables, asked.kinds)
    format = reader.format if arrangement.text is None else "text"
    return [arrangement(table) for table in tables], map(arrangement, rest), format, arrangement


def _doubt(y: np.ndarray, target: str | None) -> None:
    """Say it where the labels look like something else."""
    labels = np.unique(y)
    if len(labels) > 20 and len(labels) > 0.5 * len(y):
        say(
            f"warning: the target {target or 'label'!r} has {len(labels):,} different values in {len(y):,} rows: is it a number to "
            "predict, or an identifier? A classifier takes each as a class"
        )


def _kept(estimator: Any) -> str:
    """What was chosen, and why."""
    choice = getattr(estimator, "choice_", None)
    if choice is None:
        return ""
    if isinstance(choice, list):  # of a TableClassifier: all that was compared
        from .tables import aligned

        rows = [["compared", "log-loss", "accuracy", ""]]
        for each in choice:
            figures = f"{each['log_loss']:.4f}", f"{each['accuracy']:.4f}"
            rows.append([each["model"], *figures, "kept" if each["kept"] else ""])
        return "\n".join(aligned(rows))
    loss, reason = getattr(estimator, "loss", ""), getattr(choice, "reason", "")
    if getattr(choice, "setting", None) is None and loss != "nll" and "was given" not in reason:
        return f"kept: {type(estimator).__name__} at maximum likelihood ({reason})"
    return f"kept: {type(estimator).__name__} with loss {loss}" + (f" ({reason})" if reason else "")


def try_output(output: str) -> None:
    """Find out before hours of training that the result could not be written."""
    if output == "-":
        return
    try:
        try_path(output)
    except OSError as error:
        raise UsageError(f"--output {output}: {error.strerror or error}; nothing was trained") from error


def _stream(trained: Trained, tables: list[Table], rest: Any, reader: Reader, classes: Any, update: Any) -> int:
    """`partial_fit` chunk by chunk, the first ones (which fix classes and categories) from memory; rows of the rest."""
    if not hasattr(trained.model, "partial_fit"):
        raise UsageError(f"{type(trained.model).__name__} cannot learn from a stream: give more --memory")
    n_rows = 0
    with data_errors(reader.name):
        found = [table.y for table in tables if table.y is not None]
        known = np.unique(np.concatenate([_text_labels(y)[0] for y in found]) if classes is None else list(classes))
        n_first = sum(table.n_rows for table in tables)
        for table in ahead(chain(_used_up(tables), rest)):
            update(reader.fraction, f"{table.first_row:,} rows")
            X, y = _labelled(trained, [table], known)
            if len(y):
                trained.model.partial_fit(X, y, classes=known)
            n_rows += table.n_rows
    return n_rows - n_first


def ahead(items: Iterable[Any]) -> Iterator[Any]:
    """The same items, each read in another thread while the one before is used (the parser lets other threads run)."""
    iterator = iter(items)
    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(next, iterator, None)
        while (item := pending.result()) is not None:
            pending = pool.submit(next, iterator, None)
            yield item


def _used_up(tables: list[Table]) -> Iterator[Table]:
    """The tables in their order; each leaves the list, to save its memory."""
    tables.reverse()
    while tables:
        yield tables.pop()


def _text_labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels as text without those that are missing, and where they are."""
    import pandas

    codes, labels = pandas.factorize(y)
    present = codes >= 0
    return np.array(list(labels) or [""], dtype=str)[codes[present]], present


def _labelled(trained: Trained, tables: list[Table], known: np.ndarray | None) -> tuple[Any, np.ndarray]:
    """Inputs and labels of the rows that have a label. The tables are used up."""
    first_row = tables[0].first_row
    y, present = _text_labels(np.concatenate([table.y for table in tables if table.y is not None]))
    X = stacked([trained.inputs(table) for table in _used_up(tables)])
    if not present.all():
        say(f"{(~present).sum():,} rows without a label are left out")
        X = X[present]
    if known is not None:
        _refuse_unknown(y, known, first_row)
    return X, y


def _refuse_unknown(y: np.ndarray, known: np.ndarray, first_row: int) -> None:
    unknown = ~np.isin(y, known)
    if unknown.any():
        i = int(unknown.argmax())
        raise DataError(
            f"row {first_row + i + 1}: the class {str(y[i])!r} does not occur in the part of the file that was read "
            "first; name all classes with --classes a,b,c or give more --memory"
        )


def _megabytes(table: Table) -> float:
    X = table.X
    if hasattr(X, "indptr"):
        return (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 1e6
    return float(X.memory_usage(index=False, deep=True).sum()) / 1e6


def estimator_of(name: str, format: str, kinds: Any, params: dict[str, Any], *, is_stream: bool = False) -> Any:
    """ "auto" is a `TableClassifier`, and naive Bayes for words, streams and parameters that are of naive Bayes."""
    found = set(kinds.values()) or {NUMERIC}
    if name == "auto":
        is_any_table = format not in ("svmlight", "text") and not is_stream and set(params) <= OF_TABLES
        name = "table" if is_any_table else "naive-bayes"
    if name == "naive-bayes":
        if format in ("svmlight", "text"):
            name = "multinomial-nb"
        else:
            name = (
                {"numeric": "gaussian-nb", "categorical": "categorical-nb"}["".join(found)]
                if len(found) == 1
                else "mixed-nb"
            )
    if name == "mixture" and "family" not in params:
        words = format in ("svmlight", "text")
        one = {NUMERIC: "multinomial" if words else "gaussian", CATEGORICAL: "categorical"}
        params = {"family": one[next(iter(found))] if len(found) == 1 else "mixed", **params}
    path, takes = MODELS[name]
    if not found <= takes:
        column = next(column for column, kind in kinds.items() if kind not in takes)
        raise UsageError(
            f"column {column!r} is {kinds[column]}, and {name} takes {' and '.join(sorted(takes))} columns; use "
            f"--model naive-bayes, or --drop the column, or set its kind with --kind {column}=..."
        )
    module, _, attribute = path.partition(":")
    try:
        cls = getattr(import_module(module), attribute)
    except (ModuleNotFoundError, AttributeError) as error:
        raise UsageError(
            f"this version of suffice has no {attribute}; for columns of one kind (--drop leaves others out) there "
            "are gaussian-nb and categorical-nb"
        ) from error
    return estimator_with(cls, params)


def classes_of(long: LongFile) -> list[str] | None:
    """The classes that --classes names."""
    return long.classes.split(",") if long.classes else None


def parsed(settings: Sequence[str]) -> dict[str, Any]:
    """["max_epochs=5", "prior=auto"] as parameters: JSON where it is, else text."""
    params = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(f"--set {setting!r} is not of the form name=value")
        try:
            params[name] = json.loads(text)
        except ValueError:
            params[name] = text
    return params
