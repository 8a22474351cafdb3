"""Unsupervised latent Dirichlet allocation: `LatentDirichletAllocation`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from typing_extensions import override

from ...engines.threads import n_threads
from ...evaluation.perplexity import Perplexity
from ...evaluation.results import Estimate
from ...learners.driver import Stop, run
from ...learners.topics import allocation as learners
from ...learners.topics.allocation_blocks import BlockAllocation, BlockDocuments
from ...learners.topics.allocation_passes import AllocationProblem, BatchAllocation, OnlineAllocation, SampledAllocation
from ...reading.documents import counts_of, telling_words
from ...reading.guards import all_or_nothing, naming
from .. import loaded
from ..contract import Contract, checked_numbers
from ..kinds import Path, Seed
from ..lazily import by_blocks, summed
from ..scale import shell_of
from .scale import DocumentsOf, scaled_documents

INFERENCES = ("variational", "map", "gibbs")


class LatentDirichletAllocation(Contract, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Topics of a collection of documents: every document mixes `n_topics` distributions of words in proportions of its own.

    Use it to see what a collection is about (`top_words`), for proportions as features (`transform`), and as a density of documents.
    For labelled documents see LDAClassifier.

    Parameters
    ----------
    n_topics : int, default=10
    inference : {"variational", "map", "gibbs"}, default="variational"
        Blei's bound; the most probable proportions; or topics of all tokens drawn by collapsed Gibbs sampling.
    algorithm : {"online", "batch"}, default="online"
        Mini-batches with falling rates (Hoffman et al. 2010), or EM on all documents at once. Sampling is always batch.
    concentration : float, default=0.1
        Of the proportions' Dirichlet prior.
    prior : float, default=0.1
        Pseudo-count of every word in every topic.
    max_iter : int or "auto", default="auto"
        Passes over the documents: "auto" is 20 online, at most 100 in batches, and 200 sweeps for "gibbs".
    batch_size : int, default=256
        Documents of an online step; a pass has at least ten. Of data in blocks a step is of a tenth of the blocks.
    decay, offset : float, default=0.7 and 10
        Rates of online steps are (offset + t)^-decay.
    total_documents : float or None, default=None
        How many documents a stream (`partial_fit`) will have; None: as many as have come so far.
    tol : float, default=1e-5
        Batch EM stops when the objective gains less than this share.
    n_jobs : int or None, default=None
        Threads (-1: one for every core). They do not change the result.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        Print a line a pass.
    checkpoint : path or None, default=None
        Where the fit writes where it stands, every `checkpoint_minutes`.
    checkpoint_minutes : float, default=3.0
    resume : path, True or None, default=None
        A checkpoint to go on from (True: `checkpoint`, if there is one yet): the result is that of a fit that never stopped.

    Attributes
    ----------
    components_ : ndarray of shape (n_topics, n_features)
        Expected counts of the words in each topic, prior included.
    topics_ : ndarray of shape (n_topics, n_features)
        p(word | topic).
    history_ : list of float
        The objective after each pass (of "gibbs": log p(words | topics drawn)).
    n_iter_, converged_, stopped_ : passes made, whether training came to its end, and why it stopped.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.topic import LatentDirichletAllocation
    >>> rng = np.random.default_rng(0)
    >>> phi = rng.dirichlet([0.2, 0.2], 300)
    >>> X = np.array([rng.multinomial(30, p[0] * np.repeat([0.2, 0.0], 5) + p[1] * np.repeat([0.0, 0.2], 5)) for p in phi])
    >>> model = LatentDirichletAllocation(2, random_state=0).fit(X)
    >>> sorted(sorted(words) for words in model.top_words("abcdefghij", 5))
    [['a', 'b', 'c', 'd', 'e'], ['f', 'g', 'h', 'i', 'j']]
    """

    n_iter_: int
    converged_: bool
    stopped_: str

    def __init__(
        self, n_topics: int = 10, *, inference: str = "variational", algorithm: str = "online", concentration: float = 0.1,
        prior: float | str = 0.1, max_iter: int | str = "auto", batch_size: int = 256, decay: float = 0.7,
        offset: float = 10.0, total_documents: float | None = None, tol: float = 1e-5, n_jobs: int | None = None,
        random_state: Seed = None, verbose: int = 0, checkpoint: Path = None, checkpoint_minutes: float = 3.0,
        resume: Path | bool = None,
    ) -> None:  # fmt: skip
        self.n_topics = n_topics
        self.inference = inference
        self.algorithm = algorithm
        self.concentration = concentration
        self.prior = prior
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.decay = decay
        self.offset = offset
        self.total_documents = total_documents
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.checkpoint_minutes = checkpoint_minutes
        self.resume = resume

    # -- training -----------------------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from documents X (counts of words, array-like, sparse, or data in blocks, also of texts); y is ignored."""
        self._check_parameters()
        whole = scaled_documents(self, X)
        sample = self._documents(X if whole is None else whole.sample.X, reset=True)
        watch = self._watch(sample) if whole is None else whole.watch(self)
        generator = np.random.default_rng(self._fit_seed(watch))
        rows = sample if whole is None else whole.rows(DocumentsOf(shell_of(self)), None, BlockDocuments)
        totals = learners.word_totals(sample) if whole is None else rows.word_totals()
        model = self._new(learners.start(totals, int(self.n_topics), generator))
        n = sample.shape[0] if whole is None else whole.survey.n_rows
        learner, n_passes = self._learner(n if whole is None else len(whole.data), in_blocks=whole is not None)
        problem = AllocationProblem(model, rows) if whole is None else BlockAllocation(model, rows, n)
        fit = run(
            learner, problem, model.count, generator, max_epochs=n_passes, tol=self.tol, keep_best=False, watch=watch
        )
        watch.close()
        self.history_: list[Any] = [-value for value in fit.history.get("objective", [])]
        self.n_iter_, self.converged_, self.stopped_ = fit.n_iter, fit.converged, fit.stopped
        self._n_steps, self._n_seen = getattr(fit.memory, "n_steps", 0), float(n)
        self._keep(problem.at(fit.moments))
        return self

    def _learner(self, n_units: int, in_blocks: bool = False) -> tuple[Any, int]:
        """The learner, and how many passes it makes at most over so many documents, or blocks of them."""
        auto = 200 if self.inference == "gibbs" else 100 if self.algorithm == "batch" else 20
        n_passes = auto if self.max_iter == "auto" else int(self.max_iter)
        if self.inference == "gibbs":
            return SampledAllocation(n_passes), n_passes
        if self.algorithm == "batch":
            return BatchAllocation(), n_passes
        size = -(-n_units // 10)  # a pass has ten steps, or more
        size = size if in_blocks else min(int(self.batch_size), size)
        return OnlineAllocation(n_passes, size, float(self.decay), float(self.offset)), n_passes

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from one batch of a stream, by online EM (whatever the inference of `fit`, "gibbs" infers by the bound here)."""
        self._check_parameters()
        first = not hasattr(self, "components_")
        if not first:
            self._check_unchanged()
        X = self._documents(X, reset=first)
        generator = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        model = (
            self._new(learners.start(learners.word_totals(X), int(self.n_topics), generator))
            if first
            else self._model()
        )
        n_steps, seen = (0, 0.0) if first else (self._n_steps, self._n_seen)
        history = [] if first else list(self.history_)
        seen += X.shape[0]
        scale = (self.total_documents or seen) / X.shape[0]
        rate = float((self.offset + n_steps) ** -self.decay) if n_steps else 1.0
        for _ in range(5 if first else 1):  # the first batch has to find topics at all
            history.append(learners.online_step(model, X, rate, scale))
        self.history_, self.n_iter_, self._n_steps, self._n_seen = history, len(history), n_steps + 1, seen
        self.converged_, self.stopped_ = Stop.ONE_PASS.is_convergence, Stop.ONE_PASS.sentence
        self._keep(model)
        return self

    def _new(self, count: np.ndarray) -> learners.Allocation:
        return learners.Allocation(
            count, float(self.prior), float(self.concentration), self.inference, n_threads(self.n_jobs)
        )

    def _model(self) -> learners.Allocation:
        check_is_fitted(self, "components_")
        self._check_parameters()  # they may have been set since
        return self._new(np.ascontiguousarray(self.components_.T) - float(self.prior))

    def _keep(self, model: learners.Allocation) -> None:
        self._note_built()
        self.components_ = np.ascontiguousarray((model.count + model.prior).T)
        self.topics_ = np.ascontiguousarray(model.beta.T)

    @override
    def _report(self, number: int, line: dict[Any, Any]) -> None:
        super()._report(number, line | {"objective": -line["objective"]})

    # -- what was learned ---------------------------------------------------------------------------------------------

    @by_blocks
    def transform(self, X: Any) -> np.ndarray:
        """Proportions of the topics in each document: means of their posterior (of "map": the most probable ones)."""
        model = self._model()
        X = self._documents(X, reset=False)
        if self.inference == "gibbs":
            return learners.sampled_proportions(model, X, 20, 20, self._seed())
        _, shapes, _ = replace(model, tolerance=1e-5).expect(X, gather=False)
        return shapes / shapes.sum(axis=1, keepdims=True)

    @by_blocks
    def score_samples(self, X: Any) -> np.ndarray:
        """Blei's lower bound of log p(document) (words in their order: no multinomial coefficient)."""
        model = replace(self._model(), inference="variational", tolerance=1e-6)
        X = self._documents(X, reset=False)
        return np.array([model.expect(X[i], gather=False, beta=self.topics_.T.copy())[2] for i in range(X.shape[0])])

    @summed
    def score(self, X: Any, y: Any = None) -> float:
        """The mean lower bound of a document."""
        model = replace(self._model(), inference="variational", tolerance=1e-6)
        X = self._documents(X, reset=False)
        return float(model.expect(X, gather=False)[2]) / X.shape[0]

    def perplexity(self, observed: Any, held_out: Any) -> Perplexity:
        """Of held-out words of documents, given their other words (document completion)."""
        from ...kernels.structures.allocation import predicted_log_probability

        proportions = self.transform(observed)
        held = self._documents(held_out, reset=False)
        if held.shape[0] != len(proportions):
            raise ValueError(
                f"observed has {len(proportions)} documents but held_out {held.shape[0]}: the same documents"
            )
        sums = np.empty(held.shape[0])
        beta = np.ascontiguousarray(self.topics_.T)
        predicted_log_probability((held.indptr, held.indices, held.data), beta, proportions, sums)
        details = {"tokens": np.asarray(held.sum(axis=1)).ravel(), "inference": self.inference}
        return Perplexity(f"document completion, {self.inference} proportions", sums, 1, details)

    def left_to_right(self, X: Any, n_particles: int = 20) -> Perplexity:
        """log p(document) by Wallach et al.'s left-to-right sampler, with particles chosen again: unbiased for p(document).

        `per_sample` holds the log-likelihoods, `mean` is the perplexity.
        """
        from ...structures.topics import Moments, Topics

        check_is_fitted(self, "components_")
        X = self._documents(X, reset=False)
        model = Topics(
            1, X.shape[1], len(self.components_), float(self.concentration), "gibbs", n_jobs=n_threads(self.n_jobs),
            likelihood="left-to-right", share=False, n_sweeps=int(n_particles), seed=self._seed(),
        )  # fmt: skip
        scores, _ = model.sampled(Moments(np.ones(1), np.ascontiguousarray(self.components_.T)[:, :, None]), X)
        details = {"tokens": np.maximum(np.asarray(X.sum(axis=1)).ravel(), 0.0)}
        return Perplexity("left-to-right", scores[:, 0], int(n_particles), details)

    def top_words(self, vocabulary: Any = None, n_words: int = 10) -> list[list[Any]]:
        """The most telling words of every topic: frequent in it, and more so than in the mean topic."""
        check_is_fitted(self, "components_")
        return telling_words(self.topics_, vocabulary, n_words)

    def coherence(self, X: Any, n_words: int = 10) -> Estimate:
        """Of every topic: the mean normalised pointwise mutual information of pairs of its most probable words in documents X.

        From -1 (never together) over 0 (independent) to 1 (always together).
        """
        check_is_fitted(self, "components_")
        X = self._documents(X, reset=False)
        seen = X.copy()
        seen.data = np.ones_like(seen.data)
        values = np.empty(len(self.topics_))
        for z, topic in enumerate(self.topics_):
            words = np.argsort(-topic, kind="stable")[:n_words]
            part = seen[:, words]
            together = np.asarray((part.T @ part).todense()) / max(X.shape[0], 1)
            single = np.diag(together)
            with np.errstate(divide="ignore", invalid="ignore"):
                pairs = np.log(together / np.outer(single, single)) / -np.log(together)
            pairs = np.where(together > 0, np.where(together >= 1, 1.0, pairs), -1.0)
            values[z] = pairs[np.triu_indices(len(words), 1)].mean() if len(words) > 1 else 0.0
        return Estimate(f"normalised PMI of the top {n_words} words", values, 1, {"documents": X.shape[0]})

    def sample(self, n_samples: int = 1, length: float = 50.0, random_state: Seed = None) -> np.ndarray:
        """Documents of Poisson length."""
        check_is_fitted(self, "components_")
        self._check_parameters()
        generator = np.random.default_rng(
            check_random_state(self.random_state if random_state is None else random_state).randint(2**31 - 1)
        )
        phi = generator.dirichlet(np.full(len(self.topics_), float(self.concentration)), n_samples)
        words = phi @ self.topics_
        lengths = generator.poisson(length, n_samples)
        rows = [generator.multinomial(n, p / p.sum()) for n, p in zip(lengths, words, strict=True)]
        return np.array(rows, dtype=float).reshape(n_samples, self.topics_.shape[1])

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    # -- checks -------------------------------------------------------------------------------------------------------

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1)) if self.random_state is not None else 0

    def _documents(self, X: Any, *, reset: bool) -> Any:
        options = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": "allow-nan"}
        with naming("X"):
            X = checked_numbers(self, X, reset=reset, **options)
        return counts_of(X, type(self).__name__)

    def _check_loaded(self) -> None:
        loaded.check_allocation(self)

    def _check_parameters(self) -> None:
        for name, allowed in (("inference", INFERENCES), ("algorithm", ("online", "batch"))):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}={getattr(self, name)!r} is not one of {', '.join(map(repr, allowed))}")
        for name in ("n_topics", "batch_size", "max_iter"):
            value = getattr(self, name)
            if name == "max_iter" and value == "auto":
                continue
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
                raise ValueError(f"{name}={value!r} is not a whole number of at least 1")
        for name in ("concentration", "prior", "decay", "offset"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 < value < np.inf:
                raise ValueError(f"{name}={value!r} is not a positive number")
        total = self.total_documents
        if total is not None and (isinstance(total, (bool, str)) or not 0 < total < np.inf):
            raise ValueError(f"total_documents={total!r} is neither None nor a positive number")
        if self.n_jobs is not None and (not isinstance(self.n_jobs, (int, np.integer)) or self.n_jobs == 0):
            raise ValueError(f"n_jobs={self.n_jobs!r} is neither None nor a number of threads (-1: all cores)")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
