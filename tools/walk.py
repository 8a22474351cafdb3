"""Follow small fits through the code and print, for each: files entered, module-to-module edges, pairs of modules that call each
other both ways, and the functions called most often.

    python tools/walk.py                 # all fits
    python tools/walk.py --tree NAME     # the calls of one, in their order
    python tools/walk.py --check         # exit 1 where a pair goes both ways or there are more than 40 edges

A pair does not count where one module has a base class of the other's (a base calls its subclass's hooks), or where one runs
functions that it is given (engines, guards, the watch's journal, scikit-learn-like decorators).
"""

from __future__ import annotations

import os

if __name__ == "__main__":
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # to walk through the kernels too

import argparse
import collections
import inspect
import sys
import warnings
from collections.abc import Callable
from importlib import import_module

import numpy as np
import scipy.sparse as sp

import suffice

ROOT = os.path.dirname(suffice.__file__) + os.sep
RUNNERS = {"engines/threads", "reading/guards", "learners/watch", "kernels/compile", "families/records"}
MOST_EDGES = 40


def traced(fit: Callable) -> tuple[collections.Counter, collections.Counter, list]:
    """(edges between modules, calls of functions, functions in the order of their first call) of the second of two equal fits."""
    fit()  # imports are not part of the walk
    stack: list[str] = []
    edges: collections.Counter = collections.Counter()
    calls: collections.Counter = collections.Counter()
    order: list = []

    def profile(frame, event, _):
        path = frame.f_code.co_filename
        if not path.startswith(ROOT):
            return
        if event == "call":
            key = (path[len(ROOT) : -3], frame.f_code.co_qualname, frame.f_code.co_firstlineno)
            if key not in calls:
                order.append((len(stack), key))
            calls[key] += 1
            if stack and stack[-1] != key[0]:
                edges[stack[-1], key[0]] += 1
            stack.append(key[0])
        elif event == "return" and stack:
            stack.pop()

    sys.setprofile(profile)
    try:
        fit()
    finally:
        sys.setprofile(None)
    return edges, calls, order


def classes_of(module: str) -> list[type]:
    found = import_module("suffice." + module.replace("/", "."))
    return [member for _, member in inspect.getmembers(found, inspect.isclass) if member.__module__ == found.__name__]


def is_exempt(one: str, other: str) -> bool:
    """A runner with what it runs, or a base class with its subclass."""
    if one in RUNNERS or other in RUNNERS:
        return True
    pairs = [(a, b) for a in classes_of(one) for b in classes_of(other)]
    return any(issubclass(a, b) or issubclass(b, a) for a, b in pairs)


def both_ways(edges) -> list[tuple[str, str]]:
    pairs = sorted({tuple(sorted(edge)) for edge in edges if (edge[1], edge[0]) in edges})
    return [pair for pair in pairs if not is_exempt(*pair)]


def walks() -> dict[str, Callable]:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    X = rng.normal(size=(60, 3)) + y[:, None]
    counts = rng.poisson(0.3 + 1.5 * (np.arange(8) % 3 == y[:, None])).astype(float)
    small = {"hidden": (4,), "max_iter": 3, "batch_size": 20, "random_state": 0}

    def stream():
        model = suffice.GaussianNB(random_state=0).partial_fit(X[::2], y[::2], classes=[0, 1, 2])
        model.partial_fit(X[1::2], y[1::2])

    return {
        "GaussianNB": lambda: suffice.GaussianNB(random_state=0).fit(X, y),
        "MultinomialNB": lambda: suffice.MultinomialNB(random_state=0).fit(sp.csr_matrix(counts), y),
        "MixtureClassifier": lambda: suffice.MixtureClassifier(2, random_state=0, max_epochs=10).fit(X, y),
        "LDAClassifier": lambda: suffice.LDAClassifier(2, random_state=0, max_epochs=3).fit(counts, y),
        "GaussianMixture": lambda: suffice.GaussianMixture(2, random_state=0).fit(X),
        "SigmoidBeliefNetwork": lambda: suffice.SigmoidBeliefNetwork(**small).fit((counts > 0) * 1.0),
        "partial_fit": stream,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", metavar="NAME", help="print the calls of one fit")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    n_wrong = 0
    for name, fit in walks().items():
        if options.tree and name != options.tree:
            continue
        edges, calls, order = traced(fit)
        pairs = both_ways(edges)
        n_wrong += bool(pairs) + (len(edges) > MOST_EDGES)
        n_files = len({key[0] for key in calls})
        print(
            f"{name}: {n_files} files, {len(calls)} functions, {len(edges)} edges, {len(pairs)} pairs both ways {pairs}"
        )
        busy = [f"{count} x {module}.{function}" for (module, function, _), count in calls.most_common(80)
                if not module.startswith("kernels") and "<" not in function]  # fmt: skip
        print("   most called outside kernels:", "; ".join(busy[:8]))
        if options.tree:
            for depth, (module, function, line) in order:
                print("  " * depth + f"{module}.py:{line} {function}")
    return int(options.check and n_wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
