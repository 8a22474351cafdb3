"""The cache of compiled code on disk is a convenience: without one, or with a damaged one, kernels are compiled all the same.

numba raises where it finds no folder to write to (read-only packages and home of a hardened container), where the disk is full and
where a file of the cache is empty or cut off. Here each of these costs the time to compile, and one warning a process. Compiling that
takes more than a second is said once, through the logger "suffice".
"""

from __future__ import annotations

import logging
import warnings
from threading import Timer
from typing import Any

from numba.core.caching import FunctionCache, NullCache
from typing_extensions import override

SILENCE = 1.0  # seconds of compiling without a word

_warned: list[str] = []
_patience: list[Timer] = []  # at most one, started by the first function that is not in the cache


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


def _announce() -> None:
    logging.getLogger("suffice").warning(
        "compiling for this machine: some seconds, once for every kind of data (`python -m suffice.warm_up` does all of it now)"
    )


class ForgivingCache(FunctionCache):
    """numba's cache of one function; what can't be read is compiled again, what can't be written is left."""

    @override
    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = None
        try:
            found = super().load_overload(sig, target_context)
        except Exception as error:  # whatever unpickling an empty, cut or foreign file may raise
            _warn(f"{type(error).__name__} while reading {self.cache_path}: {error}")
            self._try(self.flush)
        if found is None and not _patience:
            _patience.append(Timer(SILENCE, _announce))
            _patience[0].daemon = True
            _patience[0].start()
        return found

    @override
    def save_overload(self, sig: Any, data: Any) -> None:
        if _patience and _patience[0].is_alive():  # it was quick
            _patience.pop().cancel()
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
