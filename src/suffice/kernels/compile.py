"""How a function becomes compiled code that is cached on disk and never served stale.

numba's cache looks at the file of the function it compiles and not at the files of the functions that one calls, so after an
edit elsewhere it would return yesterday's numbers. And it never hits for a function that takes compiled functions as arguments.
Both are cured by the name: every compiled function carries a digest of all of this package's source, and a loop is bound to a
family and a loss by giving a copy of it other globals under another name. Kernels of a family or a loss outside of this package add
a digest of their own file to that name.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
import types
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import RLock
from typing import Any

import numba
from numba.core.types import unliteral

from .cache import cache_of

SOURCE_DIGEST = hashlib.sha256(
    b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.py")))
).hexdigest()[:12]
if numba.config.BOUNDSCHECK:  # type: ignore[attr-defined]
    SOURCE_DIGEST += "_checked"  # numba's cache does not know of it

# What a compiler must be allowed so that a sum runs in vector lanes. `nnan` and `ninf` are not among it: they delete tests for NaN.
REORDER = {"reassoc", "contract", "nsz"}


def compiled(function, **options):
    """`numba.njit` with our options, without an entry for C that nobody calls; the digest in the name keeps the cache honest.

    Kernels copy arrays in loops: `a[:] = b` compiles the strings of its error message, two seconds in every process.
    """
    function.__qualname__ = f"{function.__qualname__}_{SOURCE_DIGEST}"
    settings = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True} | options
    made = numba.njit(**settings)(function)
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return made
    made._cache = cache_of(function)  # as `cache=True` does it
    by_types = made.get_call_template
    made.get_call_template = lambda args, named: by_types(*plain(args, named))
    return made


def plain(args, named) -> tuple[tuple, dict]:
    """The types of a call from another kernel, a constant's as that of any number: else `f(x, 0)` and `f(x, n)` compile f twice."""
    return tuple(map(unliteral, args)), {name: unliteral(each) for name, each in named.items()}


def inlined(function):
    """`compiled` for a kernel that a loop calls once a row: a call hands over seven numbers for every array."""
    return compiled(function, forceinline=True)


def merged(function):
    """`compiled` for a part of one loop that nobody else calls: its lines stand in the loop's own code, or both would be compiled."""
    return compiled(function, inline="always")


def summing(function):
    """`compiled` for functions whose innermost loops add up and store nothing: their sums may run in any order, in vector lanes.

    Where a loop stores, LLVM makes two versions of it, in vector lanes and one by one, and chooses by how near to each other the
    arrays happen to lie in memory. Rounded as the source says, both give the same bits; reordered, the same seed would give other
    numbers from one process to the next. So reordering is for loops without stores, of which there is one version.
    """
    return compiled(function, fastmath=REORDER)


def name_of(path: str) -> str:
    """A name for compiled copies with the kernels of the module `path`: outside of this package with a digest of its file."""
    name = path.rpartition(".")[2]
    return name if path.partition(".")[0] == __name__.partition(".")[0] else f"{name}_{digest_of(sys.modules[path])}"


def bound(loop, name: str, **kernels):
    """A compiled copy of `loop` in which the given names mean the given kernels."""
    copy = types.FunctionType(
        loop.__code__, {**loop.__globals__, **kernels}, f"{loop.__name__}_{name}", loop.__defaults__
    )
    copy.__qualname__ = copy.__name__
    copy.__module__ = loop.__module__
    return compiled(copy)


# -- losses ------------------------------------------------------------------------------------------------------------

LOSS_KERNELS = (
    "weigh", "value", "weigh_largest", "select", "direct", "search", "rise", "gap", "binary_step", "NEEDS_SLOPES",
)  # fmt: skip
LOCK = RLock()  # folds are fitted on threads, and one of them is the first to ask


@cache
def loss_kernels(path: str) -> tuple[str, dict[str, Any]]:
    """(name for compiled copies, {name: kernel}) of the module `path`, whose contract is in `suffice.kernels.losses`.

    Plain functions are compiled; what a loss may leave out comes from `suffice.kernels.losses.defaults`.
    """
    module, defaults = import_module(path), import_module("suffice.kernels.losses.defaults")
    name = name_of(path)
    found = {key: getattr(module, key) for key in LOSS_KERNELS if hasattr(module, key)}
    if "weigh" not in found:
        raise ValueError(f"{path} has no function `weigh(scores, label, settings, weights)`: a loss needs one")
    for key, kernel in found.items():
        if isinstance(kernel, types.FunctionType):
            found[key] = bound(kernel, name)
    for key in defaults.OPTIONAL:
        if key not in found:
            given = getattr(defaults, key)
            found[key] = bound(given, name, weigh=found["weigh"]) if callable(given) else given
    return name, found


def digest_of(module) -> str:
    """A digest of the module's file, or of the source of its kernels where it has none (a notebook)."""
    file = getattr(module, "__file__", None)
    if file is not None:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:12]
    parts = sorted(vars(module).items())
    kernels = [part for key, part in parts if hasattr(part, "py_func") or (key in LOSS_KERNELS and callable(part))]
    source = "".join(inspect.getsource(getattr(kernel, "py_func", kernel)) for kernel in kernels)
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def has_kernel(path: str, name: str) -> bool:
    """Whether a loss whose kernels are the module `path` brings (or is given) the kernel `name`."""
    return name in loss_kernels(path)[1]


class ForLoss:
    """A loop that calls kernels of a loss by their names, compiled once for every loss that asks for it.

    `kernels` are its other open names; those that are loops for a loss themselves are bound to the same one.
    """

    def __init__(self, loop, name: str = "", **kernels):
        self.loop, self.name, self.kernels = loop, name, kernels
        self.copies: dict[str, Any] = {}

    def of(self, path: str):
        """The compiled copy for the loss whose kernels are the module `path`."""
        with LOCK:
            if path not in self.copies:
                self.copies[path] = self._bound(path)
        return self.copies[path]

    def _bound(self, path: str):
        name, found = loss_kernels(path)
        missing = [key for key in self.loop.__code__.co_names if key in LOSS_KERNELS and key not in found]
        if missing:
            raise ValueError(f"{self.loop.__name__} needs the kernels {missing} of a loss, which {path} does not have")
        own = {key: part.of(path) if isinstance(part, ForLoss) else part for key, part in self.kernels.items()}
        return bound(self.loop, f"{self.name}_{name}" if self.name else name, **own, **found)
