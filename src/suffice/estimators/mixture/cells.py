"""Any column given the others: what a mixture of a mixed table says of single cells.

    p(x_j | rest) = sum_z p(z | rest) p(x_j | z)            log p(x_j | rest) = log p(x) - log p(rest)

The rest of a row are its observed cells but j; the components are those of the joint density, so every column can be the target.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from ...losses.base import posteriors
from ...reading.mixed import PLACES


class CellAnswers:
    """A mixin of MixedMixture."""

    moments_: Any
    weights_: np.ndarray
    _stored_model: Any
    _reader_: Any
    _rows: Any
    _joint: Any
    _base: Any

    def score_cells(self, X: Any) -> np.ndarray:
        """log p(cell | the rest of its row): ndarray of shape (n_samples, n_features), NaN where a cell is missing.

        Low values are cells that do not fit their rows: wrong entries, exchanged units, swapped columns.
        """
        check_is_fitted(self)
        rows = self._rows(X)
        whole, result = self._log_rows(rows), np.full(rows.shape, np.nan)
        for place in range(rows.shape[1]):
            seen = ~np.isnan(rows[:, place])
            without = rows[seen]
            without[:, place] = np.nan
            result[seen, place] = whole[seen] - self._log_rows(without)
        return self._reader_.in_columns(result)

    def conditional(self, X: Any, column: Any) -> Any:
        """p(column | the other observed cells) of every row; what the column holds in X is not looked at.

        Of a column of categories: ndarray of shape (n_samples, n_categories), in the order of `categories_[column]`. Of numbers and
        counts: (shares, means, variances), the first of shape (n_samples, n_components) and the others (n_components,).
        """
        check_is_fitted(self)
        kind, place, own = self._found_column(column)
        rows = self._rows(X).copy()
        rows[:, place] = np.nan
        shares = posteriors(self._joint(rows), self.weights_)
        family, moments = self._stored_model.families[kind], self.moments_.columns[kind]
        if kind == 1:
            first = int(family.offset[own])
            return shares @ family.probabilities(moments)[first : first + int(family.n_categories[own])].T
        mean, variance = family.cell_moments(moments)
        return shares, mean[:, own], variance[:, own]

    def predict_column(self, X: Any, column: Any) -> Any:
        """The most probable category of a column given the other cells of every row, or the mean of its numbers."""
        found = self.conditional(X, column)
        if isinstance(found, tuple):
            return found[0] @ found[1]
        values = self._reader_.categories[str(column)]
        return np.array([values[place] for place in found.argmax(axis=1)])

    def _log_rows(self, rows: np.ndarray) -> np.ndarray:
        return logsumexp(self._joint(rows), axis=1) + self._base(rows)

    def _found_column(self, column: Any) -> tuple[int, int, int]:
        """(its family, its place in rows, its place within the family)."""
        reader, name = self._reader_, str(column)
        if name not in reader.kinds:
            raise ValueError(f"there is no column {name!r}: the model has {', '.join(map(repr, reader.columns[:20]))}")
        kind = PLACES[reader.kinds[name]]
        own = reader.named[kind].index(name)
        return kind, sum(len(names) for names in reader.named[:kind]) + own, own
