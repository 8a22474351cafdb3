"""Learning from a stream of batches: `partial_fit`. Shared by all classifiers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..choosing import priors
from ..choosing.selection import Choice
from ..choosing.unlabelled import rows_of
from ..families.completion import any_missing
from ..families.rows import empty_rows
from ..learners.driver import Fit, Problem, Stop
from ..learners.incremental import Incremental
from ..learners.step_sizes import step_size_of
from ..learners.stochastic import stream_size, stream_step, with_step
from ..reading.guards import all_or_nothing, checked_weights, one_blas_thread
from ..reading.labels import class_weights, encoded, split_labels
from .answers import log_posterior

UNLABELLED = 0.01  # weight of a row without a label in a stream, under a discriminative loss
# how fast the average of a stream forgets: under the hinge, where a row counts or not, the parameters wander
HASTE = {"ncll": 20.0, "hinge": 4.0}
WORDS = priors.Setting(0.1)  # prior of a stream of words that no fit has chosen one for


class Streaming:
    """A mixin of GenerativeClassifier."""

    classes_: np.ndarray
    moments_: Any
    history_: dict
    loss: str
    step_size: Any
    average: bool
    prior: Any
    class_weight: Any
    unlabelled_weight: Any
    _stored_model: Any
    _statistics: Any
    _average: Any
    _n_steps: int
    _sums: Any = None  # the prior and what the rows of a stream have contributed; None: `moments_` are that
    _size: float = 0.0  # mass of the prior of `fit`
    _keeps_likelihood: bool = False  # `fit` found that training does not help
    choice_: Choice
    _validated: Any  # these three are GenerativeClassifier's
    _check_rows: Any
    _check_class_prior: Any

    @all_or_nothing
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from one batch of a stream.

        Under `loss="nll"` the batches give what one `fit` on all of them gives (where cells or labels are missing: one pass of EM,
        each batch completed by the model so far). Under the other losses every row is visited once, as `fit` visits it, and
        what earlier rows gave to the moments is the prior of later ones; the natural parameters are averaged. Where cells of correlated
        columns are missing, a row weighs more than the model, or `step_size` is given, mini-batches make stochastic steps from the
        model so far instead. After `fit` its prior and calibration are kept, and maximum likelihood where it kept that.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            None or NaN, or -1 if it is not one of the classes: no label.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever occur; needed in the first call.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        loss = self._check_parameters()
        first = not hasattr(self, "_stored_model")
        X, codes, weights = self._stream_rows(X, y, classes, sample_weight, first, loss)
        if not weights.any():  # rows without a label that are to count nothing
            return self
        model = self._model(X, len(self.classes_), codes, weights) if first else self._stored_model
        X = self._scaled(X, model)
        with one_blas_thread():
            fit, self.class_count_ = self._learn_batch(Problem(model, X, codes, weights, loss, None), first)
        self.unlabelled_weight_ = self._stream_weight(loss)
        choice = Choice(None, reason="partial_fit does not choose a prior") if first else self.choice_
        self._keep(model, fit, replace(choice, multipliers=None))
        return self

    def _begin_stream(self, problem: Problem, choice: Choice) -> None:
        """After `fit`: a stream goes on from its model."""
        self._average, self._n_steps, self._sums = None, 0, None
        self._size = 0.0 if problem.prior is None else float(problem.prior.mass.sum())
        self._keeps_likelihood = self.loss != "nll" and self.prior == "auto" and choice.setting is None

    def _learn_batch(self, problem: Problem, first: bool) -> tuple[Fit, np.ndarray]:
        """The model after a batch, and the weight of every class so far."""
        statistics = self._seen_statistics(problem, None if first else self._statistics)
        fit, self._average, self._n_steps = self._stream(problem, statistics, first)
        self._statistics = statistics
        return fit, statistics.mass

    def _stream_rows(self, X, y, classes, sample_weight, first: bool, loss) -> tuple[Any, np.ndarray, np.ndarray]:
        """Checked rows, codes of their labels (-1: none) and weights; the first batch fixes the classes."""
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all rows at once: give weights {label: weight} for a stream"
            )
        known = self.classes_ if not first else None if classes is None else np.unique(classes)
        y, unlabelled = split_labels(y, known)
        X, y = self._validated(X, y, reset=first)
        if known is None:
            raise ValueError("classes=None in the first call of partial_fit: give all labels that will occur")
        if not first and classes is not None and not np.array_equal(np.unique(classes), known):
            raise ValueError(f"classes={classes!r} is not the same as in the first call of partial_fit: {known!r}")
        _, codes = encoded(y, unlabelled, known)
        if first and unlabelled.all():
            raise ValueError("y has no label in the first batch of the stream: begin with labelled rows")
        if first:
            self.classes_ = known
            self._check_class_prior()
        X = self._check_rows(X, reset=first)
        if first and any_missing(X) and empty_rows(X).all():
            raise ValueError("X has no observed cell in the first batch of the stream: every value is missing (NaN)")
        weights = checked_weights(sample_weight, X)
        weights = class_weights(self.class_weight, self.classes_, codes, weights)
        weights = np.where(unlabelled, self._stream_weight(loss) * weights, weights)
        if first and not weights[~unlabelled].any():
            raise ValueError("sample_weight is zero for every labelled row of the first batch of the stream")
        return X, codes, weights

    def _given_prior(self, model, statistics, *, discriminative: bool) -> Any:
        raise NotImplementedError  # GenerativeClassifier's

    def _joint(self, X) -> np.ndarray:
        raise NotImplementedError  # Prediction's

    def _stream_weight(self, loss) -> float:
        """Nothing can be held out of a stream: "auto" is 1 under the likelihood, a hundredth under the other losses."""
        if isinstance(self.unlabelled_weight, str):
            return UNLABELLED if loss.is_discriminative else 1.0
        return float(self.unlabelled_weight)

    def _seen_statistics(self, problem: Problem, before):
        """Of all rows so far (`before` and this batch): of the labelled ones; under the likelihood with the rest of the batch
        completed by the model so far."""
        model, codes, first = problem.model, problem.y, before is None
        unlabelled = codes < 0
        complete = not unlabelled.any() and (first or not model.is_latent(problem.X))
        if complete or (problem.loss.is_discriminative and (first or not model.is_latent(problem.X))):
            return model.statistics_of_shards(problem.X, codes, problem.weights, before)
        if first:
            labelled = model.statistics(problem.X, codes, problem.weights)
            moments = priors.interior(model, labelled)
        else:
            moments = self.moments_
        shares = np.zeros((len(codes), model.n_outcomes))
        if unlabelled.any() and not problem.loss.is_discriminative:
            rows = problem.X[unlabelled]
            joint = model.scores(moments, rows) if first else self._joint(rows)
            shares[unlabelled] = np.exp(log_posterior(joint, moments.mass))
        shares[~unlabelled, codes[~unlabelled]] = 1.0
        batch = model.completed_statistics(problem.X, problem.weights[:, None] * shares, moments)
        return batch if first else before + batch

    def _stream(self, problem: Problem, statistics, first: bool):
        model = problem.model
        if not problem.loss.is_discriminative or (not first and self._keeps_likelihood):
            moments = statistics + self._given_prior(model, statistics, discriminative=False)
            return Fit(moments, n_iter=1), None, 0
        sums = self._stream_prior(problem, statistics) if first else self._sums
        if sums is None:  # after `fit`; of some algorithms moments add up to one
            sums = self.moments_ * max(1.0, self._size / float(self.moments_.mass.sum()))
        is_light = problem.weights.max() <= sums.mass.sum()  # steps of heavier rows would hardly be a beginning
        if self.step_size is None and is_light and not model.is_latent(problem.X):
            return self._visit(problem, statistics, sums, first)
        # after `fit` blocks may weigh other than their outcomes (the prior's do): the same model, one example in all
        moments = priors.interior(model, statistics) if first else model.moments_of(model.natural_of(self.moments_))
        seen = max(float(statistics.mass.sum()), 1e-300)
        here = float(problem.weights.sum())
        prior = self._stream_prior(problem, statistics) * (here / seen)
        average = None if first else self._average
        moments, average, n_steps, shortened = stream_step(
            replace(problem, prior=prior), moments, average, 0 if first else self._n_steps,
            step_size_of(self.step_size), max(seen - here, 0.0),
        )  # fmt: skip
        self._sums = moments * float(sums.mass.sum() / moments.mass.sum())
        return self._shown(model, moments, average, shortened, first), average, n_steps

    def _stream_prior(self, problem: Problem, statistics):
        model = problem.model
        if self.prior != "auto":
            return self._given_prior(model, statistics, discriminative=True)
        if model.table_prior:
            return priors.blended(model, statistics, priors.Setting(3.0 * model.n_outcomes, 0.0))
        return priors.uniform(model, statistics, WORDS, priors.mean_squared_row(problem.X, problem.weights))

    def _visit(self, problem: Problem, statistics, sums, first: bool):
        """One incremental pass over the batch: the moments so far (a sum: prior and contributions) are the prior of its rows."""
        model, learner = problem.model, Incremental(watch=False)
        average, n_steps = (None, 0) if first else (self._average, self._n_steps)
        seen = max(float(statistics.mass.sum() - problem.weights.sum()), 0.0)
        start, n_shortened = 0, 0
        while start < len(problem.y):
            size = stream_size(seen + start, model.n_outcomes)
            part = rows_of(problem, np.arange(start, min(start + size, len(problem.y))))
            part = replace(part, prior=sums)
            state = learner.step(part, learner.init(part, sums, np.random.default_rng(n_steps)))
            n_shortened += state.n_shortened
            moved = learner.last_moments(part, state)
            natural = model.natural_of(moved if model.in_domain(moved) else sums)
            if model.in_domain(moved) and natural.is_finite():
                sums = moved
            else:  # numbers so far from all before that rounding took over: no step
                natural, n_shortened = model.natural_of(sums), n_shortened + 1
            average = with_step(average, natural, n_steps, HASTE[problem.loss.name])
            n_steps, start = n_steps + 1, start + size
        self._sums = sums
        return self._shown(model, sums, average, n_shortened, first), average, n_steps

    def _shown(self, model, moments, average, n_shortened: int, first: bool) -> Fit:
        """The average of the natural parameters, or the last of them."""
        shown = model.moments_of(average, float(moments.mass.sum())) if self.average else moments
        shown = shown if model.in_domain(shown) else moments
        fit = Fit(shown, n_iter=1).ended(Stop.ONE_PASS)
        fit.history = {"shortened": [*([] if first else self.history_.get("shortened", [])), n_shortened]}
        return fit
