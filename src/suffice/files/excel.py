"""Excel workbooks by openpyxl: the first sheet (or the one named), read as the CSV that one would have saved it as."""

from __future__ import annotations

import csv
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from . import delimited
from .streams import Source
from .table import DataError, Options, Table


def tables(source: Source, format: str, options: Options) -> Iterator[Table]:
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    with tempfile.TemporaryDirectory() as folder:
        workbook, plain = Path(folder, "book.xlsx"), Path(folder, "sheet.csv")
        with open(workbook, "wb") as file:
            shutil.copyfileobj(source.start(), file)
        try:
            book = load_workbook(workbook, read_only=True, data_only=True)
        except (InvalidFileException, KeyError, OSError, ValueError, EOFError) as error:
            raise DataError(f"{source.name}: not a readable Excel workbook ({error})") from error
        except Exception as error:
            if type(error).__name__ != "BadZipFile":
                raise
            raise DataError(f"{source.name}: not a readable Excel workbook ({error})") from error
        rows = (row for row in book.worksheets[0].iter_rows(values_only=True))
        with open(plain, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            for row in rows:
                if any(cell is not None for cell in row):
                    writer.writerow(["" if cell is None else cell for cell in row])
        book.close()
        if not os.path.getsize(plain):
            raise DataError(f"{source.name} has no rows")
        inner = Source(plain)
        inner.name = source.name
        try:
            yield from delimited.tables(inner, "csv", replace(options, delimiter=",", encoding="utf-8", decimal="."))
        finally:
            inner.finish()
