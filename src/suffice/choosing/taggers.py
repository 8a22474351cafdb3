"""Training a tagger: the strength of its prior on held-out sequences, sequences without tags if they help, then the fit on all.

A setting is judged by what held-out steps with a tag lose: minus the log of the (clipped) posterior of the tag, plus 1 where another
tag is more probable. `Setting.strength` is that of the prior: of the norm of the weights, or pseudo-steps a tag under the likelihood.
`Setting.second` is what sequences without tags count: under the likelihood their weight in EM; else how far the prior leans on the
weights of the model that EM learns from all sequences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from ..learners.chain_steps import ChainSteps
from ..learners.driver import run
from ..learners.quasi_newton import QuasiNewton
from ..learners.state import Fit
from ..learners.tag_data import TagData, likelihood_fit
from ..learners.tag_margin import margin_fit
from ..learners.tag_problem import TagProblem
from ..learners.watch import Watch
from ..structures.chain import ChainMoments
from ..structures.tag_weights import TagWeights
from .calibration import CLIP
from .folds import Deal, deal
from .priors import ENOUGH, Setting
from .recipes.base import Choice
from .search import Axis, Plan, search

STRENGTHS = {"nll": (10.0, 3.0, 1.0, 0.3), "ncll": (3.0, 1.0, 0.3, 0.1), "hinge": (10.0, 3.0, 1.0)}
LEANING = {"nll": (0.01, 0.1, 1.0), "ncll": (0.1, 0.3, 1.0), "hinge": (0.1, 0.3, 1.0)}
N_PARTS = 5
MAX_SEQUENCES = 4000  # that take part in the choice
ENOUGH_STEPS = 2000  # held out: then one part decides
TRIAL_STEPS = 15  # of L-BFGS, from the solution of the setting before
MORE_STEPS = 40  # where no setting was before
PAIRS = 6  # steps that L-BFGS remembers: vectors are long
DEFAULT = 1.0  # strength where nothing can be held out


@dataclass(frozen=True)
class TagOptions:
    """What the user asked for."""

    loss: str = "ncll"
    prior: Any = "auto"
    unlabelled_weight: Any = "auto"
    max_iter: int = 100
    tol: float = 1e-4


@dataclass
class TagSolution:
    """What training gives back: moments of the hidden Markov model; `weights` are those it was made of (None: the likelihood)."""

    data: TagData
    moments: ChainMoments
    fit: Fit
    choice: Choice
    weights: TagWeights | None


def trained(
    data: TagData, options: TagOptions, generator, watch: Watch, narrower: Callable[[], TagData] | None = None
) -> TagSolution:  # fmt: skip
    """The fit of all sequences, and what was chosen; `narrower()` are the same with fewer columns, taken if they do as well. It
    begins where the fit of a fold ended."""
    choice, trial = chosen(data, options, generator, watch.child("choice"))
    setting = choice.setting
    assert setting is not None
    if narrower is not None and trial is not None:
        fewer = narrower()
        other = Trial(fewer, options, trial.dealt, generator, watch.child("narrower"))
        score = float(other.losses_of(setting, MORE_STEPS).sum())
        if score <= choice.score * (1 + ENOUGH):
            data, trial, temperature = fewer, other, other.temperatures[setting]
            choice = replace(choice, temperature=temperature, score=score, reason=reason_of(score))
    start = None if trial is None else trial.ends.get(setting)
    fit = fitted(data, options, setting, generator, watch, start)
    if options.loss == "nll":
        return TagSolution(data, fit.moments, fit, choice, None)
    weights = choice.temperature * fit.moments
    moments = data.tagging.model(weights, float(data.weights.sum()), data.mean_length)
    return TagSolution(data, moments, fit, choice, weights)


def reason_of(score: float) -> str:
    return f"held-out log-loss and errors add up to {score:.4f}"


def fitted(
    data: TagData, options: TagOptions, setting: Setting, generator, watch: Watch, start: TagWeights | None = None,
    max_iter: int | None = None,
) -> Fit:  # fmt: skip
    """The fit at a setting: of moments under the likelihood, else of weights."""
    max_iter = options.max_iter if max_iter is None else max_iter
    if options.loss == "nll":
        return likelihood_fit(data, setting.strength, setting.second, generator, watch, max_iter, options.tol)[0]
    centre = leaning(data, setting, generator, watch)
    if options.loss == "hinge":
        return margin_fit(data, setting.strength, centre, generator, watch, max_iter, options.tol)
    problem = TagProblem.of(data.steps(), setting.strength, centre)
    learner = QuasiNewton(tol=options.tol, pairs=PAIRS)
    first = problem.coordinates.centre if start is None else problem.coordinates.nearest(start)
    return run(learner, problem, first, generator, max_epochs=max_iter, tol=0.0, watch=watch)


def leaning(data: TagData, setting: Setting, generator, watch: Watch) -> TagWeights:
    """The centre of the prior of the weights."""
    if not setting.second:
        return data.tagging.zeros()
    model = likelihood_fit(data, DEFAULT, 1.0, generator, watch.child("em"), 20)[0].moments
    return setting.second * data.tagging.weights_of(model)


# -- the choice --------------------------------------------------------------------------------------------------------


def chosen(data: TagData, options: TagOptions, generator, watch: Watch) -> tuple[Choice, Trial | None]:
    """The setting with the lowest held-out loss, and the trial; what the user gave is not searched."""
    second = 0.0 if isinstance(options.unlabelled_weight, str) else float(options.unlabelled_weight)
    axes = []
    if isinstance(options.unlabelled_weight, str) and data.is_unlabelled.any():
        axes = [Axis("second", (LEANING[options.loss],), evidence=1.0)]
    strengths = STRENGTHS[options.loss] if isinstance(options.prior, str) else (float(options.prior),)
    given = Setting(strengths[0], second)
    if len(strengths) == 1 and not axes and options.loss != "hinge":
        return Choice(given, reason="the prior was given"), None
    labelled = np.flatnonzero(data.is_labelled)
    few = f"{len(labelled)} sequences with tags are too few to hold some out" if len(labelled) < N_PARTS else ""
    reason = "there is one tag" if data.tagging.n_tags == 1 else few
    if reason:
        return Choice(Setting(DEFAULT, second) if len(strengths) > 1 else given, reason=reason), None
    dealt = deal(np.zeros(len(data.weights)), labelled, generator, N_PARTS, MAX_SEQUENCES)
    trial = Trial(data, options, dealt, generator, watch)
    walk = search(Plan(strengths, axes, Setting(0.0, second), extend=3.0 if len(strengths) > 1 else 0.0))
    setting, _ = next(walk)
    while True:
        try:
            setting, _ = walk.send(trial.losses_of(setting))
        except StopIteration as end:
            setting, score = end.value
            break
    return Choice(setting, trial.temperatures[setting], score, reason_of(score)), trial


class Trial:
    """Held-out losses of settings; a fit begins where that of the setting before ended."""

    def __init__(self, data: TagData, options: TagOptions, dealt: Deal, generator, watch: Watch):
        self.options, self.dealt, self.generator, self.watch = options, dealt, generator, watch
        n_steps = int(data.n_known[dealt.held_out(0)].sum())
        n_folds = int(np.clip(-(-ENOUGH_STEPS // max(n_steps, 1)), 1, N_PARTS))
        others = np.flatnonzero(data.is_unlabelled)
        self.parts = [
            (data.part(dealt.trained_on(number, others)), data.part(dealt.held_out(number)))
            for number in range(n_folds)
        ]
        self.starts: list[Any] = [None] * n_folds
        self.ends: dict[Setting, Any] = {}  # weights of the first fold
        self.temperatures: dict[Setting, float] = {}

    def losses_of(self, setting: Setting, max_iter: int = TRIAL_STEPS) -> np.ndarray:
        """What every held-out step adds to the score."""
        found = []
        for number, (part, held_out) in enumerate(self.parts):
            watch = self.watch.child(f"fold{number}")
            fit = fitted(part, self.options, setting, self.generator, watch, self.starts[number], max_iter)
            self.starts[number] = None if self.options.loss == "nll" else fit.moments
            found.append((held_out, fit.moments))
        self.ends[setting] = self.starts[0]
        temperature = self._temperature(found) if self.options.loss == "hinge" else 1.0
        self.temperatures[setting] = temperature
        parts = [held_out_losses(data, solution, temperature) for data, solution in found]
        losses, weights = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return losses * weights / weights.sum()

    def _temperature(self, found: list) -> float:
        """The factor on the weights with the lowest held-out log-loss: a hinge has no scale of its own."""

        def loss(log_factor: float) -> float:
            factor = float(np.exp(log_factor))
            parts = [held_out_losses(data, solution, factor, with_errors=False) for data, solution in found]
            return sum(float(losses @ weights) for losses, weights in parts)

        return float(np.exp(minimize_scalar(loss, bounds=(-3.0, 3.0), method="bounded", options={"xatol": 0.05}).x))


def held_out_losses(
    data: TagData, solution: Any, temperature: float = 1.0, *, with_errors: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """(losses, weights) of the steps whose tag is known."""
    steps = data.plain_steps()
    posterior = posteriors(data, steps, solution, temperature)
    known = np.flatnonzero((data.labels >= 0) & (np.repeat(data.weights, data.lengths) > 0))
    own, tags = posterior[known], data.labels[known]
    losses = -np.log((1 - CLIP) * own[np.arange(len(known)), tags] + CLIP / own.shape[1])
    if with_errors:
        losses = losses + (own.argmax(axis=1) != tags)
    return losses, np.repeat(data.weights, data.lengths)[known]


def posteriors(data: TagData, steps: ChainSteps, solution: Any, temperature: float = 1.0) -> np.ndarray:
    """(n, S) array: p(tag | x) of weights or of moments."""
    if isinstance(solution, ChainMoments):
        return steps.smoothed(data.tagging.chain.parameters(steps.form, solution))[1]
    return steps.smoothed(data.tagging.parameters(steps.form, temperature * solution)[0])[1]
