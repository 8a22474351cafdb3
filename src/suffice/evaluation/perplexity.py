"""Document-completion perplexity (80/20; Gan et al. 2015, used by Song et al. 2016, Table 4).

The hidden units of a test document are sampled given its observed words (80 % of the tokens). Averaging the rates
E[v_w | h] over the samples and normalising over the vocabulary gives p_w, and over the held-out tokens y of all
documents

    perplexity = exp( - sum_d sum_w y_dw log p_dw / sum_d sum_w y_dw ).

Documents without held-out tokens do not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import override

from .belief_network import network_of, posterior_means, rows_of
from .results import Estimate


@dataclass(frozen=True)
class Perplexity(Estimate):
    """`per_sample` holds the held-out log-probability of each document, `details["tokens"]` its held-out tokens.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.evaluation import Perplexity
    >>> found = Perplexity("by hand", np.log([0.25, 0.0625]), 1, {"tokens": np.array([1.0, 2.0])})
    >>> round(found.mean, 4)
    4.0
    """

    @property
    @override
    def mean(self) -> float:
        return float(np.exp(-self.per_sample.sum() / self.details["tokens"].sum()))

    @property
    @override
    def standard_error(self) -> float:
        """Delta method on the ratio of sums over documents."""
        tokens = self.details["tokens"]
        ratio = self.per_sample.sum() / tokens.sum()
        spread = np.sqrt(((self.per_sample - ratio * tokens) ** 2).sum()) / tokens.sum()
        return float(self.mean * spread)


def completion_perplexity(
    model: Any,
    observed: Any,
    held_out: Any,
    n_burn: int = 50,
    n_samples: int = 50,
    random_state: int = 0,
    n_jobs: int = 1,
) -> Perplexity:
    """Perplexity of `held_out` counts given `observed` counts of the same documents.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import SigmoidBeliefNetwork
    >>> from suffice.evaluation import completion_perplexity
    >>> X = np.repeat([[0, 0, 4, 4], [4, 4, 0, 0]], 20, axis=0)
    >>> model = SigmoidBeliefNetwork(hidden=(2,), data="count", max_iter=5, random_state=0).fit(X)
    >>> bool(completion_perplexity(model, X - X // 4, X // 4).mean < 4.0)
    True
    """
    held = np.asarray(held_out.todense() if hasattr(held_out, "todense") else held_out, dtype=float)
    network = network_of(model)
    if network.data != "count":
        raise ValueError('completion_perplexity is for count data: fit with data="count"')
    if held.shape != observed.shape:
        raise ValueError(f"observed has shape {observed.shape} but held_out {held.shape}: the same documents and words")
    _, rates = posterior_means(network, rows_of(model, observed), n_burn, n_samples, int(random_state), n_jobs)
    log_p = np.log(rates) - np.log(rates.sum(1, keepdims=True))
    details = {"tokens": held.sum(1), "n_burn": n_burn}
    return Perplexity("80/20 completion perplexity", (held * log_p).sum(1), n_samples, details)
