"""Writers of the formats that `read` reads, chunk by chunk."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from .table import CATEGORICAL, DataError, Table


def write(tables: Iterable[Table], path: str, format: str, target: str = "label") -> int:
    """Write chunks as "csv", "tsv", "parquet", "svmlight" or "text"; the number of rows. "-" is standard output."""
    writers = {"csv": _delimited, "tsv": _delimited, "parquet": _parquet, "svmlight": _svmlight, "text": _text}
    if format not in writers:
        raise DataError(f"cannot write format {format!r}; the formats are {', '.join(writers)}")
    with _opened(path) as file:
        return writers[format](tables, file, "\t" if format == "tsv" else ",", target)


@contextlib.contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    from ..saving.atomic import replacing

    with replacing(path) as file:
        yield file


def frame_of(table: Table, target: str) -> Any:
    """Features and label as one DataFrame."""
    import pandas as pd

    if sp.issparse(table.X):
        X = pd.DataFrame(table.X.toarray(), columns=list(table.columns))
    else:
        X = table.X.copy(deep=False)
    if table.y is not None:
        X[table.target or target] = table.y
    return X


def _delimited(tables: Iterable[Table], file: IO[bytes], delimiter: str, target: str) -> int:
    n_rows = 0
    for table in tables:
        text = frame_of(table, target).to_csv(index=False, header=n_rows == 0, sep=delimiter)
        file.write(text.encode())
        n_rows += table.n_rows
    return n_rows


def _parquet(tables: Iterable[Table], file: IO[bytes], delimiter: str, target: str) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    n_rows, writer = 0, None
    for table in tables:
        frame = frame_of(table, target)
        for name, kind in table.kinds.items():
            if kind == CATEGORICAL:
                frame[name] = frame[name].astype(object)
        numeric = [name for name in table.columns if table.kinds.get(name) == "numeric" or sp.issparse(table.X)]
        schema = pa.schema([(name, pa.float64() if name in numeric else pa.string()) for name in frame])
        if writer is None:
            writer = pq.ParquetWriter(file, schema)
        writer.write_table(pa.Table.from_pandas(frame, schema=schema, preserve_index=False))
        n_rows += table.n_rows
    if writer is not None:
        writer.close()
    return n_rows


def _svmlight(tables: Iterable[Table], file: IO[bytes], delimiter: str, target: str) -> int:
    from sklearn.datasets import dump_svmlight_file

    n_rows = 0
    for table in tables:
        if table.columns == ("text",) or CATEGORICAL in table.kinds.values():
            name = next((name for name, kind in table.kinds.items() if kind == CATEGORICAL), "text")
            raise DataError(f"svmlight holds numbers only, and column {name!r} has none; leave it out with --ignore")
        y = _numbers(table)
        X = table.X if sp.issparse(table.X) else table.X.to_numpy()
        if not sp.issparse(X) and np.isnan(X).any():
            raise DataError(f"svmlight has no missing cells, and row {table.first_row + 1} or a later one has")
        dump_svmlight_file(X, y, file, zero_based=False)
        n_rows += table.n_rows
    return n_rows


def _numbers(table: Table) -> np.ndarray:
    if table.y is None:
        return np.zeros(table.n_rows)
    try:
        return np.array([float(label) for label in table.y])
    except (TypeError, ValueError) as error:
        raise DataError(
            f"svmlight labels are numbers ({error}); write CSV or Parquet, or number the classes"
        ) from error


def _text(tables: Iterable[Table], file: IO[bytes], delimiter: str, target: str) -> int:
    n_rows = 0
    for table in tables:
        if table.columns != ("text",):
            raise DataError(f"the text format has one column 'text'; this file has {len(table.columns)}")
        labels = [""] * table.n_rows if table.y is None else [label or "" for label in table.y]
        for label, text in zip(labels, table.X["text"], strict=True):
            file.write(f"{label}\t{' '.join(text.splitlines())}\n".encode())
        n_rows += table.n_rows
    return n_rows
