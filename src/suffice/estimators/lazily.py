"""Answers about data in blocks: lazily where the answer is of every row, as a sum over the blocks where it is one number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from ..engines.blocks import chosen_engine
from ..files.collections import collected
from ..files.dataset import Blocks
from ..files.pieces import Part
from ..files.survey import taken
from .scale import _on_cluster, is_scaled

Method = TypeVar("Method", bound=Callable)
LENGTHS = "lengths are of rows in memory: of data in blocks name the column of the sequences (sequence=)"
WIDE = ("predict_proba", "predict_log_proba", "predict_joint_log_proba", "transform")  # a column an outcome


def by_blocks(method: Method) -> Method:
    """A method of a fitted estimator that also takes data in blocks: of every row a lazy answer.

    Of a dask collection it is a dask.array, of a list of delayed parts a list of delayed answers, of a `suffice.files.Dataset` an
    iterator over arrays, one a block.
    """

    @wraps(method)
    def answer(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        if not is_scaled(X):
            return method(self, X, *args, **options)
        if options.get("lengths") is not None:
            raise ValueError(LENGTHS)
        return lazy(self, Asked(method.__name__, args, tuple(options.items())), X)

    return cast(Method, answer)


def summed(method: Method) -> Method:
    """`score` of a fitted estimator, also of data in blocks: their sums, or their mean by weights."""

    @wraps(method)
    def answer(self: Any, X: Any, *args: Any, **options: Any) -> float:
        if not is_scaled(X):
            return method(self, X, *args, **options)
        if options.get("lengths") is not None:
            raise ValueError(LENGTHS)
        names = ("y", "sample_weight")
        y, sample_weight = map({**dict(zip(names, args, strict=False)), **options}.get, names)
        if isinstance(X, Blocks) and (y is not None or sample_weight is not None):
            raise ValueError("X is a Dataset, which has its own labels (target=) and weights (weight=)")
        engine, data = placed(self, X, y, sample_weight)
        total, weight = engine.sum(score_of, engine.place(data.sources, data.reading), self)
        return float(total) if hasattr(self, "transmat_") else float(total / max(weight, 1e-300))

    return cast(Method, answer)


def placed(estimator: Any, X: Any, y: Any = None, weights: Any = None) -> tuple[Any, Blocks]:
    """The engine and the blocks, none of which cuts a sequence."""
    engine = chosen_engine(getattr(estimator, "n_jobs", None))
    data = X
    if not isinstance(X, Blocks):
        data, engine = collected(X, y, weights), _on_cluster(engine)
    if hasattr(estimator, "transmat_"):
        data.survey(engine, "", (estimator.sequence,))
    return engine, data


@dataclass(frozen=True)
class Asked:
    """A method, and what it is given beside the rows."""

    name: str
    args: tuple[Any, ...] = ()
    options: tuple[Any, ...] = ()

    def __call__(self, part: Part, model: Any) -> Any:
        return getattr(model, self.name)(part.X, *self.args, **dict(self.options))

    @property
    def __name__(self) -> str:
        return self.name


def lazy(estimator: Any, asked: Asked, X: Any) -> Any:
    engine, data = placed(estimator, X)
    if isinstance(X, Blocks):
        return answers(engine, asked, data, estimator)
    import dask
    import dask.array as da

    model = dask.delayed(estimator, traverse=False)
    parts = [dask.delayed(opened)(source.delayed, source.opener, asked, model) for source in data.sources]
    if isinstance(X, (list, tuple)):
        return parts
    known = X.chunks[0] if hasattr(X, "chunks") and len(X.chunks[0]) == len(parts) else [np.nan] * len(parts)
    width = (n_outcomes(estimator),) if asked.name in WIDE else ()
    dtype: Any = float
    if asked.name == "predict":
        dtype = estimator.classes_.dtype if hasattr(estimator, "classes_") else np.int64
    found = [da.from_delayed(part, (n, *width), dtype) for part, n in zip(parts, known, strict=True)]
    return da.concatenate(found, allow_unknown_chunksizes=True)


def answers(engine: Any, asked: Asked, data: Blocks, estimator: Any) -> Iterator[np.ndarray]:
    yield from engine.each(asked, engine.place(data.sources, data.reading), estimator)


def opened(raw: Any, opener: Any, asked: Asked, model: Any) -> Any:
    return asked(opener(raw), model)


def n_outcomes(estimator: Any) -> int:
    names = ("classes_", "weights_", "startprob_", "components_")
    return len(next(getattr(estimator, name) for name in names if hasattr(estimator, name)))


def score_of(part: Part, model: Any) -> np.ndarray:
    """A block's score times its weight, and the weight; a log-likelihood of sequences is a sum as it is."""
    if hasattr(model, "transmat_"):
        return np.array([model.score(part.X) if part.n_rows else 0.0, 0.0])
    given: list[Any] = []
    if hasattr(model, "classes_"):
        import pandas as pd

        if part.y is None:
            raise ValueError("the blocks have no labels, which `score` compares with: name their column by target=")
        part = taken(part, np.flatnonzero(~pd.isna(np.asarray(part.y))))
        given = [np.asarray(part.y)]
        if part.n_rows and isinstance(given[0][0], str) != isinstance(model.classes_[0], str):
            raise ValueError(
                f"labels such as {given[0][0]!r} are not of the kind of the classes, {model.classes_[0]!r}"
            )
    if not part.n_rows:
        return np.zeros(2)
    weight = part.n_rows if part.weights is None else float(np.sum(part.weights))
    options = {} if part.weights is None else {"sample_weight": part.weights}
    return np.array([weight * model.score(part.X, *given, **options), weight]) if weight else np.zeros(2)
