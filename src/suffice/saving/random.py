"""Random generators from files: only numpy's own, at a place that they can be in. Some read their state outside of it otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from .schema import require

WORDS = 624  # of the Mersenne twister
WORD, LONG = (1 << 32) - 1, (1 << 128) - 1


def restored(state: Any, *, is_legacy: bool) -> np.random.Generator | np.random.RandomState:
    """The generator of a saved state, or a SchemaError."""
    require(
        isinstance(state, dict) and isinstance(state.get("bit_generator"), str),
        "the state of a random generator is not one",
    )
    name = state["bit_generator"]
    require(name in CHECKS, f"{name!r:.60} is no random generator of numpy")
    CHECKS[name](state)
    bits = getattr(np.random, name)()
    bits.state = {key: state[key] for key in bits.state}
    if not is_legacy:
        return np.random.Generator(bits)
    gauss, has_gauss = state.get("gauss", 0.0), state.get("has_gauss", 0)
    require(isinstance(gauss, float) and np.isfinite(gauss) and _is_whole(has_gauss, 1), "random generator: gauss")
    made = np.random.RandomState(bits)
    made.set_state({**bits.state, "gauss": gauss, "has_gauss": int(has_gauss)})
    return made


def _is_whole(value: Any, most: int) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and 0 <= int(value) <= most


def _words(value: Any, n: int, kind: type) -> bool:
    return isinstance(value, np.ndarray) and value.shape == (n,) and value.dtype == kind


def _twister(state: dict[Any, Any]) -> None:
    inner: Any = state.get("state")
    require(isinstance(inner, dict) and _words(inner.get("key"), WORDS, np.uint32), "random generator: key of MT19937")
    require(_is_whole(inner.get("pos"), WORDS), f"random generator: pos of MT19937 must be 0 to {WORDS}")


def _buffered(state: dict[Any, Any]) -> None:
    require(
        _is_whole(state.get("has_uint32"), 1) and _is_whole(state.get("uinteger"), WORD),
        "random generator: has_uint32, uinteger",
    )


def _pcg(state: dict[Any, Any]) -> None:
    inner = state.get("state")
    require(
        isinstance(inner, dict) and _is_whole(inner.get("state"), LONG) and _is_whole(inner.get("inc"), LONG),
        "random generator: PCG64",
    )
    _buffered(state)


def _philox(state: dict[Any, Any]) -> None:
    inner = state.get("state")
    counters = (
        isinstance(inner, dict)
        and _words(inner.get("counter"), 4, np.uint64)
        and _words(inner.get("key"), 2, np.uint64)
    )
    require(
        counters and _words(state.get("buffer"), 4, np.uint64), "random generator: counter, key or buffer of Philox"
    )
    require(_is_whole(state.get("buffer_pos"), 4), "random generator: buffer_pos of Philox must be 0 to 4")
    _buffered(state)


def _chaotic(state: dict[Any, Any]) -> None:
    inner = state.get("state")
    require(isinstance(inner, dict) and _words(inner.get("state"), 4, np.uint64), "random generator: state of SFC64")
    _buffered(state)


CHECKS = {"MT19937": _twister, "PCG64": _pcg, "PCG64DXSM": _pcg, "Philox": _philox, "SFC64": _chaotic}
