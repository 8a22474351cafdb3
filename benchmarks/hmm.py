"""Hidden Markov models: an EM iteration of `fit` and the best path, ours and hmmlearn's (where installed), on the same data.

Every library starts where it likes: the work of an iteration does not depend on it. CPU seconds of one thread, best of several; wall
seconds of two threads beside those of one. "x the limit" is the time over that of 3 S^2 + 4 D S multiply-adds a step at the speed of
a large product of matrices (numbers with diagonal covariance only). At the end: 1,000 states, and one online pass over 10,000 sequences
from disk beside batch EM. `python -m benchmarks hmm`; `python -m benchmarks.hmm online` for the last alone.
"""

from __future__ import annotations

import importlib
import logging
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from suffice.hmm import CategoricalHMM, GaussianHMM, PoissonHMM

ITERATIONS = 3  # of theirs
OURS = 60


def best(work: Callable[[], Any], clock: Callable[[], float] = time.process_time, repeats: int = 3) -> float:
    """Seconds of the fastest of some calls, after one that compiles."""
    work()
    found = np.inf
    for _ in range(repeats):
        began = clock()
        work()
        found = min(found, clock() - began)
    return found


def ours(kind: Any, n_states: int, X, lengths, n_jobs: int = 1, **parameters) -> Callable[[int], Any]:
    """A fit of so many iterations after the start."""

    def fit(n: int) -> Any:
        model = kind(n_states, max_iter=n, tol=0.0, random_state=0, init_params="random", n_jobs=n_jobs, **parameters)
        return model.fit(X, lengths=lengths)

    return fit


def iterations(
    fits: list[tuple[Callable[[int], Any], int]], clock: Callable[[], float] = time.process_time, repeats: int = 5
) -> list[float]:
    """Seconds of an iteration of each fit: the difference of fits of 1 and 1 + n, each the best of several.

    The fits take turns, so that a machine that is slow for a while is slow for all of them.
    """
    for fit, _ in fits:
        fit(1)
    seconds = np.full((len(fits), 2), np.inf)
    for _ in range(repeats):
        for number, (fit, n) in enumerate(fits):
            for side, passes in enumerate((1, 1 + n)):
                began = clock()
                fit(passes)
                seconds[number, side] = min(seconds[number, side], clock() - began)
    return [(long - short) / n for (short, long), (_, n) in zip(seconds, fits, strict=True)]


def theirs(peer: Any, kind: str, n_states: int, X, lengths, implementation: str, *more) -> Callable[[int], Any]:
    """A fit of so many iterations by hmmlearn."""

    def fit(n: int) -> Any:
        model = getattr(peer, kind)(
            n_states, *more, n_iter=n, tol=-np.inf, implementation=implementation, random_state=0
        )
        return model.fit(X, lengths)

    return fit


def cases() -> dict[str, tuple]:
    """Name: (our class, its parameters, hmmlearn's class, its parameters, states, steps, lengths)."""
    generator = np.random.default_rng(0)

    def numbers(n: int, d: int) -> np.ndarray:
        return generator.normal(size=(n, d)) + 2 * generator.integers(0, 8, size=(n, 1))

    many, few = [100] * 1000, [50] * 2000
    counts = generator.poisson(1 + 3 * generator.integers(0, 4, size=(100_000, 1)), size=(100_000, 10))
    return {
        "1,000 x 100 x 10 diagonal, 8 states": (GaussianHMM, {}, "GaussianHMM", ("diag",), 8, numbers(100_000, 10), many),
        "the same, full covariance": (
            GaussianHMM, {"covariance_type": "full"}, "GaussianHMM", ("full",), 8, numbers(100_000, 10), many,
        ),
        "the same, Poisson": (PoissonHMM, {}, "PoissonHMM", (), 8, counts, many),
        "2,000 x 50, 50 symbols, 10 states": (
            CategoricalHMM, {}, "CategoricalHMM", (), 10, generator.integers(0, 50, size=(100_000, 1)), few,
        ),
        "one sequence of 1,000,000, 8 states": (
            GaussianHMM, {}, "GaussianHMM", ("diag",), 8, numbers(1_000_000, 1), [1_000_000],
        ),
    }  # fmt: skip


def seconds_of_a_multiply_add() -> float:
    """In a product of large matrices."""
    matrix = np.random.default_rng(0).normal(size=(1000, 1000))
    return best(lambda: matrix @ matrix) / 1e9


def many_states(n_states: int = 1000, n_steps: int = 2000) -> None:
    X = np.random.default_rng(0).integers(0, 300, size=(n_steps, 1)).astype(float)
    with threadpool_limits(1):
        (one,) = iterations([(ours(CategoricalHMM, n_states, X, None), ITERATIONS)], repeats=3)
        model = ours(CategoricalHMM, n_states, X, None)(1)
        path = best(lambda: model.predict(X), repeats=1)
    print(f"{n_states:,} states, {n_steps:,} steps: {one:.2f} s an iteration, Viterbi {path:.2f} s", flush=True)


def online(n_sequences: int = 10_000, length: int = 50, chunk: int = 256) -> float:
    """One pass of `partial_fit` over sequences in a file beside batch EM: the share of the held-out log-likelihood that is lost."""
    generator = np.random.default_rng(0)
    A = 0.9 * np.eye(4) + 0.1 * generator.dirichlet(np.ones(4), size=4)
    true = GaussianHMM.of(np.full(4, 0.25), A, 3 * generator.normal(size=(4, 2)), np.ones((4, 2)))
    X, held = (np.stack(true.sample(length, n, random_state=seed)[0]) for seed, n in ((1, n_sequences), (2, 1000)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sequences.npy"
        np.save(path, X)
        onward, began = np.load(path, mmap_mode="r"), time.process_time()
        stream = GaussianHMM(4, random_state=0)
        for first in range(0, n_sequences, chunk):
            stream.partial_fit(np.array(onward[first : first + chunk]))
        taken = time.process_time() - began
    began = time.process_time()
    batch = GaussianHMM(4, random_state=0, tol=1e-6, max_iter=500).fit(X)
    whole = time.process_time() - began
    ours, theirs = stream.score(held), batch.score(held)
    lost = (theirs - ours) / abs(theirs)
    print(
        f"one online pass over {n_sequences:,} sequences from disk: {taken:.1f} s, {ours / held[..., 0].size:.5f} nats a held-out "
        f"step; batch EM {whole:.1f} s ({batch.n_iter_} passes), {theirs / held[..., 0].size:.5f}: {100 * lost:.4f} % lost",
        flush=True,
    )
    return lost


def run() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    try:
        peer: Any = importlib.import_module("hmmlearn.hmm")
    except ImportError:
        peer = None
        print("hmmlearn is not installed: ours alone")
    for name, (kind, parameters, their_kind, more, n_states, X, lengths) in cases().items():
        own = float if kind is not CategoricalHMM else int
        with threadpool_limits(1):
            unit = seconds_of_a_multiply_add()
            alone, shared = (ours(kind, n_states, X.astype(own), lengths, n_jobs, **parameters) for n_jobs in (1, 2))
            others = [theirs(peer, their_kind, n_states, X, lengths, way, *more) for way in ("log", "scaling") if peer]
            one, *taken = iterations([(alone, OURS), *((fit, ITERATIONS) for fit in others)])
            wall, two = iterations([(alone, OURS), (shared, OURS)], time.perf_counter)
            model = alone(1)
            path = best(lambda: model.predict(X, lengths=lengths))  # noqa: B023
            line = f"{name}: {one:.4f} s an iteration, two threads {wall / two:.2f}x (wall)"
            line += f", Viterbi {1e9 * path / len(X):.0f} ns a step"
            if kind is GaussianHMM and not parameters:
                limit = unit * len(X) * (3 * n_states**2 + 4 * X.shape[1] * n_states)
                line += f", {one / limit:.1f}x the limit"
            if peer is not None:
                for implementation, other in zip(("log", "scaling"), taken, strict=True):
                    line += f"; hmmlearn {implementation} {other:.3f} s ({other / one:.1f}x)"
                found = getattr(peer, their_kind)(n_states, *more, n_iter=1, random_state=0).fit(X, lengths)
                other = best(lambda: found.predict(X, lengths), repeats=1)  # noqa: B023
                line += f", Viterbi {1e9 * other / len(X):.0f} ns ({other / path:.1f}x)"
        print(line, flush=True)
    many_states()
    online()


if __name__ == "__main__":
    online() if sys.argv[1:] == ["online"] else run()
