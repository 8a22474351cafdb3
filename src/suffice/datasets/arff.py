"""Tables in ARFF, the format of WEKA: names and kinds of the columns, then lines of cells; `?` is missing, the class comes last.

Read in place from the folder that `SUFFICE_DATA` names (`tabular/arff/zoo.arff`, also with .xz or .gz).
"""

from __future__ import annotations

import csv
import re

import numpy as np

from .files import content
from .tabular import TableData

NAMES = (
    "audiology", "balance.scale", "breast.cancer", "breast.w", "bridges.version1", "car", "cmc", "credit.g", "diabetes", "glass",
    "heart.c", "ionosphere", "lymph", "nursery", "primary.tumor", "segment", "sick", "tic-tac-toe", "vehicle", "zoo",
)  # fmt: skip
ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s+(.*)", re.IGNORECASE)
NUMBERS = ("numeric", "real", "integer")


def load(name: str) -> TableData:
    """A table by its name; rows without a class are left out."""
    if name not in NAMES:
        raise ValueError(f"there is no table {name!r}: choose one of {', '.join(NAMES)}")
    return parsed(name, content(f"tabular/arff/{name}.arff").decode("utf-8", errors="replace"))


def parsed(name: str, text: str) -> TableData:
    """The table in the text of a file."""
    import pandas as pd

    columns, kinds, cells, is_data = list[str](), list[str](), list[list[str]](), False
    for line in map(str.strip, text.splitlines()):
        found = None if is_data else ATTRIBUTE.match(line)
        if found:
            columns.append(found[1].strip("'\""))
            kinds.append(found[2].strip().split()[0].lower())
        elif line.lower().startswith("@data"):
            is_data = True
        elif is_data and line and not line.startswith("%"):
            cells.append([cell.strip().strip("'\"") for cell in next(csv.reader([line], quotechar="'"))])
    frame = pd.DataFrame(cells, columns=columns, dtype=object).replace("?", None)
    target = columns[-1]
    frame = frame[frame[target].notna()].reset_index(drop=True)
    y = frame.pop(target).to_numpy(dtype=str)
    for column, kind in zip(columns[:-1], kinds, strict=False):
        if kind in NUMBERS:
            values = pd.to_numeric(frame[column])
            whole = values.dropna()
            is_whole = kind == "integer" and bool((whole == np.floor(whole)).all())
            frame[column] = values.astype(
                "Int64" if is_whole and values.isna().any() else "int64" if is_whole else float
            )
    return TableData(name, frame, y)
