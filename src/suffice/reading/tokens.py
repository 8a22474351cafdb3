"""Words of sentences as columns of categories: the word, its beginnings and endings, its shape, and its neighbours.

Columns of a word depend on the word alone, so they are made once for every distinct one. Values that occur fewer than `min_count` times
in training share a category with all that are new: what a rare word is like is learned there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from ..saving.schema import require
from .base import Reader
from .labels import is_missing
from .tags import RARE

EDGE = "<edge>"  # the neighbour of the first and of the last word
LONGEST = 6  # characters of a shape


def shape_of(word: str) -> str:
    """Upper and lower case letters as X and x, digits as d, other characters as they are; runs of three and more as two."""
    found = ""
    for char in word:
        kind = "X" if char.isupper() else "x" if char.isalpha() else "d" if char.isdigit() else char
        if not found.endswith(kind * 2):
            found += kind
    return found[:LONGEST]


COLUMNS: dict[str, Callable[[str], str]] = {
    "word": str,
    "lower": str.lower,
    **{f"last {n}": lambda word, n=n: word[-n:] for n in (1, 2, 3, 4)},  # type: ignore[misc]
    **{f"first {n}": lambda word, n=n: word[:n] for n in (1, 2, 3)},  # type: ignore[misc]
    "shape": shape_of,
}
NEIGHBOURS = {"word before": -1, "word after": 1}  # in lower case


@dataclass
class Tokens(Reader):
    """Rows hold the codes of COLUMNS, and of NEIGHBOURS where `has_neighbours`."""

    min_count: int = 2
    has_neighbours: bool = True
    categories: dict[str, list[str]] = field(default_factory=dict)

    takes_sparse: ClassVar[Any] = False
    takes_frames: ClassVar[bool] = True
    has_categories: ClassVar[bool] = True

    stored_as: ClassVar[dict[str, str]] = {"min_count": "int 1.."}

    def check_stored(self) -> None:
        """What a file must hold: for every column different texts, the last one for all that are rare (`saving.schema`)."""
        wanted = {*COLUMNS, *NEIGHBOURS}
        require(set(self.categories) == wanted, "categories are not those of the columns of words")
        for name, values in self.categories.items():
            good = type(values) is list and all(isinstance(value, str) for value in values)
            require(good and values and values[-1] == RARE, f"categories of {name!r} must be texts, {RARE!r} the last")
        own = [*self.categories["lower"][:-1], EDGE, RARE]
        require(
            all(self.categories[name] == own for name in NEIGHBOURS),
            "categories of the neighbours are not those of the words",
        )

    @property
    def columns(self) -> list[str]:
        return [*COLUMNS, *(NEIGHBOURS if self.has_neighbours else ())]

    @property
    def n_categories(self) -> np.ndarray:
        return np.array([len(self.categories[name]) for name in self.columns], dtype=np.int64)

    def learn_words(self, words: list, offsets: np.ndarray) -> np.ndarray:
        """Rows of the words of training sentences; sentence i is words[offsets[i] : offsets[i + 1]]."""
        ids, known = distinct_words(words)
        counts = np.bincount(ids[ids >= 0], minlength=len(known))
        for name, function in COLUMNS.items():
            self.categories[name] = [*frequent([function(word) for word in known], counts, self.min_count), RARE]
        own = self.categories["lower"][:-1]
        for name in NEIGHBOURS:
            self.categories[name] = [*own, EDGE, RARE]
        return self._rows(ids, known, offsets)

    def read_words(self, words: list, offsets: np.ndarray) -> np.ndarray:
        """(n, D) array of codes; a word that is missing (None) has no cells of its own."""
        return self._rows(*distinct_words(words), offsets)

    def _rows(self, ids: np.ndarray, known: list[str], offsets: np.ndarray) -> np.ndarray:
        columns = []
        for name, function in COLUMNS.items():
            codes = {value: float(code) for code, value in enumerate(self.categories[name][:-1])}
            rare = float(len(codes))
            table = np.array([*(codes.get(function(word), rare) for word in known), np.nan])
            columns.append(table[ids])
            if name == "lower":
                lower = table[ids]
        for name, way in NEIGHBOURS.items() if self.has_neighbours else ():
            columns.append(self._neighbours(lower, offsets, way, len(self.categories[name])))
        return np.ascontiguousarray(np.column_stack(columns)) if len(ids) else np.zeros((0, len(self.columns)))

    def _neighbours(self, lower: np.ndarray, offsets: np.ndarray, way: int, size: int) -> np.ndarray:
        """Codes of the words before (-1) or after (1); EDGE and RARE are the last two of `size`."""
        found, some = np.roll(lower, -way), np.diff(offsets) > 0
        found = np.where(found == size - 2, size - 1.0, found)  # RARE of the words is EDGE's place here
        found[offsets[:-1][some] if way < 0 else offsets[1:][some] - 1] = size - 2.0
        return found

    @override
    def unread(self, rows):
        words = np.array(self.categories["word"], dtype=object)
        return words[rows[:, 0].astype(int)]

    def without_neighbours(self, rows: np.ndarray) -> np.ndarray:
        """The rows without those columns."""
        return np.ascontiguousarray(rows[:, : len(COLUMNS)])


def distinct_words(words: list) -> tuple[np.ndarray, list[str]]:
    """(n,) places of the words among the distinct ones (-1: missing), and these."""
    places: dict[Any, int] = {}
    ids = np.fromiter((places.setdefault(word, len(places)) for word in words), np.int64, len(words))
    known = list(places)
    wrong = [k for k, word in enumerate(known) if not isinstance(word, str)]
    for k in wrong:
        if not is_missing(known[k]):
            place = int(np.flatnonzero(ids == k)[0])
            raise ValueError(
                f"word {place} of X is {known[k]!r} of type {type(known[k]).__name__}: words are texts, or None"
            )
    if wrong:
        kept = np.setdiff1d(np.arange(len(known)), wrong)
        table = np.full(len(known), -1)
        table[kept] = np.arange(len(kept))
        ids, known = table[ids], [known[k] for k in kept]
    return ids, known


def frequent(values: list[str], counts: np.ndarray, min_count: int) -> list[str]:
    """The values whose counts add up to min_count, in the order in which they stand first."""
    total: dict[str, int] = {}
    for value, count in zip(values, counts.tolist(), strict=True):
        total[value] = total.get(value, 0) + count
    return [value for value, count in total.items() if count >= min_count]
