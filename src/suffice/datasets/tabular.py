"""Tables of the UCI repository, with their missing cells: mushroom, votes, adult, hepatitis, splice, letter, promoters.

Read in place from the folder that `SUFFICE_DATA` names (`tabular/adult/adult.data`, also with .xz or .gz), else downloaded once to
`~/.cache/suffice`. A cell `?` is missing; so is an ambiguity code (N, D, R, S) in a sequence of splice.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np

from .files import content

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
ADULT = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race", "sex",
    "capital-gain", "capital-loss", "hours-per-week", "native-country", "class",
]  # fmt: skip
HEPATITIS = [
    "class", "age", "sex", "steroid", "antivirals", "fatigue", "malaise", "anorexia", "liver-big", "liver-firm",
    "spleen-palpable", "spiders", "ascites", "varices", "bilirubin", "alk-phosphate", "sgot", "albumin", "protime", "histology",
]  # fmt: skip
HEPATITIS_NUMBERS = {"age", "bilirubin", "alk-phosphate", "sgot", "albumin", "protime"}
FILES = {
    "mushroom": ["mushroom/agaricus-lepiota.data"],
    "votes": ["house_votes_84/house-votes-84.data"],
    "adult": ["adult/adult.data", "adult/adult.test"],
    "hepatitis": ["hepatitis/hepatitis.data"],
    "splice": ["splice/splice.csv"],
    "letter": ["letter_recognition/letter-recognition.data"],
    "promoters": ["promoters/promoters.csv"],
}
URLS = {
    "house_votes_84/house-votes-84.data": "voting-records/house-votes-84.data",
    "splice/splice.csv": "molecular-biology/splice-junction-gene-sequences/splice.data",
    "letter_recognition/letter-recognition.data": "letter-recognition/letter-recognition.data",
    "promoters/promoters.csv": "molecular-biology/promoter-gene-sequences/promoters.data",
}


@dataclass(frozen=True, eq=False)
class TableData:
    """A DataFrame and its labels; adult brings a test part."""

    name: str
    X: Any
    y: np.ndarray
    X_test: Any = None
    y_test: np.ndarray | None = None


def names() -> list[str]:
    return sorted(FILES)


def load(name: str) -> TableData:
    """A table by its name.

    Examples
    --------
    >>> from suffice.datasets import tabular
    >>> "adult" in tabular.names()
    True
    """
    if name not in FILES:
        raise ValueError(f"there is no table {name!r}: choose one of {', '.join(names())}")
    found = [content(f"tabular/{path}", [f"{UCI}/{URLS.get(path, path)}"]) for path in FILES[name]]
    parts = [_parsed(name, table) for table in found]
    return TableData(name, *parts[0], *(parts[1] if len(parts) > 1 else ()))


def _parsed(name: str, table: bytes) -> tuple[Any, np.ndarray]:
    import pandas as pd

    if name in ("splice", "promoters"):
        return _sequences(table, letters="ACGT" if name == "splice" else "acgt")
    columns = {"adult": ADULT, "hepatitis": HEPATITIS}.get(name)
    frame = pd.read_csv(
        io.BytesIO(table), header=None, names=columns, na_values="?", skipinitialspace=True, comment="|"
    )
    if columns is None:
        frame.columns = ["class", *(f"a{j}" for j in range(1, frame.shape[1]))]
    y = frame.pop("class").astype(str).str.rstrip(".").to_numpy(dtype=str)
    if name == "hepatitis":
        frame = frame.astype({column: float if column in HEPATITIS_NUMBERS else "Int64" for column in frame})
    return frame, y


def _sequences(table: bytes, letters: str) -> tuple[Any, np.ndarray]:
    import pandas as pd

    lines = [line.split(",") for line in table.decode().splitlines() if line.strip()]
    lines = lines[1:] if lines[0][0] == "class" else lines
    texts = [parts[-1].strip() for parts in lines]
    cells = [[letter if letter in letters else None for letter in text] for text in texts]
    frame = pd.DataFrame(cells, columns=[f"p{j}" for j in range(len(cells[0]))], dtype=object)
    return frame, np.array([parts[0].strip() for parts in lines])
