r"""The bound that EM climbs, as an object: likelihood, lower bound, auxiliary function and gap of any mixture.

    L(theta)              = mean_i log p(x_i | theta)
    L_B(theta, alpha)     = mean_i sum_k alpha_i(k) [ log p(x_i, k | theta) - log alpha_i(k) ]      <= L(theta)
    Q(theta; previous)    = mean_i sum_k p(k | x_i, previous) log p(x_i, k | theta)                 (the auxiliary function)
    gap                   = L - L_B = mean_i KL(alpha_i | p(k | x_i, theta))                        (0: the bound is tight)

L(theta) - L(previous) >= Q(theta; previous) - Q(previous; previous), with equal slopes at theta = previous. Means are over rows, by
their weights; missing cells are summed out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, xlogy
from sklearn.utils.validation import check_is_fitted

__all__ = ["Bound"]


class Bound:
    """Likelihood and bounds of a fitted mixture on rows X.

    Every `theta` is a fitted mixture of the same kind; None is the one given here.

    Parameters
    ----------
    mixture : a fitted mixture of `suffice.mixture`
    X : rows as the mixture takes them
    sample_weight : array-like of shape (n_samples,), default=None

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.bounds import Bound
    >>> from suffice.mixture import GaussianMixture
    >>> X = np.random.default_rng(0).normal(size=(50, 1))
    >>> bound = Bound(GaussianMixture(2, random_state=0, max_iter=5).fit(X), X)
    >>> bool(abs(bound.gap(bound.posterior())) < 1e-12)
    True
    >>> even = np.full((50, 2), 0.5)
    >>> bool(bound.lower_bound(even) <= bound.log_likelihood())
    True
    """

    mixture: Any

    def __init__(self, mixture: Any, X: Any, sample_weight: ArrayLike | None = None) -> None:
        check_is_fitted(mixture)
        self.mixture, self.X = mixture, X
        n = len(mixture.score_samples(X))
        weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        if weights.shape != (n,) or not (weights >= 0).all() or not weights.sum() > 0:
            raise ValueError(f"sample_weight has shape {weights.shape}; it must be {n} weights >= 0, not all of them 0")
        self.weights: Any = weights / weights.sum()

    def _joint(self, theta: Any) -> np.ndarray:
        return (self.mixture if theta is None else theta).predict_joint_log_proba(self.X)

    def log_likelihood(self, theta: Any = None) -> float:
        """L(theta)."""
        return float(self.weights @ logsumexp(self._joint(theta), axis=1))

    def posterior(self, theta: Any = None) -> np.ndarray:
        """p(k | x, theta): the alpha at which the bound is tight (the E-step)."""
        joint = self._joint(theta)
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

    def lower_bound(self, alpha: Any, theta: Any = None) -> float:
        """L_B(theta, alpha)."""
        alpha = self._checked(alpha)
        return self._expected(alpha, theta) - float(self.weights @ xlogy(alpha, alpha).sum(axis=1))

    def auxiliary(self, theta: Any = None, previous: Any = None) -> float:
        """Q(theta; previous)."""
        return self._expected(self.posterior(previous), theta)

    def gap(self, alpha: Any, theta: Any = None) -> float:
        """L(theta) - L_B(theta, alpha), which is never negative."""
        return self.log_likelihood(theta) - self.lower_bound(alpha, theta)

    def _expected(self, alpha: np.ndarray, theta: Any) -> float:
        joint = self._joint(theta)
        return float(self.weights @ np.where(alpha > 0, alpha * joint, 0.0).sum(axis=1))

    def _checked(self, alpha: Any) -> np.ndarray:
        alpha = np.asarray(alpha, dtype=float)
        shape = (len(self.weights), len(self.mixture.weights_))
        if alpha.shape != shape or not (alpha >= 0).all() or not np.allclose(alpha.sum(axis=1), 1.0):
            raise ValueError(
                f"alpha has shape {alpha.shape}; it must be probabilities of shape {shape} whose rows add up to 1"
            )
        return alpha
