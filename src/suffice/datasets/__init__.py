"""The papers' data sets by name: `load("20ng")`.

Files are read in place from the folder that `SUFFICE_DATA` names (laid out as `text/20ng-train-stemmed.txt.xz`, ...); where they are
not there they are downloaded once from their public source to `~/.cache/suffice`; where that fails too, the error says where.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

HOMES = {name: "text" for name in ("20ng", "r8", "r52", "webkb", "imdb", "cade", "amazon12")}
HOMES["ud-english-ewt"] = "tagged"


def names() -> list[str]:
    """The names that `load` knows.

    Examples
    --------
    >>> from suffice import datasets
    >>> len(datasets.names()) > 5
    True
    """
    return sorted(HOMES)


def load(name: str, **options: Any) -> Any:
    """A data set by name; options go to its loader (see `suffice.datasets.text.load`).

    Examples
    --------
    >>> from suffice import datasets
    >>> "20ng" in datasets.names()
    True
    """
    if name not in HOMES:
        raise ValueError(f"there is no data set {name!r}: choose one of {', '.join(names())}")
    return import_module(f"{__name__}.{HOMES[name]}").load(name, **options)
