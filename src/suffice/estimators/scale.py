"""Fits on data in blocks: what `fit` is given in the place of X, the sample it begins with, and rows of blocks as it reads them."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from typing_extensions import override

from ..engines.blocks import BlockEngine, chosen_engine
from ..families.rows import any_missing
from ..files.collections import collected, is_collection
from ..files.dataset import Blocks
from ..files.pieces import Part
from ..files.survey import Survey, coded
from ..files.survey import taken as rows_of_part
from ..learners.blocks import Block, BlockRows
from ..reading.frames import taken
from ..reading.guards import UnforeseenGaps, checked_weights
from ..reading.labels import class_weights, encoded, split_labels


@dataclass
class Scaled:
    """Data in blocks, what a first pass found in them, and who works at them."""

    engine: BlockEngine
    data: Blocks
    survey: Survey
    sample: Part
    class_count: Any = None  # weights of the classes

    def rows(self, prepare: Any, model: Any, kind: type = BlockRows) -> Any:
        """All rows, as `prepare` makes them."""
        if self.survey.foreseen is not None:
            prepare = replace(prepare, foreseen=self.survey.foreseen)
        return kind(self.engine, self.data, prepare, self.survey.n_bytes, model)

    def labelled_rows(self, estimator: Any, reader: Any, model: Any, recipe: Any) -> BlockRows:
        """All rows that have a label, of a classifier; sets `class_count`."""
        if (
            not estimator._takes_blocks
            or not recipe.takes_blocks
            or estimator.algorithm not in ("auto", "lbfgs", "batch", "incremental")
        ):
            refuse(estimator, self.data)
        classes = estimator.classes_
        factor = weights_of_classes(getattr(estimator, "class_weight", None), classes, self.survey)
        count = np.array([self.survey.labels[label] for label in classes.tolist()])
        self.class_count = class_weights(factor, classes, np.arange(len(classes)), count)
        return self.rows(LabelledRowsOf(shell_of(estimator), reader, None, classes, factor), model)

    def watch(self, estimator: Any) -> Any:
        """The observer of the fit; where the engine has a folder for checkpoints, it goes on from there."""
        return estimator._watch(self.identity, kept=settings_of_checkpoint(estimator, self))

    @property
    def identity(self) -> np.ndarray:
        """What a checkpoint is of, beside the parameters."""
        return np.array([self.data.identity(), repr(self.survey.n_rows)], dtype=object)


def is_scaled(X: Any) -> bool:
    return isinstance(X, Blocks) or is_collection(X)


def scaled(
    estimator: Any, X: Any, y: Any = None, sample_weight: Any = None, *, labelled: bool, sequences: Any = None, lengths: Any = None,
    cells: str | None = None,
) -> Scaled | None:  # fmt: skip
    """The data in blocks, after a first pass over them; None where X is rows in memory. `sequences` is (their column,) where rows are
    steps."""
    if not is_scaled(X):
        return None
    name, engine = type(estimator).__name__, chosen_engine(getattr(estimator, "n_jobs", None))
    if isinstance(X, Blocks):
        data = X
        if y is not None or sample_weight is not None:
            raise ValueError(
                "X is a Dataset, which has its own labels (target=) and weights (weight=): leave y and sample_weight out"
            )
        if lengths is not None:
            raise ValueError(
                "lengths are of rows of a dask.array: name the column of the sequences of a Dataset (sequence=)"
            )
    else:
        data, engine = collected(X, y, sample_weight, lengths), _on_cluster(engine)
    if getattr(estimator, "warm_start", False):
        raise ValueError(
            f"warm_start=True: {name} on data in blocks begins at the fit of a sample; set warm_start=False"
        )
    if cells is None:
        cells = "categories" if estimator._reader().has_categories else "gaps"
    survey = data.survey(engine, cells, sequences)
    if labelled and not survey.labels:
        raise ValueError(f"{data.name} has no labels, which {name} needs: name their column by target=")
    sample = survey.sample()
    if labelled:
        if survey.n_unlabelled:
            warnings.warn(
                f"{survey.n_unlabelled} rows of {data.name} have no label; on data in blocks {name} leaves them out",
                stacklevel=4,
            )
        sample = chosen_rows(sample, np.isin(sample.y, classes_of(survey, getattr(estimator, "unlabelled", "auto"))))
    return Scaled(engine, data, survey, data.layout(sample))


def chosen_rows(part: Part, which: np.ndarray) -> Part:
    return part if which.all() else rows_of_part(part, np.flatnonzero(which))


def _on_cluster(engine: BlockEngine) -> BlockEngine:
    """The cluster that dask collections are on, where there is one and nothing else was chosen."""
    from ..engines.blocks import _CHOSEN

    if _CHOSEN.get() is not None:
        return engine
    try:
        from distributed import get_client

        client = get_client()
    except (ImportError, ValueError):
        return engine
    from ..engines.dask import DaskEngine

    return DaskEngine(client)


@dataclass(frozen=True, eq=False)
class RowsOf:
    """Rows of a block as an estimator without labels reads them. `shell` is the estimator, with the columns it knows."""

    shell: Any
    reader: Any
    foreseen: frozenset[int] | None = None  # columns that may have gaps; None: all

    def _table(self, part: Part) -> Any:
        """The checked table of a block."""
        X = self.shell._validated(self.reader, part.X, reset=False)
        if self.foreseen is not None and any_missing(X):
            new = {*np.flatnonzero(np.isnan(X).any(axis=0)).tolist()} - self.foreseen
            if new:
                raise UnforeseenGaps(sorted(new))
        return X

    def __call__(self, part: Part) -> Block:
        X = self._table(part)
        weights = checked_weights(part.weights, X)
        X, weights = _used(X, weights)
        return Block(own_rows(self.reader.scaled(self.reader.read(X))), np.full(len(weights), -1), weights)


@dataclass(frozen=True, eq=False)
class LabelledRowsOf(RowsOf):
    """Rows with their labels. Those without one are left out."""

    classes: np.ndarray = None  # type: ignore[assignment]
    class_weight: Any = None

    @override
    def __call__(self, part: Part) -> Block:
        X, codes = self._table(part), self._codes(part.y)
        if X.shape[0] != len(codes):
            raise ValueError(f"a block has {X.shape[0]} rows and {len(codes)} labels")
        weights = np.where(codes >= 0, checked_weights(part.weights, X), 0.0)
        X, codes, weights = _used(X, weights, codes)
        weights = class_weights(self.class_weight, self.classes, codes, weights)
        rows = self.reader.read(X)
        if len(codes):
            rows, codes, weights = self.shell._rows_that_count(rows, codes, weights, self.shell._loss())
        return Block(own_rows(self.reader.scaled(rows)), codes, weights)

    def _codes(self, y: Any) -> np.ndarray:
        """Places of the labels among the classes (-1: none), found for every distinct label once."""
        places, labels = coded(y)
        if not len(labels):
            return np.full(len(places), -1)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "y is -1 in")
            labels, unlabelled = split_labels(labels, self.classes, self.shell.unlabelled)
        return np.append(encoded(labels, unlabelled, self.classes)[1], -1)[places]


def _used(X: Any, weights: np.ndarray, *others: np.ndarray) -> tuple:
    """Rows that have a weight."""
    used = np.flatnonzero(weights > 0)
    if len(used) == len(weights):
        return X, *others, weights
    return taken(X, used), *(own[used] for own in others), weights[used]


def own_rows(rows: Any) -> Any:
    """Arrays as compiled loops take them, whatever they were read from: other layouts would be compiled anew."""
    return np.require(rows, float, ["C", "W", "O"]) if isinstance(rows, np.ndarray) else rows


def shell_of(estimator: Any) -> Any:
    """The estimator with what it knows of the columns, to be sent to blocks."""
    from sklearn.base import clone

    made = clone(estimator)
    names = ("n_features_in_", "feature_names_in_", "_schema")
    vars(made).update({name: value for name, value in vars(estimator).items() if name in names})
    made.checkpoint = made.resume = None
    return made


def classes_of(survey: Survey, marker: Any) -> np.ndarray:
    """The labels of all blocks in order, without one that stands for "no label"."""
    labels, unlabelled = split_labels(np.array(list(survey.labels)), None, marker)
    return np.unique(labels[~unlabelled])


def weights_of_classes(class_weight: Any, classes: np.ndarray, survey: Survey) -> Any:
    """`class_weight` with numbers in the place of "balanced", which is a matter of all blocks."""
    if not isinstance(class_weight, str) or class_weight != "balanced":
        return class_weight
    count = np.array([survey.labels[label] for label in classes.tolist()])
    factor = count.sum() / (len(classes) * np.where(count > 0, count, 1.0))
    return dict(zip(classes.tolist(), factor.tolist(), strict=True))


def settings_of_checkpoint(estimator: Any, scaled: Scaled) -> tuple[Any, Any]:
    """(checkpoint, resume) of a fit: the estimator's own, or a file in the engine's folder, from which the same fit goes on."""
    folder = scaled.engine.checkpoint
    if estimator.checkpoint is not None or folder is None:
        return estimator.checkpoint, estimator.resume
    from ..saving.checkpoints import digest

    os.makedirs(folder, exist_ok=True)
    given = sorted((key, repr(value)) for key, value in estimator.get_params(deep=False).items())
    name = digest(np.array([*map(repr, given)], dtype=object), scaled.identity)
    return os.path.join(os.fspath(folder), f"{type(estimator).__name__}-{name}.checkpoint"), True


def refuse(estimator: Any, data: Any) -> None:
    """Say that an estimator does not learn from data in blocks."""
    given = {
        name: getattr(estimator, name)
        for name in ("algorithm", "loss", "covariance_type", "inference")
        if hasattr(estimator, name)
    }
    said = ", ".join(f"{name}={value!r}" for name, value in given.items())
    raise TypeError(
        f"X is data in blocks ({type(data).__name__}), and {type(estimator).__name__}({said}) learns from rows in memory only: give "
        "it a sample of them, or feed `partial_fit` where it has one"
    )


def without_blocks(estimator: Any, X: Any) -> None:
    """Refuse data in blocks."""
    if is_scaled(X):
        refuse(estimator, X)
