"""The runs of a fit: how many components, as many mixtures as asked for, and of each a start, its prior and EM."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ...choosing.components import chosen_components
from ...engines.threads import Engine
from ...learners.accelerated import AcceleratedEM
from ...learners.driver import Fit, run
from ...learners.em import BatchEM, MixtureProblem
from ...learners.expectation import Rows
from ...learners.online import OnlineEM, OnlineProblem
from ...learners.problem import Measure
from ...learners.starts import start_shares
from ...learners.variational import VariationalEM, VariationalProblem
from ...learners.watch import Watch
from ...structures.component_prior import ComponentPrior, default_amount
from ...structures.pooling import can_pool, pooled_members
from ...structures.posterior import ConjugatePrior
from ..warm import Last

MEMBERS = 4, 24  # least and most, where the number of components is left to the fit
MEMBER_ROWS = 16_000  # rows of all members together
JUDGED = 8  # members at most of a candidate: which number of components is best hardly depends on more


class Runs:
    """A mixin of Mixture."""

    algorithm: str
    batch_size: int | None
    init_params: str
    max_iter: int
    n_components: Any
    n_init: int
    n_members: Any
    prior: Any
    tol: float
    weight_concentration_prior: float | None
    _has_labels: bool
    candidates_: list[Any]
    choice_: str

    def _structure(self, reader: Any, rows: Any, n_outcomes: int, weights: np.ndarray) -> Any:
        raise NotImplementedError

    def _centred(self, model: Any, rows: Any, weights: np.ndarray) -> Any:
        """Weighted means as the location, so that a row of weight 2 is the row twice (only rounding and variational priors see it)."""
        return model if (weights == weights[0]).all() else model.centred(rows, weights)

    def _settled(self, reader: Any, rows: Any, weights: np.ndarray, generator, watch: Watch, engine: Engine) -> Any:
        """Rows as the reader takes them once training has decided what it leaves open."""
        return rows

    # -- several mixtures ---------------------------------------------------------------------------------------------

    @property
    def _is_auto(self) -> bool:
        return isinstance(self.n_components, str)

    @property
    def _is_plain(self) -> bool:
        """One mixture of a given number of components."""
        return not self._is_auto and self.n_members in (1, "auto")

    def _n_members(self, model, n_rows: int) -> int:
        if isinstance(self.n_members, str):
            least, most = MEMBERS
            return 1 if self._is_plain or not can_pool(model) else max(least, min(most, MEMBER_ROWS // max(n_rows, 1)))
        if self.n_members > 1 and not can_pool(model):
            raise ValueError(
                f"components that share a covariance cannot be those of {self.n_members} members: give n_members=1"
            )
        return int(self.n_members)

    def _members(
        self, reader, rows, weights, labels, generator, last: Last | None, watch: Watch, engine: Engine, all_rows=None
    ):
        """(problem, fit) of the mixture that answers: the components of all members, of a number that was given or chosen. Where the
        rows are a sample, `all_rows(model)` are fitted in the end, by one member."""
        if self._is_auto and all_rows is None:
            rows = self._settled(reader, rows, weights, generator, watch, engine)
        template = self._structure(reader, rows, 1, weights)
        n = 1 if all_rows is not None else self._n_members(template, rows.shape[0])
        size: Any = self.n_components
        self.candidates_, self.choice_ = [], f"{size} components, as given"

        def fit(X, own_weights, size: int, child, n_members: int, last=None):
            known = np.full(len(own_weights), -1, dtype=labels.dtype) if self._is_auto else labels
            children = [child] if n_members == 1 else child.spawn(n_members)
            found = [self._one(reader, X, own_weights, known, size, own, last, watch, engine) for own in children]
            return self._pooled(found, engine)

        if self._is_auto:
            by_rows = not isinstance(rows, np.ndarray) or not all(f.has_independent_columns for f in template.families)
            size, tried = chosen_components(
                rows, weights, by_rows, generator.spawn(1)[0], partial(fit, n_members=min(n, JUDGED)),
                lambda found, X: log_rows(found, X, engine),
            )  # fmt: skip
            self.candidates_ = [each.shown() for each in tried]
            n = 1 if size == 1 and isinstance(self.n_members, str) else n  # they would all be the same
            what = "rows" if by_rows else "cells"
            said = f"by the log density of held-out {what}" if tried else "the rows are too few for more"
            self.choice_ = f"{n} fits of {size} components, {said}" if n > 1 else f"{size} components, {said}"
        if all_rows is not None:
            return self._one(reader, rows, weights, labels, size, generator, None, watch, engine, all_rows)
        return fit(rows, weights, size, generator, n, last if n == 1 else None)

    def _one(
        self, reader, rows, weights, labels, size: int, generator, last, watch: Watch, engine: Engine, all_rows=None
    ):
        """(problem, fit) of one mixture of so many components."""
        model = self._centred(self._structure(reader, rows, size, weights), rows, weights)
        last = last if last is not None and last.fits(model, reader) else None
        model = model if last is None else last.structure
        problem = MixtureProblem(Rows(model.form(rows), weights, labels, engine=engine), None)
        return self._run(problem, generator, last, watch, None if all_rows is None else all_rows(model))

    def _pooled(self, found: list[tuple[MixtureProblem, Fit]], engine: Engine) -> tuple[MixtureProblem, Fit]:
        """(problem, fit) of the mixture of all components (`structures.pooling`)."""
        problem, first = found[0]
        if len(found) == 1:
            return problem, first
        fits = [fit for _, fit in found]
        model, moments = pooled_members(problem.model, [fit.moments for fit in fits])
        rows = problem.rows
        whole = MixtureProblem(Rows(model.form(rows.form.X), rows.weights, rows.labels, engine=engine), None)
        nll = -whole.expected(moments).log_likelihood / max(float(rows.weights.sum()), 1e-300)
        converged, n_iter = all(fit.converged for fit in fits), max(fit.n_iter for fit in fits)
        measure = Measure(nll * float(rows.weights.sum()), nll, nll)
        return whole, replace(first, moments=moments, measure=measure, converged=converged, n_iter=n_iter)

    # -- one mixture --------------------------------------------------------------------------------------------------

    def _run(
        self, problem: MixtureProblem, generator, last: Last | None, watch: Watch, all_rows=None
    ) -> tuple[Any, Fit]:
        """The best of the starts. Where the problem's rows are a sample, starts are found there and `all_rows` are fitted."""
        best: Fit | None = None
        given = self._given_start(problem)
        for child in generator.spawn(self.n_init if given is None and last is None else 1):
            statistics = self._start_statistics(problem, child)
            if all_rows is not None:
                statistics = statistics * (float(all_rows.weights.sum()) / float(statistics.mass.sum()))
            if problem.prior is None:
                problem = self._with_prior(problem, statistics)
            start = problem.prior.posterior(statistics)
            if last is not None:
                start = self._warm_start(problem, last)
            elif given is not None:
                start = given
            fit = self._solve(problem if all_rows is None else replace(problem, rows=all_rows), start, child, watch)
            if best is None or fit.measure.objective < best.measure.objective:  # type: ignore[union-attr]
                best = fit
        assert best is not None
        return problem if all_rows is None else replace(problem, rows=all_rows), best

    def _warm_start(self, problem: MixtureProblem, last: Last) -> Any:
        if self.algorithm != "variational":
            return last.moments
        if last.posterior is not None:
            return last.posterior
        rows = problem.rows
        return problem.prior.posterior(rows.expected(rows.form.coefficients(last.moments)).statistics)

    def _start_statistics(self, problem: MixtureProblem, generator: np.random.Generator) -> Any:
        rows, model = problem.rows, problem.model
        used, shares, _ = start_shares(
            model, rows.form.X, rows.weights, self.init_params, generator, rows.labels if self._has_labels else None
        )
        statistics = self._statistics_of(model, used, shares)
        if self.init_params == "random_from_data":  # single rows have no spread: as much as the parts of a partition
            _, parts, _ = start_shares(model, rows.form.X, rows.weights, "k-means++", generator)
            spread = self._statistics_of(model, used, parts) if len(parts) == len(shares) else statistics
            statistics = statistics + self._pseudo(model, spread, 1.0).pseudo(statistics)
        return statistics * (float(rows.weights.sum()) / max(float(statistics.mass.sum()), 1e-300))

    def _statistics_of(self, model: Any, X: Any, shares: np.ndarray) -> Any:
        if not model.is_latent(X):
            return model.expected_statistics(X, shares)
        labels = shares.argmax(axis=1)  # correlated columns with missing cells: a first estimate completes them
        return model.statistics(X, labels, shares.sum(axis=1))

    def _pseudo(self, model: Any, statistics: Any, amount: float) -> Any:
        return ComponentPrior.of(model, statistics, amount, 1.0 / model.n_outcomes)

    def _with_prior(self, problem: MixtureProblem, statistics: Any) -> MixtureProblem:
        if self.algorithm == "variational":
            concentration = self.weight_concentration_prior
            concentration = 1.0 / problem.model.n_outcomes if concentration is None else float(concentration)
            prior = ConjugatePrior.of(problem.model, problem.rows.form, statistics, concentration)
            return VariationalProblem(problem.rows, prior)
        prior = self._component_prior(problem.model, statistics)
        if self.algorithm == "online":
            return OnlineProblem(problem.rows, prior, reseeds=False)
        return replace(problem, prior=prior, reseeds=prior.amount > 0)

    def _component_prior(self, model: Any, statistics: Any) -> Any:
        amount = default_amount(model) if self.prior == "auto" else float(self.prior)
        return ComponentPrior.of(model, statistics, amount, min(amount, 1.0) / model.n_outcomes)

    def _given_start(self, problem: MixtureProblem) -> Any:
        return None

    def _solve(self, problem: MixtureProblem, start: Any, generator: np.random.Generator, watch: Watch) -> Fit:
        learner: Any = BatchEM()
        if self.algorithm == "online":
            learner = OnlineEM(self._batch_rows())
        elif self.algorithm == "variational":
            learner = VariationalEM()
        elif self.algorithm == "accelerated":
            learner = AcceleratedEM()
        return run(
            learner, problem, start, generator,
            max_epochs=self.max_iter, tol=self.tol, watch=watch, keep_best=self.algorithm != "online",
        )  # fmt: skip

    def _batch_rows(self) -> int:
        return 1000 if self.batch_size is None else int(self.batch_size)


def log_joint(found: tuple[MixtureProblem, Fit], X, engine: Engine) -> np.ndarray:
    """(n, K) array: log p(x, z) of other rows without the base measure."""
    problem, fit = found
    form, nothing = problem.model.form(X), np.zeros(X.shape[0])
    return Rows(form, nothing, nothing, engine=engine).scores(form.coefficients(fit.moments))


def log_rows(found: tuple[MixtureProblem, Fit], X, engine: Engine) -> np.ndarray:
    """(n,) array: log p(x) of other rows."""
    return logsumexp(log_joint(found, X, engine), axis=1) + found[0].model.log_base_measure(X)
