"""What all hidden Markov models share: reading sequences, starts, learners, streams. No mathematics."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from typing_extensions import override

from ...engines.threads import Engine, n_threads
from ...learners.chain_blocks import BlockSteps
from ...learners.chain_em import STARTS, ChainProblem, begun, start_statistics, stream
from ...learners.chain_steps import ChainSteps
from ...learners.driver import Fit
from ...learners.watch import Watch
from ...reading.base import Reader
from ...reading.guards import all_or_nothing, checked_weights, one_blas_thread
from ...reading.sequences import Sequences, sequences_of
from ...structures.chain import Chain, topology_cells
from .. import loaded
from ..checks import check_jobs, check_one_of, check_tol, check_whole, is_number
from ..contract import Contract
from ..kinds import Path, Seed
from ..scale import shell_of
from ..warm import last_fit
from .answers import Answers
from .runs import Runs
from .scale import SequencesOf, scaled_sequences
from .sections import ALGORITHMS
from .states import checked_cells, checked_ties, evidence_of

FIRST_BATCHES = 8  # mini-batches that the first call of partial_fit finds its start on


class HMM(Answers, Runs, Contract, DensityMixin, BaseEstimator):
    """Base of the hidden Markov models. A subclass says how steps are read (`_reader`), what emits them (`_emissions`) and
    what it shows (`_expose`, `_n_emission_parameters`)."""

    posterior_: Any
    n_iter_: int
    converged_: bool
    stopped_: str
    startprob_: np.ndarray
    transmat_: np.ndarray

    _estimator_type = "density_estimator"
    _default_start = "kmeans"

    def __init__(
        self, n_states: int = 1, *, topology: str = "ergodic", transitions: Any = None, start: Any = None,
        has_end: bool = False, tol: float = 1e-4, max_iter: int = 100, n_init: int = 1, init_params: str = "auto",
        prior: float | str = "auto", algorithm: str = "em", batch_size: int | None = None, sequence: Any = None, time: Any = None,
        n_jobs: int | None = None, random_state: Seed = None, warm_start: bool = False, verbose: int = 0, checkpoint: Path = None,
        checkpoint_minutes: float = 3.0, resume: Path | bool = None, n_mixtures: Any = 1, ties: Any = None,
    ) -> None:  # fmt: skip
        self.n_states = n_states
        self.topology = topology
        self.transitions = transitions
        self.start = start
        self.has_end = has_end
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.prior = prior
        self.algorithm = algorithm
        self.batch_size = batch_size
        self.sequence = sequence
        self.time = time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.checkpoint_minutes = checkpoint_minutes
        self.resume = resume
        self.n_mixtures = n_mixtures
        self.ties = ties

    # -- hooks --------------------------------------------------------------------------------------------------------

    def _reader(self) -> Reader:
        """How steps are read."""
        raise NotImplementedError

    def _emissions(self, reader: Any, rows: np.ndarray) -> Any:
        """The `Joint` of a step given its state."""
        raise NotImplementedError

    def _expose(self, chain: Chain, moments: Any) -> None:
        """Set the attributes that show the emissions."""
        raise NotImplementedError

    @override
    def _n_emission_parameters(self) -> int:
        raise NotImplementedError

    # -- training -----------------------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(
        self, X: Any, y: Any = None, *, lengths: Any = None, states: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from sequences X.

        Parameters
        ----------
        X : list of (T_i, D) arrays, strings or lists of symbols; (N, T, D) array; DataFrame; (n, D) array; or data in blocks
            Tails of NaN of an (N, T, D) array are padding. An (n, D) array is one sequence, or several with `lengths`. A NaN cell is
            missing, a row of them a missing step. A `suffice.files.Dataset` or a dask collection need not fit in memory: rows with a
            column `sequence`, a dask.array with `lengths`, or delayed lists of sequences.
        y : ignored
        lengths : array-like of int, default=None
            How long the sequences are that lie one after the other in X.
        states : in the shape of X without its columns, default=None
            States where they are known, 0 .. n_states - 1, and -1 or NaN where not; or with one more axis of n_states: weights of the
            states.
        sample_weight : array-like of shape (n_sequences,), default=None
            A weight of 2 is the same as the sequence twice.

        Returns
        -------
        self
        """
        self._check_parameters()
        last = last_fit(self)
        reader = self._reader()
        whole = scaled_sequences(self, X, lengths, states, sample_weight)
        if whole is not None:
            X, lengths, sample_weight = whole.sample.X, None, whole.sample.weights
        steps, rows, weights, labels, evidence = self._training(reader, X, lengths, states, sample_weight, reset=True)
        watch = self._watch(rows, steps.offsets, weights, evidence) if whole is None else whole.watch(self)
        generator = np.random.default_rng(self._fit_seed(watch))
        chain = self._chain(reader, rows, np.repeat(weights, steps.lengths))
        last = last if last is not None and last.fits(chain, reader) else None
        chain = chain if last is None else replace(chain, emissions=last.structure.emissions)
        engine = Engine(n_threads(self.n_jobs))
        with one_blas_thread(), engine.open():
            form = chain.emissions.form(rows)
            sequences = ChainSteps(chain, form, steps.offsets, weights, evidence, engine)
            every = None if whole is None else whole.rows(SequencesOf(shell_of(self), reader), chain, BlockSteps)
            problem, fit = self._run(sequences, labels, generator, last, watch, every)
        watch.close()
        self._reader_, self._stream = reader, None
        self._keep(problem, fit)
        return self

    def _chain(self, reader: Any, rows: np.ndarray, weights: np.ndarray) -> Chain:
        S = self.n_states
        start, cells = topology_cells(self.topology, S)
        if self.transitions is not None:
            cells = checked_cells("transitions", self.transitions, (S, S), bool(self.has_end))
        if self.start is not None:
            start = checked_cells("start", self.start, (S,), False)
        emissions = self._emissions(reader, rows)
        if len(weights) and not (weights == weights[0]).all():
            emissions = emissions.centred(rows, weights)
        emission_of, row_ties = checked_ties(self.ties, S, cells)
        return Chain(emissions, start, cells, bool(self.has_end), int(self.n_mixtures), emission_of, row_ties)

    def _n_outcomes(self) -> int:
        """Outcomes of the emissions: components of all states' mixtures, once where states share them."""
        shared = checked_ties(self.ties, self.n_states)[0]
        return self.n_mixtures * (self.n_states if shared is None else int(shared.max()) + 1)

    def _keep(self, problem: ChainProblem, fit: Fit) -> None:
        assert fit.measure is not None and fit.first is not None
        base = problem.rows.mean_base_measure()
        self._stored_model, self.moments_ = problem.model, fit.moments
        if self.algorithm == "variational":
            self.posterior_, self.moments_ = fit.moments, problem.prior.mean_moments(fit.moments)
        elif hasattr(self, "posterior_"):
            del self.posterior_
        self.lower_bound_: float = base - fit.measure.nll
        self.lower_bounds_: list[Any] = [base - value for value in [fit.first.nll, *fit.history.get("nll", [])]]
        self.history_: dict[str, list[Any]] = {
            name: values for name, values in fit.history.items() if np.isfinite(values).any()
        }
        self.n_iter_, self.converged_, self.stopped_ = fit.n_iter, fit.converged, fit.stopped
        self.reseeded_: Any = list(getattr(fit.memory, "reseeded", ()))
        self._finish()
        if not fit.converged and self.algorithm != "online":
            warnings.warn(
                f"{type(self).__name__} stopped before it converged: {fit.stopped}. Raise max_iter, or tol={self.tol:g}.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _finish(self) -> None:
        self._note_built()
        chain, moments = self._stored_model, self.moments_
        self.startprob_, self.transmat_ = chain.start_of(moments), chain.transitions_of(moments)
        if chain.has_end:
            self.endprob_: Any = chain.end_of(moments)
        if chain.n_mixtures > 1:
            self.weights_: Any = chain.by_state(np.exp(chain.log_weights(moments.emissions)))
        self._expose(chain, moments)

    @all_or_nothing
    def partial_fit(
        self, X: Any, y: Any = None, *, lengths: Any = None, states: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from one batch of sequences of a stream (stepwise EM); the first batch also finds the start, so it should not be small.

        Parameters are those of `fit`.

        Returns
        -------
        self
        """
        self._check_parameters()
        if self.algorithm == "variational":
            raise ValueError("partial_fit makes steps of online EM; algorithm='variational' has only fit")
        begins = not hasattr(self, "moments_")
        if not begins:
            self._check_unchanged()
        reader = self._reader() if begins else self._reader_
        steps, rows, weights, labels, evidence = self._training(reader, X, lengths, states, sample_weight, reset=begins)
        generator = np.random.default_rng(self._fit_seed(Watch()))
        chain = self._chain(reader, rows, np.repeat(weights, steps.lengths)) if begins else self._stored_model
        engine, size = Engine(n_threads(self.n_jobs)), self._batch()
        with one_blas_thread(), engine.open():
            sequences = ChainSteps(chain, chain.emissions.form(rows), steps.offsets, weights, evidence, engine)
            state = getattr(self, "_stream", None)
            if state is None:
                statistics = start_statistics(sequences, self._start_kind(), generator, labels)
                problem = self._problem(sequences, statistics if begins else self.moments_)
                start = problem.prior.posterior(statistics) if begins else self.moments_
                n_iter = self.max_iter if begins else 1
                state = begun(problem, start, size, generator, n_iter, FIRST_BATCHES * size)
            else:
                problem = ChainProblem(sequences, state.prior, reseeds=False)
                state = stream(problem, state, size)
        self._reader_, self._stored_model, self._stream = reader, chain, state
        self.moments_: Any = state.shown()
        self.n_iter_, self.converged_, self.stopped_ = state.n_steps, True, "one pass over the batch"
        self.history_, self.reseeded_ = {}, []
        self.lower_bound_ = state.mean_log_likelihood + sequences.mean_base_measure()
        self.lower_bounds_ = [self.lower_bound_]
        self._finish()
        return self

    # -- parts --------------------------------------------------------------------------------------------------------

    def _training(self, reader: Any, X: Any, lengths: Any, states: Any, sample_weight: Any, *, reset: bool) -> Any:
        """(sequences, rows, weights, labels, evidence) of training data."""
        steps = sequences_of(X, lengths, self.sequence, self.time)
        weights = checked_weights(sample_weight, np.zeros((steps.n_sequences, 1)))
        if not float(weights @ steps.lengths) > 0:
            raise ValueError(
                "X has no steps of positive weight: at least one sequence needs both a step and a weight above 0"
            )
        rows = self._read(reader, steps, reset=reset)
        labels, evidence = evidence_of(states, steps, self.n_states if reset else len(self.startprob_))
        return steps, rows, weights, labels, evidence

    @override
    def _read(self, reader: Any, steps: Sequences, *, reset: bool) -> np.ndarray:
        """(n, D) array: the steps as the emissions take them."""
        if not steps.n_steps and not reset:
            return np.zeros((0, self.n_features_in_))
        table = self._validated(reader, steps.table, reset=reset)
        rows = reader.learn(table, self._column_names()) if reset else reader.rows(table)
        return np.ascontiguousarray(rows, dtype=float)

    def _check_parameters(self) -> None:
        for name in ("n_states", "max_iter", "n_init", "n_mixtures"):
            check_whole(name, getattr(self, name))
        check_one_of("algorithm", self.algorithm, ALGORITHMS)
        check_one_of("init_params", self.init_params, STARTS)
        check_tol(self.tol)
        if self.prior != "auto" and not (is_number(self.prior) and 0 <= self.prior < np.inf):
            raise ValueError(f"prior={self.prior!r} is neither a number of pseudo-steps >= 0 nor 'auto'")
        if self.algorithm == "variational" and self.prior != "auto" and not self.prior > 0:
            raise ValueError(f"prior={self.prior!r}: algorithm='variational' needs a prior above 0")
        if self.algorithm == "variational" and (self.n_mixtures > 1 or self.ties):
            raise ValueError("algorithm='variational' knows neither n_mixtures nor ties; take 'em' or 'accelerated'")
        check_whole("batch_size", self.batch_size, none=True)
        check_jobs(self.n_jobs)
        topology_cells(self.topology, self.n_states)

    def _check_loaded(self) -> None:
        loaded.check_chain(self)

    def _template(self, rows: Any) -> Any:
        """The chain of such steps that this estimator builds: what a file must hold."""
        return self._chain(self._reader_, rows, np.ones(rows.shape[0]))

    @override
    def _report(self, number: int, line: dict[Any, Any]) -> None:
        text = f"{type(self).__name__} pass {number}: mean log-likelihood of a step {-line['nll']:.6f}, {line['seconds']:.1f} s"
        print(text, flush=True)

    def __sklearn_tags__(self) -> Any:
        tags = self._tagged(super().__sklearn_tags__(), self._reader())
        tags.input_tags.sparse = False
        return tags
