"""Sequences with a class: Japanese Vowels (nine speakers), ItalyPowerDemand and GunPoint of the UCR archive, surnames of 18 languages.

Read in place from the folder that `SUFFICE_DATA` names (`sequence/ucr_GunPoint/GunPoint_TRAIN.ts`, also with .xz or .gz), else
surnames are downloaded once to `~/.cache/suffice`; the others are in the wheel of aeon (`aeon/datasets/data`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..files.ts import series
from .files import content

FOLDERS = {
    "japanese-vowels": "japanese_vowels/JapaneseVowels",
    "italy-power-demand": "ucr_ItalyPowerDemand/ItalyPowerDemand",
    "gun-point": "ucr_GunPoint/GunPoint",
}
SURNAMES = "sequence/surnames/names.tsv"
HINT = "The UCR sets and Japanese Vowels come with the package aeon, in aeon/datasets/data."
TEST_SHARE = 0.25  # of the surnames, which have no published split


@dataclass(frozen=True, eq=False)
class SeriesData:
    """Sequences (arrays of shape (steps, columns), or texts) and their labels, with a test part."""

    name: str
    X: list[Any]
    y: np.ndarray
    X_test: list[Any]
    y_test: np.ndarray


def names() -> list[str]:
    return sorted([*FOLDERS, "surnames"])


def load(name: str) -> SeriesData:
    """A set of sequences by its name; a quarter of the surnames, drawn with seed 0, is their test part.

    Examples
    --------
    >>> from suffice.datasets import series
    >>> series.names()
    ['gun-point', 'italy-power-demand', 'japanese-vowels', 'surnames']
    """
    if name not in names():
        raise ValueError(f"there is no set of sequences {name!r}: choose one of {', '.join(names())}")
    if name == "surnames":
        return surnames()
    return SeriesData(name, *ts_part(FOLDERS[name], "TRAIN"), *ts_part(FOLDERS[name], "TEST"))


def ts_part(file: str, part: str) -> tuple[list[np.ndarray], np.ndarray]:
    path = f"sequence/{file}_{part}.ts"
    found = list(series(content(path, hint=HINT).decode().splitlines(), path))
    return [steps for steps, _ in found], np.array([label for _, label in found])


def surnames() -> SeriesData:
    lines = [line.split("\t") for line in content(SURNAMES).decode("utf-8").splitlines() if "\t" in line]
    y, X = np.array([language for language, _ in lines]), [name for _, name in lines]
    order = np.random.default_rng(0).permutation(len(X))
    n_test = int(np.ceil(TEST_SHARE * len(X)))
    test, train = np.sort(order[:n_test]), np.sort(order[n_test:])
    return SeriesData("surnames", [X[i] for i in train], y[train], [X[i] for i in test], y[test])
