"""One door for all formats: find the format, open it, give chunks."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from types import TracebackType

from .streams import Source, suffix_of
from .table import MISSING, DataError, Options, Table

FORMATS = ("csv", "tsv", "parquet", "excel", "svmlight", "text", "ts")
SUFFIXES = {
    ".csv": "csv",
    ".data": "csv",
    ".test": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".feat": "svmlight",
    ".txt": "text",
    ".ts": "ts",
}
MODULES = {
    "csv": "delimited",
    "tsv": "delimited",
    "parquet": "parquet",
    "excel": "excel",
    "svmlight": "svmlight",
    "text": "text",
    "ts": "ts",
}
SVMLIGHT_LINE = re.compile(rb"[-+]?[\d.][-+\d.eE]*(\s+(qid|\d+):\S+)+\s*(#.*)?$")


def read(
    path: str | os.PathLike,
    target: str | int | None = None,
    *,
    chunk_rows: int = 1 << 16,
    format: str | None = None,
    kinds: Mapping[str, str] | str | None = None,
    categories: Mapping[str, Sequence[str]] | None = None,
    columns: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    header: bool | None = None,
    delimiter: str | None = None,
    missing: Sequence[str] = MISSING,
    encoding: str | None = None,
    decimal: str | None = None,
    keep: Sequence[str] = (),
    text: str | None = None,
    bad_cells: str = "refuse",
    n_features: int | None = None,
    zero_based: bool | None = None,
) -> Reader:
    """Read a data file in chunks.

    Parameters
    ----------
    path : a path, or "-" for standard input
    target : the label's column, by name or position (-1: the last); svmlight and text hold the label first
    chunk_rows : rows of a chunk
    format : one of `FORMATS`; by default from the name, else from the content
    kinds : {column: "numeric" or "categorical"}, or one of the two for all columns; by default decided on the first
        chunk and kept
    categories : {column: its categories}, as a model knows them; new ones get codes after these
    columns : the features to read; by default all but the target
    ignore : columns to leave out
    header : whether the first line names the columns; by default, if no cell of it is a number, missing, or repeated
    delimiter : of CSV; by default the most frequent of "," ";" tab and "|" in the first line
    missing : cells that hold no value; among numbers also `NO_NUMBER` ("-" and others)
    encoding : of text; by default as its mark says, UTF-8, or else UTF-16 or Windows-1252
    decimal : "." or ","; by default found in the first rows
    keep : columns to give as text in `Table.kept`
    text : the column of texts, for documents in a table
    bad_cells : "refuse" cells of numeric columns that are no numbers, or take them as "missing" with a warning
    n_features, zero_based : of svmlight; by default found by a first pass over the file (a pipe: its first chunk);
        features beyond a given n_features are left out

    Returns an iterator of `Table`, which is also a context manager; its `fraction` tells how much has been read.
    """
    if chunk_rows < 1:
        raise ValueError(f"chunk_rows={chunk_rows} must be at least 1")
    if format is not None and format not in FORMATS:
        raise ValueError(f"format={format!r} is not one of {', '.join(map(repr, FORMATS))}")
    every, own = (kinds, {}) if isinstance(kinds, str) else (None, kinds or {})
    options = Options(
        target=target, chunk_rows=chunk_rows, kinds=own, every_kind=every, categories=categories or {}, columns=columns,
        ignore=ignore, header=header, delimiter=delimiter, missing=missing, encoding=encoding, decimal=decimal, keep=keep,
        text=text, bad_cells=bad_cells, n_features=n_features, zero_based=zero_based,
    )  # fmt: skip
    source = Source(path)
    return Reader(source, format or format_of(source, columns[0] if columns else target), options)


class Reader:
    """An iterator of `Table`."""

    def __init__(self, source: Source, format: str, options: Options) -> None:
        self.name: str = source.name
        self.format, self._source = format, source
        if not source.peek(1):
            source.finish()
            raise DataError(f"{source.name} is empty")
        self._tables: Iterator[Table] = import_module(f"suffice.files.{MODULES[format]}").tables(
            source, format, options
        )

    @property
    def fraction(self) -> float | None:
        """How much of the file has been read, 0 to 1; None if its size is unknown (a pipe)."""
        return self._source.fraction

    def __iter__(self) -> Reader:
        return self

    def __next__(self) -> Table:
        try:
            return next(self._tables)
        except ModuleNotFoundError as error:
            extra = "excel" if self.format == "excel" else "files"
            raise ModuleNotFoundError(
                f"reading {self.format} needs {error.name}: pip install 'suffice[{extra}]'"
            ) from error
        except UnicodeError as error:
            name, reason = getattr(error, "encoding", "text"), getattr(error, "reason", str(error))
            raise DataError(f"{self.name}: not {name} ({reason}); give its encoding (--encoding latin-1)") from error

    def close(self) -> None:
        self._source.finish()

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def format_of(source: Source, target: str | int | None = None) -> str:
    """The format by the file's name, else by its first line; a .txt with a delimiter and the target in its header is a table."""
    start = source.peek(1 << 16)
    known = SUFFIXES.get(suffix_of(source.name)) if source.path is not None else None
    if known == "text" and isinstance(target, str):
        cells = re.split(rb"[,;|\t]", start.partition(b"\n")[0].strip())
        known = "csv" if len(cells) > 1 and target.encode() in [cell.strip(b' "') for cell in cells] else known
    if known:
        return known
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"PK\x03\x04"):
        return "excel"
    if start[:9] == b"__label__":
        return "text"
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "csv"
    if b"\x00" in start:
        raise DataError(f"{source.name} is a binary file of unknown format; give format= one of {FORMATS}")
    line = start.partition(b"\n")[0].rstrip(b"\r")
    if SVMLIGHT_LINE.match(line):
        return "svmlight"
    if b"\t" in line:
        is_text = line.count(b"\t") == 1 and b" " in line.partition(b"\t")[2]
        return "text" if is_text and target is None else "tsv"
    return "csv"
