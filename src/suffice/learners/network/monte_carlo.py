"""Posterior chains of a sigmoid belief network: the Monte Carlo E-step, annealed sampling and imputation stand on it.

A `Chunk` is a fixed number of rows with the state of their chains. Chunks are independent, so they run on threads,
and their sums are added in order: neither chunks nor threads change a result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.special import expit

from ...structures.network import Network

CHUNK = 250  # rows; a constant, because float sums depend on it
FAR = 300.0  # logits beyond this leave the range of the product kernel


def sweep_seed(seed: int, sweep: int, layer: int = 0) -> np.uint64:
    """The seed of one sweep of one layer: a splitmix64 hash of the three."""
    z = (seed * 0xD1342543DE82EF95 + (sweep * 64 + layer + 1) * 0x9E3779B97F4A7C15) % 2**64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
    return np.uint64(z ^ (z >> 31))


def in_chunks(function: Callable, rows: np.ndarray, n_jobs: int = 1, size: int = CHUNK) -> Iterable:
    """function(rows of one chunk) for every chunk, in order, on `n_jobs` threads."""
    pieces = [rows[start : start + size] for start in range(0, len(rows), size)]
    if n_jobs == 1 or len(pieces) == 1:
        return map(function, pieces)
    with ThreadPoolExecutor(n_jobs) as pool:
        return list(pool.map(function, pieces))


class VisibleRows:
    """The visible layer: rows of 0/1 or counts, with a mask of missing cells when there are any. Counts may be sparse."""

    def __init__(self, X: Any, data: str = "binary"):
        self.data, self.missing = data, None
        if issparse(X):
            self.values = X.tocsr().astype(np.float32)
            return
        gaps = np.isnan(X) if X.dtype.kind == "f" else np.zeros((1, 1), bool)
        self.missing = gaps if gaps.any() else None
        filled = X if self.missing is None else np.where(self.missing, 0, X)
        small = data == "binary"  # "count", and "mean" (posterior means of a layer as data), stay floats
        self.values = filled if filled.dtype == np.uint8 else filled.astype(np.uint8 if small else np.float32)

    def __len__(self) -> int:
        return self.values.shape[0]

    @property
    def n_columns(self) -> int:
        return self.values.shape[1]

    def dense(self, rows) -> np.ndarray:
        chosen = self.values[rows]
        return chosen.toarray() if issparse(chosen) else chosen.astype(np.float32)

    def missing_at(self, rows) -> np.ndarray | None:
        return None if self.missing is None else self.missing[rows]

    def column_means(self) -> np.ndarray:
        total = np.asarray(self.values.sum(0, dtype=np.float64)).ravel()
        present = len(self) if self.missing is None else np.maximum(len(self) - self.missing.sum(0), 1)
        return total / present


class Tables:
    """A network in the form the kernels read: made once for many chunks."""

    def __init__(self, network: Network):
        from ...kernels.structures import network as kernels

        self.kernels = kernels
        self.network = network
        self.weights = [w.astype(np.float32) for w in network.weights]
        self.biases = [b.astype(np.float32) for b in network.biases]
        self.exponentials = [kernels.weight_tables(w) for w in network.weights]


class Chunk:
    """Chains of some rows. `hidden` is a list of (rows, units) uint8 arrays, changed in place by `sweep`."""

    def __init__(self, tables: Tables, visible, hidden: list[np.ndarray], rows, missing=None, precise: bool = False):
        """`precise` makes psi in float64, so that a row's result does not depend on its neighbours: for inference."""
        self.tables, self.visible, self.hidden, self.missing = tables, visible, hidden, missing
        self.weights: list[np.ndarray] = tables.network.weights if precise else tables.weights
        self.biases: list[np.ndarray] = tables.network.biases if precise else tables.biases
        self.type: type = np.float64 if precise else np.float32
        self.rows = np.ascontiguousarray(rows, dtype=np.int64)
        self.is_count = tables.network.data == "count"
        self.power = tables.network.power
        self.drive0 = (visible.astype(self.type) @ self.weights[0].T).astype(np.float64)
        self.none = np.zeros((0, 0))
        self._list_counts()
        self.restart()

    def _list_counts(self) -> None:
        if self.is_count:
            row, cell = np.nonzero(self.visible)
            self.count_rows, self.cells = row, cell.astype(np.int64)
            self.counts = self.visible[row, cell].astype(np.float64)
            self.indptr = np.searchsorted(row, np.arange(len(self.visible) + 1)).astype(np.int64)
        else:
            self.cells, self.counts, self.indptr = np.zeros(0, np.int64), np.zeros(0), np.zeros(1, np.int64)

    def restart(self) -> None:
        """e, s, r of every layer from scratch: at the start, and now and then against rounding."""
        self.states = [self._state(layer) for layer in range(len(self.hidden))]

    def _state(self, layer: int):
        kernels = self.tables.kernels
        psi = self.hidden[layer].astype(self.type) @ self.weights[layer] + self.biases[layer]
        odds = np.exp(np.clip(psi, -69, 69))
        if layer == 0 and self.missing is not None:
            odds[self.missing] = 0
        e = kernels.packed(odds)
        r, s = kernels.aligned(e.shape), kernels.aligned(e.shape)
        np.divide(1, 1 + e, out=r)
        np.multiply(e, r, out=s)
        return e, s, r

    def prior(self, layer: int) -> np.ndarray:
        """Logits of a hidden layer from above."""
        if layer + 1 == len(self.hidden):
            return np.broadcast_to(self.tables.network.top_bias, self.hidden[layer].shape)
        above: np.ndarray = self.hidden[layer + 1].astype(self.type)
        return (above @ self.weights[layer + 1] + self.biases[layer + 1]).astype(np.float64)

    def drive(self, layer: int) -> np.ndarray:
        if layer == 0:
            return self.drive0
        return (self.hidden[layer - 1].astype(self.type) @ self.weights[layer].T).astype(np.float64)

    def sweep(self, seed: int, first: int, n_sweeps: int = 1, beta: float = 1.0) -> None:
        """Gibbs sweeps number first, first + 1, ... over all layers, the first hidden layer first."""
        if len(self.hidden) == 1:
            seeds = np.array([sweep_seed(seed, first + t) for t in range(n_sweeps)])
            self._sweep_layer(0, seeds, beta, self.none)
            return
        for t in range(n_sweeps):
            for layer in range(len(self.hidden)):
                seeds = np.array([sweep_seed(seed, first + t, layer)])
                self._sweep_layer(layer, seeds, beta if layer == 0 else 1.0, self.none)

    def probabilities(self, layer: int, seed: int, sweep: int) -> np.ndarray:
        """p(h = 1 | rest) of every unit as one more sweep of this layer meets it (Rao-Blackwell)."""
        out = np.empty(self.hidden[layer].shape)
        self._sweep_layer(layer, np.array([sweep_seed(seed, sweep, layer)]), 1.0, out)
        return out

    def _sweep_layer(self, layer: int, seeds: np.ndarray, beta: float, probabilities: np.ndarray) -> None:
        kernels, (e, s, r) = self.tables.kernels, self.states[layer]
        table, h = self.tables.exponentials[layer], self.hidden[layer]
        counted = layer == 0 and self.is_count
        if beta == 1.0 and not counted and not len(probabilities):
            logits = self.prior(layer) + self.drive(layer)
            odds = np.where(np.abs(logits) < FAR, np.exp(np.clip(logits, -FAR, FAR)), 0.0)
            kernels.sweep_plain(h, e, s, r, logits, odds, table, seeds, self.rows)
            return
        prior = np.ascontiguousarray(self.prior(layer))
        cells = self.cells if counted else self.cells[:0]
        power = self.power if layer == 0 else 1.0
        arguments = (prior, self.drive(layer), beta, power, table, self.indptr, cells, self.counts)
        kernels.sweep_tempered(h, e, s, r, *arguments, seeds, self.rows, probabilities)

    def log_visible(self) -> np.ndarray:
        """log p(v | h_1) of each row without the binomial coefficient of counts."""
        _, _, r = self.states[0]
        total = self.visible @ self.tables.network.biases[0] + (self.hidden[0] * self.drive0).sum(1)
        total += self.power * self.tables.kernels.log_r_sums(r)
        if self.is_count:
            log_r = np.log(r.reshape(len(r), -1)[self.count_rows, self.cells].astype(np.float64))
            total += np.bincount(self.count_rows, self.counts * log_r, minlength=len(r))
        return total

    def below(self, layer: int) -> np.ndarray:
        return self.visible if layer == 0 else self.hidden[layer - 1].astype(np.float32)

    def sizes_u(self, layer: int):
        """u of the likelihood: 1, or v + dispersion."""
        return self.visible + np.float32(self.power) if layer == 0 and self.is_count else np.ones((1, 1), np.float32)

    def mean_below(self, layer: int) -> np.ndarray:
        """sigma(psi) of the units below, 0 where missing."""
        s = self.states[layer][1]
        return s.reshape(len(s), -1)[:, : self.tables.weights[layer].shape[1]]

    def omega(self, layer: int) -> np.ndarray:
        e = self.states[layer][0]
        return self.tables.kernels.omega_from_odds(e, self.tables.weights[layer].shape[1], self.sizes_u(layer))

    def omega_draw(self, layer: int, seed) -> np.ndarray:
        """Draws instead of means (binary data)."""
        from ...kernels.structures.network_extra import draw_omega

        n_below = self.tables.weights[layer].shape[1]
        return draw_omega(self.states[layer][0], n_below, sweep_seed(int(seed), 1, layer), self.rows)


def content_ids(values: np.ndarray, missing=None) -> np.ndarray:
    """A number for every row that depends on its content alone: equal rows get equal random numbers, in any order."""
    cells = values.astype(np.int64) + (0 if missing is None else 2**20 * missing.astype(np.int64))
    keys = np.random.default_rng(20160509).integers(0, 2**62, values.shape[1])
    with np.errstate(over="ignore"):
        return (cells * keys).sum(1) & (2**46 - 1)


def ancestral(network: Network, seed: int, ids: np.ndarray) -> list[np.ndarray]:
    """A sample of all hidden layers for every row id, a function of (seed, id) only."""
    from ...kernels.structures.network import uniforms

    hidden: list[np.ndarray] = []
    for layer in range(network.n_layers - 1, -1, -1):
        logits = network.top_bias
        if hidden:
            logits = hidden[0].astype(float) @ network.weights[layer + 1] + network.biases[layer + 1]
        draws = uniforms(sweep_seed(seed, 2**40, layer), ids, network.sizes[layer + 1])
        hidden.insert(0, (draws < expit(logits)).astype(np.uint8))
    return hidden


def initial_chains(network: Network, n_rows: int, seed: int, activity: float | None = None) -> list[np.ndarray]:
    """Chains started from the top biases' activity (or the one given)."""
    rng = np.random.default_rng([seed, 7])
    p = [expit(b) if activity is None else np.full(len(b), activity) for b in [*network.biases[1:], network.top_bias]]
    return [(rng.random((n_rows, len(q))) < q).astype(np.uint8) for q in p]
