"""E-steps that sample: persistent Gibbs chains, and the statistics an M-step reads from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...structures.network import Network
from .m_step import LayerStatistics
from .monte_carlo import Chunk, Tables, VisibleRows, in_chunks, initial_chains, sweep_seed


@dataclass
class Expectation:
    """What one E-step hands to the M-step: statistics of every layer, activity of the top one, what to report."""

    layers: list[LayerStatistics]
    top_mean: np.ndarray
    progress: dict[str, float]


def layer_statistics(chunk: Chunk, layer: int, keep: str = "", seed: int | np.unsignedinteger = 0) -> LayerStatistics:
    """Sums over the rows of a chunk; `keep` its samples with the "mean" or a "draw" of omega for Polya-Gamma steps."""
    h = np.ones((len(chunk.rows), chunk.hidden[layer].shape[1] + 1), np.float32)
    h[:, :-1] = chunk.hidden[layer]
    u, below = chunk.sizes_u(layer), chunk.below(layer)
    gradient = h.T @ (below - u * chunk.mean_below(layer))
    omega = chunk.omega(layer)
    samples = []
    if keep:
        kappa = below - u / 2
        if layer == 0 and chunk.missing is not None:
            kappa = np.where(chunk.missing, 0, kappa)
        omega_kept = chunk.omega_draw(layer, seed) if keep == "draw" else omega
        samples = [(chunk.hidden[layer].copy(), np.asarray(kappa, np.float32), omega_kept)]
    return LayerStatistics(gradient, h.T @ h, omega.sum(0, dtype=np.float64), len(h), samples)


def chains_of(state: dict[str, np.ndarray], network: Network) -> list[np.ndarray]:
    return [state[f"chain{i}"] for i in range(network.n_layers)]


def add_lists(a: list[LayerStatistics], b: list[LayerStatistics]) -> list[LayerStatistics]:
    return [x + y for x, y in zip(a, b, strict=True)]


class GibbsExpectation:
    """Persistent chains: every visit of a row continues from where its chain was left."""

    def __init__(self, n_sweeps: int, n_samples: int, seed: int, keep: str = "", n_jobs: int = 1):
        self.n_samples, self.n_sweeps = n_samples, max(n_sweeps, n_samples)
        self.seed, self.keep, self.n_jobs = seed, keep, n_jobs

    def initial(self, network: Network, n_rows: int, activity: float) -> dict[str, np.ndarray]:
        return {f"chain{i}": h for i, h in enumerate(initial_chains(network, n_rows, self.seed, activity))}

    def __call__(self, network: Network, data: VisibleRows, state: dict, rows, step: int, rate: float) -> Expectation:
        tables, chains = Tables(network), chains_of(state, network)
        first = step * self.n_sweeps
        burn = self.n_sweeps - self.n_samples

        def one(piece):
            chunk = Chunk(tables, data.dense(piece), [h[piece] for h in chains], piece, data.missing_at(piece))
            total, top, fit = None, 0.0, 0.0
            for k in range(self.n_samples):
                start = first if k == 0 else first + burn + k
                chunk.sweep(self.seed, start, burn + 1 if k == 0 else 1)
                draw = sweep_seed(self.seed, start, 63)
                found = [layer_statistics(chunk, layer, self.keep, draw) for layer in range(network.n_layers)]
                total = found if total is None else add_lists(total, found)
                top = top + chunk.hidden[-1].sum(0, dtype=np.float64)
                fit += chunk.log_visible().sum()
            for chain, h in zip(chains, chunk.hidden, strict=True):
                chain[piece] = h
            return total, top, fit

        return collect(in_chunks(one, rows, self.n_jobs), len(rows) * self.n_samples)

    def again(self, network: Network, data: VisibleRows, state: dict, rows) -> Expectation:
        """Statistics of the same samples (the last of each chain) under moved parameters: for inner updates."""
        tables, chains = Tables(network), chains_of(state, network)

        def one(piece):
            chunk = Chunk(tables, data.dense(piece), [h[piece] for h in chains], piece, data.missing_at(piece))
            found = [layer_statistics(chunk, layer, self.keep) for layer in range(network.n_layers)]
            return found, chunk.hidden[-1].sum(0, dtype=np.float64), chunk.log_visible().sum()

        return collect(in_chunks(one, rows, self.n_jobs), len(rows))


def collect(pieces, n_rows: int, name: str = "log_visible") -> Expectation:
    """Sums of chunks in their order; `name` is what their last number is the mean of."""
    total: list[LayerStatistics] = []
    top, fit = np.zeros(1), 0.0
    for layers, top_sum, fit_sum in pieces:
        total = add_lists(total, layers) if total else layers
        top, fit = top + top_sum, fit + fit_sum
    return Expectation(total, top / n_rows, {name: float(fit / n_rows)})
