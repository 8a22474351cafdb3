"""Mixtures: an EM iteration of ours, scikit-learn's, pomegranate's and stepmix's on the same rows; memory; online EM on two million.

CPU and wall seconds of an iteration, best of several. Peers that are not installed are left out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from sklearn import mixture as theirs
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from suffice.datasets.images import load_binarized_mnist
from suffice.engines.threads import Engine
from suffice.families.forms import form_of
from suffice.kernels.machine.fast_exp import exponentials
from suffice.learners.accelerated import AcceleratedEM
from suffice.learners.em import BatchEM, MixtureProblem
from suffice.learners.expectation import Rows
from suffice.mixture import BernoulliMixture, GaussianMixture, PoissonMixture

N, D, K = 200_000, 20, 10
MEMORY = """
import sys, tracemalloc, warnings
import numpy as np
warnings.simplefilter("ignore")
from benchmarks.mixture import rows, start
which, kind, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
X = rows(n)
options = dict(covariance_type=kind, max_iter=3, tol=0.0, reg_covar=1e-6, **start(X, kind))
if which == "ours":
    from suffice.mixture import GaussianMixture as Mixture
else:
    from sklearn.mixture import GaussianMixture as Mixture
Mixture(10, **options).fit(X[:5000])
tracemalloc.start()
Mixture(10, **options).fit(X)
print(tracemalloc.get_traced_memory()[1] / 2**20)
"""


def rows(n: int = N, d: int = D, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    centres = 2.0 * generator.normal(size=(K, d))
    return centres[generator.integers(K, size=n)] + generator.normal(size=(n, d))


def start(X: np.ndarray, kind: str) -> dict:
    precisions = {
        "full": np.tile(np.eye(X.shape[1]), (K, 1, 1)),
        "diag": np.ones((K, X.shape[1])),
        "tied": np.eye(X.shape[1]),
    }
    return {"weights_init": np.full(K, 1 / K), "means_init": X[:K].copy(), "precisions_init": precisions[kind]}


def seconds(work, repeats: int = 5) -> tuple[float, float]:
    """(CPU, wall), best of several."""
    cpu, wall = [], []
    for _ in range(repeats):
        before, began = time.process_time(), time.perf_counter()
        work()
        cpu.append(time.process_time() - before)
        wall.append(time.perf_counter() - began)
    return min(cpu), min(wall)


def per_iteration(make, X, few: int = 3, many: int = 13) -> tuple[float, float]:
    """Seconds of an iteration: fits of many iterations less fits of few."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make(few).fit(X)
        short = seconds(lambda: make(few).fit(X), 3)
        long = seconds(lambda: make(many).fit(X), 3)
    return tuple((b - a) / (many - few) for a, b in zip(short, long, strict=True))  # type: ignore[return-value]


def threads(repeats: int = 15) -> None:
    """One thread and two in turn, E-steps beside nothing but arithmetic: the second says what others leave of the second core."""
    X, engines = rows(), {n: Engine(n) for n in (1, 2)}
    x = -np.random.default_rng(0).random(20_000)

    def arithmetic(_) -> int:
        y, scratch = x.copy(), np.empty_like(x)
        for _ in range(20):
            exponentials(y, scratch)
            y[:] = x
        return 0

    works = {"arithmetic alone": lambda engine: engine.sum(arithmetic, list(range(16)))}
    for kind in ("diag", "full", "tied"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = GaussianMixture(K, covariance_type=kind, max_iter=1, **start(X, kind)).fit(X)
        form = form_of(model._stored_model, X)
        coefficients = form.coefficients(model.moments_)

        def e_step(engine, form=form, coefficients=coefficients):
            return Rows(form, np.ones(N), np.full(N, -1), engine=engine).expected(coefficients)

        works[f"E-step, {kind}"] = e_step
    with threadpool_limits(1), engines[2].open():
        for name, work in works.items():
            best = {n: (np.inf, np.inf) for n in engines}
            for _ in range(repeats):
                for n, engine in engines.items():
                    found = seconds(partial(work, engine), 1)
                    best[n] = min(best[n][0], found[0]), min(best[n][1], found[1])
            wall = best[1][1] / best[2][1]
            print(
                f"  {name:16} one thread {1e3 * best[1][0]:6.1f} CPU ms, {1e3 * best[1][1]:6.1f} wall; two "
                f"{1e3 * best[2][0]:6.1f}, {1e3 * best[2][1]:6.1f}: {wall:.2f} times as fast, "
                f"{best[2][0] / best[1][0]:.2f} times the CPU",
                flush=True,
            )


def gaussians() -> None:
    X = rows()
    print(f"{N:,} x {D}, {K} components, one thread and two")
    threads()
    print(f"{N:,} x {D}, {K} components, one EM iteration, ms (CPU / wall)")
    for kind in ("diag", "full", "tied"):
        options = {"covariance_type": kind, "tol": 0.0, "reg_covar": 1e-6, **start(X, kind)}
        with threadpool_limits(1):
            other = per_iteration(lambda n: theirs.GaussianMixture(K, max_iter=n, **options), X)  # noqa: B023
            one = per_iteration(lambda n: GaussianMixture(K, max_iter=n, **options), X)  # noqa: B023
            two = per_iteration(lambda n: GaussianMixture(K, max_iter=n, n_jobs=2, **options), X)  # noqa: B023
        print(
            f"  {kind:5} scikit-learn {1e3 * other[0]:7.1f} / {1e3 * other[1]:7.1f}   ours {1e3 * one[0]:6.1f} / {1e3 * one[1]:6.1f}"
            f"   two threads {1e3 * two[0]:6.1f} / {1e3 * two[1]:6.1f}   ratios: {other[0] / one[0]:.1f} (CPU), "
            f"{other[1] / one[1]:.1f} (wall), threads {one[1] / two[1]:.2f}",
            flush=True,
        )


def memory() -> None:
    root = Path(__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"}
    for kind in ("diag", "full"):
        for which in ("ours", "theirs"):
            found = [
                float(
                    subprocess.check_output(
                        [sys.executable, "-c", MEMORY, which, kind, str(n)], env=environment, cwd=root
                    )
                )
                for n in (N, 3 * N)
            ]
            print(
                f"peak extra memory, {kind}, {which}: {found[0]:.0f} MB at {N:,} rows, {found[1]:.0f} MB at {3 * N:,}",
                flush=True,
            )


def bernoulli() -> None:
    """Binarised MNIST where it is, else rows of its shape."""
    try:
        images = load_binarized_mnist()
        X = np.concatenate([images.train, images.valid]).reshape(60_000, -1).astype(float)
        name = "binarised MNIST"
    except Exception as error:
        X = (np.random.default_rng(0).random((60_000, 784)) < 0.2).astype(float)
        name = f"rows of MNIST's shape ({type(error).__name__})"
    with threadpool_limits(1):
        model = BernoulliMixture(20, max_iter=2, tol=0.0, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X)
        form = form_of(model._stored_model, X)
        every = Rows(form, np.ones(len(X)), np.full(len(X), -1), engine=Engine(1))
        shares = model.predict_proba(X)
        weights = np.random.default_rng(0).normal(size=(784, 20))
        products = seconds(lambda: (X @ weights, shares.T @ X), 3)
        ours = seconds(lambda: model_step(every, model), 3)
    print(
        f"Bernoulli mixture, 20 components, {name}: iteration {ours[0]:.3f} s CPU, the two products {products[0]:.3f}, "
        f"ratio {ours[0] / products[0]:.2f}",
        flush=True,
    )


def model_step(every: Rows, model: BernoulliMixture):
    return every.expected(every.form.coefficients(model.moments_))


def online(n: int = 2_000_000) -> None:
    """Overlapping components, so that batch EM needs many iterations."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        disk = np.lib.format.open_memmap(path, "w+", shape=(n, D))
        for place in range(0, n, N):
            disk[place : place + N] = stream_rows(min(N, n - place), place)
        disk.flush()
        test = stream_rows(50_000, 2**31 - 1)
        X = np.load(path, mmap_mode="r")
        options = {"covariance_type": "diag", "random_state": 0}
        warm = GaussianMixture(K, batch_size=8192, **options)  # compiled once, for rows that may not be written to
        warm.partial_fit(X[:20_000]).partial_fit(X[:20_000])
        stream = GaussianMixture(K, batch_size=8192, **options)
        cpu, began = time.process_time(), time.perf_counter()
        for place in range(0, n, 100_000):
            stream.partial_fit(X[place : place + 100_000])
        one_pass = time.process_time() - cpu, time.perf_counter() - began
        batch = GaussianMixture(K, tol=1e-5, max_iter=60, **options).fit(np.asarray(X))
        every = Rows(form_of(batch._stored_model, X), np.ones(n), np.full(n, -1), engine=Engine(1))
        with threadpool_limits(1):
            three = [3 * value for value in seconds(lambda: every.expected(every.form.coefficients(batch.moments_)), 3)]
    ours, best = stream.score(test), batch.score(test)
    print(
        f"online EM, {n:,} rows from disk, one pass: {one_pass[0]:.2f} s CPU, {one_pass[1]:.2f} wall (three batch iterations "
        f"{three[0]:.2f}, {three[1]:.2f}); held-out log-likelihood {ours:.4f} against {best:.4f} of batch EM ({batch.n_iter_} "
        f"iterations): {100 * (best - ours) / abs(best):.3f} % below",
        flush=True,
    )


def stream_rows(n: int, place: int) -> np.ndarray:
    """Rows of one mixture of overlapping components, others for each place."""
    centres = np.random.default_rng(0).normal(size=(K, D)) * 0.5
    generator = np.random.default_rng([1, place])
    return centres[generator.integers(K, size=n)] + generator.normal(size=(n, D))


def peers() -> None:
    X = stream_rows(50_000, 0)
    print("50,000 x 20, 10 components, diagonal, an iteration in s CPU (each peer's own start)")
    options = {"covariance_type": "diag", "tol": 0.0}
    found = {
        "suffice": lambda n: GaussianMixture(K, max_iter=n, random_state=0, **options),
        "scikit-learn": lambda n: theirs.GaussianMixture(
            K, max_iter=n, init_params="random_from_data", random_state=0, **options
        ),
    }
    try:
        from stepmix.stepmix import StepMix

        found["stepmix"] = lambda n: StepMix(
            K, measurement="continuous", max_iter=n, abs_tol=0.0, rel_tol=0.0, random_state=0, progress_bar=0, verbose=0
        )
    except ImportError:
        print("  stepmix is not installed")
    try:
        import torch
        from pomegranate.distributions import Normal
        from pomegranate.gmm import GeneralMixtureModel

        class Pomegranate:
            def __init__(self, n: int):
                self.n = n

            def fit(self, X):
                parts = [Normal(covariance_type="diag") for _ in range(K)]
                GeneralMixtureModel(parts, max_iter=self.n, tol=-np.inf).fit(torch.as_tensor(X, dtype=torch.float64))

        found["pomegranate"] = Pomegranate
    except ImportError:
        print("  pomegranate is not installed")
    for name, make in found.items():
        try:
            with threadpool_limits(1):
                cpu, _ = per_iteration(make, X, 2, 7)
            print(f"  {name:13} {cpu:.4f}", flush=True)
        except Exception as error:
            print(f"  {name:13} failed: {error!s:.100}", flush=True)


def until(learner, problem: MixtureProblem, moments, target: float, gain: float) -> tuple[float, int, float]:
    """(F, E-steps, CPU seconds) where F is at the target or a step gains less than `gain`."""
    passes: list[int] = []

    class Counted(Rows):
        def expected(self, coefficients, part=None):
            passes.append(1)
            return super().expected(coefficients, part)

    problem = replace(problem, rows=Counted(**vars(problem.rows)), reseeds=False, _last=(None, None))
    began, state, last = time.process_time(), learner.init(problem, moments, None), np.inf
    while state.measure.objective > target and last - state.measure.objective > gain:
        last, state = state.measure.objective, learner.step(problem, state)
    return state.measure.objective, len(passes), time.process_time() - began


def accelerated() -> None:
    """E-steps until F is where EM stops: EM and accelerated EM from the same start."""
    generator, digits = np.random.default_rng(0), load_digits().data

    def numbers(n: int, d: int, k: int, apart: float) -> np.ndarray:
        centres = apart * generator.normal(size=(k, d))
        return centres[generator.integers(k, size=n)] + generator.normal(size=(n, d))

    rates, shares = generator.uniform(1, 4, (6, 12)), generator.uniform(0.2, 0.8, (6, 20))
    z = generator.integers(6, size=10_000)
    cases = {
        "diag, 10 in 20 columns": (GaussianMixture(10, covariance_type="diag"), stream_rows(20_000, 0)),
        "full, 4 in 5": (GaussianMixture(4), numbers(10_000, 5, 4, 1.2)),
        "full, 3 in 2": (GaussianMixture(3), numbers(10_000, 2, 3, 1.0)),
        "tied, 4 in 5": (GaussianMixture(4, covariance_type="tied"), numbers(10_000, 5, 4, 1.2)),
        "diag, 5 far apart": (GaussianMixture(5, covariance_type="diag"), numbers(10_000, 10, 5, 3.0)),
        "diag, 20 on digits": (GaussianMixture(20, covariance_type="diag"), digits),
        "Poisson, 6 in 12": (PoissonMixture(6), generator.poisson(rates[z]).astype(float)),
        "Bernoulli, 6 in 20": (BernoulliMixture(6), (generator.random((10_000, 20)) < shares[z]).astype(float)),
        "Bernoulli, 10 on digits": (BernoulliMixture(10, binarize=8.0), digits),
    }
    print("accelerated EM: E-steps and CPU until F is where EM stops (a gain below 1e-5, 1e-7 a row)")
    for name, (mixture, X) in cases.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first = mixture.set_params(random_state=0, max_iter=1).fit(X)
        rows = first._rows(X)
        every = Rows(form_of(first._stored_model, rows), np.ones(len(X)), np.full(len(X), -1), engine=Engine(1))
        prior = first._component_prior(first._stored_model, first.moments_)
        problem = MixtureProblem(every, prior)
        line = f"  {name:24}"
        with threadpool_limits(1):
            for gain in (1e-5 * len(X), 1e-7 * len(X)):
                target, plain, cpu = until(BatchEM(), problem, first.moments_, -np.inf, gain)
                _, leaps, leap_cpu = until(AcceleratedEM(), problem, first.moments_, target, 0.0)
                line += f"  EM {plain:4}, accelerated {leaps:4}, CPU ratio {cpu / leap_cpu:.1f};"
        print(line, flush=True)


def run() -> None:
    warnings.simplefilter("ignore")
    gaussians()
    memory()
    bernoulli()
    online()
    accelerated()
    peers()
