"""How a function becomes compiled code that is cached on disk and never served stale.

numba's cache looks at the file of the function it compiles and not at the files of the functions that one calls, so after an
edit elsewhere it would return yesterday's numbers. And it never hits for a function that takes compiled functions as arguments.
Both are cured by the name: every compiled function carries a digest of all of this package's source, and a loop is bound to a
family by giving a copy of it other globals under another name.
"""

from __future__ import annotations

import hashlib
import types
from pathlib import Path

import numba

SOURCE_DIGEST = hashlib.sha256(
    b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.py")))
).hexdigest()[:12]

# What a compiler must be allowed so that a sum runs in vector lanes. `nnan` and `ninf` are not among it: they delete tests for NaN.
REORDER = {"reassoc", "contract", "nsz"}


def compiled(function, **options):
    """`numba.njit` with our options; the digest in the name keeps the cache honest."""
    function.__qualname__ = f"{function.__qualname__}_{SOURCE_DIGEST}"
    settings = {"cache": True, "nogil": True, "error_model": "numpy"} | options
    return numba.njit(**settings)(function)


def summing(function):
    """`compiled` for functions whose innermost loops add up and store nothing: their sums may run in any order, in vector lanes.

    Where a loop stores, LLVM makes two versions of it, in vector lanes and one by one, and chooses by how near to each other the
    arrays happen to lie in memory. Rounded as the source says, both give the same bits; reordered, the same seed would give other
    numbers from one process to the next. So reordering is for loops without stores, of which there is one version.
    """
    return compiled(function, fastmath=REORDER)


def bound(loop, name: str, **kernels):
    """A compiled copy of `loop` in which the given names mean the given kernels."""
    copy = types.FunctionType(
        loop.__code__, {**loop.__globals__, **kernels}, f"{loop.__name__}_{name}", loop.__defaults__
    )
    copy.__qualname__ = copy.__name__
    copy.__module__ = loop.__module__
    return compiled(copy)
