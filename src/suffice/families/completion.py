r"""Missing cells of correlated Gaussian columns: latent variables, never dropped rows.

Given the outcome and the observed cells o of a row, its missing cells m are Gaussian again:

    mean        m_m + G (z_o - m_o)          G = V_mo V_oo^-1
    covariance  V_mm - G V_om

The likelihood of a row is that of its observed cells; its expected statistics are z^ and z^ z^' + the conditional covariance (without
that term the variances come out too small). Rows are grouped by their pattern of missing cells, each costs one factor.
A row without any observed cell adds to no block: only to the mass of its outcome.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from ..kernels.families.completion import completed_moments, observed_scores
from .gaussian_diagonal import GaussianDiagonal, mean_and_variance
from .rows import dense, one_hot

MAX_EM, EM_TOL = 200, 1e-6  # iterations, and the relative change of means and covariances that ends them


def grouped(z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(order, bounds, observed): rows order[bounds[p] : bounds[p + 1]] miss the same cells, and observed[p] are the others."""
    observed = ~np.isnan(z)
    bits = np.packbits(observed, axis=1)
    if bits.shape[1] <= 8:  # as one whole number a row, which sorts much faster
        wide = np.zeros((len(z), 8), dtype=np.uint8)
        wide[:, : bits.shape[1]] = bits
        _, places = np.unique(wide.view(np.uint64).ravel(), return_inverse=True)
    else:
        _, places = np.unique(bits, axis=0, return_inverse=True)
    places = places.ravel()
    order = np.argsort(places, kind="stable")
    n_patterns = int(places.max(initial=-1)) + 1
    bounds = np.searchsorted(places[order], np.arange(n_patterns + 1))
    return order, bounds, observed[order[bounds[:-1]]]


def patterns(z: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(rows, observed columns) of every pattern of missing cells."""
    order, bounds, observed = grouped(z)
    for place, (first, last) in enumerate(pairwise(bounds)):
        yield order[first:last], observed[place]


def conditionals(z: np.ndarray, seen: np.ndarray, mean: np.ndarray, covariance: np.ndarray):
    """Means (K, rows, missing) and covariances (K, missing, missing) of the missing cells given the observed ones, per outcome."""
    o, m = np.flatnonzero(seen), np.flatnonzero(~seen)
    across = covariance[:, o[:, None], m]
    gain = np.linalg.solve(covariance[:, o[:, None], o], across)
    means = mean[:, None, m] + (z[None, :, o] - mean[:, None, o]) @ gain
    return means, covariance[:, m[:, None], m] - across.transpose(0, 2, 1) @ gain


def observed_log_densities(z: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """(n, K) array: log p(observed cells | outcome)."""
    result = np.zeros((len(z), len(mean)))
    checked(observed_scores(np.ascontiguousarray(z), *grouped(z), *contiguous(mean, covariance), result))
    return result


def completed_sums(z: np.ndarray, responsibilities: np.ndarray, mean: np.ndarray, covariance: np.ndarray):
    """sum_i r_ik (1, E z, E z z') over rows with an observed cell: weight (K), first (K, d), second (K, d, d)."""
    K, d = mean.shape
    weight, first, second = np.zeros(K), np.zeros((K, d)), np.zeros((K, d, d))
    arrays = contiguous(z, responsibilities, mean, covariance)
    checked(completed_moments(arrays[0], *grouped(z), *arrays[1:], weight, first, second))
    return weight, first, second


def contiguous(*arrays: np.ndarray) -> list[np.ndarray]:
    return [np.ascontiguousarray(array, dtype=float) for array in arrays]


def checked(is_definite: bool) -> None:
    if not is_definite:
        raise np.linalg.LinAlgError("Matrix is not positive definite")


def imputed(z: np.ndarray, responsibilities: np.ndarray, mean: np.ndarray, covariance: np.ndarray):
    """Mean and variance of every cell given the observed ones, over outcomes with these probabilities."""
    filled, variance = z.copy(), np.zeros_like(z)
    for rows, seen in patterns(z):
        if seen.all():
            continue
        m = np.flatnonzero(~seen)
        means, spread = conditionals(z[rows], seen, mean, covariance)
        r = responsibilities[rows].T[:, :, None]
        centre = (r * means).sum(axis=0)
        own = np.diagonal(spread, axis1=1, axis2=2)[:, None, :]
        filled[rows[:, None], m] = centre
        variance[rows[:, None], m] = (r * (own + (means - centre) ** 2)).sum(axis=0)
    return filled, variance


def cell_of(z: np.ndarray, j: int, mean: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n, K) arrays: mean and variance of column j given the observed cells of the others, per outcome."""
    z = z.copy()
    z[:, j] = np.nan
    centre, spread = np.empty((len(z), len(mean))), np.empty((len(z), len(mean)))
    for rows, seen in patterns(z):
        means, own = conditionals(z[rows], seen, mean, covariance)
        place = int(np.searchsorted(np.flatnonzero(~seen), j))
        centre[rows], spread[rows] = means[:, :, place].T, own[:, place, place]
    return centre, spread


def drawn(z: np.ndarray, outcomes: np.ndarray, mean: np.ndarray, covariance: np.ndarray, generator) -> np.ndarray:
    """The missing cells drawn given the outcome and the observed cells."""
    filled = z.copy()
    for rows, seen in patterns(z):
        if seen.all():
            continue
        m = np.flatnonzero(~seen)
        means, spread = conditionals(z[rows], seen, mean, covariance)
        chosen = outcomes[rows]
        noise = generator.standard_normal((len(rows), len(m)))
        factor = np.linalg.cholesky(spread)
        filled[rows[:, None], m] = means[chosen, np.arange(len(rows))] + np.einsum("iab,ib->ia", factor[chosen], noise)
    return filled


def available_cells(family, X, outcomes, weights) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of each column from its observed cells: where EM starts."""
    columns = GaussianDiagonal(family.n_outcomes, family.n_features, family.location)
    available = columns.labelled_statistics(X, outcomes, weights)
    return mean_and_variance(available + columns.pseudo_counts(available, columns.default_pseudo_counts))


def completed_by_em(family, X, outcomes, weights, moments):
    """Statistics of rows of known outcomes with missing cells under the estimate they lead to (with the default pseudo-counts)."""
    labelled = np.flatnonzero(outcomes >= 0)
    X, shares = dense(X)[labelled], one_hot(outcomes[labelled], weights[labelled], family.n_outcomes)
    for _ in range(MAX_EM):
        statistics = family.completed_statistics(X, shares, moments)
        before, moments = moments, statistics + family.pseudo_counts(statistics, family.default_pseudo_counts)
        (mean, covariance), (old_mean, old_covariance) = family.parameters(moments), family.parameters(before)
        scale = np.sqrt(np.abs(np.diagonal(covariance, axis1=-2, axis2=-1)).reshape(-1, family.n_features).max(axis=0))
        moved = np.abs(mean - old_mean) / scale, np.abs(covariance - old_covariance) / (scale[:, None] * scale)
        if max(part.max() for part in moved) < EM_TOL:
            break
    return statistics
