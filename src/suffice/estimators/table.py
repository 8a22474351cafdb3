"""A classifier of any table in one line: naive Bayes, discriminants and mixtures compared on held-out rows, the best kept."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..choosing.candidates import GAIN, Candidate, affordable, complete, hurried, weighed
from ..choosing.race import Race
from ..learners.state import Stop
from ..learners.watch import Watch
from ..reading.date_parts import named, parts_for, with_parts
from ..reading.frames import columns_of, ids_of, is_frame, names_of, taken, without
from ..reading.guards import all_or_nothing, checked_weights
from ..reading.labels import split_labels
from . import loaded_others
from .contract import Contract
from .discriminant import GaussianDiscriminant
from .explaining import Explanation, odds_of
from .kinds import Path, Seed
from .mixture import MixtureClassifier
from .naive_bayes import MixedNB

__all__ = ["TableClassifier"]

COMPONENTS = (2, 4, 8, 12)
PASSES = 1000  # that a fit may take: every one is to end at its optimum


class TableClassifier(Contract, ClassifierMixin, BaseEstimator):
    """Any table in, labels and calibrated probabilities out: the best of naive Bayes, discriminants and mixtures.

    Use it when you have a table and want no decisions. Columns are read as they are (numbers, categories, truth values, missing
    cells; columns that only number the rows are left out). Beside a date in a frame stand its month, day of the week and hour, where
    these come round at least twice in the rows. Models are compared on held-out rows and what was found is told (`choice_`). The one
    that is kept is a joint density, so `sample`, `impute` and `score_samples` work (of dates the density is that of their parts too).

    Parameters
    ----------
    max_seconds : float or None, default=None
        Time for the comparison and the last fit together. A model that would take longer, as far as the others tell, is not tried,
        and a fit that is under way when the time is over ends at its best state (`converged_` is then False). Where there is no time
        for a comparison it is naive Bayes, and where there is none for its training, maximum likelihood; `choice_` says so.
    class_weight : dict {label: weight}, "balanced" or None, default=None
    random_state : int, RandomState instance or None, default=None
        None is a seed too: the same rows give the same model.
    n_jobs : int or None, default=None
    verbose : int, default=0
        Print a line a model.
    checkpoint : path or None, default=None
        Where the fit writes where it stands, every `checkpoint_minutes`.
    checkpoint_minutes : float, default=3.0
    resume : path, True or None, default=None
        A checkpoint to go on from (True: `checkpoint`, if there is one yet): the result is that of a fit that never stopped.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    model_ : the fitted model that was kept.
    others_ : list of fitted models whose probabilities are averaged with its own; empty unless that was better.
    shares_ : ndarray
        What `model_` and `others_` weigh in that average.
    choice_ : list of dicts
        What was compared: model, held-out log-loss and accuracy, seconds, whether it was kept, and its share.
    dropped_ : list of columns that were left out.
    stopped_ : str
        Why the training of `model_` ended, or that Ctrl-C ended the comparison.
    date_parts_ : dict
        By column of dates, the parts of it that were learned from.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import TableClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = TableClassifier(max_seconds=60).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> sum(row["kept"] for row in model.choice_) >= 1
    True
    """

    takes_dates = True  # and not only days since 1970: a date has parts

    def __init__(
        self, max_seconds: float | None = None, *, class_weight: Any = None, random_state: Seed = None,
        n_jobs: int | None = None, verbose: int = 0, checkpoint: Path = None, checkpoint_minutes: float = 3.0,
        resume: Path | bool = None,
    ) -> None:  # fmt: skip
        self.max_seconds = max_seconds
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.checkpoint_minutes = checkpoint_minutes
        self.resume = resume

    # -- training -----------------------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from a table and labels.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            NaN, None and NA are missing cells.
        y : array-like of shape (n_samples,)
            None or NaN is a row without a label.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        self._check_parameters()
        end = time.monotonic() + (np.inf if self.max_seconds is None else self.max_seconds)
        X = X if is_frame(X) or hasattr(X, "dtype") else np.asarray(X)
        self.dropped_: list[Any] = ids_of(X)
        if self.dropped_:
            warnings.warn(
                f"columns {self.dropped_} have another value in nearly every row and are left out", stacklevel=3
            )
        self.date_parts_: dict[str, list[str]] = parts_for(X)
        kept = self._columns(X)
        if len(kept.shape) != 2 or y is None or hasattr(kept, "toarray"):  # refused as every classifier refuses it
            return MixedNB().fit(kept, y)
        labels, unlabelled = split_labels(y)
        if len(labels) != kept.shape[0] or kept.shape[0] == 0:
            return MixedNB().fit(kept, y)
        weights = checked_weights(sample_weight, kept)
        watch = self._watch(kept, labels, unlabelled, weights)
        in_haste = self._hurried(kept, np.asarray(y), weights, end)
        tried = [in_haste] if in_haste else self._compared(kept, labels, unlabelled, weights, end, watch)
        members = weighed(complete(tried)) if len(tried) > 1 else [(tried[0], 1.0)]
        members = affordable(members, end - time.monotonic())
        last = watch.inside("last")
        last.until = end
        fits = [watch.once(partial(self._fitted, each, kept, y, sample_weight, last)) for each, _ in members]
        watch.close()
        self.model_: Any = fits[0]
        self.others_: list[Any] = fits[1:]
        self.shares_: np.ndarray = np.array([share for _, share in members])
        self.classes_: Any = self.model_.classes_
        self.n_features_in_: Any = X.shape[1]
        if is_frame(X):
            self.feature_names_in_ = np.array([str(name) for name in names_of(X)], dtype=object)
        self.stopped_: str = Stop.INTERRUPTED.sentence if watch.signal else self.model_.stopped_
        self.converged_: bool = not watch.signal and all(model.converged_ for model in [self.model_, *self.others_])
        self.choice_: list[dict[str, Any]] = [
            {
                "model": each.name, "log_loss": each.loss if len(each.losses) else np.nan, "accuracy": each.accuracy,
                "seconds": each.seconds, "kept": share > 0.0, "share": share,
            }
            for each in tried
            for share in [sum(own for member, own in members if member is each)]
        ]  # fmt: skip
        return self

    def _check_parameters(self) -> None:
        if self.max_seconds is not None and not (isinstance(self.max_seconds, (int, float)) and self.max_seconds > 0):
            raise ValueError(f"max_seconds={self.max_seconds!r} is neither None nor a positive number")

    def _columns(self, X: Any) -> Any:
        """The columns that take part, and the parts of dates after them."""
        parts = getattr(self, "date_parts_", {})  # older files have none
        return with_parts(without(X, self.dropped_) if self.dropped_ and is_frame(X) else X, parts)

    def _rows(self, found: Any) -> Any:
        """Rows of the model without the parts of dates."""
        parts = [named(name, part) for name, own in getattr(self, "date_parts_", {}).items() for part in own]
        return without(found, parts) if parts and is_frame(found) else found

    def _model(self, candidate: Candidate) -> Any:
        common = {"class_weight": self.class_weight, "random_state": self.random_state, "n_jobs": self.n_jobs}
        if candidate.kind == "naive Bayes":
            return MixedNB(loss=candidate.setting or "ncll", **common)
        if candidate.kind == "discriminant":
            return GaussianDiscriminant(candidate.setting, max_epochs=PASSES, **common)
        return MixtureClassifier(candidate.setting, family="mixed", max_epochs=PASSES, **common)

    def _fitted(
        self, candidate: Candidate, X: Any, y: Any, weights: Any, watch: Watch, name: str, given: Any = None
    ) -> Any:
        """The model of a candidate; Ctrl-C ends this fit at its best state and leaves out what would be compared after it.

        `given` is the choice of its prior, where it was made on other rows.
        """
        model = self._model(candidate)
        model._given = given
        model._outer = inner = watch.inside(name)
        inner.signal = []  # its own: what is fitted after an interruption is fitted whole
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y, weights)
        del model._outer, model._given
        if inner.signal:
            watch.interrupt()
        return model

    def _hurried(self, X: Any, y: np.ndarray, weights: np.ndarray, end: float) -> Candidate | None:
        """What is fitted without a comparison where there is no time for one."""

        def fit(candidate: Candidate, rows: np.ndarray) -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._model(candidate).fit(taken(X, rows), y[rows], weights[rows])

        return None if self.max_seconds is None else hurried(fit, X.shape[0], end)

    def _candidates(self, X: Any) -> Iterator[Candidate]:
        """Models in the order they are tried; more components only as long as they help."""
        yield Candidate("naive Bayes", "naive Bayes")
        columns = columns_of(X)
        if all(column.is_numeric and not column.missing.any() for column in columns) and len(columns) > 1:
            for shape in ("tied", "full") if len(columns) <= 100 else ("tied",):
                yield Candidate(f"discriminant, {shape} covariance", "discriminant", shape)
        best, idle = np.inf, 0
        for n_components in COMPONENTS:
            candidate = Candidate(f"mixtures of {n_components}", "mixture", n_components)
            yield candidate
            is_better = not candidate.is_behind and candidate.loss < best * (1.0 - GAIN)
            best, idle = (candidate.loss, 0) if is_better else (best, idle + 1)
            if idle == 2:
                return

    def _compared(
        self, X: Any, labels: Any, unlabelled: Any, weights: np.ndarray, end: float, watch: Watch
    ) -> list[Candidate]:
        """Held-out losses of the candidates, within the time."""
        classes, codes = np.unique(labels, return_inverse=True)
        given: dict[str, Any] = {}

        def answers(candidate: Candidate, train: np.ndarray, test: np.ndarray, inner: Watch, name: str) -> np.ndarray:
            part = taken(X, train), labels[train], weights[train]
            model = self._fitted(candidate, *part, inner, name, given.get(candidate.name))
            if candidate.kind != "naive Bayes":
                given.setdefault(candidate.name, model.choice_)
            p = np.zeros((len(test), len(classes)))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of values that only rows held out have
                p[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(taken(X, test))
            return p

        seed = self.random_state if isinstance(self.random_state, (int, np.integer)) else 0
        race = Race(codes, X.shape[0], answers, end, watch, bool(self.verbose))
        race.dealt(np.flatnonzero(~unlabelled & (weights > 0)), np.random.default_rng(seed))
        found = race.run(self._candidates(X)) if race.pairs else []
        return found or [Candidate("naive Bayes, not compared for want of rows", "naive Bayes")]

    # -- answers ------------------------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> np.ndarray:
        """p(y | x)."""
        check_is_fitted(self)
        X = self._columns(X)
        found = [model.predict_proba(X) for model in [self.model_, *self.others_]]
        return np.minimum(np.tensordot(self._shares(), np.stack(found), 1), 1.0)  # rounding may go beyond it

    def _shares(self) -> np.ndarray:
        """Of the models; equal ones in files that hold none."""
        n = 1 + len(self.others_)
        own = getattr(self, "shares_", np.zeros(0))
        return own if len(own) == n else np.full(n, 1.0 / n)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """log p(y | x)."""
        check_is_fitted(self)
        X = self._columns(X)
        logs = [model.predict_log_proba(X) for model in [self.model_, *self.others_]]
        return logsumexp(np.stack(logs) + np.log(self._shares())[:, None, None], axis=0)

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """log p(x, y) under the model that was kept."""
        check_is_fitted(self)
        return self.model_.predict_joint_log_proba(self._columns(X))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class."""
        found = self.predict_proba(X)
        return self.classes_[found.argmax(axis=1)]

    def score_samples(self, X: Any) -> np.ndarray:
        """log p(x): the log-density of every row (of its observed cells)."""
        check_is_fitted(self)
        return self.model_.score_samples(self._columns(X))

    def sample(self, n_samples: int = 1, y: Any = None, random_state: Seed = None) -> Any:
        """Draw rows and labels from the model; see `MixedNB.sample`."""
        check_is_fitted(self)
        X, labels = self.model_.sample(n_samples, y, random_state)
        return self._rows(X), labels

    def impute(self, X: Any, y: Any = None) -> Any:
        """Fill missing cells with their expectation given the observed cells of the row (categories: the most probable one)."""
        check_is_fitted(self)
        return self._rows(self.model_.impute(self._columns(X), y))

    def sample_missing(self, X: Any, y: Any = None, random_state: Seed = None) -> Any:
        """Fill missing cells with draws given the observed cells of the row; see `MixedNB.sample_missing`."""
        check_is_fitted(self)
        return self._rows(self.model_.sample_missing(self._columns(X), y, random_state))

    def explain(self, X: Any, y: Any = None) -> Explanation:
        """What every column adds to the log-odds of the predicted class (or of y) against the rest; see `MixedNB.explain`.

        Where the probabilities are those of several models, the log-odds are too and a part is the mean of what they say: it does
        not add up then. The parts of a date count for the date.
        """
        classes = self.predict(X) if y is None else y
        found = [model.explain(self._columns(X), classes) for model in [self.model_, *self.others_]]
        if len(found) == 1:
            return self._whole_dates(found[0])
        logs = self.predict_log_proba(X)
        log_odds = odds_of(logs, np.searchsorted(self.classes_, found[0].labels))
        means = (np.stack([getattr(each, name) for each in found]) for name in ("constant", "parts"))
        constant, parts = (np.tensordot(self._shares(), own, 1) for own in means)
        return self._whole_dates(Explanation(found[0].labels, log_odds, constant, parts, found[0].names, False))

    def _whole_dates(self, found: Explanation) -> Explanation:
        """With what the parts of a date add in the column of the date."""
        whole = {named(name, part): name for name, own in getattr(self, "date_parts_", {}).items() for part in own}
        if not whole:
            return found
        names = [name for name in found.names if name not in whole]
        parts = np.zeros((len(found.parts), len(names)))
        for name, own in zip(found.names, np.asarray(found.parts).T, strict=True):
            parts[:, names.index(whole.get(name, name))] += own
        return replace(found, names=names, parts=parts)

    def _check_loaded(self) -> None:
        loaded_others.check_table(self)

    def __sklearn_tags__(self) -> Any:
        return MixedNB().__sklearn_tags__()
