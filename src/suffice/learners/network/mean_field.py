"""Mean-field E-step ("vb"; Saul, Jaakkola and Jordan 1996 with the Polya-Gamma bound of Gan et al. 2015).

q(h_n) is a product of Bernoullis with means eta, kept for every row ("chain" arrays of floats). With xi^2 = E[psi^2]

    log p(v | h) >= kappa psi - omega(xi) (psi^2 - xi^2) / 2 - u [softplus(xi) - xi / 2]

so E-step and M-step are quadratic; weights are point estimates.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from ...structures.network import Network, polya_gamma_mean, softplus
from .expectation import Expectation, chains_of, collect
from .m_step import LayerStatistics
from .monte_carlo import VisibleRows, in_chunks


class MeanField:
    def __init__(self, n_sweeps: int, seed: int, n_jobs: int = 1):
        self.n_sweeps, self.seed, self.n_jobs = n_sweeps, seed, n_jobs

    def initial(self, network: Network, n_rows: int, activity: float) -> dict[str, np.ndarray]:
        rng = np.random.default_rng([self.seed, 7])
        near = activity * rng.uniform(0.5, 1.5, (n_rows, sum(network.sizes[1:])))
        means = np.split(near.astype(np.float32), np.cumsum(network.sizes[1:])[:-1], axis=1)
        return {f"chain{i}": np.ascontiguousarray(m) for i, m in enumerate(means)}

    def __call__(self, network: Network, data: VisibleRows, state: dict, rows, step: int, rate: float) -> Expectation:
        chains = chains_of(state, network)

        def one(piece):
            eta = [chain[piece] for chain in chains]
            rows_ = MeanFieldRows(network, data.dense(piece), data.missing_at(piece), eta)
            for _ in range(self.n_sweeps):
                rows_.sweep()
            for chain, mean in zip(chains, eta, strict=True):
                chain[piece] = mean
            bound = rows_.bound().sum()
            return rows_.statistics(), eta[-1].sum(0, dtype=np.float64), bound

        return collect(in_chunks(one, rows, self.n_jobs), len(rows), "lower_bound")

    def again(self, network: Network, data: VisibleRows, state: dict, rows) -> Expectation:
        """Statistics under moved parameters with q unchanged."""
        chains = chains_of(state, network)
        rows_ = MeanFieldRows(network, data.dense(rows), data.missing_at(rows), [c[rows] for c in chains])
        return collect([(rows_.statistics(), rows_.eta[-1].sum(0), rows_.bound().sum())], len(rows), "lower_bound")


class MeanFieldRows:
    """q of some rows: `eta` (a list of (rows, units) float32 arrays) is changed in place."""

    def __init__(self, network: Network, visible: np.ndarray, missing, eta: list[np.ndarray]):
        self.network, self.visible, self.missing, self.eta = network, visible, missing, eta
        self.weights = [w.astype(np.float32) for w in network.weights]

    def layer(self, i: int):
        """kappa, omega, E[psi], xi and u of the cells below layer i."""
        below = self.visible if i == 0 else self.eta[i - 1]
        w, eta = self.weights[i], self.eta[i]
        psi = eta @ w + self.network.biases[i].astype(np.float32)
        xi = np.sqrt(psi**2 + (eta * (1 - eta)) @ w**2)
        u = below + np.float32(self.network.dispersion) if i == 0 and self.network.data == "count" else np.float32(1)
        kappa, omega = below - u / 2, polya_gamma_mean(xi, u).astype(np.float32)
        if i == 0 and self.missing is not None:
            kappa, omega = np.where(self.missing, 0, kappa), np.where(self.missing, 0, omega)
        return kappa.astype(np.float32), omega, psi, xi, u

    def prior(self, i: int) -> np.ndarray:
        if i + 1 == len(self.eta):
            return np.broadcast_to(self.network.top_bias.astype(np.float32), self.eta[i].shape).copy()
        return self.eta[i + 1] @ self.weights[i + 1] + self.network.biases[i + 1].astype(np.float32)

    def sweep(self) -> None:
        from ...kernels.structures.network_extra import mean_field_sweep

        for i, eta in enumerate(self.eta):
            kappa, omega, psi, _, _ = self.layer(i)
            mean_field_sweep(eta, self.prior(i), kappa @ self.weights[i].T, omega, psi, self.weights[i])

    def statistics(self) -> list[LayerStatistics]:
        out = []
        for i, eta in enumerate(self.eta):
            kappa, omega, psi, _, _ = self.layer(i)
            h = np.column_stack([eta, np.ones(len(eta), np.float32)])
            spread = h * (1 - h)
            parameters = np.vstack([self.weights[i], self.network.biases[i].astype(np.float32)])
            gradient = h.T @ (kappa - omega * psi) - parameters * (spread.T @ omega)  # E[h psi] = eta (psi + (1-eta) W)
            second = h.T @ h + np.diag(spread.sum(0))
            out.append(LayerStatistics(gradient, second, omega.sum(0, dtype=np.float64), len(eta)))
        return out

    def bound(self) -> np.ndarray:
        """Lower bound of log p(v) of each row, without the binomial coefficient of counts."""
        total = np.zeros(len(self.visible))
        for i, eta in enumerate(self.eta):
            kappa, _, psi, xi, u = self.layer(i)
            terms = kappa * psi - u * (softplus(xi) - xi / 2)
            total += (np.where(self.missing, 0, terms) if i == 0 and self.missing is not None else terms).sum(1)
            mean = eta.astype(np.float64)
            total -= (xlogy(mean, mean) + xlogy(1 - mean, 1 - mean)).sum(1)
        logits = self.network.top_bias
        return total + (self.eta[-1] * logits - softplus(logits)).sum(1)
