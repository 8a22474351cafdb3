"""Naive Bayes for a table with columns of several kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from ...reading.ordered import Ordered
from ..classifier import QUASI_NEWTON, GenerativeClassifier
from ..families import gap_readings, mixed_structure, shapes, shown_columns
from ..kinds import Path, Seed
from ..sections import documented

__all__ = ["MixedNB"]


@documented
class MixedNB(GenerativeClassifier):
    """Naive Bayes for one table with columns of several kinds: numbers, categories, yes and no, counts.

    Use it for a DataFrame as it comes: no encoding, no scaling, no imputation. A category that was not seen in training is treated
    as missing at prediction, with a warning.

    PARAMETERS
    kinds : dict {column: kind}, list of kinds, one kind or "auto", default="auto"
        "gaussian", "histogram" (numbers as bins, a curve of any shape), "categorical", "bernoulli" (two values) or "count" (Poisson).
        Columns that are not named are inferred from their dtype: texts, objects, categories and booleans are categorical; numbers are
        Gaussian or, under "ncll", bins where that is better on held-out rows; under the other losses integers of at most 20
        distinct values are categorical. Counts are never inferred.

    ATTRIBUTES
    kinds_ : dict {column: kind}
    columns_ : list of the columns' names (x0, x1, ... where X has none)
    categories_ : dict {column: list of categories}
    theta_, var_ : dict {column: ndarray of shape (n_classes,)}
        Means and variances of the Gaussian columns.
    category_log_prob_ : dict {column: ndarray of shape (n_classes, n_categories)}
    rate_ : dict {column: ndarray of shape (n_classes,)}
        Expected counts.
    class_log_prior_ : ndarray of shape (n_classes,)
    shapes_ : dict {column: (edges, curves)}
        Of every column of bins: the edges (n_bins + 1,), and what a value in each bin adds to the log-odds of every class, (n_classes,
        n_bins), zero on average: curves to draw (`matplotlib.pyplot.stairs(curves[k], edges)`).

    gaps_ : dict {column: what becomes of its missing cells where a class is asked for}
        "averaged": p(y | x) is averaged over what the cell may be given all observed cells, by the correlations of the training rows;
        "filled": so it was in training, too, where gaps were filled in by the other columns because that is better on held-out
        rows; "told": that it is missing says something; "integrated": naive Bayes, no other column knows of it.

    Examples
    --------
    >>> import pandas as pd
    >>> from suffice import MixedNB
    >>> X = pd.DataFrame({"height": [1.9, 1.6, None, 1.7], "hair": ["long", "short", "short", None]})
    >>> model = MixedNB(loss="nll").fit(X, ["a", "b", "b", "a"])
    >>> model.kinds_
    {'height': 'gaussian', 'hair': 'categorical'}
    >>> model.predict(pd.DataFrame({"height": [None], "hair": ["short"]}))
    array(['b'], dtype='<U1')
    """

    columns_: Any
    kinds_: Any
    categories_: Any
    theta_: dict[Any, Any]
    var_: dict[Any, Any]
    rate_: dict[Any, Any]

    def __init__(
        self, kinds: Any = "auto", *, loss: str = "ncll", prior: float | str = "auto", algorithm: str = "auto",
        step_size: float | None = None, max_epochs: int = 100, tol: float = 1e-3, average: bool = True, class_prior: Any = None,
        class_weight: Any = None, unlabelled_weight: float | str = "auto", unlabelled: Any = "auto", random_state: Seed = None,
        verbose: int = 0, warm_start: bool = False, n_jobs: int | None = None, checkpoint: Path = None,
        checkpoint_minutes: float = 3.0, resume: Path | bool = None,
    ) -> None:  # fmt: skip
        super().__init__(
            loss=loss, prior=prior, algorithm=algorithm, step_size=step_size, max_epochs=max_epochs, tol=tol, average=average,
            class_prior=class_prior, class_weight=class_weight, unlabelled_weight=unlabelled_weight, unlabelled=unlabelled,
            random_state=random_state, verbose=verbose, warm_start=warm_start, n_jobs=n_jobs,
            checkpoint=checkpoint, checkpoint_minutes=checkpoint_minutes, resume=resume,
        )  # fmt: skip
        self.kinds = kinds

    @override
    def _reader(self) -> Any:
        return Ordered(self.kinds, orders=self.loss == "ncll" and self.algorithm in QUASI_NEWTON)

    @override
    def _structure(self, reader: Any, rows: Any, n_outcomes: int, weights: np.ndarray) -> Any:
        return mixed_structure(reader, rows, n_outcomes)

    @override
    def _expose(self, model: Any, moments: Any) -> None:
        reader = self._reader_
        self.columns_, self.kinds_, self.categories_ = reader.columns, reader.shown_kinds, reader.categories
        self.theta_, self.var_, shares, self.rate_ = shown_columns(reader, model, moments)
        self.category_log_prob_: dict[Any, Any] = {name: np.log(part) for name, part in shares.items()}
        self.class_log_prior_: Any = np.log(moments.mass / moments.mass.sum())
        self.shapes_: Any = shapes(reader, model, moments)
        self.gaps_: Any = gap_readings(reader, self._answering)
