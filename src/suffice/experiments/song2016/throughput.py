"""How fast the Gibbs kernel is: image-sweeps a second against NumPy, on two threads, and against a matrix product.

A sweep of one image visits every hidden unit; a visit is one multiply-add and one multiply a pixel, so a sweep is
3 x units x pixels floating-point operations: the last rows compare that rate with a float32 matrix product's.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

from ...learners.network.monte_carlo import CHUNK, Chunk, Tables
from ...structures.network import Network, sample_hidden, sample_visible, softplus
from .. import Options, Report, Row


def run(options: Options) -> Report:
    report = Report()
    repeats = 1 if options.quick else 5
    with threadpool_limits(1, user_api="blas"):
        product = matrix_product_rate(repeats)
        for n_visible in (784, 128):
            network = example(n_visible)
            slow = best(lambda n=network: numpy_rate(n), 1 if options.quick else 3)
            fast = best(lambda n=network: kernel_rate(n, 1), repeats)
            both = best(lambda n=network: kernel_rate(n, 2), repeats)
            name = f"{n_visible} x 200"
            report.rows += [
                Row(f"{name}: image-sweeps a second, NumPy softplus", None, slow),
                Row(f"{name}: image-sweeps a second, kernel, one thread", None, fast),
                Row(f"{name}: kernel / NumPy", None, fast / slow),
                Row(f"{name}: two threads / one", None, both / fast),
                Row(f"{name}: share of a float32 matrix product's rate", None, 3 * 200 * n_visible * fast / product),
            ]
            options.say(
                f"{name}: NumPy {slow:.0f}/s, kernel {fast:.0f}/s ({fast / slow:.0f}x), two threads {both / fast:.2f}x"
            )
    report.notes.append("Wall-clock time, best of a few repeats; needs an idle machine.")
    return report


def best(measure, repeats: int) -> float:
    return max(measure() for _ in range(repeats))


def example(n_visible: int) -> Network:
    """Weights and activity like those of a trained network: sparse units, large weights on a part of the pixels."""
    rng = np.random.default_rng(0)
    weights = 2 * rng.standard_normal((200, n_visible)) * (rng.random((200, n_visible)) < 0.15)
    return Network([weights], [rng.standard_normal(n_visible) - 2], np.full(200, -2.0))


def rows(network: Network, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    hidden = sample_hidden(network, n_rows, rng)[0]
    return hidden, sample_visible(network, hidden, rng)


def numpy_rate(network: Network, n_rows: int = 100) -> float:
    """Vectorised over rows, one unit at a time, psi kept up to date: what a careful NumPy user would write."""
    hidden, visible = rows(network, n_rows)
    weights, rng = network.weights[0], np.random.default_rng(2)
    psi = hidden @ weights + network.biases[0]
    drive = visible @ weights.T + network.top_bias
    began = time.perf_counter()
    for j in range(len(weights)):
        without = psi - hidden[:, j, None] * weights[j]
        logit = drive[:, j] - (softplus(without + weights[j]) - softplus(without)).sum(1)
        new = rng.random(n_rows) < expit(logit)
        psi = without + new[:, None] * weights[j]
        hidden[:, j] = new
    return n_rows / (time.perf_counter() - began)


def kernel_rate(network: Network, n_threads: int, n_sweeps: int = 30) -> float:
    hidden, visible = rows(network, 4 * CHUNK)
    tables, ids = Tables(network), np.arange(len(hidden))
    pieces = [ids[start : start + CHUNK] for start in range(0, len(ids), CHUNK)]
    chunks = [Chunk(tables, visible[p].astype(np.float32), [hidden[p]], p) for p in pieces]
    chunks[0].sweep(0, 0, 1)  # compiled
    with ThreadPoolExecutor(n_threads) as pool:
        began = time.perf_counter()
        list(pool.map(lambda chunk: chunk.sweep(0, 1, n_sweeps), chunks))
        return len(hidden) * n_sweeps / (time.perf_counter() - began)


def matrix_product_rate(repeats: int) -> float:
    """Floating-point operations a second of a float32 matrix product on one thread."""
    a = np.random.default_rng(0).standard_normal((1000, 1000)).astype(np.float32)

    def once():
        began = time.perf_counter()
        a @ a
        return 2e9 / (time.perf_counter() - began)

    return best(once, 3 * repeats)
