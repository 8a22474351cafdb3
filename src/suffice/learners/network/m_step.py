"""M-steps of a sigmoid belief network layer: one code for every learner that has expected statistics.

Parameters of a layer are one matrix (units above + 1, units below) whose last row is the bias. An E-step hands over
`LayerStatistics` (sums over rows); an M-step moves the parameters with a rate in (0, 1].

- `SharedMatrix` ("kron"): the Polya-Gamma matrix of unit i, E[omega_i h h'], is replaced by E[omega_i] E[h h'], so
that one
  inverse serves all units: w_i += rate * E[hh']^-1 gradient_i / E[omega_i]. With omega = 1/4 it would be Boehning's
  bound.
- `PolyaGamma` ("pg"): the paper's M-step (section 3.2), online by interpolating its statistics (section 3.4).
- `Gradient` ("sgd", "adam"): a step along the gradient, Neal's learner and NVIL's.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import inv


@dataclass
class LayerStatistics:
    """Sums over rows: gradient = h'(v - u sigma(psi)), second = h h', omega = PG means, with h extended by a 1."""

    gradient: np.ndarray
    second: np.ndarray
    omega: np.ndarray
    n_rows: int
    samples: list = field(default_factory=list)  # (h uint8, v - u/2, omega) of every chunk, kept only for PolyaGamma

    def __add__(self, other: LayerStatistics) -> LayerStatistics:
        return LayerStatistics(
            self.gradient + other.gradient,
            self.second + other.second,
            self.omega + other.omega,
            self.n_rows + other.n_rows,
            self.samples + other.samples,
        )


@dataclass(frozen=True)
class Limits:
    """What no M-step may leave: the float32 kernels are exact inside."""

    weight: float = 8.0
    bias: float = 12.0

    def apply(self, old: np.ndarray, new: np.ndarray) -> np.ndarray:
        new = np.where(np.isfinite(new), new, old)
        new[:-1] = np.clip(new[:-1], -self.weight, self.weight)
        new[-1] = np.clip(new[-1], -self.bias, self.bias)
        return new


def shrink(parameters: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    """Soft threshold of the weights (not of the bias): where the Laplace prior's scale mixture ends."""
    out = parameters.copy()
    out[:-1] = np.sign(out[:-1]) * np.maximum(np.abs(out[:-1]) - threshold[:-1], 0)
    return out


class SharedMatrix:
    keeps_samples = False

    def __init__(
        self, penalty: float, n_total: int, limits: Limits, refresh: int = 5, memory: float = 0.02, floor: float = 0.02,
        ridge: float = 1e-4, precision: type = np.float64,
    ):  # fmt: skip
        self.slope, self.limits = np.sqrt(penalty) / n_total, limits
        self.refresh, self.memory, self.floor = refresh, memory, floor
        self.ridge, self.precision = ridge, precision

    def initial(self, parameters: np.ndarray) -> dict[str, np.ndarray]:
        size = len(parameters)
        matrices = {"second": np.zeros((size, size)), "inverse": np.zeros((size, size))}
        return matrices | {"omega": np.zeros(parameters.shape[1]), "steps": np.zeros((), np.int64)}

    def update(self, state: dict, parameters: np.ndarray, statistics: LayerStatistics, rate: float) -> np.ndarray:
        n, first = statistics.n_rows, state["steps"] == 0
        mix = 1.0 if first else max(rate, self.memory)
        state["second"] += mix * (statistics.second / n - state["second"])
        state["omega"] += mix * (statistics.omega / n - state["omega"])
        if state["steps"] % self.refresh == 0 or state["steps"] < self.refresh:
            matrix = state["second"] + self.ridge * np.eye(len(parameters))
            state["inverse"][:] = inv(matrix, check_finite=False)
        state["steps"] += 1
        curvature = np.maximum(state["omega"], self.floor)
        inverse = state["inverse"].astype(self.precision, copy=False)
        new = parameters + rate * (inverse @ (statistics.gradient / n)) / curvature
        if self.slope:
            new = shrink(new, rate * self.slope * np.diag(state["inverse"])[:, None] / curvature)
        return self.limits.apply(parameters, new)


class PolyaGamma:
    keeps_samples = True

    def __init__(self, penalty: float, n_total: int, limits: Limits, ridge: float = 1e-6):
        self.slope, self.limits, self.ridge = np.sqrt(penalty) / n_total, limits, ridge

    def initial(self, parameters: np.ndarray) -> dict[str, np.ndarray]:
        size = len(parameters)
        pairs = np.zeros((size * (size + 1) // 2, parameters.shape[1]))
        return {"pairs": pairs, "moments": np.zeros(parameters.shape), "steps": np.zeros((), np.int64)}

    def update(self, state: dict, parameters: np.ndarray, statistics: LayerStatistics, rate: float) -> np.ndarray:
        from ...kernels.structures.network import add_pairs

        n = statistics.n_rows
        rate = 1.0 if state["steps"] == 0 else rate
        state["pairs"] *= (1 - rate) * n / rate  # so that plain sums can be added, then scaled back
        moments = np.zeros_like(parameters)
        for h, kappa, omega in statistics.samples:
            add_pairs(state["pairs"], h, omega)
            moments += np.vstack([h.T.astype(np.float32) @ kappa, kappa.sum(0)])
        state["pairs"] *= rate / n
        state["moments"] += rate * (moments / n - state["moments"])
        state["steps"] += 1
        return self.limits.apply(parameters, self._solve(state, parameters))

    def _solve(self, state: dict, parameters: np.ndarray) -> np.ndarray:
        size, n_below = parameters.shape
        lower = np.tril_indices(size)
        new = np.empty_like(parameters)
        for start in range(0, n_below, 32):  # blocks: unpacked matrices stay in cache
            columns = np.arange(start, min(start + 32, n_below))
            matrices = np.zeros((len(columns), size, size))
            matrices[:, lower[0], lower[1]] = state["pairs"][:, columns].T
            matrices[:, lower[1], lower[0]] = state["pairs"][:, columns].T
            diagonal = np.full((len(columns), size), self.ridge)
            right = state["moments"][:, columns].T + self.ridge * parameters[:, columns].T
            if self.slope:
                diagonal[:, :-1] += self.slope / np.maximum(np.abs(parameters[:-1, columns].T), 1e-9)
            matrices[:, np.arange(size), np.arange(size)] += diagonal
            new[:, columns] = np.linalg.solve(matrices, right[:, :, None])[:, :, 0].T
        return new


class Gradient:
    """Stochastic gradient ascent, plain ("sgd") or with Adam's scaling."""

    keeps_samples = False

    def __init__(self, penalty: float, n_total: int, limits: Limits, learning_rate: float = 0.1, adam: bool = False):
        self.slope, self.limits = np.sqrt(penalty) / n_total, limits
        self.learning_rate, self.adam = learning_rate, adam

    def initial(self, parameters: np.ndarray) -> dict[str, np.ndarray]:
        return {"mean": np.zeros_like(parameters), "square": np.zeros_like(parameters), "steps": np.zeros((), np.int64)}

    def update(self, state: dict, parameters: np.ndarray, statistics: LayerStatistics, rate: float) -> np.ndarray:
        gradient = statistics.gradient / statistics.n_rows
        gradient[:-1] -= self.slope * np.sign(parameters[:-1])
        return self.limits.apply(parameters, parameters + rate * self.learning_rate * self.direction(state, gradient))

    def direction(self, state: dict, gradient: np.ndarray) -> np.ndarray:
        if not self.adam:
            return gradient
        state["steps"] += 1
        state["mean"] += 0.1 * (gradient - state["mean"])
        state["square"] += 0.001 * (gradient**2 - state["square"])
        t = int(state["steps"])
        return (state["mean"] / (1 - 0.9**t)) / (np.sqrt(state["square"] / (1 - 0.999**t)) + 1e-8)
