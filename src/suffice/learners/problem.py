"""What every learner minimises, and how a model is judged on all rows.

    F(theta) = sum_i weight_i loss_i(theta) + strength [A(theta) - <theta, mu0>]

The second term is minus the log-likelihood of the prior's pseudo-statistics, a record in the shape of the moments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..kernels.loops.measure import FIELDS, measure_rows
from ..losses import Loss
from ..structures.base import Enumerable


class Measure(NamedTuple):
    """F on all rows, the mean of the training loss and of each loss over the labelled rows, and a bound on F - min F (or infinity)."""

    objective: float
    loss: float
    nll: float
    ncll: float = np.nan
    hinge: float = np.nan
    accuracy: float = np.nan
    gap: float = np.inf


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows with labels (-1: none) and weights, a structure, a loss and a prior. Where there are `blocks`, sums are over those, and the
    rows here are a sample of them."""

    model: Enumerable
    X: Any
    y: np.ndarray
    weights: np.ndarray
    loss: Loss
    prior: Any = None  # moments: pseudo-statistics
    blocks: Any = None  # a `blocks.BlockRows`

    patience = 2  # passes in a row that must lower F by too little to count

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float((self.weights if self.blocks is None else self.blocks.weights).sum())

    def scale(self, measure: Measure) -> float:
        """What `tol` is a share of."""
        return self.total * max(0.1, abs(measure.loss))

    def part(self, rows: np.ndarray) -> Problem:
        """The problem of some of the rows."""
        return replace(self, X=self.X[rows], y=self.y[rows], weights=self.weights[rows])

    def labelled(self) -> Problem:
        """The problem of the rows that have a label."""
        has_label = self.y >= 0
        return self if has_label.all() else self.part(np.flatnonzero(has_label))

    def statistics(self) -> Any:
        """Sums over the labelled rows: what maximum likelihood needs."""
        if self.blocks is not None:
            return self.blocks.statistics()
        return self.model.statistics(self.X, self.y, self.weights)

    def scores(self, moments, state: tuple | None = None) -> np.ndarray:
        return self.model.scores(moments, self.X, state)

    @np.errstate(
        divide="ignore", over="ignore", invalid="ignore"
    )  # outside of the domain it is not finite, and not kept
    def measure(
        self, moments, multipliers: np.ndarray | None = None, state: tuple | None = None, scores=None
    ) -> Measure:
        """F, the three losses and the accuracy on all rows; with the multipliers of a dual learner also the duality gap. Scores are
        given where they are known already.

        The gap bounds F - min F where F is convex: without latent variables and with block weights equal to the outcomes' masses.
        """
        rows = np.zeros((0, self.model.n_outcomes)) if multipliers is None else multipliers
        loss = self.loss
        if self.blocks is not None:
            sums = self.blocks.measure(moments, loss)
        else:
            if state is None and scores is None and self.model.keeps_logs and self.model.in_domain(moments):
                state = self.model.state_of(moments)
            scores = self.scores(moments, state) if scores is None else scores
            sums = measure_rows.of(loss.kernels)(scores, self.y, self.weights, rows, float(loss.margin), loss.settings)
        return self.measure_of(sums, moments, state, has_gap=multipliers is not None)

    def measure_of(self, sums: np.ndarray, moments, state: tuple | None = None, *, has_gap: bool) -> Measure:
        """The measure that sums over all rows (in the order of `FIELDS`) make."""
        total = dict(zip(FIELDS, map(float, sums), strict=True))
        labelled = max(total["labelled"], 1e-300)
        prior = (
            self.model.log_likelihood_of_state(self.prior, state)
            if state
            else self.model.log_likelihood(self.prior, moments)
        )
        return Measure(
            objective=total["loss"] - prior,
            loss=total["loss"] / max(self.total, 1e-300),
            nll=total["nll"] / labelled,
            ncll=total["ncll"] / labelled,
            hinge=total["hinge"] / labelled,
            accuracy=total["correct"] / labelled,
            gap=total["gap"] if has_gap and self.loss.is_discriminative else np.inf,
        )
