"""Mixtures of linear experts as a regressor: parameters, the line of a fit, streams. No mathematics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from typing_extensions import override

from ...choosing.recipes.experts import StackedExperts
from ...engines.threads import n_threads
from ...learners.expert_stream import moved
from ...learners.experts import ExpertSetting, fitted
from ...learners.watch import Watch
from ...structures.committee import Committee, Member
from ...structures.experts import Experts
from ...structures.targets import TARGETS
from ..checks import check_jobs, check_one_of, check_tol, check_whole, is_number
from ..kinds import Path, Seed
from .base import Regressor, units_of


class MixtureRegressor(Regressor):
    """Regression with a predictive density: gates p(z) p(x | z) and experts p(y | x, z), trained by log p(y | x).

    For tables of numbers, categories and counts where the spread, the shape or the number of peaks of the target depends on the row,
    where cells are missing (they are integrated out, in training and in prediction), or where an interval is wanted and not only a
    mean. Experts are linear, with bends at four quantiles of every column of numbers (`suffice.structures.hinges`). Several such
    mixtures are fitted to parts of the rows and mixed by their held-out log density.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Components of each mixture. "auto" stacks mixtures of 1 to 32 and, where no cell is missing, a Bayesian line.
    loss : {"ncll", "nll"}, default="ncll"
        "ncll" fits log p(y | x), "nll" the joint log p(x, y) (a density of the rows too, and a worse one of the target).
    family : {"gaussian", "poisson", "negative_binomial", "bernoulli"}, default="gaussian"
        What the target is given a row and a component: a number, a count, or 0 and 1.
    kinds : dict {column: kind}, list of kinds, one kind or "auto", default="auto"
        "gaussian", "categorical", "bernoulli" or "count". By default columns of numbers are "gaussian" and all others categories.
    n_members : int or "auto", default="auto"
        Fits of every candidate, each on all rows but one part; 1 is a single fit to all rows, with nothing held out.
    max_iter : int, default=100
        Steps of L-BFGS in each fit.
    tol : float, default=1e-6
        Relative decrease of the objective that ends a fit.
    unlabelled_weight : float or "auto", default="auto"
        Weight of rows whose target is missing (NaN). "auto" is 1 under "nll", and 0 under "ncll", which says nothing of p(x).
    random_state : int, RandomState instance or None, default=None
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    verbose : int, default=0
    checkpoint, checkpoint_minutes, resume
        A file from which an interrupted fit goes on, as for all estimators.

    Attributes
    ----------
    committees_ : list of Committee
        The mixture of mixtures of each target.
    choice_ : str
        What was chosen.
    candidates_ : list of dict
        Every candidate with its held-out log density and its weight.
    held_out_log_density_ : float
        Mean held-out log density of the stack, of the (first) target; NaN where nothing was held out.
    n_features_in_, feature_names_in_, n_targets_

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.regression import MixtureRegressor
    >>> generator = np.random.default_rng(0)
    >>> X = generator.uniform(-2, 2, (300, 1))
    >>> y = np.abs(X[:, 0]) + (0.05 + 0.2 * (X[:, 0] > 0)) * generator.normal(size=300)
    >>> model = MixtureRegressor(4, n_members=1, random_state=0).fit(X, y)
    >>> mean, std = model.predict([[-1.0], [1.0]], return_std=True)
    >>> bool(std[1] > std[0])
    True
    >>> lower, upper = model.predict_interval([[1.0]], coverage=0.9)
    >>> bool(lower[0] < 1.0 < upper[0])
    True
    """

    history_: dict[str, list[Any]]
    n_iter_: int
    stopped_: str

    def __init__(
        self, n_components: int | str = "auto", *, loss: str = "ncll", family: Any = "gaussian", kinds: Any = "auto",
        n_members: int | str = "auto", max_iter: int = 100, tol: float = 1e-6, unlabelled_weight: float | str = "auto",
        random_state: Seed = None, n_jobs: int | None = None, verbose: int = 0, checkpoint: Path = None,
        checkpoint_minutes: float = 3.0, resume: Path | bool = None,
    ) -> None:  # fmt: skip
        self.n_components = n_components
        self.loss = loss
        self.family = family
        self.kinds = kinds
        self.n_members = n_members
        self.max_iter = max_iter
        self.tol = tol
        self.unlabelled_weight = unlabelled_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.checkpoint_minutes = checkpoint_minutes
        self.resume = resume

    # -- training -----------------------------------------------------------------------------------------------------

    @override
    def _committee(
        self, rows: Any, y: Any, weights: np.ndarray, generator: np.random.Generator, watch: Watch, n_more: int = 0
    ) -> tuple[Committee, tuple[Any, ...]]:
        """The committee of one target, and (what was chosen, all candidates, held-out log density)."""
        target = TARGETS[self.family]()
        seen = ~np.isnan(y)
        share = self._unlabelled_share()
        if not seen.all():
            weights = np.where(seen, weights, share * weights)
            keep = np.flatnonzero(weights > 0)
            rows, y, weights, seen = rows[keep], y[keep], weights[keep], seen[keep]
        location, scale = 0.0, 1.0
        if not target.is_whole:
            location, scale = units_of(y[seen], weights[seen])
            y = (y - location) / scale
        rows = np.ascontiguousarray(rows)
        structure = Experts.of(self._gates(n_more), rows, target, weights)
        whole = structure.rows(rows, y, weights)
        if self.n_members == 1:
            setting = self._single(len(y))
            fit = fitted(structure, whole, setting, self.loss == "ncll", generator, watch, self.tol)
            own = Member(structure.with_outcomes(setting.n_components), fit.moments, 1.0)
            self.history_, self.n_iter_, self.stopped_ = fit.history, fit.n_iter, fit.stopped
            return Committee([own], location, scale), (f"one fit of {setting.n_components} components", [], np.nan)
        recipe = StackedExperts(
            self.n_components, self.n_members, self.max_iter, self.tol, self.loss == "ncll", n_threads(self.n_jobs)
        )
        committee, stack = recipe.trained(structure, rows, y, weights, generator, watch)
        committee = replace(committee, location=location, scale=scale)
        shown = [
            {**vars(c), "held_out_log_density": density - np.log(scale), "weight": w} for c, density, w in stack.tried
        ]
        if self.verbose:
            for each in shown:
                print(f"{type(self).__name__} candidate {each}", flush=True)
        text = (
            f"{len(stack.candidates)} of {len(stack.tried)} candidates, {len(stack.fits[0])} fits each, by held-out log density; "
            f"width {committee.width:.2f} by held-out coverage"
        )
        return committee, (text, shown, stack.held_out - np.log(scale))

    def _single(self, n_rows: int) -> ExpertSetting:
        K = 8 if isinstance(self.n_components, str) else self.n_components
        return ExpertSetting(min(K, max(1, n_rows // 3)), steps=self.max_iter)

    @override
    def _moved(self, committee: Committee, rows: Any, y: Any, weights: np.ndarray) -> Committee:
        seen = ~np.isnan(y)
        weights = np.where(seen, weights, self._unlabelled_share() * weights)
        keep = np.flatnonzero(weights > 0)
        if not len(keep):
            return committee
        y = (y - committee.location) / committee.scale
        batch = rows[keep], y[keep], weights[keep]
        members = [
            replace(m, moments=moved(m.structure, m.moments, *batch, self._seen, self.loss == "ncll"))
            for m in committee.members
        ]
        line = None if committee.line is None else committee.line.updated(*batch)
        return replace(committee, members=members, line=line)

    # -- parts --------------------------------------------------------------------------------------------------------

    def _unlabelled_share(self) -> float:
        if isinstance(self.unlabelled_weight, str):
            return 0.0 if self.loss == "ncll" else 1.0
        return float(self.unlabelled_weight)

    @override
    def _check_parameters(self) -> None:
        check_whole("n_components", self.n_components, auto=True)
        check_whole("n_members", self.n_members, auto=True)
        check_whole("max_iter", self.max_iter)
        check_one_of("loss", self.loss, ("ncll", "nll"))
        check_one_of("family", self.family, tuple(TARGETS))
        check_tol(self.tol)
        check_jobs(self.n_jobs)
        weight: Any = self.unlabelled_weight
        if not (0 <= weight < np.inf if is_number(weight) else isinstance(weight, str) and weight == "auto"):
            raise ValueError(f"unlabelled_weight={weight!r} is neither a number >= 0 nor 'auto'")

    @property
    @override
    def _target(self) -> Any:
        return TARGETS[self.family]

    @override
    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self.family != "gaussian"
        tags.target_tags.positive_only = self.family != "gaussian"
        return tags
