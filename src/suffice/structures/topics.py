r"""Class-conditional latent Dirichlet allocation: documents of class k mix that class's own Z topics.

    phi ~ Dirichlet(a), each word: z ~ phi, w ~ beta_kz         log p(x, k) = log pi_k + l_k(x)

    statistics   1,  x_w p(z | w, x, k)
    moments      mass[k],  count[w, z, k]            (counts of one topic add up to its own weight, as in `multinomial`)
    natural      constant[k],  logit[w, z, k] = log beta

The log-likelihood l_k(x) of a document has no closed form. Three deterministic or sampled forms stand for it, by name:

map           max over phi of  sum_w x_w log sum_z phi_z beta_kwz + a sum_z log(Z phi_z)       (the Dirichlet's exponent is a + 1)
variational   the bound of Blei et al. (2003): max over q(phi) = Dirichlet(shape) of
              sum_w x_w log sum_z exp(E log phi_z) beta_kwz + E log p(phi) - E log q(phi)   <=   log p(x | k)
gibbs         topics sampled given the words, phi integrated out (see `suffice.kernels.structures.topics_gibbs`)

For the first two, shape_z = a + sum_w x_w r_wz with r_wz the topic's share of the word; phi is shape / total, resp. exp(E log phi). The
inner maximum is unique for "map" (concave in phi), and by the envelope theorem

    d l_k / d log beta_kwz = x_w r_wz

exactly, so discriminative training needs no sampling. K = 1 is plain (unsupervised) LDA.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy import sparse
from scipy.special import gammaln, logsumexp
from typing_extensions import override

from ..engines.threads import Engine, shards
from ..families.base import KEEP
from ..families.records import Record
from ..families.rows import MOST_COUNTED, label_masses, whole_counts
from .base import Enumerable, expected_logs, log_shares, moved_mass
from .topics_document import FULL_STEPS, Document

INFERENCES = ("map", "variational", "gibbs")
ESTIMATORS = ("plug-in", "left-to-right", "variational")  # of log p(x | k), for sampled topics
N_SHARDS = 4  # a constant: sums of floats depend on it
SCORED = 256  # documents that one thread scores at a time
FULL_TOLERANCE = 1e-7  # of the fixed point, for scores


@dataclass(frozen=True, eq=False)
class Moments(Record):
    mass: np.ndarray
    count: np.ndarray

    @property
    def weight(self) -> np.ndarray:
        return self.count.sum(axis=0)


@dataclass(frozen=True, eq=False)
class Natural(Record):
    constant: np.ndarray
    logit: np.ndarray


def log_masses(moments: Moments) -> np.ndarray:
    return log_shares(moments.mass, moments.mass.sum())


def parts(n: int, n_parts: int = N_SHARDS) -> list[slice]:
    """Slices of the documents whatever the number of threads."""
    return shards(n, max(1, -(-n // n_parts)))


@dataclass(frozen=True, eq=False)
class Topics(Enumerable):
    """`n_outcomes` classes; every class has `n_topics` topics."""

    n_outcomes: int
    n_features: int
    n_topics: int = 2
    concentration: float = 0.5  # a
    inference: str = "map"
    length: float = 1.0  # mean length of a document
    n_jobs: int = 1
    # of inference="gibbs":
    likelihood: str = "plug-in"  # which estimator `scores` takes, see ESTIMATORS
    share: bool = True  # occurrences of a word in a document share their topic
    n_sweeps: int = 5  # or particles, of "left-to-right"
    n_burn: int = 0
    n_chains: int = 1  # of "plug-in", when documents are scored
    row_norm: float | None = None  # Euclidean length that documents are scaled to, after sampling
    seed: int = 0

    stored_as: ClassVar[dict[str, str]] = {
        "n_outcomes": "int 1..", "n_features": "int 1..", "n_topics": "int 1..", "concentration": "number (0..",
        "inference": "'map' 'variational' 'gibbs'", "length": "number (0..", "n_jobs": "int 1..4096",
        "likelihood": "'plug-in' 'left-to-right' 'variational'", "n_sweeps": "int 1..1e6", "n_burn": "int 0..1e6",
        "n_chains": "int 1..1e6", "row_norm": "none | number (0..", "seed": "int 0..",
    }  # fmt: skip

    table_prior = False
    takes_sparse = True

    @property
    def code(self) -> int:
        return 0 if self.inference == "map" else 1

    @property
    def sampled_code(self) -> int:
        return ESTIMATORS.index(self.likelihood)

    def judging(self, likelihood: str = "plug-in") -> Topics:
        """The same model as it predicts. Sampling takes many short chains, as a long one may stay in the topic where it started."""
        if self.inference != "gibbs":
            return self
        if likelihood == "plug-in":
            return replace(self, likelihood=likelihood, n_chains=16, n_burn=2, n_sweeps=2)
        return replace(self, likelihood=likelihood, n_sweeps=20)

    @property
    def document(self) -> Document:
        """Inference in one document: the readable twin of the kernels."""
        return Document(self.concentration, self.inference == "map")

    @override
    def log_joint(self, moments: Moments, X) -> np.ndarray:
        X = sparse.csr_matrix(X)
        beta = moments.count / moments.count.sum(axis=0)
        scores = np.tile(log_masses(moments), (X.shape[0], 1))
        for i in range(X.shape[0]):
            words, values = X.indices[X.indptr[i] : X.indptr[i + 1]], X.data[X.indptr[i] : X.indptr[i + 1]]
            for k in range(self.n_outcomes):
                shape, _ = self.document.inferred(values, beta[words, :, k])
                scores[i, k] += self.document.score(values, beta[words, :, k], shape)
        return scores

    # -- data ---------------------------------------------------------------------------------------------------------

    @override
    def rows_of(self, X):
        return (X.indptr, X.indices, X.data), "pairs"

    @override
    def is_latent(self, X) -> bool:
        return True

    def empty_shapes(self, n: int) -> np.ndarray:
        return np.empty((n, self.n_topics, self.n_outcomes))

    @override
    def scores(self, moments, X, state=None, which=None, shapes=None, n_steps: int = FULL_STEPS) -> np.ndarray:
        """log p(x_i, k). With `shapes` inference starts there (and leaves them where it ends)."""
        from ..kernels.structures.topics import score_documents

        X = X if which is None else X[which]
        if self.inference == "gibbs" and self.likelihood != "variational":
            return self.sampled(moments, X)[0]
        scores = np.empty((X.shape[0], self.n_outcomes))
        is_warm = shapes is not None
        shapes = shapes if is_warm else self.empty_shapes(X.shape[0])
        arrays, rows = state or self.state_of(moments), self.rows_of(X)[0]
        if self.inference == "gibbs":
            rows = self.sampling_rows(X)[0]
        options = (self.concentration, self.code, n_steps, FULL_TOLERANCE if not is_warm else 1e-4, is_warm)

        def score(part: slice) -> None:
            score_documents(rows, part.start, part.stop, arrays, *options, shapes, scores)

        deque(Engine(self.n_jobs).each(score, shards(X.shape[0], SCORED)), maxlen=0)
        return scores

    def sampling_rows(self, X) -> tuple[tuple, np.ndarray]:
        """Rows as the statistics weigh them (scaled), and the whole counts that topics are sampled for (at least 1 a word)."""
        counts = whole_counts(X, together=self.share)
        data = X.data
        if self.row_norm is not None:
            norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
            data = data * np.repeat(self.row_norm / np.where(norms > 0, norms, 1.0), np.diff(X.indptr))
        return (X.indptr, X.indices, data), counts

    def sampled(self, moments, X) -> tuple[np.ndarray, np.ndarray]:
        """log p(x_i, k) and E[phi] (of "plug-in") by sampling; a function of the seed and the documents' content."""
        from ..kernels.structures.topics_gibbs import score_sampled

        arrays, (rows, counts) = self.state_of(moments), self.sampling_rows(X)
        scores, proportions = np.empty((X.shape[0], self.n_outcomes)), self.empty_shapes(X.shape[0])
        chains = self.n_chains, self.n_burn, self.n_sweeps, self.seed
        options = (self.concentration, self.sampled_code, self.share, *chains)

        def score(part: slice) -> None:
            score_sampled(rows, counts, part.start, part.stop, arrays, *options, scores, proportions)

        deque(Engine(self.n_jobs).each(score, shards(X.shape[0], SCORED)), maxlen=0)
        return scores, proportions

    @override
    def expected_statistics(
        self, X, responsibilities, moments=None, shapes=None, n_steps: int = FULL_STEPS, tolerance: float = FULL_TOLERANCE
    ) -> Moments:  # fmt: skip
        """sum_ik responsibilities_ik E[s(x_i, k)] under `moments`; `shapes` as in `scores`."""
        from ..kernels.structures.topics import add_statistics

        responsibilities = np.ascontiguousarray(responsibilities)
        assert moments is not None, "topics are latent: expected statistics need the moments of a model"
        arrays, rows, is_warm = self.state_of(moments), self.rows_of(X)[0], shapes is not None
        shapes = shapes if is_warm else self.empty_shapes(X.shape[0])
        options = (self.concentration, self.code, n_steps, tolerance, is_warm)
        shape = (self.n_features, self.n_topics, self.n_outcomes)

        def shard(part: slice) -> np.ndarray:
            count = np.zeros(shape)
            add_statistics(rows, part.start, part.stop, responsibilities, arrays, *options, shapes, count)
            return count

        count = np.zeros(shape)
        # tables of a shard are as large as the model: few of them where it is large
        n_shards = N_SHARDS if np.prod(shape) * N_SHARDS < 2**26 else 2
        for part in Engine(self.n_jobs).each(shard, parts(X.shape[0], n_shards)):
            count += part
        return Moments(responsibilities.sum(axis=0), count)

    @override
    def completed_statistics(self, X, responsibilities, moments) -> Moments:
        return self.expected_statistics(X, responsibilities, moments)

    @override
    def statistics(self, X, y, weights) -> Moments:
        """What needs no inference: counts of labelled documents, shared by the topics alike."""
        labelled = np.flatnonzero(y >= 0)
        labels = sparse.csr_matrix((weights[labelled], (labelled, y[labelled])), shape=(len(y), self.n_outcomes))
        count = np.asarray((X.T @ labels).todense())
        count = np.repeat(count[:, None, :] / self.n_topics, self.n_topics, axis=1)
        return Moments(label_masses(y, weights, self.n_outcomes), count)

    def random_split(self, statistics: Moments, generator: np.random.Generator) -> Moments:
        """The same counts, every word's divided among the topics at random: where EM starts."""
        shares = generator.gamma(1.0, size=statistics.count.shape)
        shares /= shares.sum(axis=1, keepdims=True)
        return Moments(statistics.mass, statistics.count.sum(axis=1, keepdims=True) * shares)

    # -- the two coordinate systems -----------------------------------------------------------------------------------

    @override
    def natural_of(self, moments: Moments) -> Natural:
        return Natural(log_masses(moments), np.log(moments.count) - np.log(moments.weight))

    @override
    def log_partitions(self, natural: Natural) -> np.ndarray:
        return self.length * logsumexp(natural.logit, axis=0).mean(axis=0)

    @override
    def moments_of(self, natural: Natural, total: float = 1.0) -> Moments:
        """Topics of a class get the same weight: proportions are the documents' business."""
        mass = total * np.exp(natural.constant - logsumexp(natural.constant))
        beta = np.exp(natural.logit - logsumexp(natural.logit, axis=0))
        return Moments(mass, beta * (mass * self.length / self.n_topics))

    @override
    def log_likelihood(self, statistics: Moments, moments: Moments) -> float:
        seen = statistics.count != 0
        logs = (np.log(moments.count) - np.log(moments.weight))[seen]
        return expected_logs(statistics.mass, log_masses(moments)) + float(statistics.count[seen] @ logs)

    # -- domain and steps ---------------------------------------------------------------------------------------------

    @override
    def in_domain(self, moments: Moments) -> bool:
        return moments.is_finite() and bool((moments.mass > 0).all() and (moments.count > 0).all())

    @override
    def leaves_room(self, moments: Moments, prior: Moments) -> bool:
        return moments.is_finite() and bool((moments.mass > 0).all() and (moments.count >= 0.1 * prior.count).all())

    @override
    def at_masses(self, moments: Moments, mass) -> Moments:
        return Moments(mass, mass * (self.length / self.n_topics) * (moments.count / moments.weight))

    @override
    def direction(self, statistics: Moments, prior: Moments, moments: Moments, pull: float = 0.0) -> Moments:
        mass = (prior.mass.sum() + pull) * moments.mass / moments.mass.sum()
        weight = mass - prior.mass - statistics.mass + prior.weight + statistics.weight
        return statistics + prior - Moments(mass, weight * (moments.count / moments.weight))

    @override
    def move(self, moments: Moments, direction: Moments, rate: float) -> tuple[Moments, int]:
        count, least = moments.count + rate * direction.count, KEEP * moments.count
        n_shortened = int((count < least).sum())
        mass, shortened = moved_mass(moments.mass, direction.mass, rate)
        return Moments(mass, np.maximum(count, least)), shortened + n_shortened

    @override
    def pseudo_counts(self, statistics: Moments, amount: float) -> Moments:
        return Moments(np.zeros(self.n_outcomes), np.full_like(statistics.count, float(amount)))

    @override
    def smoothed_maximum_likelihood(self, statistics: Moments) -> Moments:
        smooth = statistics + self.pseudo_counts(statistics, self.default_pseudo_counts)
        return replace(smooth * (1.0 / statistics.mass.sum()), mass=self.smoothed_masses(statistics.mass))

    def counts_of(self, moments: Moments) -> np.ndarray:
        """(W, Z, K) array: the table of words by topics and outcomes."""
        return moments.count

    @override
    def no_statistics(self) -> Moments:
        return Moments(np.zeros(self.n_outcomes), np.zeros((self.n_features, self.n_topics, self.n_outcomes)))

    @override
    def pooled(self, statistics: Moments) -> Moments:
        share = statistics.mass / statistics.mass.sum() / self.n_topics
        count = statistics.count.sum(axis=(1, 2), keepdims=True) * np.ones((1, self.n_topics, 1)) * share
        return Moments(statistics.mass, count)

    # -- compiled code ------------------------------------------------------------------------------------------------

    @override
    def state_of(self, moments: Moments) -> tuple:
        count = np.array(moments.count, order="C")
        return moments.mass.copy(), np.array([moments.mass.sum()]), count, count.sum(axis=0)

    @override
    def moments_of_state(self, state: tuple) -> Moments:
        return Moments(state[0].copy(), state[2].copy())

    @override
    def row_tolerance(self, loss, prior, tolerance):
        """Multipliers of a loss with a corner are of the size of the prior's pseudo-counts, in units of a squared document, or 1."""
        if not loss.has_corner:
            return tolerance
        return 2.0 * tolerance * min(1.0, float(prior.count.mean()) * self.n_topics / max(self.length, 1e-300))

    # -- densities ----------------------------------------------------------------------------------------------------

    @override
    def log_base_measure(self, X) -> np.ndarray:
        terms = X.copy()
        terms.data = gammaln(X.data + 1)
        return gammaln(np.asarray(X.sum(axis=1)).ravel() + 1) - np.asarray(terms.sum(axis=1)).ravel()

    @override
    def sample(self, moments: Moments, outcomes, generator) -> np.ndarray:
        """Documents of Poisson length around the mean one; proportions drawn from Dirichlet(a)."""
        beta = moments.count / moments.weight
        proportions = generator.dirichlet(np.full(self.n_topics, self.concentration), len(outcomes))
        lengths = generator.poisson(min(self.length, MOST_COUNTED), len(outcomes))
        rows = np.empty((len(outcomes), self.n_features))
        for i, k in enumerate(outcomes):
            words = beta[:, :, k] @ proportions[i]
            rows[i] = generator.multinomial(lengths[i], words / words.sum())
        return rows
