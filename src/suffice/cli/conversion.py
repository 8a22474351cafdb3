"""`suffice convert`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..files import Reader, Table
from ..files.reader import SUFFIXES
from ..files.streams import COMPRESSED_SUFFIXES, suffix_of
from ..files.write import write
from .errors import data_errors
from .notices import UsageError, say
from .progress import progress


def format_named(output: str, to: str | None) -> str:
    """The format to write: as given, or by the name of the new file."""
    found = to or SUFFIXES.get(suffix_of(output))
    if found is None:
        raise UsageError(f"{output!r} does not tell the new format: give --to csv, tsv, parquet, svmlight or text")
    if Path(output).suffix in COMPRESSED_SUFFIXES:
        raise UsageError(f"{output!r}: output is not compressed; write to '-' and pipe it into gzip or xz")
    return found


def convert(reader: Reader, output: str, format: str) -> None:
    """Write the rows of a reader in another format, chunk by chunk."""
    with progress("converting") as update, data_errors(reader.name):

        def tables() -> Iterator[Table]:
            for table in reader:
                update(reader.fraction, f"{table.first_row:,} rows")
                yield table

        n_rows = write(tables(), output, format)
    say(f"{n_rows:,} rows -> {output}")
