"""The cache of compiled code on disk is a convenience: without one, or with a damaged one, kernels are compiled all the same.

numba raises where it finds no folder to write to (read-only packages and home of a hardened container), where the disk is full and
where a file of the cache is empty or cut off. Here each of these costs the time to compile, and one warning a process.
"""

from __future__ import annotations

import warnings
from typing import Any

from numba.core.caching import FunctionCache, NullCache
from typing_extensions import override

_warned: list[str] = []


def _warn(reason: str) -> None:
    if _warned:
        return
    _warned.append(reason)
    warnings.warn(
        f"compiled code is not cached on disk ({reason[:200]}): every new process compiles it again. Set NUMBA_CACHE_DIR to a folder "
        "that can be written to, or empty the one that is there",
        RuntimeWarning,
        stacklevel=4,
    )


class ForgivingCache(FunctionCache):
    """numba's cache of one function; what can't be read is compiled again, what can't be written is left."""

    @override
    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # whatever unpickling an empty, cut or foreign file may raise
            _warn(f"{type(error).__name__} while reading {self.cache_path}: {error}")
            self._try(self.flush)
            return None

    @override
    def save_overload(self, sig: Any, data: Any) -> None:
        self._try(lambda: super(ForgivingCache, self).save_overload(sig, data))

    def _try(self, work: Any) -> None:
        try:
            work()
        except Exception as error:
            _warn(f"{type(error).__name__} while writing {self.cache_path}: {error}")
            self.disable()


def cache_of(function: Any) -> Any:
    """A cache on disk for a function, or one that keeps nothing where there is no place for it."""
    try:
        return ForgivingCache(function)
    except (RuntimeError, OSError) as error:
        _warn(str(error))
        return NullCache()
