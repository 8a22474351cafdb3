r"""Counts in independent Poisson columns.

log p(x | k) = sum_j [ x_j log rate_kj - rate_kj ] - sum_j log x_j!

statistics   weight,  x
moments      weight[k, j],  count[k, j] = weight rate
natural      log_rate[k, j]
A_k          sum_j rate_kj
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln
from typing_extensions import override

from .columns import Columns
from .conjugates import Gammas
from .forms import safe_log
from .points import without_gaps
from .records import Record
from .rows import MOST_COUNTED, dense, without_missing


@dataclass(frozen=True, eq=False)
class Moments(Record):
    weight: np.ndarray
    count: np.ndarray


@dataclass(frozen=True, eq=False)
class Natural(Record):
    log_rate: np.ndarray


@dataclass(frozen=True, eq=False)
class Poisson(Columns):
    kernels = "suffice.kernels.families.poisson"
    conditional = "counts"
    record: ClassVar[Any] = Moments
    natural: ClassVar[Any] = Natural

    def rates(self, moments: Moments) -> np.ndarray:
        """(K, n_features) array: expected counts; 0 in a block of no weight."""
        return self.means_of(moments)[0]

    @override
    def coefficients(self, rate):  # type: ignore[override]  # its own statistics by name
        return (np.log(rate),)

    @override
    def means(self, log_rate):  # type: ignore[override]  # its own statistics by name
        return (np.exp(log_rate),)

    @override
    def log_norm(self, log_rate):  # type: ignore[override]  # its own statistics by name
        return np.exp(log_rate)

    @override
    def cells(self, moments):
        rate = self.rates(moments)
        return -rate, safe_log(rate)

    @override
    def log_base_measure(self, X):
        if not isinstance(X, np.ndarray):
            X = without_missing(X)[0]
            X.data = gammaln(X.data + 1)
            return -np.asarray(X.sum(axis=1)).ravel()
        return -np.nansum(gammaln(X + 1), axis=1)

    @override
    def conjugate(self, statistics):
        return Gammas(self, (self.typical(statistics)[0], 1.0))

    @override
    def points(self, X, weights):
        return without_gaps(np.sqrt(np.maximum(dense(X), 0.0)), weights)

    @override
    def state_of(self, moments):
        rate = self.rates(moments)
        return *moments.copy().arrays(), np.log(rate), rate.sum(axis=1)

    @override
    def cell_moments(self, moments):
        return self.rates(moments), self.rates(moments)

    @override
    def sample(self, moments, outcomes, generator):
        return generator.poisson(np.minimum(self.rates(moments), MOST_COUNTED)[outcomes]).astype(float)
