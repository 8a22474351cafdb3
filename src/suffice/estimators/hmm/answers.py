"""What a fitted hidden Markov model answers: paths, states, densities, forecasts, samples, missing cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ...engines.threads import Engine, n_threads
from ...learners.chain_steps import ChainSteps
from ...reading.frames import is_frame, names_of
from ...reading.frames_back import filled_frame
from ...reading.guards import one_blas_thread
from ...reading.sequences import Sequences, sequences_of
from ...structures.groups import drawn
from ..checks import check_whole
from ..kinds import Seed
from ..lazily import by_blocks, summed


class Answers:
    """A mixin of HMM. Every answer about steps comes in the shape of X; X and `lengths` are as in `fit`."""

    moments_: Any
    startprob_: np.ndarray
    transmat_: np.ndarray
    n_jobs: int | None
    random_state: Any
    sequence: Any
    time: Any
    n_features_in_: int
    _stored_model: Any
    _reader_: Any
    _read: Any  # HMM's
    _validated: Any
    _framed: Any
    _n_emission_parameters: Any

    # -- states -------------------------------------------------------------------------------------------------------

    @by_blocks
    def predict(self, X: Any, lengths: Any = None) -> np.ndarray:
        """The most probable path: a state for every step (Viterbi)."""
        steps, rows = self._given(X, lengths)
        with one_blas_thread():
            return steps.unread(rows.best(self._parameters(rows))[1])

    def decode(self, X: Any, lengths: Any = None) -> Any:
        """(log p(x, path), path): the joint log-probability of all sequences and their most probable paths, and these."""
        steps, rows = self._given(X, lengths)
        with one_blas_thread():
            best, path = rows.best(self._parameters(rows))
        return float(best.sum() + self._base(rows).sum()), steps.unread(path)

    @by_blocks
    def predict_proba(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Posterior probabilities of the states of every step given the whole sequence."""
        steps, rows = self._given(X, lengths)
        return steps.unread(self._smoothed(rows))

    def filter(self, X: Any, lengths: Any = None, state: Any = None) -> np.ndarray:
        """Posterior probabilities of the states of every step given the steps up to it: no look-ahead.

        state : array-like of shape (n_states,), default=None
            The last row of the answer before, to go on with a stream in the middle of a sequence.
        """
        steps, rows = self._given(X, lengths)
        parameters = self._parameters(rows)
        if state is not None:
            before = np.asarray(state, dtype=float)
            if before.shape != self.startprob_.shape or not (before >= 0).all() or not before.sum() > 0:
                raise ValueError(
                    f"state={state!r} must be {len(self.startprob_)} probabilities: a row of what `filter` gave"
                )
            following = before @ parameters.A
            parameters = parameters._replace(start=following / following.sum())
        with one_blas_thread():
            posterior = rows.filtered(parameters)[1]
        total = posterior.sum(axis=1, keepdims=True)
        if len(total) and not total.min() > 0.5:
            step = int(np.flatnonzero(~(total > 0.5))[0])
            raise ValueError(
                f"X cannot occur under this model from its step {step} on, so its states have no posterior"
            )
        return steps.unread(posterior / total)

    # -- densities ----------------------------------------------------------------------------------------------------

    @by_blocks
    def score_samples(self, X: Any, lengths: Any = None) -> np.ndarray:
        """(n_sequences,) array: log p(x) of every sequence (of its observed cells)."""
        _, rows = self._given(X, lengths)
        with one_blas_thread():
            found = rows.log_likelihoods(self._parameters(rows))
        lengths = np.diff(rows.offsets)
        return found + np.bincount(
            np.repeat(np.arange(len(lengths)), lengths), self._base(rows), minlength=len(lengths)
        )

    @by_blocks
    def score_steps(self, X: Any, lengths: Any = None) -> np.ndarray:
        """log p(x_t | x_1 .. x_{t-1}) of every step: low where a step is a surprise."""
        steps, rows = self._given(X, lengths)
        with one_blas_thread():
            return steps.unread(rows.filtered(self._parameters(rows))[0] + self._base(rows))

    @summed
    def score(self, X: Any, y: Any = None, lengths: Any = None) -> float:
        """The log-likelihood of all sequences."""
        return float(self.score_samples(X, lengths).sum())

    def bic(self, X: Any, lengths: Any = None) -> float:
        """Bayesian information criterion: lower is better."""
        steps = sequences_of(X, lengths, self.sequence, self.time)
        return -2 * self.score(X, lengths=lengths) + self._n_parameters() * float(np.log(max(steps.n_steps, 1)))

    def aic(self, X: Any, lengths: Any = None) -> float:
        """Akaike information criterion: lower is better."""
        return -2 * self.score(X, lengths=lengths) + 2 * self._n_parameters()

    # -- new steps and missing cells ----------------------------------------------------------------------------------

    def forecast(self, X: Any, steps: Any = 1, lengths: Any = None, return_std: bool = False) -> Any:
        """Expected next steps of every sequence (categories: the most probable one).

        Returns an array of shape (n_sequences, steps, n_features), or (steps, n_features) where X is one table; with `return_std` also
        the standard deviations.
        """
        check_whole("steps", steps)
        given, rows = self._given(X, lengths)
        parameters, N = self._parameters(rows), given.n_sequences
        with one_blas_thread():
            filtered = rows.filtered(parameters)[1]
        states = np.tile(self.startprob_, (N, 1))
        some = given.lengths > 0
        A = parameters.A / parameters.A.sum(axis=1, keepdims=True)  # given that it goes on
        states[some] = filtered[given.offsets[1:][some] - 1] @ A
        shares = np.empty((N, steps, states.shape[1]))
        for h in range(steps):
            shares[:, h] = states
            states = states @ A
        model = self._stored_model.emissions
        empty = np.full((N * steps, model.n_features), np.nan)
        filled, std = model.imputed(
            self.moments_.emissions,
            empty,
            self._stored_model.expected_shares(self.moments_.emissions, shares.reshape(N * steps, -1)),
        )
        is_one = given.shape == "flat" and lengths is None and given.keys is None
        shape = (steps, -1) if is_one else (N, steps, model.n_features)
        found = np.asarray(self._reader_.unread(filled)).reshape(shape)
        return (found, np.asarray(self._reader_.unread_std(std)).reshape(shape)) if return_std else found

    def impute(self, X: Any, lengths: Any = None, return_std: bool = False) -> Any:
        """X with missing cells at their expectation given all that was observed of the sequence (categories: the most probable one).

        With `return_std` also the standard deviations of the cells: 0 where they were observed.
        """
        steps, rows = self._given(X, lengths)
        cells = rows.form.X
        filled, std = cells, np.zeros(cells.shape)
        if np.isnan(cells).any():
            chain, coefficients = self._stored_model, self._parameters(rows).coefficients
            scores = rows.form.all_scores(coefficients, slice(0, len(cells)))
            shares = chain.outcome_shares(scores, self._smoothed(rows))
            filled, std = chain.emissions.imputed(self.moments_.emissions, cells, shares)
        given = self._validated(self._reader_, steps.table, reset=False) if steps.n_steps else cells
        table = self._reader_.filled(given, self._reader_.unread(filled))
        result = steps.unread(np.asarray(table))
        if is_frame(X):
            result = filled_frame(X, result, names_of(steps.table))
        return (result, steps.unread(self._reader_.unread_std(std))) if return_std else result

    def sample(self, n_steps: int = 1, n_sequences: int | None = None, random_state: Seed = None) -> Any:
        """(X, states): draws of n_steps steps, with `n_sequences` lists of so many sequences (shorter where they end earlier)."""
        check_is_fitted(self)
        check_whole("n_steps", n_steps)
        check_whole("n_sequences", n_sequences, none=True)
        seed = check_random_state(self.random_state if random_state is None else random_state).randint(2**31 - 1)
        generator = np.random.default_rng(seed)
        paths = [self._drawn_path(int(n_steps), generator) for _ in range(n_sequences or 1)]
        model, moments = self._stored_model.emissions, self.moments_.emissions
        outcomes = [self._outcomes(path, generator) for path in paths]
        rows = [self._framed(self._reader_.unread(model.sample(moments, own, generator))) for own in outcomes]
        return (rows[0], paths[0]) if n_sequences is None else (rows, paths)

    def _outcomes(self, path: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Outcomes of the emissions: the states, or components of their mixtures by lot."""
        chain = self._stored_model
        if chain.is_plain:
            return path
        return drawn(chain.expected_shares(self.moments_.emissions, np.eye(chain.n_outcomes)[path]), generator)

    def _drawn_path(self, n_steps: int, generator: np.random.Generator) -> np.ndarray:
        leaving = np.cumsum(self.transmat_, axis=1)
        uniform = generator.random(n_steps)
        path = [int(np.searchsorted(np.cumsum(self.startprob_) / self.startprob_.sum(), uniform[0], side="right"))]
        has_end = self._stored_model.has_end
        for u in uniform[1:]:
            row = leaving[path[-1]]
            if has_end and u >= row[-1]:
                break
            path.append(int(np.searchsorted(row if has_end else row / row[-1], u, side="right")))
        return np.minimum(np.array(path), len(self.startprob_) - 1)

    # -- parts --------------------------------------------------------------------------------------------------------

    def _given(self, X: Any, lengths: Any) -> tuple[Sequences, ChainSteps]:
        check_is_fitted(self)
        steps = sequences_of(X, lengths, self.sequence, self.time)
        rows = self._read(self._reader_, steps, reset=False)
        chain, engine = self._stored_model, Engine(n_threads(self.n_jobs))
        return steps, ChainSteps(
            chain, chain.emissions.form(rows), steps.offsets, np.ones(steps.n_sequences), None, engine
        )

    def _parameters(self, rows: ChainSteps) -> Any:
        return self._stored_model.parameters(rows.form, self.moments_)

    def _smoothed(self, rows: ChainSteps) -> np.ndarray:
        with one_blas_thread():
            found, posterior = rows.smoothed(self._parameters(rows))
        if not np.isfinite(found).all():
            k = int(np.flatnonzero(~np.isfinite(found))[0])
            raise ValueError(f"sequence {k} cannot occur under this model, so its states have no posterior")
        return posterior / np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300)

    def _base(self, rows: ChainSteps) -> np.ndarray:
        base = self._stored_model.emissions.log_base_measure(rows.form.X)
        return np.broadcast_to(np.asarray(base, dtype=float), (int(rows.offsets[-1]),))

    def _n_parameters(self) -> int:
        return self._stored_model.n_free + self._n_emission_parameters()
