"""The first pass over blocks, with all cells or by outlines.

An outline is what a Parquet file says of a block without its numbers: rows, labels, columns with nulls. Of many blocks of numbers
only a few are then read whole, for the sample: some at equal distances, and the first one with each label and each column of nulls
that those lack. Where labels are sorted, such that a few blocks do not stand for all, all are read.

A NaN that is no null is in no outline. `Survey.foreseen` names the columns with gaps that are known; whoever meets another gap in a
later pass begins again after a first pass over all cells (`Blocks.read_whole`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..engines.blocks import BlockEngine
from .parquet import outline
from .survey import ROWS, Question, Survey, survey
from .table import CATEGORICAL

WHOLE = 16  # blocks that stand for all
LEAST = 10  # rows of a label in the sample, below which its share may be any
SHARE = 0.5  # of a label's share that the blocks read whole must have


@dataclass(frozen=True)
class Outline:
    """A block without its numbers."""

    n_rows: int
    labels: dict[str, int]
    n_unlabelled: int
    gaps: frozenset[int]  # columns with nulls

    @property
    def keys(self) -> set[tuple]:
        return {("label", label) for label in self.labels} | {("gap", column) for column in self.gaps}


@dataclass(frozen=True)
class Outlined:
    """A piece of a file as the source of its outline."""

    piece: Any

    def load(self) -> list[Outline]:
        piece = self.piece
        n_rows, labels, gaps = outline(piece.path, range(piece.start, piece.stop), piece.options)
        without = 0 if piece.options.target is None else n_rows - sum(labels.values())
        return [Outline(n_rows, labels, without, gaps)]


@dataclass(frozen=True)
class Numbered:
    """A source and its number."""

    source: Any
    number: int

    @property
    def n_bytes(self) -> int:
        return getattr(self.source, "n_bytes", 0)

    @property
    def delayed(self) -> Any:
        return self.source.delayed  # raises where the source has none, so that `hasattr` says so

    @property
    def opener(self) -> Any:
        return Numbered(self.source.opener, self.number)

    def __call__(self, raw: Any) -> Any:
        return self.source(raw), self.number

    def load(self) -> Any:
        return self.source.load(), self.number


def survey_of(numbered: tuple, question: Question) -> Survey:
    return survey(numbered[0], question, numbered[1])


def itself(found: list[Outline]) -> list[Outline]:
    return found


def first_pass(engine: BlockEngine, sources: Sequence, question: Question, by_outlines: bool = True) -> Survey:
    """What the sources hold."""
    numbered = [Numbered(source, number) for number, source in enumerate(sources)]
    if by_outlines and len(sources) > 2 * WHOLE and question.cells == "gaps" and all(map(has_outline, sources)):
        outlines = engine.sum(itself, engine.place([Outlined(source) for source in sources]))
        chosen = standing_for_all(outlines)
        if chosen is not None:
            quota = int(np.ceil(question.quota * len(sources) / len(chosen)))
            few = engine.place([numbered[number] for number in chosen])
            return completed(engine.sum(survey_of, few, replace(question, quota=quota)), outlines)
    return engine.sum(survey_of, engine.place(numbered), question)


def has_outline(source: Any) -> bool:
    """Whether a source is of numbers of a Parquet file, and labels."""
    options = getattr(source, "options", None)
    if options is None or not getattr(source, "is_numeric", False) or source.weight is not None or options.text:
        return False
    return options.every_kind != CATEGORICAL and CATEGORICAL not in options.kinds.values()


def standing_for_all(outlines: Sequence[Outline]) -> list[int] | None:
    """Numbers of the blocks to read whole, in order; None where they must be all."""
    chosen = {(2 * i + 1) * len(outlines) // (2 * WHOLE) for i in range(WHOLE)}
    total, some = labels_of(outlines), labels_of([outlines[number] for number in chosen])
    for label, count in total.items():
        share = count / max(total.total(), 1)
        if share * ROWS >= LEAST and some[label] < SHARE * share * some.total():
            return None
    seen = set().union(*(outlines[number].keys for number in chosen))
    for number, own in enumerate(outlines):
        if not own.keys <= seen:
            chosen.add(number)
            seen |= own.keys
    return sorted(chosen)


def labels_of(outlines: Sequence[Outline]) -> Counter[str]:
    found = Counter[str]()
    for own in outlines:
        found.update(own.labels)
    return found


def completed(found: Survey, outlines: Sequence[Outline]) -> Survey:
    """The survey of some blocks, with what outlines count in all."""
    n_rows = sum(own.n_rows for own in outlines)
    labels = {label: float(count) for label, count in labels_of(outlines).items()}
    gaps = {key[0] for drawn in found.drawn for key in drawn.keys if key[1] is None}
    return replace(
        found, n_rows=n_rows, weight=float(n_rows), labels=labels, n_unlabelled=sum(own.n_unlabelled for own in outlines),
        n_bytes=8 * n_rows * found.width, foreseen=frozenset(gaps).union(*(own.gaps for own in outlines)),
    )  # fmt: skip
