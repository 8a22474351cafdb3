r"""Any column given the others: what a mixture says of single cells.

    p(x_j | rest) = sum_z p(z | rest) p(x_j | rest, z)            log p(x_j | rest) = log p(x) - log p(rest)

The rest of a row are its observed cells but j. Columns that are independent given the component have p(x_j | rest, z) = p(x_j | z);
correlated numbers lean on each other within the component too. Either way  log p(rest, z) = log p(x, z) - log p(x_j | rest, z),  so
one pass over the rows scores every cell.

**Is a cell wrong?** Suppose that a wrong cell holds the value of another row, and that this is not its own value. With p(v) the shares
of the values in the column, the odds that a cell of value v is right are, up to a constant,

    p(v | rest) / sum_{t != v} p(t | rest) p(v) / (1 - p(t))

for the right value t is what the rest of the row says, and v is drawn from the others. Of two categories it is p(v | rest) / p(not v |
rest): that v is rare is no excuse, since no other value could be wrong there. Values of numbers hardly ever meet: p(v | rest) / p(v).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from ...engines.threads import shards
from ...families.gaussian_levels import level_shares
from ...losses.base import posteriors
from ...structures.words import Words
from .runs import log_joint

CELLS = 1 << 23  # rows times components times columns that are held at once
LEAST = 1e-12  # of a probability


class CellAnswers:
    """A mixin of Mixture."""

    moments_: Any
    weights_: np.ndarray
    n_features_in_: int
    _column_names: Any
    _stored_model: Any
    _reader_: Any
    _rows: Any
    _joint: Any
    _base: Any
    _log_rows: Any

    def score_cells(self, X: Any, relative: bool = False) -> np.ndarray:
        """log p(cell | the rest of its row): ndarray of shape (n_samples, n_features), NaN where a cell is missing.

        Low values are cells that do not fit their rows: wrong entries, exchanged units, swapped columns. Densities of numbers are in
        the columns' own units. With `relative` it is the log-odds that the value belongs to this row and was not taken from another,
        up to a constant: free of units, so that cells of all columns can be ranked together. Of numbers and counts that is
        log p(cell | rest) - log p(cell); of categories and levels the values that the cell could have had instead count as well.
        """
        rows = self._cell_rows(X)
        result = np.empty(rows.shape)
        for part in shards(len(rows), max(1, CELLS // (len(self.weights_) * rows.shape[1]))):
            result[part] = self._scored(rows[part], relative)
        return self._reader_.in_columns(np.where(np.isnan(rows), np.nan, result))

    def conditional(self, X: Any, columns: Any) -> Any:
        """p(column | the other observed cells) of every row; what the column holds in X is not looked at.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        columns : str, int or a list of them
            Names of columns, or their places. Of several, none is looked at.

        Returns
        -------
        Of a column of categories or of levels in order: ndarray of shape (n_samples, n_categories). Of numbers and counts: (shares,
        means, variances), each of shape (n_samples, n_components_): the mixture that the number follows. Of a list of columns: a
        dict with an entry for each.
        """
        several = not isinstance(columns, (str, int, np.integer))
        found = [self._found_column(column) for column in (columns if several else [columns])]
        rows = self._without(X, found)
        shares = posteriors(self._joint(rows), self.weights_)
        each = [self._distribution(rows, shares, column) for column in found]
        return dict(zip(columns, each, strict=True)) if several else each[0]

    def log_conditional(self, X: Any, columns: Any) -> np.ndarray:
        """log p(these cells | the other observed cells) of every row, the columns together; a missing cell of theirs says nothing."""
        several = not isinstance(columns, (str, int, np.integer))
        found = [self._found_column(column) for column in (columns if several else [columns])]
        return self._log_rows(self._cell_rows(X)) - self._log_rows(self._without(X, found))

    def predict_column(self, X: Any, column: Any, return_std: bool = False) -> Any:
        """The most probable category of a column given the other cells of every row, or the mean of its numbers.

        With `return_std` also the standard deviation: of a category of probability p it is sqrt(p (1 - p)).
        """
        found = self.conditional(X, column)
        if isinstance(found, tuple):
            shares, means, variances = found
            mean = (shares * means).sum(axis=1)
            std = np.sqrt((shares * (variances + (means - mean[:, None]) ** 2)).sum(axis=1))
            return (mean, std) if return_std else mean
        values = self._reader_.values_of(self._found_column(column))
        top = found.max(axis=1)
        best = values[found.argmax(axis=1)]
        return (best, np.sqrt(top * (1.0 - top))) if return_std else best

    # -- parts --------------------------------------------------------------------------------------------------------

    def _cell_rows(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        if isinstance(self._stored_model, Words):
            raise ValueError(
                f"{type(self).__name__} counts words, which are no columns of their own: their sum is a row's length"
            )
        rows = self._rows(X)
        return rows.toarray() if sparse.issparse(rows) else rows

    def _without(self, X: Any, columns: Iterable[int]) -> np.ndarray:
        """Rows in which these columns are missing."""
        rows = self._cell_rows(X).copy()
        rows[:, [self._reader_.place_of(column) for column in columns]] = np.nan
        return rows

    def _scored(self, rows: np.ndarray, relative: bool) -> np.ndarray:
        """(n, d) array: log p(cell | rest), or the log-odds that the cell is right."""
        model, joint, reader = self._stored_model, self._joint(rows), self._reader_
        base = np.broadcast_to(self._base(rows), len(rows))
        parts = zip(model.families, self.moments_.columns, model.split(rows), strict=True)
        cells = np.concatenate([family.cell_log_densities(own, part) for family, own, part in parts], axis=2)
        whole, result = logsumexp(joint, axis=1), np.empty(rows.shape)
        columns = {reader.place_of(column): column for column in range(self.n_features_in_)} if relative else {}
        for place in range(rows.shape[1]):
            scores = joint - cells[:, :, place]
            rest = logsumexp(scores, axis=1)
            said = value_shares(model, self.moments_, reader, columns[place]) if place in columns else None
            if said is not None:
                shares = np.exp(scores - rest[:, None]) @ said.shares
                result[:, place] = log_odds_right(shares, self.weights_ @ said.shares, said.codes(rows[:, place]))
                continue
            without = rows.copy()
            without[:, place] = np.nan
            result[:, place] = whole + base - rest - self._base(without)
            if relative:
                alone = np.full(rows.shape, np.nan)
                alone[:, place] = rows[:, place]
                result[:, place] -= self._log_rows(alone)
        return result

    def _distribution(self, rows: np.ndarray, shares: np.ndarray, column: int) -> Any:
        return distribution(self._stored_model, self.moments_, self._reader_, rows, shares, column)

    def _found_column(self, column: Any) -> int:
        """The place of a column among the person's."""
        check_is_fitted(self)
        names = self._column_names() or getattr(self._reader_, "columns", None)
        names = names or [f"x{j}" for j in range(self.n_features_in_)]
        if isinstance(column, (int, np.integer)) and 0 <= column < len(names):
            return int(column)
        if str(column) not in names:
            shown = ", ".join(map(repr, names[:20]))
            raise ValueError(
                f"there is no column {column!r}: the model has {shown}, and the places 0 to {len(names) - 1}"
            )
        return names.index(str(column))


def distribution(model: Any, moments: Any, reader: Any, rows: np.ndarray, shares: np.ndarray, column: int) -> Any:
    """What components with these shares (n, K) say of a column: `CellAnswers.conditional`."""
    of_values = value_shares(model, moments, reader, column)
    if of_values is not None:
        return shares @ of_values.shares
    number, j = family_of(model, reader, column)
    mean, variance = model.families[number].cell_prediction(moments.columns[number], model.split(rows)[number], j)
    return shares, np.broadcast_to(mean, shares.shape), np.broadcast_to(variance, shares.shape)


class ValueShares(NamedTuple):
    """What the components say of a column of few values."""

    shares: np.ndarray  # (K, values): probabilities given the component
    levels: np.ndarray | None  # (values,): what rows hold of levels of a number; None where rows hold codes

    def codes(self, cells: np.ndarray) -> np.ndarray:
        """(n,) array: places of cells among the values; 0 where a cell is missing."""
        if self.levels is not None:
            return np.searchsorted(0.5 * (self.levels[1:] + self.levels[:-1]), np.nan_to_num(cells))
        return np.nan_to_num(cells).astype(int)


def value_shares(model: Any, moments: Any, reader: Any, column: int) -> ValueShares | None:
    """The probabilities of categories and of levels in order; None of a column of numbers or counts."""
    number, j = family_of(model, reader, column)
    family, own = model.families[number], moments.columns[number]
    categories = family.cell_shares(own, j)
    if categories is not None:
        return ValueShares(categories, None)
    levels = reader.values_of(column)
    if levels is None or not family.has_independent_columns:
        return None
    mean, variance = family.cell_moments(own)
    return ValueShares(level_shares(levels.astype(float), mean[:, j], variance[:, j]), levels.astype(float))


def family_of(model: Any, reader: Any, column: int) -> tuple[int, int]:
    """The place of a column's family in the structure, and the column's place in the family."""
    place = reader.place_of(column)
    number = int(np.searchsorted(model.cuts, place, side="right"))
    return number, place - (model.cuts[number - 1] if number else 0)


def log_odds_right(said: np.ndarray, column: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """(n,) array: log [p(v | rest) / sum_{t != v} p(t | rest) p(v) / (1 - p(t))] of `said` (n, values) = p(. | rest), `column` = p."""
    rows = np.arange(len(said))
    own, others = said[rows, codes], said / np.maximum(1.0 - column, LEAST)
    others[rows, codes] = 0.0
    return (
        np.log(np.maximum(own, LEAST))
        - np.log(np.maximum(others.sum(axis=1), LEAST))
        - np.log(np.maximum(column[codes], LEAST))
    )


def cell_scores(
    found: Any, reader: Any, judged: np.ndarray, without: np.ndarray, weights: np.ndarray, engine: Any
) -> list[np.ndarray]:
    """Of every column, log p(cell | what is left of its row) of its hidden cells, times the weights of their rows.

    `found` is (problem, fit); `without` are the rows `judged` without what was hidden.
    """
    scores = log_joint(found, without, engine)
    shares = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    model, moments, result = found[0].model, found[1].moments, []
    for column in range(judged.shape[1]):
        place = reader.place_of(column)
        hidden = np.flatnonzero(np.isnan(without[:, place]) & ~np.isnan(judged[:, place]))
        said = distribution(model, moments, reader, without[hidden], shares[hidden], column)
        levels = reader.values_of(column) if reader.kinds[reader.columns[column]] == "ordinal" else None
        result.append(weights[hidden] * log_cells(said, judged[hidden, place], levels))
    return result


def log_cells(found: Any, values: np.ndarray, levels: np.ndarray | None) -> np.ndarray:
    """(n,) array: log p of cells under their distributions; `values` are numbers, levels or codes."""
    if isinstance(found, tuple):
        shares, mean, variance = found
        each = -0.5 * (np.log(2 * np.pi * variance) + (values[:, None] - mean) ** 2 / variance)
        return logsumexp(each, axis=1, b=shares)
    codes = values if levels is None else np.searchsorted(levels, values)
    return np.log(np.maximum(found[np.arange(len(values)), codes.astype(int)], LEAST))
