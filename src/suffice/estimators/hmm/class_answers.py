"""What a fitted classifier of sequences answers; classes and probabilities come from `Answers` of all classifiers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted
from typing_extensions import override

from ...choosing.averaging import mean_of
from ...engines.threads import Engine, n_threads
from ...learners.chain_classes import ClassRows
from ...reading.guards import one_blas_thread
from ...structures.chain_classes import ChainClasses, SequenceRows
from ..answers import Answers as ClassifierAnswers
from ..answers import log_posterior
from ..checks import check_whole
from ..explaining import LEAST, Explanation, odds_of
from ..kinds import Seed


class ClassAnswers(ClassifierAnswers):
    """A mixin of HMMClassifier. X and `lengths` are as in `fit`."""

    typical_length_: int
    n_states_: int
    topology_: Any
    has_end_: bool
    changes_: bool
    _sequences: Any  # HMMClassifier's
    _one_hmm: Any
    _takes_series: bool
    _column_names: Any  # Contract's
    _log_probabilities: Any  # Explains'
    members_: list[Any]
    choice_: Any

    @override
    def predict(self, X: Any, cost: Any = None, *, lengths: Any = None) -> np.ndarray:
        """The most probable class of every sequence, or the one of least expected cost.

        Parameters
        ----------
        X, lengths : as in `fit`
        cost : array-like of shape (n_classes, n_classes), default=None
            cost[i, j] is what it costs to say class j where class i is true.
        """
        check_is_fitted(self)
        return super().predict(self._sequences(X, lengths, reset=False), cost)

    @override
    def predict_proba(self, X: Any, *, lengths: Any = None) -> np.ndarray:
        """p(y | x) of every sequence, calibrated on held-out sequences where something was chosen on them."""
        check_is_fitted(self)
        return super().predict_proba(self._sequences(X, lengths, reset=False))

    @override
    def predict_log_proba(self, X: Any, *, lengths: Any = None) -> np.ndarray:
        """log p(y | x) of every sequence."""
        check_is_fitted(self)
        return self._calibrated(self._ranks(self._new_rows(self._sequences(X, lengths, reset=False))))

    @override
    def _joint(self, rows: SequenceRows) -> np.ndarray:
        return self._scores_of(self._stored_model, self.moments_, rows)

    def _scores_of(self, structure: ChainClasses, moments: Any, rows: SequenceRows) -> np.ndarray:
        """(N, C) array: log p(x, y) of sequences by some chains."""
        n, engine = len(rows), Engine(n_threads(self.n_jobs))
        given = ClassRows(structure, rows, np.full(n, -1, dtype=np.int64), np.ones(n), engine)
        with one_blas_thread():
            return given.scores(structure.parameters(given.form, moments))

    def _ranks(self, rows: Any, least: float = -np.inf) -> np.ndarray:
        """Scores that are calibrated: log p(x, y), or the logarithm of the mean of all members' p(y | x)."""
        scores = np.maximum(self._joint(rows), least)
        if not self.members_:
            return scores
        each = [(self.choice_.members[0][1], scores)]
        each += [
            (m.temperature, np.maximum(self._scores_of(m.structure, m.moments, rows), least)) for m in self.members_
        ]
        return mean_of([log_posterior(temperature * own, self.class_count_) for temperature, own in each])

    @override
    def predict_joint_log_proba(self, X: Any, *, lengths: Any = None) -> np.ndarray:
        """log p(x, y) of every sequence and class (without parts that no class depends on); missing cells are integrated out."""
        check_is_fitted(self)
        return super().predict_joint_log_proba(self._sequences(X, lengths, reset=False))

    @override
    def score_samples(self, X: Any, *, lengths: Any = None) -> np.ndarray:
        """log p(x) of every sequence (of its observed cells; with `changes_`, of steps and their changes)."""
        check_is_fitted(self)
        return super().score_samples(self._sequences(X, lengths, reset=False))

    @override
    def score(self, X: Any, y: Any = None, sample_weight: Any = None, *, lengths: Any = None) -> float:
        """The share of sequences whose class is right."""
        from .class_reading import labels_of

        check_is_fitted(self)
        steps = self._sequences(X, lengths, reset=False)
        return float(accuracy_score(labels_of(y, steps), self.predict(steps), sample_weight=sample_weight))

    def explain(self, X: Any, y: Any = None, *, lengths: Any = None) -> Explanation:
        """What every column adds to the log-odds of the predicted class of a sequence: the effect of making it missing at all steps.

        Parameters
        ----------
        X, lengths : as in `fit`
        y : a label, or array-like of n_sequences labels, default=None
            Classes to explain in the place of the predicted ones.

        Returns
        -------
        Explanation
            Its parts do not add up to the log-odds; its constant is what the classes' frequencies (and lengths) say.
        """
        check_is_fitted(self)
        rows = self._new_rows(self._sequences(X, lengths, reset=False))
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = self._logs(rows)
            codes = logs.argmax(axis=1) if y is None else self._codes(y, len(logs))
            log_odds, width = odds_of(logs, codes), rows.steps.shape[1]
            parts = np.zeros((len(codes), width))
            for j in range(width):
                parts[:, j] = log_odds - odds_of(self._logs(without_column(rows, j)), codes)
            constant = odds_of(self._logs(replace(rows, steps=np.full_like(rows.steps, np.nan))), codes)
        names = self._column_names() if not self._takes_series else None
        parts = self._reader_.in_columns(parts)
        return Explanation(
            self.classes_[codes], log_odds, constant, parts, names or [f"x{j}" for j in range(width)], False
        )

    def _logs(self, rows: Any) -> np.ndarray:
        """log p(y | x) of sequences as the chains take them."""
        return self._log_probabilities(self._ranks(rows, LEAST * 1e3))

    # -- the models of the classes ------------------------------------------------------------------------------------

    def hmm(self, label: Any) -> Any:
        """The hidden Markov model of a class, fitted: paths, filters, forecasts, samples, missing cells and all else it answers."""
        check_is_fitted(self)
        (code,) = self._codes([label], 1)
        if self.changes_:
            raise ValueError(
                "the chains see steps with their changes, so a class has no model of steps alone: fit with changes=False"
            )
        model = self._one_hmm(self.n_states_, topology=self.topology_, has_end=self.has_end_)
        model._stored_model, model.moments_ = self._stored_model.chain, self.moments_.chains[code]
        model._reader_, model.n_features_in_ = self._reader_, self._stored_model.n_features
        model.n_iter_, model.converged_ = getattr(self, "n_iter_", 0), True
        model._finish()
        return model

    @override
    def sample(
        self, n_samples: int = 1, y: Any = None, random_state: Seed = None, *, n_steps: int | None = None
    ) -> Any:
        """(X, y): sequences and labels drawn from the model; not where the chains see changes (`changes_`).

        Parameters
        ----------
        n_samples : int, default=1
        y : a label, or array-like of n_samples labels, default=None
            Draw sequences of this class; None draws the classes too.
        random_state : int, RandomState instance or None, default=None
        n_steps : int or None, default=None
            How long they are (with `has_end_`, at most); None is as long as a typical one of training.
        """
        check_is_fitted(self)
        check_whole("n_samples", n_samples)
        check_whole("n_steps", n_steps, none=True)
        generator = self._generator(random_state)
        mass = self.moments_.mass / self.moments_.mass.max()  # their sum may be more than a number can say
        mass = mass / mass.sum()
        codes = generator.choice(len(mass), size=n_samples, p=mass) if y is None else self._codes(y, n_samples)
        models: dict[int, Any] = {int(code): self.hmm(self.classes_[code]) for code in np.unique(codes)}
        seeds = generator.integers(2**31 - 1, size=n_samples)
        longest = int(n_steps or (10 if self.has_end_ else 1) * self.typical_length_)
        drawn = [models[int(c)].sample(longest, random_state=int(s))[0] for c, s in zip(codes, seeds, strict=True)]
        return drawn, self.classes_[codes]

    @override
    def impute(self, X: Any, y: Any = None, return_std: bool = False) -> Any:
        """X, a list of sequences, with missing cells at their expectation given all that was observed of the sequence and its class
        (the most probable one, unless y is given); with `return_std` also the standard deviations."""
        check_is_fitted(self)
        if not isinstance(X, (list, tuple)):
            raise TypeError(f"X is a {type(X).__name__}: give a list of sequences, or use hmm(label).impute")
        labels = self.predict(X) if y is None else self.classes_[self._codes(y, len(X))]
        models = {label: self.hmm(label) for label in np.unique(labels)}
        found = [models[label].impute([part], return_std=True) for part, label in zip(X, labels, strict=True)]
        filled = [part[0][0] for part in found]
        return (filled, [part[1][0] for part in found]) if return_std else filled

    @override
    def sample_missing(self, X: Any, y: Any = None, random_state: Seed = None) -> None:
        """Not for sequences: `impute` gives expectations and standard deviations."""
        raise NotImplementedError("missing cells of sequences are not drawn: use impute, or hmm(label).sample")


def without_column(rows: Any, j: int) -> Any:
    """The sequences with a column missing."""
    steps = rows.steps.copy()
    steps[:, j] = np.nan
    return replace(rows, steps=steps)
