"""Documents, one a line: `label<TAB>text`; a file whose first line has no tab holds texts without labels."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice

import numpy as np

from .streams import Source
from .table import DataError, Options, Table


def tables(source: Source, format: str, options: Options) -> Iterator[Table]:
    import pandas as pd

    encoding = "utf-8-sig" if options.encoding.lower() in ("utf-8", "utf8") else options.encoding
    lines = io.TextIOWrapper(io.BufferedReader(source.start(), 1 << 20), encoding=encoding, newline="\n")
    first_row, has_labels = 0, None
    stripped = (line.rstrip("\r\n") for line in lines)
    while chunk := list(islice(filter(None, stripped), options.chunk_rows)):
        if has_labels is None:
            has_labels = "\t" in chunk[0]
        texts, y = chunk, None
        if has_labels:
            for i, line in enumerate(chunk):
                if "\t" not in line:
                    raise DataError(
                        f"{source.name}: text {first_row + i + 1} has no tab ({line[:40]!r}): expected label<TAB>text"
                    )
            pairs = [line.split("\t", 1) for line in chunk]
            texts = [text for _, text in pairs]
            y = np.empty(len(pairs), dtype=object)
            y[:] = [None if label in options.missing else label for label, _ in pairs]
        X = pd.DataFrame({"text": pd.Series(texts, dtype=object)})
        yield Table(X, y, ("text",), {}, first_row)
        first_row += len(chunk)
    if first_row == 0:
        raise DataError(f"{source.name} has no rows")
