"""Sigmoid belief networks (Neal 1992; Song, Henao, Carlson and Carin 2016, "the paper").

Layers are counted from the data: layer 0 is visible, layer L on top. Every hidden unit is 0 or 1 and

    h_L        ~ Bernoulli(sigma(top_bias))
    h_(l-1)    ~ Bernoulli(sigma(psi_l)),      psi_l = biases[l-1] + h_l weights[l-1]           (paper, eq. 1)
    v | psi_1  ~ exp(psi_1)^v / (1 + exp(psi_1))^u        u = 1 for binary data
                                                          u = v + dispersion for counts (negative binomial, times its
                                                          binomial coefficient)

`weights[l]` has shape (units of layer l+1, units of layer l): a row is what one hidden unit adds below it.

Gibbs conditional of unit j of layer l, with its own layer's psi computed without it:

    logit p(h_j = 1 | rest) = prior_j + sum_m v_m W_jm - sum_m u_m [softplus(psi_m + W_jm) - softplus(psi_m)]

where prior_j is the top bias or comes from the layer above, and "v" is the layer below (u = 1 for hidden layers).

M-step. Given sampled h the complete log-likelihood separates over the units i below; with w_i the column of weights and
bias into i, and the Polya-Gamma identity (paper, eq. 7), the bound

    Q_i(w) >= sum_n kappa_ni psi_ni - omega_ni psi_ni^2 / 2 + const,     kappa = v - u/2,
    omega  = u tanh(psi/2) / (2 psi)  at the current w

is quadratic: w_i = (sum_n omega_ni h_n h_n' + Phi_i)^-1 sum_n kappa_ni h_n. A Laplace prior of density proportional to
exp(-sqrt(lambda) |W|) is a scale mixture with E[1/tau] = sqrt(lambda) / |W|, the diagonal of Phi_i (no prior on
biases).

A missing cell of the visible layer is summed out: it has no factor in any of the above.

Everything here is plain float64 NumPy: the readable twin of `suffice.kernels.structures.network` and the oracle of its tests.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import expit, gammaln

from ..saving.schema import require


def softplus(x):
    return np.logaddexp(0.0, x)


def polya_gamma_mean(psi, u=1.0):
    """E[omega] of PG(u, psi): u tanh(psi/2) / (2 psi), and u/4 at zero."""
    half = np.abs(psi) / 2
    safe = np.maximum(half, 1e-4)
    return u * np.where(half < 1e-4, 0.25 - half**2 / 12, np.tanh(safe) / (4 * safe))


@dataclass(frozen=True)
class Network:
    """The parameters of one network; see the module's docstring for their layout."""

    weights: list[np.ndarray]
    biases: list[np.ndarray]
    top_bias: np.ndarray
    data: str = "binary"
    dispersion: float = 1.0

    stored_as: ClassVar[dict[str, str]] = {
        "weights": "list of float[*, *]", "biases": "list of float[*]", "top_bias": "float[*]", "data": "'binary' 'count' 'mean'",
        "dispersion": "number (0..",
    }  # fmt: skip

    def check_stored(self) -> None:
        """What a file must hold: layers that fit onto each other (`saving.schema`)."""
        require(self.weights, "a network needs a layer of weights")
        below = [weight.shape[1] for weight in self.weights]
        above = [weight.shape[0] for weight in self.weights]
        require(all(above) and all(below), "a layer of a network has no units")
        require(below[1:] == above[:-1], f"layers of {above} units lie on layers of {below}")
        require(
            [len(bias) for bias in self.biases] == below,
            f"biases of {[len(bias) for bias in self.biases]} units for {below}",
        )
        require(len(self.top_bias) == above[-1], f"top_bias has {len(self.top_bias)} units, the layer {above[-1]}")

    @property
    def n_layers(self) -> int:
        return len(self.weights)

    @property
    def sizes(self) -> list[int]:
        """Units of each layer, the visible one first."""
        return [self.weights[0].shape[1]] + [w.shape[0] for w in self.weights]

    @property
    def power(self) -> float:
        """The part of u that does not depend on the data: 1, or the dispersion for counts."""
        return self.dispersion if self.data == "count" else 1.0

    def part(self, low: int, high: int) -> Network:
        """Layers low..high as a network of their own, whose visible layer is layer `low`."""
        top = self.top_bias if high == self.n_layers else self.biases[high]
        data = self.data if low == 0 else "binary"
        return Network(self.weights[low:high], self.biases[low:high], top, data, self.dispersion)

    def with_part(self, low: int, high: int, part: Network) -> Network:
        """This network with layers low..high replaced; the inverse of `part`."""
        weights, biases, top = list(self.weights), list(self.biases), self.top_bias
        weights[low:high], biases[low:high] = part.weights, part.biases
        if high == self.n_layers:
            top = part.top_bias
        else:
            biases[high] = part.top_bias
        return replace(self, weights=weights, biases=biases, top_bias=top)

    def is_finite(self) -> bool:
        return all(np.isfinite(a).all() for a in [*self.weights, *self.biases, self.top_bias])


def prior_logits(network: Network, hidden: list[np.ndarray], layer: int) -> np.ndarray:
    """Logits of hidden layer `layer` (0 = the first hidden one) given the layer above it."""
    if layer == network.n_layers - 1:
        return np.broadcast_to(network.top_bias, hidden[layer].shape)
    return hidden[layer + 1] @ network.weights[layer + 1] + network.biases[layer + 1]


def log_visible(network: Network, psi: np.ndarray, visible: np.ndarray) -> np.ndarray:
    """log p(v | psi) of each row; NaN in `visible` is a missing cell and counts zero."""
    v = np.nan_to_num(visible)
    if network.data == "count":
        r = network.dispersion
        terms = v * psi - (v + r) * softplus(psi) + gammaln(v + r) - gammaln(r) - gammaln(v + 1)
    else:
        terms = v * psi - softplus(psi)
    return np.where(np.isnan(visible), 0.0, terms).sum(-1)


def log_joint(network: Network, visible: np.ndarray, hidden: list[np.ndarray]) -> np.ndarray:
    """log p(v, h_1, ..., h_L) of each row."""
    total = log_visible(network, hidden[0] @ network.weights[0] + network.biases[0], visible)
    for layer, h in enumerate(hidden):
        logits = prior_logits(network, hidden, layer)
        total = total + (h * logits - softplus(logits)).sum(-1)
    return total


def sample_hidden(network: Network, n_samples: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Ancestral samples of all hidden layers, the first one first."""
    hidden = [rng.random((n_samples, len(network.top_bias))) < expit(network.top_bias)]
    for weights, biases in zip(network.weights[:0:-1], network.biases[:0:-1], strict=True):
        logits = hidden[0] @ weights + biases
        hidden.insert(0, rng.random(logits.shape) < expit(logits))
    return [h.astype(np.uint8) for h in hidden]


def sample_visible(network: Network, hidden: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Visible rows given the first hidden layer."""
    psi = hidden @ network.weights[0] + network.biases[0]
    if network.data == "count":
        rate = rng.gamma(network.dispersion, np.exp(np.clip(psi, -50, 20)))  # gamma-Poisson mixture, e^psi = p/(1-p)
        return rng.poisson(rate).astype(float)
    return (rng.random(psi.shape) < expit(psi)).astype(float)


def mean_visible(network: Network, psi: np.ndarray) -> np.ndarray:
    """E[v | psi]."""
    return network.dispersion * np.exp(np.clip(psi, -50, 20)) if network.data == "count" else expit(psi)


def conditional_logit(network: Network, visible, hidden, layer: int, unit: int, beta: float = 1.0) -> np.ndarray:
    """Logit of p(h_unit = 1 | rest) for each row, the likelihood of the visible layer raised to `beta`.

    Only the first hidden layer sees the visible one, so beta acts there alone.
    """
    below = visible if layer == 0 else hidden[layer - 1].astype(float)
    weights = network.weights[layer][unit]
    without = hidden[layer].astype(float)
    without[:, unit] = 0
    psi = without @ network.weights[layer] + network.biases[layer]
    u = below + network.dispersion if (layer == 0 and network.data == "count") else 1.0
    gain = np.nansum(below * weights - u * (softplus(psi + weights) - softplus(psi)) + 0 * below, axis=1)
    return prior_logits(network, hidden, layer)[:, unit] + (beta if layer == 0 else 1.0) * gain


def gibbs_sweep(network: Network, visible, hidden, uniforms, beta: float = 1.0) -> None:
    """One sweep over all layers and units, in place; `uniforms[l][n, j]` decides unit j of row n in layer l."""
    for layer, h in enumerate(hidden):
        for unit in range(h.shape[1]):
            odds = expit(conditional_logit(network, visible, hidden, layer, unit, beta))
            h[:, unit] = uniforms[layer][:, unit] < odds


def layer_objective(weights, bias, above, below, u=1.0, row_weights=None, penalty: float = 0.0) -> float:
    """Q of one layer: sum_n weight_n [v psi - u softplus(psi)] minus the Laplace penalty sqrt(lambda) |W|."""
    psi = above @ weights + bias
    value = (below * psi - u * softplus(psi)).sum(1)
    total = value.sum() if row_weights is None else row_weights @ value
    return total - np.sqrt(penalty) * np.abs(weights).sum()


def polya_gamma_update(weights, bias, above, below, u=1.0, row_weights=None, penalty: float = 0.0, ridge: float = 1e-9):
    """One inner update of the M-step (paper, section 3.2); never lowers `layer_objective`. Returns (weights, bias)."""
    design = np.column_stack([above, np.ones(len(above))])
    weighted = design if row_weights is None else design * row_weights[:, None]
    omega = polya_gamma_mean(above @ weights + bias, u)
    moments = weighted.T @ (below - u / 2)
    solution = np.empty((design.shape[1], below.shape[1]))
    for i in range(below.shape[1]):
        precision = (weighted * omega[:, i, None]).T @ design
        prior = np.append(np.sqrt(penalty) / np.maximum(np.abs(weights[:, i]), 1e-10), 0.0) if penalty else 0.0
        # Ridge around the current point: keeps unused units where they are, and the update a majorisation.
        current = np.append(weights[:, i], bias[i])
        small = ridge * (np.trace(precision) / len(precision) + 1e-12)
        matrix = precision + np.diag(prior + small * np.ones(len(precision)))
        solution[:, i] = np.linalg.solve(matrix, moments[:, i] + small * current)
    return solution[:-1], solution[-1]
