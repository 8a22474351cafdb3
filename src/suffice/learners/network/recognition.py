"""E-step by a recognition network ("rec-mcem", "nvil"; Mnih and Gregor 2014).

q(h_1 | v) = Bernoulli(sigma(v A_1 + a_1)), q(h_2 | h_1) = Bernoulli(sigma(h_1 A_2 + a_2)), ... Its gradient for
layer l is

    E_q[ signal_l d log q(h_l | h_(l-1)) ],    signal_l = log p(h_(l-1), h_l, ...) - log q(h_l, ... | h_(l-1)) -
    baselines

with NVIL's variance reduction: signals local to the layer, a running mean and scale, and a baseline that depends on the
input (one hidden layer of tanh units, trained to predict the signal). The bound E_q[log p - log q] is what is reported.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from ...structures.network import Network, softplus
from .expectation import Expectation, add_lists
from .m_step import Gradient, LayerStatistics, Limits
from .monte_carlo import VisibleRows

BASELINE_UNITS = 100


class Recognition:
    def __init__(self, learning_rate: float, n_samples: int, seed: int, keep: str = ""):
        self.seed, self.n_samples, self.keep = seed, n_samples, keep
        self.optimiser = Gradient(0.0, 1, Limits(50.0, 50.0), learning_rate, adam=True)

    def initial(self, network: Network, n_rows: int, activity: float) -> dict[str, np.ndarray]:
        rng, state = np.random.default_rng([self.seed, 9]), {}
        bias = np.log(activity) - np.log1p(-activity)
        for i, (below, above) in enumerate(zip(network.sizes[:-1], network.sizes[1:], strict=True)):
            state[f"rec{i}/A"] = np.vstack([0.01 * rng.standard_normal((below, above)), np.full(above, bias)])
            state[f"rec{i}/B"] = 0.01 * rng.standard_normal((below + 1, BASELINE_UNITS))
            state[f"rec{i}/C"] = np.zeros((BASELINE_UNITS + 1, 1))
            state[f"rec{i}/centre"] = np.zeros(2)  # running mean and variance of the signal
            for name in "ABC":
                for key, value in self.optimiser.initial(state[f"rec{i}/{name}"]).items():
                    state[f"rec{i}/{name}/{key}"] = value
        return state

    def __call__(self, network: Network, data: VisibleRows, state: dict, rows, step: int, rate: float) -> Expectation:
        rng = np.random.default_rng([self.seed, 11, step])
        visible, missing = data.dense(rows), data.missing_at(rows)
        total: list[LayerStatistics] = []
        top, bound = np.zeros(1), 0.0
        for _ in range(self.n_samples):
            hidden, means = propose(network, state, visible, rng)
            signals = local_signals(network, visible, missing, hidden, means)
            self._learn(network, state, visible, hidden, means, signals, rate / self.n_samples)
            found = sampled_statistics(network, visible, missing, hidden, self.keep)
            total = add_lists(total, found) if total else found
            top, bound = top + hidden[-1].sum(0, dtype=np.float64), bound + signals[0].sum()
        self.last = hidden
        n = len(rows) * self.n_samples
        return Expectation(total, top / n, {"lower_bound": float(bound / n)})

    def again(self, network: Network, data: VisibleRows, state: dict, rows) -> Expectation:
        """Statistics of the last sample under moved parameters."""
        visible, missing = data.dense(rows), data.missing_at(rows)
        found = sampled_statistics(network, visible, missing, self.last, self.keep)
        return Expectation(found, self.last[-1].mean(0), {})

    def _learn(self, network, state, visible, hidden, means, signals, rate) -> None:
        inputs = inputs_of(network, visible, hidden)
        for i, signal in enumerate(signals):
            x = with_one(inputs[i])
            units = np.tanh(x @ state[f"rec{i}/B"].astype(np.float32))
            centre = state[f"rec{i}/centre"]
            rest = signal - (with_one(units) @ state[f"rec{i}/C"])[:, 0]
            mix = 1.0 if not centre.any() else 0.1
            centre += mix * (np.array([rest.mean(), rest.var()]) - centre)
            rest = rest - centre[0]
            scaled = (rest / max(1.0, np.sqrt(centre[1]))).astype(np.float32)
            n = len(signal)
            gradients = {
                "A": x.T @ (scaled[:, None] * (hidden[i] - means[i])) / n,
                "C": with_one(units).T @ rest[:, None] / n,
                "B": x.T @ (rest[:, None] * state[f"rec{i}/C"][:-1].T * (1 - units**2)).astype(np.float32) / n,
            }
            for name, gradient in gradients.items():
                prefix = f"rec{i}/{name}/"
                moments = {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
                direction = self.optimiser.direction(moments, gradient.astype(np.float64))
                state[f"rec{i}/{name}"] += rate * self.optimiser.learning_rate * direction


def with_one(x: np.ndarray) -> np.ndarray:
    return np.column_stack([x, np.ones(len(x), np.float32)]).astype(np.float32)


def inputs_of(network: Network, visible: np.ndarray, hidden: list[np.ndarray]) -> list[np.ndarray]:
    """What each layer of q reads: the layer below it; logarithms of counts."""
    first = np.log1p(visible) if network.data == "count" else visible
    return [first, *(h.astype(np.float32) for h in hidden[:-1])]


def propose(network: Network, state: dict, visible: np.ndarray, rng) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """A sample of q(h | v) and the Bernoulli means it came from."""
    hidden, means = [], []
    below = np.log1p(visible) if network.data == "count" else visible
    for i in range(network.n_layers):
        mean = expit(with_one(below) @ state[f"rec{i}/A"].astype(np.float32))
        hidden.append((rng.random(mean.shape, dtype=np.float32) < mean).astype(np.uint8))
        means.append(mean)
        below = hidden[-1].astype(np.float32)
    return hidden, means


def local_signals(network: Network, visible, missing, hidden, means) -> list[np.ndarray]:
    """log p(h_(l-1), h_l, ...) - log q(h_l, ... | h_(l-1)) for every layer l; the first is the bound itself."""
    upward: list[np.ndarray] = []
    total = np.zeros(len(visible))
    for i in range(network.n_layers - 1, -1, -1):
        q = np.where(hidden[i] > 0, means[i], 1 - means[i])
        entropy = -np.log(np.maximum(q, 1e-12)).sum(1, dtype=np.float64)
        if i == network.n_layers - 1:
            entropy = entropy + (hidden[i] * network.top_bias - softplus(network.top_bias)).sum(1)
        psi = hidden[i].astype(np.float32) @ network.weights[i].astype(np.float32) + network.biases[i].astype(
            np.float32
        )
        below = visible if i == 0 else hidden[i - 1]
        u = below + network.dispersion if i == 0 and network.data == "count" else 1.0
        terms = below * psi - u * softplus(psi)
        if i == 0 and missing is not None:
            terms = np.where(missing, 0, terms)
        total = total + entropy + terms.sum(1)
        upward.insert(0, total)
    return upward


def sampled_statistics(network: Network, visible, missing, hidden, keep: str) -> list[LayerStatistics]:
    """`LayerStatistics` of given samples, in NumPy: the readable twin of `sbn_expectation.layer_statistics`.

    `keep`: "gradient" for nothing else, "mean" for the samples too.
    """
    out = []
    for i, h in enumerate(hidden):
        x = with_one(h)
        below = visible if i == 0 else hidden[i - 1].astype(np.float32)
        psi = x @ np.vstack([network.weights[i], network.biases[i]]).astype(np.float32)
        u = below + np.float32(network.dispersion) if i == 0 and network.data == "count" else np.float32(1)
        sigma = expit(psi)
        is_seen = 1 if i > 0 or missing is None else ~missing
        residual, second, omega, samples = (below - u * sigma) * is_seen, np.zeros((0, 0)), np.zeros(0), []
        if keep != "gradient":
            is_small = np.abs(psi) < 1e-3
            ratio = np.where(
                is_small, np.float32(0.25), (sigma - np.float32(0.5)) / np.where(is_small, np.float32(1), psi)
            )
            means = u * ratio * is_seen
            second, omega = x.T @ x, means.sum(0, dtype=np.float64)
            samples = [(h, ((below - u / 2) * is_seen).astype(np.float32), means)] if keep else []
        out.append(LayerStatistics(x.T @ residual, second, omega, len(h), samples))
    return out
