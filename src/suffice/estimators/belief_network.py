"""Sigmoid belief networks as a scikit-learn estimator; the mathematics is in `suffice.structures.network`."""

from __future__ import annotations

from dataclasses import fields
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..learners.watch import Watch
from ..reading.guards import all_or_nothing, one_blas_thread
from ..structures.network import sample_hidden, sample_visible
from .contract import Contract
from .kinds import Path, Seed
from .network_rows import checked_rows

__all__ = ["SigmoidBeliefNetwork"]

COUNT = [Interval(Integral, 1, None, closed="left")]
MOST_TEMPERATURES = (
    20_000  # of `score_samples`: a file can't ask for hours (`evaluation.annealed_importance_sampling` takes any)
)


class SigmoidBeliefNetwork(Contract, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A directed network of binary units, learned by Monte Carlo EM (Neal 1992; Song et al. 2016).

    Use it to learn a density of binary images or word counts that can be sampled, scored, conditioned and completed.
    NaN is a missing cell and is summed out.

    Parameters
    ----------
    hidden : tuple of int, default=(200,)
        Units of each hidden layer, the one next to the data first.
    data : {"binary", "count"}, default="binary"
        Bernoulli or negative-binomial visible layer.
    learner : {"mcem", "rec-mcem", "sgd", "gibbs", "vb", "nvil"}, default="mcem"
        Gibbs E-step with the shared M-step; recognition network with the same M-step; Neal's gradient; posterior
        sampling of the weights; mean field; recognition network with gradients.
    m_step : {"kron", "pg", "sgd"}, default="kron"
        Shared-matrix step, or the paper's Polya-Gamma solve ("mcem" and "rec-mcem" only). "nvil" takes gradient steps with
        Adam's scaling, or with "sgd" plain ones (20 times `step`), as the paper's one-layer networks did.
    max_iter : int or "auto", default="auto"
        Passes over the data, all layers together. "auto" makes at least 30 passes and 1,200 steps, and then goes on until more
        passes no longer raise the log-likelihood of the training rows (with `max_minutes` the time decides instead).
    batch_size : int or None, default=1000
        Rows a step; None is batch EM. Noise of a step grows with the number of weights and falls with the rows: large
        networks of several layers want more (4000 for MNIST).
    n_sweeps, n_samples, inner_updates : int
        Gibbs sweeps a visit, samples K of them used, and M-step updates a batch.
    rate : {"linear", "power"}, default="linear"
        Step sizes `step` (`joint_step` where layers are trained together) falling linearly to a twentieth, or
        (m + 2)^-alpha as in the paper.
    greedy_share : float, default=0.55
        Share of the passes in which layers are trained one after the other, before all of them together.
    penalty : float, default=0
        lambda of the Laplace prior ``exp(-sqrt(lambda) |W|)``; 0 is maximum likelihood.
    dispersion : float, default=0.8
        r of the negative binomial.
    activity : float, default=0.01
        Share of active hidden units at the start: sparse starts learn better models.
    with_labels : bool, default=False
        Put the one-hot label `y` in the visible layer, for `sample(label=...)`.
    binarize : float or None, default=0.5
        Values above are ones (binary data); None demands zeros and ones.
    checkpoint : path or None, default=None
        Where the fit writes where it stands, every `checkpoint_minutes`; within a pass too.
    checkpoint_minutes : float, default=3.0
    resume : path, True or None, default=None
        A checkpoint to go on from (True: `checkpoint`, if there is one yet): the result is that of a fit that never stopped.
    max_minutes : float or None
        A time budget: rates fall with time instead of passes and training stops in time.
    callback : callable or None
        Called after every pass with a dict (stage, pass, bound, seconds, seconds_left); returning False stops.
    n_jobs : int, default=1
        Threads; they do not change the result.
    n_temperatures : int, default=300
        Temperatures of annealed importance sampling in `score_samples`, at most 20,000.
    verbose : int, default=0
        Print a line a pass.

    Attributes
    ----------
    weights_ : list of arrays (units above, units below)
    biases_ : list of arrays, the layer below each weight matrix
    top_bias_ : array
    history_ : list of dict, one a pass
        What `callback` is given.
    components_ : the first weights, one picture a hidden unit
    recognition_ : dict of arrays or None
    converged_ : bool
        Whether it ended because more passes gained nothing (`max_iter="auto"`), or made the passes that were asked for.
    stopped_ : why training ended

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.sbn import SigmoidBeliefNetwork
    >>> rng = np.random.default_rng(0)
    >>> bars = (rng.random((400, 1, 4)) < 0.3) | np.zeros((1, 4, 1), bool)
    >>> X = bars.reshape(400, 16).astype(float)
    >>> model = SigmoidBeliefNetwork(hidden=(8,), max_iter=60, batch_size=100, random_state=0).fit(X)
    >>> half = X[:1].copy(); half[0, 8:] = np.nan
    >>> bool(np.abs(model.impute(half) - X[:1]).max() < 0.5)
    True
    """

    network_: Any
    weights_: Any
    biases_: Any
    top_bias_: Any
    components_: Any
    recognition_: Any
    history_: list[dict[Any, Any]]
    n_iter_: int
    stopped_: str

    _free = ("n_temperatures",)
    _parameter_constraints: dict[Any, Any] = {  # noqa: RUF012
        "hidden": ["array-like"],
        "data": [StrOptions({"binary", "count"})],
        "learner": [StrOptions({"mcem", "rec-mcem", "sgd", "gibbs", "vb", "nvil"})],
        "m_step": [StrOptions({"kron", "pg", "sgd"})],
        "rate": [StrOptions({"linear", "power"})],
        "max_iter": [*COUNT, StrOptions({"auto"})],
        "batch_size": [*COUNT, None],
        **dict.fromkeys(("n_sweeps", "n_samples", "inner_updates", "n_jobs"), COUNT),
        "n_temperatures": [Interval(Integral, 1, MOST_TEMPERATURES, closed="both")],
        "step": [Interval(Real, 0, 1, closed="right")],
        "joint_step": [Interval(Real, 0, 1, closed="right")],
        "greedy_share": [Interval(Real, 0, 1, closed="left")],
        "alpha": [Interval(Real, 0, 1, closed="both")],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "dispersion": [Interval(Real, 0, None, closed="neither")],
        "activity": [Interval(Real, 0, 1, closed="neither")],
        "max_weight": [Interval(Real, 0, 20, closed="right")],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), None],
        "with_labels": ["boolean"],
        "binarize": [Real, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self, hidden: tuple[int, ...] = (200,), *, data: str = "binary", learner: str = "mcem", m_step: str = "kron",
        max_iter: int | str = "auto", batch_size: int = 1000, n_sweeps: int = 2, n_samples: int = 1, inner_updates: int = 1,
        rate: str = "linear", step: float = 0.2, joint_step: float = 0.1, greedy_share: float = 0.55, alpha: float = 0.501,
        penalty: float = 0.0, dispersion: float = 0.8, activity: float = 0.01, max_weight: float = 8.0,
        learning_rate: float | None = None, with_labels: bool = False, binarize: float | None = 0.5, checkpoint: Path = None,
        checkpoint_minutes: float = 3.0, resume: Path | bool = None, max_minutes: float | None = None, callback: Any = None,
        n_temperatures: int = 300, n_jobs: int = 1, random_state: Seed = None, verbose: int = 0,
    ) -> None:  # fmt: skip
        self.hidden = hidden
        self.data = data
        self.learner = learner
        self.m_step = m_step
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.n_sweeps = n_sweeps
        self.n_samples = n_samples
        self.inner_updates = inner_updates
        self.rate = rate
        self.step = step
        self.joint_step = joint_step
        self.greedy_share = greedy_share
        self.alpha = alpha
        self.penalty = penalty
        self.dispersion = dispersion
        self.activity = activity
        self.max_weight = max_weight
        self.learning_rate = learning_rate
        self.with_labels = with_labels
        self.binarize = binarize
        self.checkpoint = checkpoint
        self.checkpoint_minutes = checkpoint_minutes
        self.resume = resume
        self.max_minutes = max_minutes
        self.callback = callback
        self.n_temperatures = n_temperatures
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.data == "count"
        return tags

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> SigmoidBeliefNetwork:
        """Learn from rows X; `y` is used only with `with_labels=True`."""
        from ..learners.network import passes
        from ..learners.network.monte_carlo import VisibleRows

        self._validate_params()
        X = checked_rows(self, X, reset=True)
        self._check_settings()
        if self.with_labels:
            X = self._with_labels(X, y)
        watch = self._watch(X)
        watch.report = self._after_pass
        with one_blas_thread():
            fit = passes.train(VisibleRows(X, self.data), self._settings(watch), watch)
        watch.close()
        self._note_built()
        self.network_ = network = fit.moments
        self.weights_, self.biases_, self.top_bias_ = network.weights, network.biases, network.top_bias
        self.components_, self.recognition_ = network.weights[0], passes.recognition_of(fit.memory)
        self.history_, self.n_iter_, self.stopped_ = passes.pass_lines(fit.history), fit.n_iter, fit.stopped
        self.converged_: bool = fit.converged
        return self

    def _after_pass(self, number: int, line: dict[Any, Any]) -> Any:
        """What the callback says of the pass."""
        from ..learners.network.passes import pass_line

        line = pass_line(line)
        if self.verbose:
            quantities = [name for name in ("bound", "lower_bound", "log_visible") if name in line]
            told = ", ".join(f"{name.replace('_', ' ')} {line[name]:.4f}" for name in quantities)
            times = f"{line['seconds']:.1f} s, {line['seconds_left']:.0f} s left"
            print(f"{type(self).__name__} stage {line['stage']} pass {line['pass']}: {told}, {times}", flush=True)
        return None if self.callback is None else self.callback(line)

    @property
    def _n_features_out(self) -> int:
        return self.network_.sizes[1]

    def _check_settings(self) -> None:
        hidden = tuple(self.hidden)
        if not hidden or not all(isinstance(n, Integral) and int(n) > 0 for n in hidden):
            raise ValueError(
                f"hidden={self.hidden!r} must be positive integers, one a layer, such as (200,) or (200, 200)"
            )
        if self.learner == "gibbs" and self.data == "count":
            raise ValueError('learner="gibbs" draws PG(1, psi) and so needs data="binary"; use "mcem" for counts')
        if self.m_step == "sgd" and self.learner != "nvil":
            raise ValueError(f'm_step="sgd" goes with learner="nvil" only, not with learner={self.learner!r}')

    def _settings(self, watch: Watch) -> Any:
        from ..learners.network.settings import Settings

        is_seed = isinstance(self.random_state, Integral)
        seed = int(self.random_state) if is_seed else self._fit_seed(watch)
        chosen = {each.name: getattr(self, each.name) for each in fields(Settings) if hasattr(self, each.name)}
        chosen["hidden"] = tuple(int(n) for n in self.hidden)
        chosen["max_iter"] = None if self.max_iter == "auto" else self.max_iter
        average = 0.3 if self.learner == "gibbs" else 0.0  # a posterior mean instead of one draw
        return Settings(seed=seed, average=average, **chosen)

    def _check_loaded(self) -> None:
        from . import loaded

        loaded.check_network(self)

    def _with_labels(self, X: Any, y: Any) -> np.ndarray:
        if y is None or len(y) != len(X):
            raise ValueError("with_labels=True needs fit(X, y) with one label a row")
        self.classes_, codes = np.unique(y, return_inverse=True)
        return np.column_stack([X, np.eye(len(self.classes_))[codes]])

    def visible_rows(self, X: Any) -> Any:
        """X as the evaluators read it: validated, missing cells marked, labels (if modelled) unknown."""
        from ..learners.network.monte_carlo import VisibleRows

        check_is_fitted(self, "network_")
        self._check_unchanged()
        X = checked_rows(self, X, reset=False)
        if self.with_labels:
            X = np.column_stack([X, np.full((len(X), len(self.classes_)), np.nan)])
        return VisibleRows(X, self.data)

    def _posterior(self, X: Any, n_burn: int, n_samples: int, layer: int = 0) -> Any:
        from ..evaluation.belief_network import posterior_means

        rows = self.visible_rows(X)
        means, below = posterior_means(self.network_, rows, n_burn, n_samples, 0, self.n_jobs, layer)
        return means, below[:, : self.n_features_in_]

    def transform(self, X: Any, *, layer: int = 0, n_burn: int = 20, n_samples: int = 20) -> np.ndarray:
        """Posterior means of a hidden layer (the first) given each row, by Gibbs sampling."""
        return self._posterior(X, n_burn, n_samples, layer)[0]

    def reconstruct(self, X: Any, *, n_burn: int = 50, n_samples: int = 50) -> np.ndarray:
        """E[v | posterior of h given the observed cells of each row]."""
        return self._posterior(X, n_burn, n_samples)[1]

    def impute(self, X: Any, *, n_burn: int = 50, n_samples: int = 50) -> np.ndarray:
        """X with every NaN replaced by its posterior mean."""
        found = self.reconstruct(X, n_burn=n_burn, n_samples=n_samples)
        X = checked_rows(self, X, reset=False)
        return np.where(np.isnan(X), found, X)

    def score_samples(self, X: Any) -> np.ndarray:
        """log p(v) of each row by annealed importance sampling (see `suffice.evaluation` for error bars)."""
        from ..evaluation import annealed_importance_sampling

        check_is_fitted(self, "network_")
        return annealed_importance_sampling(self, X, self.n_temperatures, n_jobs=self.n_jobs).per_sample

    def score(self, X: Any, y: Any = None) -> float:
        return float(np.mean(self.score_samples(X)))

    def sample(
        self, n_samples: int = 1, *, label: Any = None, random_state: Seed = None, n_sweeps: int = 200
    ) -> np.ndarray:
        """Draw rows; with `label`, from p(v | label), the hidden units given the label by Gibbs sampling."""
        check_is_fitted(self, "network_")
        seed = self.random_state if random_state is None else random_state
        seed = int(seed) if isinstance(seed, Integral) else check_random_state(seed).randint(2**31 - 1)
        rng = np.random.default_rng(seed)
        if label is None:
            first = sample_hidden(self.network_, n_samples, rng)[0]
        else:
            first = self._hidden_given(label, n_samples, seed, n_sweeps)
        return sample_visible(self.network_, first, rng)[:, : self.n_features_in_]

    def _hidden_given(self, label: Any, n_samples: int, seed: int, n_sweeps: int) -> np.ndarray:
        from ..evaluation.belief_network import sample_posterior
        from ..learners.network.monte_carlo import VisibleRows

        self._check_unchanged()
        if not self.with_labels:
            raise ValueError("sample(label=...) needs a model fitted with with_labels=True")
        if label not in self.classes_:
            raise ValueError(f"label={label!r} is not one of {self.classes_.tolist()}")
        X = np.full((n_samples, self.network_.sizes[0]), np.nan)
        X[:, self.n_features_in_ :] = (self.classes_ == label).astype(float)
        return sample_posterior(self.network_, VisibleRows(X, self.data), n_sweeps, seed)

    def nearest_words(self, word: str, vocabulary: Any, n_words: int = 5) -> list[str]:
        """Words whose weight columns are nearest in Euclidean distance (paper, Table 3)."""
        check_is_fitted(self, "network_")
        vocabulary = list(vocabulary)
        if len(vocabulary) != self.n_features_in_:
            raise ValueError(f"the vocabulary has {len(vocabulary)} words, the model {self.n_features_in_} columns")
        if word not in vocabulary:
            raise ValueError(f"{word!r} is not in the vocabulary")
        columns = self.weights_[0][:, : self.n_features_in_].T
        distance = ((columns - columns[vocabulary.index(word)]) ** 2).sum(1)
        distance[vocabulary.index(word)] = np.inf
        return [vocabulary[i] for i in np.argsort(distance, kind="stable")[:n_words]]
