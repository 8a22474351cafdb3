"""Documents, one a line: `label<TAB>text` or `__label__name text` (fastText). A file whose first line has neither holds texts alone."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice

import numpy as np

from .encoding import encoding_of
from .streams import Source
from .table import DataError, Options, Table

LABEL = "__label__"


def tables(source: Source, format: str, options: Options) -> Iterator[Table]:
    import pandas as pd

    encoding = encoding_of(source, options.encoding)
    lines = io.TextIOWrapper(io.BufferedReader(source.start(), 1 << 20), encoding=encoding, newline="\n")
    first_row, form = 0, ""
    stripped = (line.rstrip("\r\n") for line in lines)
    while chunk := list(islice(filter(None, stripped), options.chunk_rows)):
        if first_row == 0:
            form = LABEL if chunk[0].startswith(LABEL) else "\t" if "\t" in chunk[0] else ""
        texts, y = chunk, None
        if form:
            pairs = [_pair(line, form, source.name, first_row + i + 1) for i, line in enumerate(chunk)]
            texts = [text for _, text in pairs]
            y = np.empty(len(pairs), dtype=object)
            y[:] = [None if label in options.missing else label for label, _ in pairs]
        X = pd.DataFrame({"text": pd.Series(texts, dtype=object)})
        yield Table(X, y, ("text",), {}, first_row)
        first_row += len(chunk)
    if first_row == 0:
        raise DataError(f"{source.name} has no rows")


def _pair(line: str, form: str, file: str, number: int) -> tuple[str, str]:
    """Label and text of a line."""
    if form == "\t":
        if "\t" not in line:
            raise DataError(f"{file}: text {number} has no tab ({line[:40]!r}): expected label<TAB>text")
        label, text = line.split("\t", 1)
        return label, text
    if not line.startswith(LABEL):
        raise DataError(f"{file}: text {number} begins with no label ({line[:40]!r}): expected {LABEL}name text")
    label, _, text = line.removeprefix(LABEL).partition(" ")
    if text.startswith(LABEL):
        raise DataError(f"{file}: text {number} has several labels ({line[:40]!r}): keep one a line")
    return label, text
