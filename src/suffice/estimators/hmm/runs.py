"""The runs of a fit: starts, the prior they give, and the learner."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...learners.accelerated import AcceleratedEM
from ...learners.chain_em import BATCH, ChainProblem, OnlineChainEM, VariationalChainProblem, start_statistics
from ...learners.chain_steps import ChainSteps
from ...learners.driver import Fit, run
from ...learners.em import BatchEM
from ...learners.variational import VariationalEM
from ...learners.watch import Watch
from ...structures.chain import ChainPrior
from ...structures.chain_posterior import ChainConjugate
from ...structures.component_prior import default_amount


class Runs:
    """A mixin of HMM."""

    algorithm: str
    batch_size: int | None
    init_params: str
    max_iter: int
    n_init: int
    prior: Any
    tol: float
    topology: str
    _default_start: str

    def _run(
        self,
        sequences: ChainSteps,
        labels: Any,
        generator: np.random.Generator,
        last: Any,
        watch: Watch,
        every: Any = None,
    ) -> tuple[ChainProblem, Fit]:
        """The best of the starts. Where the sequences are a sample, starts are found there and `every` sequence is fitted."""
        best: Fit | None = None
        problem: Any = None
        for child in generator.spawn(self.n_init if last is None else 1):
            statistics = start_statistics(sequences, self._start_kind(), child, labels)
            if every is not None:
                statistics = statistics * (every.total / max(sequences.total, 1e-300))
            if problem is None:
                problem = self._problem(sequences if every is None else every, statistics)
            if last is None or self.algorithm == "variational":
                start = problem.prior.posterior(statistics if last is None else last.moments)
            else:
                start = last.moments
            learner = {
                "em": BatchEM(), "accelerated": AcceleratedEM(), "online": OnlineChainEM(self._batch()),
                "variational": VariationalEM(),
            }  # fmt: skip
            fit = run(
                learner[self.algorithm], problem, start, child, max_epochs=self.max_iter, tol=self.tol, watch=watch
            )
            if best is None or fit.measure.objective < best.measure.objective:  # type: ignore[union-attr]
                best = fit
        assert best is not None
        return problem, best

    def _problem(self, sequences: ChainSteps, statistics: Any) -> ChainProblem:
        if self.algorithm == "variational":
            amount = 1.0 if self.prior == "auto" else float(self.prior)
            prior = ChainConjugate.of(sequences.chain, sequences.form, statistics, amount)
            return VariationalChainProblem(sequences, prior)
        amount = default_amount(sequences.chain.emissions) if self.prior == "auto" else float(self.prior)
        return ChainProblem(sequences, ChainPrior.of(sequences.chain, statistics, amount), reseeds=amount > 0)

    def _start_kind(self) -> str:
        if self.init_params != "auto":
            return self.init_params
        return self._default_start if self.topology in ("ergodic", "cyclic") else "parts"

    def _batch(self) -> int:
        return BATCH if self.batch_size is None else int(self.batch_size)
