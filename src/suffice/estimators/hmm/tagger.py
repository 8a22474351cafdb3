"""A hidden Markov model whose states are tags, trained to tag."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted
from typing_extensions import override

from ...choosing.taggers import TagOptions, TagSolution, trained
from ...engines.threads import Engine, n_threads
from ...learners.tag_data import TagData
from ...learners.watch import Watch
from ...reading.guards import all_or_nothing, checked_weights, one_blas_thread, sizes
from ...reading.sequences import Sequences, sequences_of
from ...reading.tags import Frequent, coded_tags, flat_tags
from ...structures.tag_weights import Tagging
from .. import loaded_sequences
from ..checks import check_jobs, check_one_of, check_tol, check_whole, is_number
from ..contract import Contract
from ..families import mixed_structure
from ..kinds import Path, Seed
from .answers import Answers
from .tagger_sections import documented

LOSSES = ("nll", "ncll", "hinge")


@documented
class HMMTagger(Answers, Contract, ClassifierMixin, BaseEstimator):
    """A tagger of sequences: a tag for every step, by a hidden Markov model whose states are the tags.

    Use it for steps that are rows of categories, numbers or counts (sensors with an activity at every moment, words with columns of
    your own); for plain sentences there is `TextTagger`. Under "ncll" it is a linear-chain conditional random field, and what is kept
    is a hidden Markov model with the same posterior, the one whose columns look like the data: it takes missing cells, and has
    densities and samples.

    PARAMETERS
    ATTRIBUTES

    References
    ----------
    Azeraf, Monfrini and Pieczynski (2023), "Equivalence between LC-CRF and HMM, and discriminative computing of HMM-based MPM and MAP".

    Examples
    --------
    >>> from suffice.hmm import HMMTagger
    >>> X = [[["left", 1.0], ["left", 1.2], ["up", 0.1]], [["up", 0.3], ["left", 0.9], [None, 1.1]]] * 10
    >>> y = [["walk", "walk", "stand"], ["stand", "walk", None]] * 10
    >>> tagger = HMMTagger(kinds=["categorical", "gaussian"], random_state=0).fit(X, y)
    >>> [tags.tolist() for tags in tagger.predict([[["up", 0.2], ["left", 1.0]], [["left", 1.1]]])]
    [['stand', 'walk'], ['walk']]
    """

    classes_: np.ndarray
    moments_: Any
    choice_: Any
    prior_: float
    unlabelled_weight_: float
    n_iter_: int
    converged_: bool
    stopped_: str
    startprob_: np.ndarray
    transmat_: np.ndarray

    def __init__(
        self, kinds: Any = "auto", *, loss: str = "ncll", prior: float | str = "auto", min_count: int = 1,
        unlabelled_weight: float | str = "auto", max_iter: int = 100, tol: float = 3e-4, sequence: Any = None, time: Any = None,
        n_jobs: int | None = None, random_state: Seed = None, verbose: int = 0, checkpoint: Path = None,
        checkpoint_minutes: float = 3.0, resume: Path | bool = None,
    ) -> None:  # fmt: skip
        self.kinds = kinds
        self.loss = loss
        self.prior = prior
        self.min_count = min_count
        self.unlabelled_weight = unlabelled_weight
        self.max_iter = max_iter
        self.tol = tol
        self.sequence = sequence
        self.time = time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.checkpoint_minutes = checkpoint_minutes
        self.resume = resume

    # -- training -----------------------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any, *, lengths: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from sequences X and the tags of their steps.

        Parameters
        ----------
        X : list of (T_i, D) arrays or lists of rows; (N, T, D) array; DataFrame; or (n, D) array
            As in `GaussianHMM`: an (n, D) array is one sequence, or several with `lengths`. None and NaN are missing cells.
        y : in the shape of X without its columns
            Tags; None or NaN where a tag is not known, and None in the place of a list of tags for a sequence without any.
        lengths : array-like of int, default=None
            How long the sequences are that lie one after the other in X.
        sample_weight : array-like of shape (n_sequences,), default=None
            A weight of 2 is the same as the sequence twice.

        Returns
        -------
        self
        """
        self._check_parameters()
        reader = self._reader()
        steps = sequences_of(X, lengths, self.sequence, self.time)
        weights = checked_weights(sample_weight, np.zeros((steps.n_sequences, 1)))
        if not float(weights @ steps.lengths) > 0:
            raise ValueError(
                "X has no steps of positive weight: at least one sequence needs both a step and a weight above 0"
            )
        rows = self._read(reader, steps, reset=True)
        self.classes_, labels = coded_tags(y, steps)
        if not (labels[np.repeat(weights, steps.lengths) > 0] >= 0).any():
            raise ValueError("no step of positive weight has a tag: at least one needs one")
        watch = self._watch(rows, steps.offsets, weights, labels)
        generator = np.random.default_rng(self._fit_seed(watch))
        engine = Engine(n_threads(self.n_jobs))
        with one_blas_thread(), engine.open():
            found = self._trained(reader, rows, steps, weights, labels, engine, generator, watch)
        watch.close()
        emissions = found.data.tagging.emissions
        if not emissions.in_domain(found.moments.emissions):
            raise ValueError(
                f"X{sizes(rows)} is beyond what {type(self).__name__} can hold: a variance is too small beside the size of its column. "
                "Give columns in units in which they are neither huge nor tiny"
            )
        self._reader_ = reader
        self._keep(found)
        return self

    def _trained(
        self,
        reader: Any,
        rows: Any,
        steps: Any,
        weights: np.ndarray,
        labels: Any,
        engine: Any,
        generator: np.random.Generator,
        watch: Watch,
    ) -> TagSolution:
        return trained(self._data(reader, rows, steps, weights, labels, engine), self._options(), generator, watch)

    def _data(self, reader: Any, rows: Any, steps: Any, weights: np.ndarray, labels: Any, engine: Any) -> TagData:
        emissions = self._emissions(reader, rows, len(self.classes_))
        each = np.repeat(weights, steps.lengths)
        if not (each == each[0]).all():
            emissions = emissions.centred(rows, each)
        tagging = Tagging.of(emissions, rows, each)
        return TagData(tagging, rows, steps.offsets, weights, labels, engine)

    def _options(self) -> TagOptions:
        return TagOptions(self.loss, self.prior, self.unlabelled_weight, self.max_iter, self.tol)

    def _keep(self, found: TagSolution) -> None:
        fit, setting = found.fit, found.choice.setting
        assert setting is not None
        self._stored_model, self.moments_ = found.data.tagging.chain, found.moments
        self.choice_, self.prior_, self.unlabelled_weight_ = found.choice, setting.strength, setting.second
        self.history_: dict[str, list[Any]] = {
            name: values for name, values in fit.history.items() if np.isfinite(values).any()
        }
        self.n_iter_, self.converged_, self.stopped_ = max(fit.n_iter, 1), fit.converged, fit.stopped
        chain = self._stored_model
        self.startprob_, self.transmat_ = chain.start_of(self.moments_), chain.transitions_of(self.moments_)
        self.endprob_: Any = chain.end_of(self.moments_)
        if not fit.converged:
            warnings.warn(
                f"{type(self).__name__} stopped before it converged: {fit.stopped}. Raise max_iter, or tol={self.tol:g}.",
                ConvergenceWarning,
                stacklevel=4,
            )

    # -- hooks --------------------------------------------------------------------------------------------------------

    def _reader(self) -> Any:
        return Frequent(self.kinds, min_count=self.min_count)

    def _emissions(self, reader: Any, rows: np.ndarray, n_tags: int) -> Any:
        return mixed_structure(reader, rows, n_tags)

    @override
    def _read(self, reader: Any, steps: Sequences, *, reset: bool) -> np.ndarray:
        """(n, D) array: the steps as the emissions take them."""
        if not steps.n_steps and not reset:
            return np.zeros((0, self.n_features_in_))
        table = self._validated(reader, steps.table, reset=reset)
        rows = reader.learn(table, self._column_names()) if reset else reader.rows(table)
        return np.ascontiguousarray(rows, dtype=float)

    # -- answers ------------------------------------------------------------------------------------------------------

    @override
    def predict(self, X: Any, lengths: Any = None) -> np.ndarray:
        """The most probable path: a tag for every step, in the shape of X (Viterbi)."""
        steps, rows = self._given(X, lengths)
        with one_blas_thread():
            return steps.unread(self._tags(rows.best(self._parameters(rows))[1], steps))

    @override
    def decode(self, X: Any, lengths: Any = None) -> Any:
        """(log p(x, path), path): the joint log-probability of all sequences and their most probable tags, and these."""
        steps, rows = self._given(X, lengths)
        with one_blas_thread():
            best, path = rows.best(self._parameters(rows))
        return float(best.sum() + self._base(rows).sum()), steps.unread(self._tags(path, steps))

    def _tags(self, path: np.ndarray, steps: Sequences) -> np.ndarray:
        tags = self.classes_[path]
        return tags.astype(object) if steps.padded is not None and tags.dtype.kind in "US" else tags

    @override
    def score(self, X: Any, y: Any, lengths: Any = None, sample_weight: ArrayLike | None = None) -> float:  # type: ignore[override]  # it needs tags
        """The share of the steps with a known tag that `predict` tags so; weights are of the sequences."""
        steps, rows = self._given(X, lengths)
        given = flat_tags(y, steps)
        with one_blas_thread():
            found = self.classes_[rows.best(self._parameters(rows))[1]].tolist()
        weights = checked_weights(sample_weight, np.zeros((steps.n_sequences, 1)))
        each = np.repeat(weights, steps.lengths) * [tag is not None and tag == tag for tag in given]
        if not each.sum() > 0:
            raise ValueError("no step of positive weight has a tag: there is nothing to score")
        return float(each @ [one == other for one, other in zip(found, given, strict=True)] / each.sum())

    @override
    def sample(self, n_sequences: int = 1, max_steps: int = 1000, random_state: Seed = None) -> Any:  # type: ignore[override]  # it knows where they end
        """(X, y): lists of sequences drawn from the model, each until it ends (or after max_steps), and of their tags."""
        check_is_fitted(self)
        check_whole("max_steps", max_steps)
        check_whole("n_sequences", n_sequences)
        X, paths = super().sample(max_steps, n_sequences, random_state)
        return X, [self.classes_[path] for path in paths]

    @override
    def _n_emission_parameters(self) -> int:
        return sum(int(np.size(array)) for own in self.moments_.emissions.columns for array in own.arrays()[:1])

    # -- parts --------------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_one_of("loss", self.loss, LOSSES)
        for name in ("max_iter", "min_count"):
            check_whole(name, getattr(self, name))
        check_tol(self.tol)
        check_jobs(self.n_jobs)
        if self.prior != "auto" and not (is_number(self.prior) and 0 < self.prior < np.inf):
            raise ValueError(f"prior={self.prior!r} is neither a positive number nor 'auto'")
        weight: Any = self.unlabelled_weight
        if not (0 <= weight < np.inf if is_number(weight) else isinstance(weight, str) and weight == "auto"):
            raise ValueError(f"unlabelled_weight={weight!r} is neither a number >= 0 nor 'auto'")

    def _check_loaded(self) -> None:
        loaded_sequences.check_tagger(self)

    def __sklearn_tags__(self) -> Any:
        tags = self._tagged(super().__sklearn_tags__(), self._reader())
        tags.input_tags.sparse = False
        return tags
