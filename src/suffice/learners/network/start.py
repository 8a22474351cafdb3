"""Where training starts. Sparse hidden units and weights from data: worth six nats on the OCR letters (docs/notes/sbn.md)."""

from __future__ import annotations

import itertools

import numpy as np

from ...structures.network import Network
from .monte_carlo import VisibleRows


def logit(p):
    return np.log(p) - np.log1p(-p)


def bias_of_mean(mean: np.ndarray, n_rows: int, data: str, dispersion: float) -> np.ndarray:
    if data == "count":
        return np.log((mean * n_rows + 0.5) / (n_rows * dispersion))
    return logit((mean * n_rows + 0.5) / (n_rows + 1))


def initial_layer(rows: VisibleRows, n_units: int, activity: float, scale: float, rng, dispersion: float = 1.0):
    """(weights, bias, top bias) of a layer above `rows`: each unit a random row minus the mean, times `scale`."""
    mean = rows.column_means()
    bias = np.clip(bias_of_mean(mean, len(rows), rows.data, dispersion), -12, 12)
    chosen = rng.choice(len(rows), n_units, replace=n_units > len(rows))
    values = rows.dense(chosen).astype(np.float64)
    if rows.data == "count":  # logarithms of counts against the expected ones: heavy tails would saturate the rates
        values, centre = np.log1p(values), np.log1p(mean)
    else:
        centre = mean
    weights = scale * (values - centre)
    gaps = rows.missing_at(chosen)
    if gaps is not None:
        weights[gaps] = 0
    weights += 0.01 * rng.standard_normal(weights.shape)
    return weights, bias, np.full(n_units, logit(activity))


def empty_network(n_columns: int, hidden: tuple[int, ...], data: str, dispersion: float) -> Network:
    sizes = [n_columns, *hidden]
    weights = [np.zeros((above, below)) for below, above in itertools.pairwise(sizes)]
    return Network(weights, [np.zeros(n) for n in sizes[:-1]], np.zeros(sizes[-1]), data, dispersion)
