"""The bits of a result do not depend on where arrays lie in memory (`suffice.kernels.compile`)."""

import ast
import importlib
import inspect
import os
import pkgutil
import subprocess
import sys

import numpy as np
import pytest
from numba.core import types
from numba.core.dispatcher import Dispatcher

import suffice
import suffice.kernels
from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.kernels.compile import REORDER, compiled
from suffice.kernels.families import gaussian_diagonal
from suffice.kernels.machine.softmax import softmax
from suffice.kernels.structures import mixture, mixture_sums, topics_incremental
from suffice.structures.joint import Joint, loops

NEAR, FAR = (0, 16, 48, 64), (4096,)  # bytes from one array to the next
K, Z, N_WORDS = 8, 2, 30


def every_kernel():
    for module in pkgutil.walk_packages(suffice.kernels.__path__, f"{suffice.kernels.__name__}."):
        for kernel in vars(importlib.import_module(module.name)).values():
            if isinstance(kernel, Dispatcher):
                yield kernel


def stores(loop: ast.AST) -> bool:
    return any(isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) for node in ast.walk(loop))


def innermost_loops(function):
    loops = [node for node in ast.walk(ast.parse(inspect.getsource(function))) if isinstance(node, ast.For | ast.While)]
    return [loop for loop in loops if not any(node in loops for node in ast.walk(loop) if node is not loop)]


def test_sums_are_reordered_only_where_loops_store_nothing():
    n_reordered = 0
    for kernel in every_kernel():
        flags = kernel.targetoptions.get("fastmath", False)
        assert not flags or flags == REORDER, f"{kernel} may be rounded in other ways"
        if flags:
            n_reordered += 1
            assert not any(map(stores, innermost_loops(kernel.py_func))), f"{kernel} stores while it sums"
    assert n_reordered >= 5


def placed(arrays: dict, gaps: tuple, seed: int) -> dict:
    """Copies of the arrays, in some order and with some of the gaps between them."""
    generator = np.random.default_rng(seed)
    memory = np.zeros(sum(a.nbytes + max(gaps) + 64 for a in arrays.values()) + 64, np.uint8)
    place, result = -memory.ctypes.data % 64, {}
    for name in generator.permutation(list(arrays)):
        array = arrays[name]
        place += int(generator.choice(gaps)) + -place % 16
        result[name] = memory[place : place + array.nbytes].view(array.dtype).reshape(array.shape)
        result[name][...] = array
        place += array.nbytes
    return result


def a_softmax(generator):
    arrays = {"scores": 2 * generator.normal(size=K), "posterior": np.zeros(K)}
    return arrays, lambda a: softmax(a["scores"], a["posterior"])


def gaussian_step(generator):
    shape = (K, 11)
    variance = generator.gamma(2.0, size=shape)
    state = {
        "weight": 9 + generator.random(shape), "mean": generator.normal(size=shape), "variance": variance,
        "precision": 1 / variance, "constant": np.zeros(K),
    }  # fmt: skip
    others = {"row": generator.normal(size=shape[1]), "delta": 0.1 * generator.random(K), "moved": np.zeros(K)}
    others |= {"scores": np.zeros(K), "scratch": np.zeros(shape)}

    def step(a):
        now = tuple(a[name] for name in state)
        gaussian_diagonal.score(now, a["row"], a["scores"], a["scratch"])
        gaussian_diagonal.curve(now, a["row"], a["delta"], 0.3, a["moved"], a["scratch"])
        slope = gaussian_diagonal.slope(now, a["row"], 1, a["scratch"])
        gaussian_diagonal.move(now, a["row"], a["delta"], a["scratch"])
        return slope

    return state | others, step


def mixture_posteriors(generator):
    n = 7
    arrays = {"scores": generator.normal(size=(n, K)), "constant": generator.normal(size=K), "weights": np.ones(n)}
    arrays |= {"norms": np.zeros(n), "scratch": np.zeros(n * K), "mass": np.zeros(K), "labels": np.full(n, -1)}
    names = ("scores", "constant", "labels", "weights", "norms", "scratch", "mass")
    return arrays, lambda a: mixture.posteriors(
        *(K if name is None else a[name] for name in (*names[:3], None, *names[3:]))
    )


def topics_step(loss: str):
    def case(generator):
        values, mass = generator.gamma(1.0, size=N_WORDS), 50 + generator.gamma(5.0, size=K)
        count = generator.gamma(1.0, size=(50, Z, K))
        state = {"mass": mass, "total": mass.sum(keepdims=True), "count": count, "weight": 5 * count.sum(axis=0)}
        room = topics_incremental.scratch(N_WORDS, Z, K)
        scratch = {f"scratch {i}": np.zeros_like(array) for i, array in enumerate(room)}
        others = {
            "words": np.arange(N_WORDS, dtype=np.int32), "values": values, "own": 0.1 * generator.normal(size=K),
            "mine": (0.1 * generator.normal(size=(N_WORDS, Z, K))).astype(np.float32), "shape": np.full((Z, K), 1.0),
            "step": np.zeros((N_WORDS, Z, K)), "move": np.zeros(K),
        }  # fmt: skip
        options = ((1.0, 0.0), 1e-3, 0.5, 0, 20, 1e-4)

        def step(a):
            return topics_incremental.propose_document.of(loss)(
                a["words"], a["values"], 3, 1.0, a["own"], a["mine"], a["shape"], tuple(a[name] for name in state), options,
                a["step"], a["move"], tuple(a[name] for name in scratch),
            )  # fmt: skip

        return state | scratch | others, step

    return case


CASES = {
    "softmax": a_softmax,
    "a step of Gaussians": gaussian_step,
    "posteriors of a mixture": mixture_posteriors,
    "a step of topics, ncll": topics_step("suffice.kernels.losses.ncll"),
    "a step of topics, hinge": topics_step("suffice.kernels.losses.hinge"),
}


@pytest.mark.parametrize("name", CASES)
def test_neighbours_in_memory_change_no_bit(name):
    """LLVM has another loop for arrays that might overlap, and takes those for such that are less than 256 bytes apart."""
    for seed in range(40):
        arrays, step = CASES[name](np.random.default_rng(seed))

        def bits(gaps, order, arrays=arrays, step=step):
            mine = placed(arrays, gaps, order)
            returned = np.array(step(mine)).tobytes()
            return [returned, *(mine[key].tobytes() for key in arrays)]

        expected = bits(FAR, 0)
        assert all(bits(NEAR, order) == expected for order in range(8))


FITS = """
import hashlib, warnings
import numpy as np
from suffice import BernoulliNB, GaussianDiscriminant, GaussianMixture, GaussianNB, LDAClassifier, MultinomialNB

warnings.simplefilter("ignore")
generator = np.random.default_rng(0)
y = generator.integers(8, size=400)
X = generator.poisson(0.05 + 0.4 * (np.arange(60) % 8 == y[:, None])).astype(float)
Z = X[:, :12] + 0.1 * generator.normal(size=(400, 12))
for model in [
    *(LDAClassifier(loss=loss, max_epochs=8, random_state=0) for loss in ("ncll", "hinge")),
    LDAClassifier(inference="gibbs", max_epochs=3, random_state=0),
    *(make(loss=loss, prior=0.1, random_state=0) for make in (MultinomialNB, BernoulliNB) for loss in ("ncll", "hinge")),
]:
    print(hashlib.md5(model.fit(X, y).predict_joint_log_proba(X).tobytes()).hexdigest())
for model in [GaussianNB(prior=1.0, random_state=0), GaussianDiscriminant(prior=1.0, random_state=0)]:
    print(hashlib.md5(model.fit(Z, y).predict_joint_log_proba(Z).tobytes()).hexdigest())
print(hashlib.md5(GaussianMixture(4, random_state=0).fit(Z).score_samples(Z).tobytes()).hexdigest())
"""
HEAPS = ({}, {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0", "MALLOC_TOP_PAD_": "1000000"})


def test_a_seed_gives_the_same_bits_in_processes_whose_memory_is_laid_out_differently():
    found = [
        subprocess.run(
            [sys.executable, "-c", FITS], env={**os.environ, **heap}, capture_output=True, text=True, check=True
        )
        for heap in HEAPS
    ]
    assert len(found[0].stdout.split()) == 10
    assert found[0].stdout == found[1].stdout


def test_compiling_is_said_once_and_what_is_cached_is_not(tmp_path):
    (tmp_path / "kernel.py").write_text(
        "from suffice.kernels import cache, compile\n"
        "cache.SILENCE = 0.0\n"
        "def add(a, b):\n    return a + b\n"
        "add = compile.compiled(add)\n"
        "print(add(1.0, 2.0), add(1, 2))\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    runs = [
        subprocess.run(
            [sys.executable, "kernel.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        for _ in range(2)
    ]
    assert [run.stdout for run in runs] == ["3.0 3\n"] * 2
    assert [run.stderr.count("compiling for this machine") for run in runs] == [1, 0]


@compiled
def shifted(x, by):
    return x + by


def test_a_constant_is_compiled_as_any_number():
    """As another kernel asks for it: `shifted(x, 1)` and `shifted(x, n)`."""
    for number in (types.literal(1), types.int64):
        shifted.get_call_template((types.float64, number), {})
    assert shifted.signatures == [(types.float64, types.int64)]


def test_rows_however_they_lie_take_one_compiled_loop():
    """Rows by columns, every second row, a file mapped for reading: each was compiled for anew, for seconds."""
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(40, 2)), np.arange(40) % 2
    wide = np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)
    closed = X.copy()
    closed.flags.writeable = False
    ways = [X, np.asfortranarray(X), wide[::2, ::2], closed]
    joint = Joint.of(GaussianDiagonal.for_data(X, 2))
    start = joint.statistics(X, y, np.ones(40))
    scores = [joint.scores(start, way) for way in ways[:3]]
    found = loops(joint.modules, "dense")["score_rows"].signatures
    assert len({str(signature[0]) for signature in found if signature[0].mutable}) == 1
    mixtures = [
        suffice.GaussianMixture(2, covariance_type="spherical", random_state=0).fit(way).score_samples(X)
        for way in ways
    ]
    for own, first in [(scores, scores[0]), (mixtures, mixtures[0])]:
        for each in own:
            np.testing.assert_array_equal(each, first)
    assert len(mixture_sums.bind("squares")[0].signatures) == 1
