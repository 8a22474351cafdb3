"""Columns of numbers, normal given the class."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from ...families.gaussian_diagonal import GaussianDiagonal
from ...structures.joint import Joint
from ..classifier import GenerativeClassifier
from ..onnx import gaussian_scores
from ..sections import documented


@documented
class GaussianNB(GenerativeClassifier):
    """Gaussian naive Bayes: numeric columns, normal and independent given the class.

    Use it for tables of numbers. It does not depend on the units of the columns.

    PARAMETERS
    ATTRIBUTES
    theta_, var_ : ndarray of shape (n_classes, n_features)
        Means and variances.
    class_prior_ : ndarray of shape (n_classes,)

    References
    ----------
    A. Masegosa (2014). Stochastic discriminative EM. UAI.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from suffice import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> plain = cross_val_score(GaussianNB(loss="nll"), X, y).mean()
    >>> trained = cross_val_score(GaussianNB(random_state=0), X, y).mean()
    >>> bool(trained > plain + 0.01)
    True
    """

    theta_: Any
    var_: Any

    @override
    def _structure(self, reader: Any, rows: Any, n_outcomes: int, weights: np.ndarray) -> Any:
        if self.algorithm == "paper":
            return Joint.of(GaussianDiagonal(n_outcomes, rows.shape[1], np.zeros(rows.shape[1])))
        return Joint.of(GaussianDiagonal.for_data(rows, n_outcomes))

    @override
    def _expose(self, model: Any, moments: Any) -> None:
        self.theta_, self.var_ = model.family.cell_moments(moments.columns[0])
        self.class_prior_: Any = moments.mass / moments.mass.sum()

    def _onnx_scores(self, graph: Any, X: str) -> str:
        """The tensor (n, K) of log p(x, class) in an ONNX graph."""
        return gaussian_scores(graph, X, self.theta_, self.var_, np.log(self.class_prior_))
