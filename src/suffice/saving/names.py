"""What classes are called in files: short names that do not depend on where a class lives, from a table. A file cannot name code.

A class is called by its own name, or by its module's and its own where several share it (`gaussian_diagonal.Moments`). Classes of other
packages (a family of your own) take part after `register`.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from importlib import import_module
from typing import Any

PLACES = {}
_REGISTERED: dict[str, type] = {}


@cache
def _homes() -> dict[str, tuple[str, str]]:
    """{name: (module, class)} of the table."""
    pairs = [(module, name) for module, names in PLACES.items() for name in names.split()]
    times = Counter(name for _, name in pairs)
    return {
        name if times[name] == 1 else f"{module.rpartition('.')[2]}.{name}": (f"suffice.{module}", name)
        for module, name in pairs
    }


@cache
def _names() -> dict[tuple[str, str], str]:
    return {home: name for name, home in _homes().items()}


def register(cls: type) -> type:
    """The class, from now on known to model files by its module and name (also as a decorator): one that you trust, of your own."""
    _REGISTERED[f"{cls.__module__}:{cls.__qualname__}"] = cls
    return cls


def name_of(cls: type) -> str | None:
    """The name of a class in files; None: files may not hold it."""
    place = f"{cls.__module__}:{cls.__qualname__}"
    return place if _REGISTERED.get(place) is cls else _names().get((cls.__module__, cls.__qualname__))


def class_named(name: str) -> Any:
    """The class of that name; None if there is none."""
    if name in _REGISTERED:
        return _REGISTERED[name]
    if name not in _homes():
        return None
    module, own = _homes()[name]
    return vars(import_module(module)).get(own)
