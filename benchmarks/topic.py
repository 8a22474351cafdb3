"""Topic models against their peers: accuracy on r8 and webkb, sampled tokens a second, the time of a pass, perplexity.

Needs SUFFICE_DATA (the papers' data); peers that are not installed (`pip install suffice[bench]`) are left out. Times are CPU seconds.
SUFFICE_SEEDS=10, SUFFICE_PARTS=pass,throughput,perplexity,rivals,map,gibbs (all, in this order).
"""

from __future__ import annotations

import os
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

import numba
import numpy as np
from scipy import sparse

from suffice import datasets
from suffice.datasets.newsgroups2000 import load_20news2000
from suffice.experiments.masegosa2014 import peers
from suffice.experiments.masegosa2014.words import load
from suffice.families.multinomial import Moments, Multinomial
from suffice.kernels.structures.allocation import predicted_log_probability
from suffice.learners.driver import Problem
from suffice.learners.driver import run as passes
from suffice.learners.incremental import Incremental
from suffice.learners.topics import allocation
from suffice.learners.topics.passes import EM, IncrementalTopics
from suffice.losses import loss_named
from suffice.reading.documents import counts_of, scaled_to
from suffice.reading.guards import one_blas_thread
from suffice.structures.topics import Topics
from suffice.topic import LatentDirichletAllocation, LDAClassifier

N_TOPICS = (20,)  # of the perplexities
RUNS = 8  # of what is timed on one and two threads
SEEDS = int(os.environ.get("SUFFICE_SEEDS", "10"))


class Bare(LDAClassifier):
    """Without what changes no prediction: the measures of every pass, and the second fit that calibrates probabilities."""

    def _learner(self, problem):
        return replace(super()._learner(problem), watch=self.inference != "gibbs")  # the others stop by their measures

    def _calibrated(self, problem, choice, generator):
        return choice


def accuracy(inference: str) -> None:
    print(f"accuracy, mean and standard deviation of {SEEDS} seeds; 2 topics a class, default settings; no calibration")
    for name, logarithm in (("r8", False), ("webkb", False), ("webkb", True)):
        if logarithm and inference == "gibbs":
            continue
        data = datasets.load(name)
        X, X_test = (data.X_train, data.X_test) if not logarithm else (data.X_train.log1p(), data.X_test.log1p())
        title = f"{name}{' log(1+n)' if logarithm else ''}"
        for loss in ("nll", "ncll", "hinge"):
            began, found = time.process_time(), []
            for seed in range(SEEDS):
                model = Bare(loss=loss, inference=inference, random_state=seed).fit(X, data.y_train)
                found.append(model.score(X_test, data.y_test))
            seconds = (time.process_time() - began) / SEEDS
            print(
                f"  {title:16} LDAClassifier {inference:5} {loss:5} {np.mean(found):.4f} +- {np.std(found, ddof=1):.4f}"
                f"  {seconds:.1f} s",
                flush=True,
            )


def rivals() -> None:
    print(
        f"accuracy of supervised LDA and of LDA with logistic regression, 50 topics; sweeps of sLDA: {peers.SLDA_SWEEPS}"
    )
    for name, sweeps in peers.SLDA_SWEEPS.items():
        split = load(name)
        others = [
            ("our LDA + LR", peers.lda_and_regression, 3),
            ("scikit-learn LDA + LR", peers.sklearn_and_regression, 1),
        ]
        if find_spec("tomotopy"):
            others.append(("tomotopy sLDA", partial(peers.tomotopy_slda, sweeps=sweeps), 1))
        for label, peer, n in others:
            began = time.process_time()
            found = [peer(split, seed) for seed in range(n)]
            seconds = (time.process_time() - began) / n
            print(f"  {name:6} {label:22} {np.mean(found):.4f}  {seconds:.1f} s ({n} seeds)", flush=True)


def one_pass() -> None:
    data = datasets.load("r8")
    classes, y = np.unique(data.y_train, return_inverse=True)
    X, K, n = scaled_to(counts_of(data.X_train, "r8"), 10.0), len(classes), len(y)
    weights, W = np.ones(n), X.shape[1]

    def steps(learner, problem, start, n_passes: int = 5) -> tuple[float, float]:
        best = (np.inf, np.inf)
        for _ in range(3):
            state = learner.init(problem, start, np.random.default_rng(0))
            cpu, wall = time.process_time(), time.perf_counter()
            for _ in range(n_passes):
                state = learner.step(problem, state)
            best = min(best[0], time.process_time() - cpu), min(best[1], time.perf_counter() - wall)
        return best[0] / n_passes, best[1] / n_passes

    words = Problem(
        Multinomial.for_data(X, K), X, y, weights, loss_named("ncll"), Moments(np.full(K, 10.0), np.full((W, K), 3.0))
    )
    plain, _ = steps(Incremental(1e-3, watch=False), words, None)
    small = Moments(np.full(K, 1.0), np.full((W, 2, K), 0.1))
    model, generator = Topics(K, W, 2, 0.5, length=float(X.sum()) / n), np.random.default_rng(0)
    start = model.random_split(model.statistics(X, y, weights), generator) + small
    likelihood = Problem(model, X, y, weights, loss_named("nll"), small)
    start = passes(EM(watch=False), likelihood, start, generator, max_epochs=15).moments
    prior = Moments(np.full(K, 10.0), np.full((W, 2, K), 1.5))
    topics = Problem(model, X, y, weights, loss_named("ncll"), prior)
    cpu, _ = steps(IncrementalTopics(watch=False), topics, start)
    print(
        f"five passes on r8: MultinomialNB {plain * 1e3:.1f} ms each, topics {cpu * 1e3:.1f}, ratio {cpu / plain:.1f}"
    )

    def five(watch: bool):
        def work(n_jobs: int) -> list[float]:
            learner = IncrementalTopics(n_jobs=n_jobs, watch=watch)
            problem = replace(topics, model=replace(model, n_jobs=n_jobs))
            state = IncrementalTopics().init(topics, start, np.random.default_rng(0))
            times = []
            for _ in range(5):
                began = time.perf_counter()
                with one_blas_thread():  # as in a fit
                    state = learner.step(problem, state)
                times.append(time.perf_counter() - began)
            return times

        return work

    def whole(work):
        def timed(n_jobs: int) -> list[float]:
            began = time.perf_counter()
            work(n_jobs)
            return [time.perf_counter() - began]

        return timed

    works = {
        "arithmetic alone": whole(arithmetic_on),
        "passes": five(False),
        "passes with their measures": five(True),
        "whole fit": whole(lambda j: LDAClassifier(n_jobs=j, random_state=0).fit(data.X_train, data.y_train)),
    }
    arithmetic_on(2)
    for label, work in works.items():
        times: dict[int, list] = {1: [], 2: []}
        for _ in range(
            RUNS
        ):  # in turn, so that one and two threads meet the same machine; the best of each pass counts
            for n_jobs, found in times.items():
                found.append(work(n_jobs))
        one, two = (np.min(times[n_jobs], axis=0).sum() for n_jobs in (1, 2))
        print(f"two threads, wall time, {label}: {one / two:.2f} times as fast ({one:.2f} s, {two:.2f} s)", flush=True)


@numba.njit(nogil=True)
def arithmetic(numbers, n):
    for _ in range(n):
        for i in range(len(numbers)):
            numbers[i] = 1.0 / (0.5 + numbers[i])


def arithmetic_on(n_jobs: int) -> None:
    """The same work by one thread or two, within the nearest cache: what the machine itself gains by the second."""
    with ThreadPoolExecutor(n_jobs) as pool:
        list(pool.map(lambda _: arithmetic(np.ones(1000), 50_000 // n_jobs), range(n_jobs)))


def csr(X) -> sparse.csr_matrix:
    return sparse.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape)


def throughput() -> None:
    data = load_20news2000()
    X = csr(data.train)
    for n_topics in (20, 50, 100):
        model = allocation.Allocation(allocation.start(X, n_topics, np.random.default_rng(0)), 0.01, 0.1)
        tokens = allocation.Tokens.of(X, n_topics)
        model.count = tokens.sweep(model.beta, 0.1, 0, 1, is_start=True)
        began = time.process_time()
        for sweep in range(50):
            model.count = tokens.sweep(model.beta, 0.1, sweep + 1, 1)
        ours = 50 * len(tokens.words) / (time.process_time() - began)
        line = f"Gibbs, {n_topics} topics, one core, sweeps 1 to 50: {ours / 1e6:.1f} million tokens a second"
        if find_spec("tomotopy"):
            import tomotopy

            other = tomotopy.LDAModel(k=n_topics, alpha=0.1, eta=0.01, seed=1)
            for a, b in zip(tokens.starts[:-1], tokens.starts[1:], strict=True):
                if b > a:
                    other.add_doc([data.vocabulary[w] for w in tokens.words[a:b]])
            other.optim_interval = 0
            other.train(0)
            began = time.process_time()
            other.train(50, workers=1)
            theirs = 50 * len(tokens.words) / (time.process_time() - began)
            line += f", tomotopy {theirs / 1e6:.1f}, ratio {ours / theirs:.2f}"
        print(line, flush=True)


def perplexity() -> None:
    data = load_20news2000()
    X, observed, held = csr(data.train), csr(data.test_observed), csr(data.test_held_out)

    def completed(topics, proportions) -> float:
        sums = np.empty(held.shape[0])
        beta = np.ascontiguousarray(topics.T, dtype=float)
        predicted_log_probability(
            (held.indptr, held.indices, held.data), beta, np.ascontiguousarray(proportions, dtype=float), sums
        )
        return float(np.exp(-sums.sum() / held.sum()))

    for n_topics in N_TOPICS:
        for inference in ("variational", "gibbs"):
            began = time.process_time()
            model = LatentDirichletAllocation(n_topics, inference=inference, random_state=0).fit(X)
            seconds = time.process_time() - began
            print(
                f"20news2000, {n_topics} topics: {inference:11} {model.perplexity(observed, held)}, {seconds:.1f} s",
                flush=True,
            )
        from sklearn.decomposition import LatentDirichletAllocation as Theirs

        for method in ("batch", "online"):
            began = time.process_time()
            other = Theirs(n_topics, learning_method=method, random_state=0).fit(X)
            seconds = time.process_time() - began
            topics = other.components_ / other.components_.sum(axis=1, keepdims=True)
            print(
                f"  scikit-learn, {method:6} {completed(topics, other.transform(observed)):.1f}, {seconds:.1f} s",
                flush=True,
            )
        if find_spec("gensim"):
            from gensim.matutils import Sparse2Corpus
            from gensim.models import LdaModel

            documents = list(Sparse2Corpus(X, documents_columns=False))
            began = time.process_time()
            other = LdaModel(
                documents, num_topics=n_topics, passes=10, random_state=0, id2word=dict(enumerate(data.vocabulary))
            )
            seconds = time.process_time() - began
            shapes, _ = other.inference(list(Sparse2Corpus(observed, documents_columns=False)))
            found = completed(other.get_topics(), shapes / shapes.sum(axis=1, keepdims=True))
            print(f"  gensim, 10 passes    {found:.1f}, {seconds:.1f} s", flush=True)


def run() -> None:
    warnings.simplefilter("ignore")
    parts = {
        "pass": one_pass,
        "throughput": throughput,
        "perplexity": perplexity,
        "rivals": rivals,
        "map": partial(accuracy, "map"),
        "gibbs": partial(accuracy, "gibbs"),
    }
    for name in os.environ.get("SUFFICE_PARTS", ",".join(parts)).split(","):
        parts[name]()
