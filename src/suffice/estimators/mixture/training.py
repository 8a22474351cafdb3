"""How a classifier with a mixture per class is trained: EM per class, candidates of a prior, the choice among them on held-out rows.

Outcomes are (class, component) pairs, so the signed weights of the losses apply as they are (Masegosa 2014, Table 2). Training
starts at the EM of every class. The prior is `pooled` pseudo-rows of every component that look like all rows together, plus the
share `own` of the EM moments; no single pair of them is right (components much narrower than the data want the second, few rows
want the first), so a few are tried on a quarter of the rows, with EM itself among them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...choosing import priors
from ...choosing.selection import Choice, best_temperature, clipped_losses
from ...engines.threads import Engine
from ...families.base import Model
from ...families.component_priors import component_prior
from ...families.coordinates import coordinates_of
from ...families.forms import form_of
from ...learners.driver import Fit, Stop, run
from ...learners.em import BatchEM, MixtureProblem
from ...learners.expectation import Rows
from ...learners.quasi_newton import GroupProblem, QuasiNewton
from ...learners.watch import Watch
from ...losses import Loss
from .starts import start_shares

EM_PASSES, EM_TOL = 50, 1e-4
TRIAL_STEPS = 60  # of the minimiser for a candidate
TABLE_CANDIDATES = [(0.01, 0.1), (1.0, 0.03), (3.0, 0.0), (1.0, 0.0), (0.3, 0.0)]
WORD_CANDIDATES = [(0.1, 0.1), (0.1, 0.0), (0.03, 0.1), (0.03, 0.0), (0.01, 0.0)]
MIXED_START = 0.3  # share of the prior in the start: where EM leaves tiny variances every minimiser crawls
MAX_ROWS = 20_000  # rows that take part in the choice
UNLABELLED = (0.1, 1.0)  # weights of a row without a label that are tried


@dataclass(frozen=True, eq=False)
class Task:
    """Rows with labels of classes (-1: none), a model of classes times components outcomes, and the loss."""

    model: Model
    X: Any
    y: np.ndarray
    weights: np.ndarray
    loss: Loss
    n_components: int
    engine: Engine
    amount: float = 1.0  # pseudo-rows of a component in EM

    @property
    def n_classes(self) -> int:
        return self.model.n_outcomes // self.n_components

    def rows(self) -> Rows:
        return Rows(form_of(self.model, self.X), self.weights, self.y, self.n_components, self.engine)

    def part(self, rows: np.ndarray) -> Task:
        return replace(self, X=self.X[rows], y=self.y[rows], weights=self.weights[rows])

    def unlabelled_at(self, weight: float) -> Task:
        """Rows without a label count `weight` times; without them if it is 0."""
        if weight == 0:
            return self.part(np.flatnonzero(self.y >= 0))
        return replace(self, weights=np.where(self.y < 0, weight * self.weights, self.weights))

    def scores(self, moments, X) -> np.ndarray:
        """log p(x, class)."""
        form = form_of(self.model, X)
        n = X.shape[0]
        rows = Rows(form, np.ones(n), np.full(n, -1, dtype=np.int64), self.n_components, self.engine)
        return rows.group_scores(form.coefficients(moments))


def start_statistics(task: Task, generator):
    """k-means within every class; a class without rows (in the first batch of a stream) starts like all of them, with little mass."""
    H, J = task.n_components, task.model.n_outcomes
    total = None
    one = replace(task.model, n_outcomes=H)
    for c in range(task.n_classes):
        rows = np.flatnonzero((task.y == c) & (task.weights > 0))
        total_weight = float(task.weights[rows].sum()) if len(rows) else 0.1
        rows = rows if len(rows) else np.flatnonzero(task.weights > 0)
        used, shares, _ = start_shares(one, task.X[rows], task.weights[rows], "kmeans", generator)
        wide = np.zeros((len(shares), J))
        wide[:, c * H : (c + 1) * H] = shares * (total_weight / shares.sum())
        if task.model.is_latent(used):
            statistics = task.model.statistics(used, wide.argmax(axis=1), wide.sum(axis=1))
        else:
            statistics = task.model.expected_statistics(used, wide)
        total = statistics if total is None else total + statistics
    return total


def fitted_by_em(task: Task, generator, passes: int = EM_PASSES, report=None, start=None) -> tuple[Fit, MixtureProblem]:
    statistics = start_statistics(task, generator)
    prior = component_prior(task.model, statistics, task.amount, 1.0 / task.model.n_outcomes)
    problem = MixtureProblem(task.rows(), prior, reseeds=task.n_components > 1 and task.amount > 0)
    start = prior.posterior(statistics) if start is None else start
    return run(BatchEM(), problem, start, generator, max_epochs=passes, tol=EM_TOL, watch=Watch(report)), problem


def candidate_prior(task: Task, em, setting: priors.Setting):
    """Pseudo-statistics of a candidate; `em` are the moments of EM, of any total."""
    model, J = task.model, task.model.n_outcomes
    n = float(task.weights.sum())
    if not model.table_prior:
        strength = replace(setting, strength=setting.strength / task.n_components)
        record = priors.uniform(model, em, strength, priors.mean_squared_row(task.X, task.weights))
        return replace(record, mass=record.mass / task.n_components)
    own = (1.0 / float(em.mass.sum())) * em
    own = model.filled(own, own.mass, model.spread(own.mass))
    even = np.full(J, 1.0)
    pooled = model.filled(model.pooled(own), even, model.spread(even))
    return setting.strength * pooled + (setting.second * n) * own


def descended(task: Task, em, setting: priors.Setting, steps: int, tol: float, report=None, start=None) -> Fit:
    """L-BFGS from between EM and the prior, unless another start is given."""
    prior = candidate_prior(task, em, setting)
    model = task.model
    if start is None:
        start = between(model, em, prior)
    problem = GroupProblem(task.rows(), task.loss, prior, coordinates_of(model, em))
    fit = run(QuasiNewton(tol), problem, start, np.random.default_rng(0), max_epochs=steps, watch=Watch(report))
    if not model.in_domain(fit.moments):  # at the edge, beyond what moments can hold
        fit.moments = em
        fit.ended(Stop.DOMAIN)
    return fit


def between(model: Model, em, prior):
    one, other = (1.0 / float(em.mass.sum())) * em, (1.0 / float(prior.mass.sum())) * prior
    if model.table_prior:
        one = model.filled(one, one.mass, model.spread(one.mass))
        other = model.filled(other, other.mass, model.spread(other.mass))
    start = (1.0 / (1.0 + MIXED_START)) * (one + MIXED_START * other)
    return model.projected(start) if hasattr(model, "projected") else start


def candidates_of(task: Task) -> list[priors.Setting]:
    pairs = TABLE_CANDIDATES if task.model.table_prior else WORD_CANDIDATES
    return [priors.Setting(*pair) for pair in pairs]


def folds(task: Task, generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """(training rows, held-out rows): a quarter of the labelled rows held out; of few rows three quarters in turn."""
    labelled = np.flatnonzero((task.y >= 0) & (task.weights > 0))
    dealt = generator.permutation(labelled)[:MAX_ROWS]
    dealt = dealt[np.argsort(task.y[dealt], kind="stable")]
    part = np.arange(len(dealt)) % 4
    unlabelled = generator.permutation(np.flatnonzero(task.y < 0))[:MAX_ROWS]
    return [
        (np.sort(np.concatenate([dealt[part != held], unlabelled])), np.sort(dealt[part == held]))
        for held in range(3 if len(dealt) < 600 else 1)
    ]


class Trial:
    """Held-out scores of candidates, over the folds."""

    def __init__(self, task: Task, generator):
        self.task = task
        self.folds = folds(task, generator)
        rows = np.concatenate([held for _, held in self.folds])
        self.y, self.weights = task.y[rows], task.weights[rows] / task.weights[rows].sum()

    def losses(self, moments_of, *, calibrate: bool = False) -> tuple[float, float, float]:
        """(clipped log-loss, accuracy, temperature) of `moments_of(place of the fold, task of its training rows)`."""
        parts = []
        for place, (train, held) in enumerate(self.folds):
            parts.append(self.task.scores(moments_of(place, self.task.part(train)), self.task.X[held]))
        scores = np.concatenate(parts)
        temperature = best_temperature(scores, self.y, self.weights) if calibrate else 1.0
        loss = float(self.weights @ clipped_losses(temperature * scores, self.y))
        return loss, float(self.weights @ (scores.argmax(axis=1) == self.y)), temperature


def choose(task: Task, generator, tol: float) -> Choice:
    """The candidate with the lowest held-out log-loss; None: EM itself."""
    n, n_classes = int((task.y >= 0).sum()), len(np.unique(task.y[task.y >= 0]))
    if n < 10 * n_classes:
        return Choice(None, reason=f"{n} distinct rows are fewer than 10 for each class")
    trial = Trial(task.unlabelled_at(0.0), generator)
    ems: dict[int, Any] = {}
    seeds = generator.spawn(len(trial.folds))

    def em_of(place: int, part: Task):
        if place not in ems:
            ems[place] = fitted_by_em(part, seeds[place])[0].moments
        return ems[place]

    calibrate = task.loss.name == "hinge" or not task.model.table_prior
    best, _, temperature = trial.losses(em_of, calibrate=calibrate)
    setting, reason = None, f"held-out log-loss {best:.4f} of EM is the lowest"
    temperature = 1.0
    for candidate in candidates_of(task):

        def descended_on(place: int, part: Task, candidate=candidate):
            return descended(part, em_of(place, part), candidate, TRIAL_STEPS, tol).moments

        loss, _, found = trial.losses(descended_on, calibrate=calibrate)
        if loss < best:
            best, setting, temperature, reason = loss, candidate, found, f"held-out log-loss {loss:.4f}"
    return Choice(setting, temperature, best, reason)


def choose_unlabelled(task: Task, choice: Choice, generator, tol: float) -> tuple[float, str]:
    """The weight of a row without a label, by held-out labelled rows: 0 unless one of a few gains."""
    labelled = np.bincount(task.y[task.y >= 0], minlength=task.n_classes)
    if labelled.min() < 3:
        return UNLABELLED[0], "a class has fewer than 3 labels: a row without one counts a tenth"
    trial, seed = Trial(task, generator), int(generator.integers(2**31))

    def loss_at(weight: float) -> float:
        def moments_of(place: int, part: Task):
            part = part.unlabelled_at(weight)
            return trained(part, choice, np.random.default_rng([seed, place]), TRIAL_STEPS, tol).moments

        return trial.losses(moments_of)[0]

    without = loss_at(0.0)
    found = {weight: loss_at(weight) for weight in UNLABELLED}
    weight = min(found, key=lambda key: found[key])
    gain = without - found[weight]
    if gain <= 0:
        return 0.0, "rows without a label do not lower held-out log-loss"
    return weight, f"rows without a label change held-out log-loss by {-gain:.4f}"


def trained(task: Task, choice: Choice, generator, steps: int, tol: float, report=None, start=None) -> Fit:
    """EM, and from there the minimiser unless EM is what was chosen; the one that comes last begins at `start` if there is one."""
    if choice.setting is None:
        return fitted_by_em(task, generator, report=report, start=start)[0]
    em, _ = fitted_by_em(task, generator)
    return descended(task, em.moments, choice.setting, steps, tol, report, start)
