"""Files cut into blocks: ranges of lines, or groups of rows, that are fixed by the files and the block size alone.

A `Piece` is a few bytes that can be sent to another process, where `load()` reads its rows. Cuts of delimited text are at line ends
outside of quotes. Compressed files, and text of two bytes a character, are one block each.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from typing_extensions import override

from .encoding import encoding_of
from .layout import layout_of
from .reader import MODULES
from .streams import Source
from .svmlight import _labels
from .table import NUMERIC, Columns, DataError, Options, Table

WHOLE = 1 << 30  # rows: all of them
PATIENCE = 10_000  # lines in which a quote that was opened must be closed
GROWTH = {"parquet": 1.0, "text": 2.0}  # bytes in memory of a byte; of numbers in text 1.5


@dataclass
class Part:
    """Rows of a block: a DataFrame, an array, CSR, or texts; labels and weights where there are some."""

    X: Any
    y: Any = None
    weights: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        return len(self.X) if isinstance(self.X, list) else int(self.X.shape[0])


@dataclass(frozen=True)
class Piece:
    """A range of bytes of a file (or of its row groups), after the lines `head` that every piece of the file begins with."""

    path: str
    format: str
    options: Options
    start: int
    stop: int
    n_bytes: int
    head: bytes = b""
    weight: str | None = None  # the column of weights
    is_numeric: bool = False  # of Parquet: every feature is of numbers

    @override
    def __repr__(self) -> str:
        what = "row groups" if self.format == "parquet" else "bytes"
        return f"{self.path} {what} {self.start}..{self.stop}"

    def load(self) -> Part:
        if self.format == "svmlight":
            return self._svmlight()
        source = self._source()
        try:
            module = import_module(f"suffice.files.{MODULES[self.format]}")
            (table,) = list(module.tables(source, self.format, self._options()))
        finally:
            source.finish()
        return Part(self._X(table), table.y, self._weights(table))

    def _options(self) -> Options:
        groups = range(self.start, self.stop) if self.format == "parquet" else None
        return replace(self.options, chunk_rows=WHOLE, whole=True, row_groups=groups)

    def _source(self) -> Source:
        if self.format == "parquet":
            import pyarrow as pa

            pa.set_memory_pool(pa.system_memory_pool())  # gives memory back, so that workers stay within their limits
            return Source(self.path)
        return Source(self.path) if self.stop < 0 else Bytes(self.path, self.bytes())

    def bytes(self) -> bytes:
        with open(self.path, "rb") as file:
            file.seek(self.start)
            return self.head + file.read(self.stop - self.start)

    def _X(self, table: Table) -> Any:
        return table.X["text"].tolist() if table.columns == ("text",) and not table.kinds else table.X

    def _weights(self, table: Table) -> np.ndarray | None:
        if self.weight is None:
            return None
        try:
            return np.array([float(cell) for cell in table.kept[self.weight]])
        except ValueError as error:
            raise DataError(f"{self!r}: the column of weights {self.weight!r} holds no number ({error})") from error

    def _svmlight(self) -> Part:
        from sklearn.datasets import load_svmlight_file

        source = io.BytesIO(self.bytes()) if self.stop >= 0 else io.BufferedReader(Source(self.path).start())
        try:
            X, y = load_svmlight_file(source, zero_based=True)
        except (ValueError, OverflowError) as error:
            raise DataError(f"{self!r} cannot be read ({error}): expected `label index:value ...`") from error
        return Part(X, _labels(y))


class Bytes(Source):
    """A source of bytes that are there."""

    def __init__(self, name: str, content: bytes) -> None:
        self.is_stdin, self.path, self.name, self.size, self.is_compressed = False, None, name, None, False
        self._file = self._stream = io.BytesIO(content)
        self.seen, self._head, self._position, self._recording = 0, bytearray(), 0, True
        self._counted = self  # type: ignore[assignment]
        self.count = 0


def pieces_of(
    path: str, format: str, options: Options, block_rows: int, block_bytes: int, weight: str | None
) -> list[Piece]:
    """The blocks of a file."""
    if format not in ("csv", "tsv", "parquet", "svmlight", "text"):
        raise DataError(f"{path}: {format} cannot be read in blocks; convert it: suffice convert {path} rows.parquet")
    options = replace(options, keep=[*options.keep, *([weight] if weight else [])], bad_cells="missing")
    if weight is not None:
        options = replace(options, ignore=[*options.ignore, weight])
    if format == "parquet":
        return list(_row_groups(path, options, block_rows, weight))
    growth, size = GROWTH.get(format, 1.5), os.path.getsize(path)
    source = Source(path)
    if not source.peek(1):
        raise DataError(f"{path} is empty")
    start, head, is_one = 0, b"", source.is_compressed
    if format in ("csv", "tsv", "text"):
        encoding = encoding_of(source, options.encoding)
        options, is_one = replace(options, encoding=encoding), is_one or encoding.startswith("utf-16")
        if format != "text":
            options, start, head = _laid_out(source, format, options)
    source.finish()
    if is_one:
        return [
            Piece(path, format, options, 0, -1, int(growth * size) * (4 if source.is_compressed else 1), b"", weight)
        ]
    cuts = list(_cuts(path, start, block_bytes, quotes=format in ("csv", "tsv")))
    if not cuts:
        raise DataError(f"{path} has no rows")
    return [Piece(path, format, options, a, b, int(growth * (b - a)), head, weight) for a, b in cuts]


def _laid_out(source: Source, format: str, options: Options) -> tuple[Options, int, bytes]:
    """Options that say how every piece is laid out, where the rows begin, and the line of names."""
    start = source.peek(1 << 20)
    layout = layout_of(start.decode(options.encoding or "utf-8", errors="replace"), format, options, source.name)
    lines = start.split(b"\n", layout.skipped + 1)
    before = sum(len(line) + 1 for line in lines[: layout.skipped])
    head = lines[layout.skipped] + b"\n" if layout.has_header else b""
    if layout.unnamed is not None and options.columns is None:
        options = replace(options, ignore=[*options.ignore, layout.unnamed])
    columns = Columns.chosen(layout.names, options, source.name)
    found = replace(
        options, header=layout.has_header, delimiter=layout.delimiter, decimal=layout.decimal, columns=columns.features,
        target=columns.target,
    )  # fmt: skip
    return found, before + len(head), head


def _cuts(path: str, start: int, size: int, quotes: bool) -> Iterator[tuple[int, int]]:
    """Ranges of bytes that end at line ends; inside of quotes there is none."""
    total = os.path.getsize(path)
    with open(path, "rb") as file:
        file.seek(start)
        while start < total:
            piece = file.read(size)
            is_open = quotes and piece.count(b'"') % 2 == 1
            for _ in range(PATIENCE):
                line = file.readline()
                is_open ^= quotes and line.count(b'"') % 2 == 1
                if not line or not is_open:
                    break
            stop = file.tell()
            yield start, stop
            start = stop


def _row_groups(path: str, options: Options, block_rows: int, weight: str | None) -> Iterator[Piece]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from .parquet import _index_of, _kind_of

    try:
        metadata, schema = pq.read_metadata(path), pq.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: not a readable Parquet file ({str(error)[:200]})") from error
    if options.columns is None:
        options = replace(options, ignore=[*options.ignore, *_index_of(schema, options)])
    columns = Columns.chosen(schema.names, options, path)
    options = replace(options, columns=columns.features, target=columns.target)
    is_numeric = all(_kind_of(schema.field(name).type) == NUMERIC for name in columns.features)
    width, first, rows = 8 * (len(columns.features) + 1), 0, 0
    for group in range(metadata.num_row_groups):
        rows += metadata.row_group(group).num_rows
        if rows >= block_rows or group == metadata.num_row_groups - 1:
            if rows:
                yield Piece(path, "parquet", options, first, group + 1, rows * width, b"", weight, is_numeric)
            first, rows = group + 1, 0
