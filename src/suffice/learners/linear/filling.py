"""What stands for missing numbers in training: their expectation given the observed cells of the row, of whatever class it is.

Numbers in standard units, and whether each category is the cell's, are taken as Gaussian with the correlations of the rows
(`families.correlations`). Where columns tell of each other a row with a gap then trains the same weights as a complete one.
"""

from __future__ import annotations

import numpy as np

from ...families import completion
from ...families.correlations import covariance_of
from .design import units

MOST_INDICATORS = 100


def filled(rows: np.ndarray, n_numbers: int, n_categories: int) -> np.ndarray:
    """Rows of numbers, codes of categories and others, in which no number is missing."""
    numbers, codes = rows[:, :n_numbers], rows[:, n_numbers : n_numbers + n_categories]
    mean, unit = units(numbers, np.ones(len(rows)))
    z = (numbers - mean) / unit
    z[:, np.fmax.reduce(np.abs(z), axis=0, initial=0.0) > len(z)] *= 0.0  # a constant whose mean is off by rounding
    coordinates, columns = [z], [np.arange(n_numbers)]
    for j, own in enumerate(codes.T):
        seen = ~np.isnan(own)
        hot = np.where(seen[:, None], own[:, None] == np.unique(own[seen])[1:], np.nan)  # one follows from the others
        share = np.nanmean(hot, axis=0) if hot.size else np.zeros(0)
        if sum(map(len, columns)) - n_numbers + len(share) > MOST_INDICATORS:
            break
        coordinates.append((hot - share) / np.sqrt(share * (1.0 - share)))
        columns.append(np.full(len(share), n_numbers + j))
    t, column = np.hstack(coordinates), np.concatenate(columns)
    covariance = covariance_of(t, column)[None]
    expected, _ = completion.imputed(t, np.ones((len(t), 1)), np.zeros((1, len(column))), covariance)
    return np.hstack([np.where(np.isnan(numbers), mean + unit * expected[:, :n_numbers], numbers), rows[:, n_numbers:]])
