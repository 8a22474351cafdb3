"""Sentences with a tag for every word: parts of speech of Universal Dependencies, English Web Treebank.

Read in place from the folder that `SUFFICE_DATA` names (`sequence/ud_english_ewt/train.tsv`: word, UPOS, XPOS; also with .xz or .gz),
else the published CoNLL-U files are downloaded once. Licence CC BY-SA 4.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..files.tokens import read_tokens
from .files import DataNotFound, find

SOURCE = "https://raw.githubusercontent.com/UniversalDependencies/UD_English-EWT/master/en_ewt-ud-{part}.conllu"
PARTS = ("train", "dev", "test")


@dataclass(frozen=True)
class Tagged:
    """Sentences (lists of words) and their tags, in three parts."""

    name: str
    train: tuple[list[Any], list[Any]]
    dev: tuple[list[Any], list[Any]]
    test: tuple[list[Any], list[Any]]


def names() -> list[str]:
    return ["ud-english-ewt"]


def load(name: str = "ud-english-ewt", tags: str = "upos") -> Tagged:
    """Sentences by the set's name; `tags` are "upos" (17) or "xpos" (about 50).

    Examples
    --------
    >>> from suffice.datasets import tagged
    >>> tagged.names()
    ['ud-english-ewt']
    """
    if name not in names():
        raise ValueError(f"there is no set of tagged sentences {name!r}: choose one of {', '.join(names())}")
    if tags not in ("upos", "xpos"):
        raise ValueError(f"tags={tags!r} is not one of 'upos', 'xpos'")
    return Tagged(name, *(part_of(part, tags) for part in PARTS))


def part_of(part: str, tags: str) -> tuple[list[Any], list[Any]]:
    try:
        return read_tokens(find(f"sequence/ud_english_ewt/{part}.tsv"), 0, 1 if tags == "upos" else 2)
    except DataNotFound:
        file = find(f"sequence/ud_english_ewt/en_ewt-ud-{part}.conllu", [SOURCE.format(part=part)])
        return read_tokens(file, 1, 3 if tags == "upos" else 4)
