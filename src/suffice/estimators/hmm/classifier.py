"""A classifier of sequences with a hidden Markov model per class; training is in `suffice.choosing.recipes.sequences`."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d
from typing_extensions import override

from ...choosing.recipes.base import Choice, Trained, Warm
from ...choosing.recipes.sequence_search import Wanted
from ...choosing.recipes.sequences import Sequences as Recipe
from ...choosing.train import train
from ...engines.threads import Engine
from ...families.rows import label_masses
from ...learners.problem import Problem
from ...learners.state import Fit, Stop
from ...losses import loss_named
from ...reading.guards import all_or_nothing, checked_weights, naming, one_blas_thread
from ...reading.labels import class_weights, encoded, split_labels
from ...structures.chain import topology_cells
from ...structures.chain_classes import ChainClasses, SequenceRows
from ...structures.component_prior import default_amount
from .. import loaded_sequences
from ..checks import check_class_prior, check_one_of, check_training, check_whole
from ..classifier import GenerativeClassifier
from ..kinds import Path, Seed
from .class_answers import ClassAnswers
from .class_reading import FAMILIES, ReadSequences, family_of, grouped, labels_of, no_sequence
from .class_sections import documented

ALGORITHMS = ("auto", "lbfgs", "em")


@documented
class HMMClassifier(ClassAnswers, ReadSequences, GenerativeClassifier):
    """A classifier of sequences: a hidden Markov model for every class, trained for classification or for the likelihood.

    Use it for series, gestures, utterances, names, event logs: sequences of any lengths, with missing cells and steps. With
    `loss="nll"` it is EM in every class; with "ncll" or "hinge" the same model is trained to tell the classes apart, starting from
    there, unless EM is better on held-out sequences. It stays a joint density: `hmm(label)` is the class's model, with all that
    it answers.

    PARAMETERS
    ATTRIBUTES

    References
    ----------
    A. Masegosa (2014). Stochastic discriminative EM. UAI. Table 2.

    Examples
    --------
    >>> from suffice.hmm import HMMClassifier
    >>> names = ["anna", "elena", "maria", "ivana", "peter", "viktor", "robert", "konrad"] * 5
    >>> sex = (["f"] * 4 + ["m"] * 4) * 5
    >>> model = HMMClassifier(2, prior=1.0, random_state=0).fit(names, sex)
    >>> model.predict(["susanna", "norbert"]).tolist()
    ['f', 'm']
    """

    n_states_: int
    topology_: Any
    has_end_: bool
    changes_: bool
    members_: list[Any]
    startprob_: np.ndarray
    transmat_: np.ndarray
    converged_: Any
    stopped_: Any

    def __init__(
        self, n_states: int | str = "auto", *, family: Any = "auto", covariance_type: str = "diag", topology: str = "auto",
        has_end: bool | str = "auto", changes: Any = "auto", loss: str = "ncll", prior: float | str = "auto",
        algorithm: str = "auto", step_size: float | None = None, max_epochs: int = 300, tol: float = 1e-4, average: bool = True,
        class_prior: Any = None, class_weight: Any = None, unlabelled_weight: float | str = "auto", unlabelled: Any = "auto",
        kinds: Any = "auto", binarize: float | None = 0.0, sequence: Any = None, time: Any = None, n_jobs: int | None = None,
        random_state: Seed = None, verbose: int = 0, warm_start: bool = False, checkpoint: Path = None,
        checkpoint_minutes: float = 3.0, resume: Path | bool = None, n_members: int | str = "auto",
    ) -> None:  # fmt: skip
        super().__init__(
            loss=loss, prior=prior, algorithm=algorithm, step_size=step_size, max_epochs=max_epochs, tol=tol, average=average,
            class_prior=class_prior, class_weight=class_weight, unlabelled_weight=unlabelled_weight, unlabelled=unlabelled,
            random_state=random_state, verbose=verbose, warm_start=warm_start, n_jobs=n_jobs,
            checkpoint=checkpoint, checkpoint_minutes=checkpoint_minutes, resume=resume,
        )  # fmt: skip
        self.n_states = n_states
        self.family = family
        self.covariance_type = covariance_type
        self.topology = topology
        self.has_end = has_end
        self.changes = changes
        self.kinds = kinds
        self.binarize = binarize
        self.n_members = n_members
        self.sequence = sequence
        self.time = time

    # -- hooks --------------------------------------------------------------------------------------------------------

    @override
    def _check_parameters(self) -> None:
        check_one_of("family", self.family, ("auto", *FAMILIES))
        check_whole("n_states", self.n_states, auto=True)
        check_whole("n_members", self.n_members, auto=True)
        for name in ("has_end", "changes"):
            if getattr(self, name) not in ("auto", True, False):
                raise ValueError(f"{name}={getattr(self, name)!r} is not one of 'auto', True, False")
        if not isinstance(self.topology, str) or self.topology != "auto":
            topology_cells(self.topology, 2)
        check_training(self, ALGORITHMS, ("auto",))

    @override
    def _structure(self, reader: Any, rows: Any, n_outcomes: int, weights: np.ndarray) -> Any:
        """`rows` are sequences."""
        one = self._one_hmm(1)
        plain = one._emissions(reader, rows.steps)
        changed = one._emissions(reader, rows.with_changes().steps) if self.family_ == "gaussian" else None
        if changed is None and self.changes is True:
            raise ValueError(
                f"changes=True needs numbers: the family is {self.family_!r}. Give changes='auto' or False"
            )
        if len(weights) and not (weights == weights[0]).all():
            own = np.repeat(weights, rows.lengths)
            plain = plain.centred(rows.steps, own)
            changed = None if changed is None else changed.centred(rows.with_changes().steps, own)
        return ChainClasses.of(n_outcomes, plain, changed)

    @override
    def _recipe(self, reader: Any, structure: Any = None) -> Any:
        options, plain_prior = self._options(), self.prior
        amount = 1.0 if structure is None else default_amount(structure.plain)
        if not self._loss().is_discriminative and plain_prior != "auto":
            amount = float(plain_prior)
        start = "random" if self.family_ in ("categorical", "bernoulli") else "kmeans"
        wanted = Wanted(self.n_states, self.topology, self.has_end, self.changes)
        return Recipe(options, wanted, start, amount, Engine(options.n_threads), self.n_members)

    @override
    def _warm(self, before: Any, reader: Any, structure: Any) -> Any:
        if not self.warm_start or "moments_" not in before:
            return None
        return Warm(before["moments_"], structure=before["_stored_model"])

    @override
    def _expose(self, model: Any, moments: Any) -> None:
        shape = model.shape
        self.n_states_, self.topology_ = shape.n_states, shape.topology
        self.has_end_, self.changes_ = shape.has_end, shape.has_changes
        self.class_prior_: Any = moments.mass / moments.mass.sum()
        self.startprob_ = np.stack([model.chain.start_of(own) for own in moments.chains])
        self.transmat_ = np.stack([model.chain.transitions_of(own) for own in moments.chains])

    # -- training -----------------------------------------------------------------------------------------------------

    @override
    @all_or_nothing
    def fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, lengths: Any = None, groups: Any = None
    ) -> Self:
        """Learn from sequences X and their labels y.

        Parameters
        ----------
        X : list of (T_i, D) arrays, strings or lists of symbols; (N, T, D) array; (N, T) array; DataFrame; or (n, D) array
            Rows of an (N, T) array or frame are series of single numbers. Tails of NaN are padding. A DataFrame with `sequence` (and
            `time`) columns, or an (n, D) array with `lengths`, holds steps. NaN cells and rows are missing.
        y : array-like of shape (n_sequences,)
            None or NaN (or -1, as in the other classifiers) is a sequence without a label. For a DataFrame of steps, in the order in
            which sequences first occur, or one label for every row.
        sample_weight : array-like of shape (n_sequences,), default=None
        lengths : array-like of int, default=None
        groups : array-like of shape (n_sequences,), default=None
            What belongs together (a speaker, a machine): whole groups are held out where something is chosen.

        Returns
        -------
        self
        """
        self._check_parameters()
        loss, before = self._loss(), dict(vars(self))
        reader, steps, rows, y, unlabelled, weights = self._training(X, y, sample_weight, lengths, reset=True)
        self.classes_, codes = encoded(y, unlabelled)
        check_class_prior(self.class_prior, self.classes_)
        groups = None if groups is None else grouped(groups, len(weights))
        watch = self._watch(rows, steps.offsets, codes, weights, *([] if groups is None else [groups]))
        if not (weights[codes >= 0] > 0).any():
            raise ValueError("sample_weight is zero for every labelled sequence: at least one needs a positive weight")
        weights = class_weights(self.class_weight, self.classes_, codes, weights)
        generator = np.random.default_rng(self._fit_seed(watch))
        self.class_count_: np.ndarray = label_masses(codes, weights, len(self.classes_))
        whole = SequenceRows(rows, steps.offsets, groups)
        used = np.flatnonzero((weights > 0) & ~no_sequence(rows, steps.offsets))
        if not (codes[used] >= 0).any():
            raise ValueError("X has no labelled sequence with an observed cell: there is nothing to learn from")
        self.typical_length_: int = max(int(np.median(steps.lengths[used])), 1)
        whole = whole[used]
        with one_blas_thread():
            model = self._structure(reader, whole, len(self.classes_), weights[used])
            problem = Problem(model, whole, codes[used], weights[used], loss)
            recipe = self._recipe(reader, model)
            trained = train(problem, recipe, generator, watch, self._warm(before, reader, model))
            stream = recipe.stream_after(trained)
        watch.close()
        self._keep(trained, reader, recipe)
        self._stream = stream
        self._finish(trained.fit, trained.choice)
        return self

    @override
    @all_or_nothing
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: ArrayLike | None = None, *, lengths: Any = None
    ) -> Self:
        """Learn from one batch of sequences of a stream: stepwise EM and, under "ncll" and "hinge", sdEM steps on top of it.

        The first batch finds the start, so it should not be small; nothing is held out, so "auto" takes the usual shape and prior.
        After `fit` the shape, the prior and the calibration are kept, and maximum likelihood where it kept that.

        Parameters
        ----------
        X, y, sample_weight, lengths : as in `fit`
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever occur; needed in the first call.

        Returns
        -------
        self
        """
        self._check_parameters()
        first, loss = not hasattr(self, "_stored_model"), self._loss()
        reader, whole, codes, weights = self._batch(X, y, classes, sample_weight, lengths, first, loss)
        if not len(weights):
            return self
        with one_blas_thread():
            model = self._structure(reader, whole, len(self.classes_), weights) if first else self._stored_model
            problem = Problem(model, whole, codes, weights, loss)
            recipe = self._recipe(reader, model)
            setting = None if first else getattr(self.choice_, "setting", None)
            if setting is not None:
                recipe = replace(recipe, pair=(setting.strength, setting.second))
                problem = replace(problem, loss=loss_named("nll")) if setting.is_likelihood else problem
            if first:
                problem = recipe.shaped(problem, None)
                seed = check_random_state(self.random_state).randint(2**31 - 1)
                stream = recipe.stream_kind.begun(problem, recipe, np.random.default_rng(seed))
            else:
                stream = self._stream.moved(problem, recipe)
        count = label_masses(codes, weights, len(self.classes_))
        self.class_count_ = count if first else self.class_count_ + count
        if first:
            self.typical_length_ = max(int(np.median(whole.lengths)), 1)
        choice = Choice(None, reason="partial_fit does not choose a prior") if first else self.choice_
        if choice.members:  # the stream is of the first one, which answers alone from now on
            choice = replace(choice, temperature=choice.members[0][1], members=())
        fit = Fit(stream.moments, n_iter=stream.n_iter).ended(Stop.ONE_PASS)
        earlier = [] if first else self.history_.get("shortened", [])
        fit.history = {"shortened": [*earlier, stream.n_shortened]}
        self._keep(Trained(problem, fit, choice), reader, recipe)
        self._stream = stream
        self._finish(fit, choice)
        return self

    def _batch(self, X: Any, y: Any, classes: Any, sample_weight: Any, lengths: Any, first: bool, loss: Any) -> Any:
        """(reader, sequences, codes of their labels, weights) of a batch; the first one fixes the classes."""
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all rows at once: give weights {label: weight} for a stream"
            )
        known = self.classes_ if not first else None if classes is None else np.unique(classes)
        if known is None:
            raise ValueError("classes=None in the first call of partial_fit: give all labels that will occur")
        if not first and classes is not None and not np.array_equal(np.unique(classes), known):
            raise ValueError(f"classes={classes!r} is not the same as in the first call of partial_fit: {known!r}")
        reader, steps, rows, y, unlabelled, weights = self._training(X, y, sample_weight, lengths, known, reset=first)
        _, codes = encoded(y, unlabelled, known)
        self.classes_: np.ndarray = known
        check_class_prior(self.class_prior, known)
        weights = class_weights(self.class_weight, known, codes, weights)
        weights = np.where(unlabelled, self._recipe(reader).stream_weight(loss.is_discriminative) * weights, weights)
        used = np.flatnonzero((weights > 0) & ~no_sequence(rows, steps.offsets))
        if first and not (codes[used] >= 0).any():
            raise ValueError(
                "the first batch of the stream has no labelled sequence with an observed cell and a weight"
            )
        return reader, SequenceRows(rows, steps.offsets)[used], codes[used], weights[used]

    def _training(self, X: Any, y: Any, sample_weight: Any, lengths: Any, classes: Any = None, *, reset: bool) -> Any:
        """(reader, sequences, rows of steps, labels, which have none, weights); the first call fixes the family."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        steps = self._sequences(X, lengths, reset=reset)
        y, unlabelled = split_labels(labels_of(y, steps), classes, self.unlabelled)
        y = column_or_1d(y, warn=True)
        with naming("X and y"):
            check_consistent_length(np.zeros(steps.n_sequences), y)
        weights = checked_weights(sample_weight, np.zeros((steps.n_sequences, 1)))
        if reset:
            self.family_: str = family_of(self.family, steps.table)
        reader = self._reader() if reset else self._reader_
        return reader, steps, self._read(reader, steps, reset=reset), y, unlabelled, weights

    # -- what is kept -------------------------------------------------------------------------------------------------

    @override
    def _keep(self, trained: Trained, reader: Any, recipe: Any) -> None:
        super()._keep(trained, reader, recipe)
        members = list(trained.members)
        if self.class_prior is not None:
            members = [own.at(recipe.with_class_prior(own.moments.mass, self.class_prior)) for own in members]
        self.members_ = members
        late = [own.stopped for own in members if own.stopped]
        if late and self.converged_:
            self.converged_, self.stopped_ = False, f"{late[0]} (a model that answers with the first)"

    @override
    def _finish(self, fit: Fit, choice: Choice) -> None:
        self._expose(self._stored_model, self.moments_)
        if not self.converged_:
            warnings.warn(
                f"{type(self).__name__} stopped before it converged: {self.stopped_}. Raise max_epochs, or tol={self.tol:g}.",
                ConvergenceWarning,
                stacklevel=4,
            )

    @override
    def _new_rows(self, X: Any) -> SequenceRows:
        check_is_fitted(self)
        steps = self._sequences(X, None, reset=False)
        return SequenceRows(self._read(self._reader_, steps, reset=False), steps.offsets)

    @override
    def _check_loaded(self) -> None:
        loaded_sequences.check_sequences(self)

    @override
    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
