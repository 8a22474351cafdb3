"""Hidden Markov models: an EM iteration and the best path, ours and hmmlearn's (where installed), from the same start on the same data.

CPU seconds of one thread, best of several; wall seconds of two threads. `python -m benchmarks hmm`.
"""

from __future__ import annotations

import importlib
import logging
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from suffice.hmm import CategoricalHMM, GaussianHMM, PoissonHMM

ITERATIONS = 3


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


def iteration(fit: Callable[[int], Any], clock: Callable[[], float] = time.process_time) -> float:
    """Seconds of an iteration: the difference of fits of 1 and 1 + ITERATIONS."""
    return (best(lambda: fit(1 + ITERATIONS), clock) - best(lambda: fit(1), clock)) / ITERATIONS


def theirs(peer: Any, kind: str, n_states: int, X, lengths, implementation: str, *more) -> float:
    def fit(n: int) -> Any:
        model = getattr(peer, kind)(
            n_states, *more, n_iter=n, tol=-np.inf, implementation=implementation, random_state=0
        )
        return model.fit(X, lengths)

    return iteration(fit)


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
            one = iteration(ours(kind, n_states, X.astype(own), lengths, **parameters))
            two = iteration(ours(kind, n_states, X.astype(own), lengths, 2, **parameters), time.perf_counter)
            model = ours(kind, n_states, X.astype(own), lengths, **parameters)(1)
            path = best(lambda: model.predict(X, lengths=lengths))  # noqa: B023
            line = f"{name}: {one:.4f} s an iteration, two threads {two:.4f} s (wall), Viterbi {1e9 * path / len(X):.0f} ns a step"
            if peer is not None:
                for implementation in ("log", "scaling"):
                    other = theirs(peer, their_kind, n_states, X, lengths, implementation, *more)
                    line += f"; hmmlearn {implementation} {other:.3f} s ({other / one:.1f}x)"
                found = getattr(peer, their_kind)(n_states, *more, n_iter=1, random_state=0).fit(X, lengths)
                other = best(lambda: found.predict(X, lengths), repeats=1)  # noqa: B023
                line += f", Viterbi {1e9 * other / len(X):.0f} ns ({other / path:.1f}x)"
        print(line, flush=True)


if __name__ == "__main__":
    run()
