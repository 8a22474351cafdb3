"""How a file of delimited text is laid out: its delimiter, names of columns, decimal mark."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from typing import NamedTuple

from .dates import are_dates
from .table import NO_NUMBER, DataError, Options

DELIMITERS = ",;\t|"
COMMA_NUMBER = re.compile(r"[-+]?(\d{1,3}(\.\d{3})+|\d+),\d+$")
POINT_NUMBER = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?$")
GROUPED = re.compile(r"[-+]?\d{1,3}(\.\d{3})+(,\d+)?$")


class Layout(NamedTuple):
    delimiter: str
    names: list[str]
    has_header: bool
    decimal: str
    thousands: str | None
    skipped: int  # lines before the header
    dates: list[str]  # columns whose first cells are dates
    unnamed: str | None  # a first column without a name: an index that a program wrote


def layout_of(start: str, format: str, options: Options, file: str) -> Layout:
    """The layout of a file that begins with the text `start`."""
    start = start.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    skipped, said = 0, None
    while start and not start.partition("\n")[0].strip():
        start, skipped = start.partition("\n")[2], skipped + 1
    line = start.partition("\n")[0]
    if match := re.fullmatch(r"sep=(.)", line.strip()):  # a line for Excel
        said, start, skipped = match[1], start.partition("\n")[2], skipped + 1
        line = start.partition("\n")[0]
    delimiter = options.delimiter or said or ("\t" if format == "tsv" else delimiter_of(line))
    try:
        lines = csv.reader(io.StringIO(start), delimiter=delimiter, skipinitialspace=True)
        cells = [cell.strip() for cell in next(lines)]
        rows = [row for row, _ in zip((row for row in lines if row), range(200), strict=False)]
    except (csv.Error, StopIteration, TypeError) as error:
        raise DataError(f"{file}: the first lines cannot be split by {delimiter!r} ({error})") from error
    second = [cell.strip() for cell in rows[0]] if rows else []
    while (
        len(second) == len(cells) + 1 and cells[-1:] != [""] and not second[-1]
    ):  # a delimiter at the end of every row
        second = second[:-1]
    if any(second[len(cells) :]):
        raise DataError(f"{file}: line 2 has {len(second)} cells, line 1 {len(cells)}; is the delimiter right?")
    has_header = is_header(cells, second, options) if options.header is None else options.header
    decimal, thousands = decimal_of(rows[:-1] or rows, delimiter, options)
    if not has_header:
        names = [f"x{i}" for i in range(len(cells))]
        dates = dates_among(names, [cells, *rows], options)
        return Layout(delimiter, names, False, decimal, thousands, skipped, dates, None)
    index = None
    if len(cells) > 1 and cells[0] in ("", "Unnamed: 0"):
        index = cells[0] = cells[0] or "(index)"
    names = [cell or f"x{i}" for i, cell in enumerate(cells)]
    if repeated := [name for name, n in Counter(names).items() if n > 1]:
        raise DataError(
            f"{file}: the header names column {repeated[0]!r} twice; rename one, or use header=False (--no-header)"
        )
    return Layout(delimiter, names, True, decimal, thousands, skipped, dates_among(names, rows, options), index)


def delimiter_of(line: str) -> str:
    """The most frequent delimiter of a line, outside of quotes; decimal commas do not count beside semicolons."""
    bare = re.sub(r'"[^"]*"', "", line)
    counts = {mark: bare.count(mark) for mark in DELIMITERS}
    if counts[";"] and counts[";"] >= len(re.findall(r"[^\d],|,[^\d]", bare)):
        return ";"
    return max(DELIMITERS, key=lambda mark: counts[mark])


def is_header(cells: list[str], second: list[str], options: Options) -> bool:
    """Whether the first line names the columns: one is the target, or none of its cells is a number, missing or repeated. Names may be
    empty where the line below has a number, or in the first place (an index)."""
    named = [cell for cell in cells if cell]
    if isinstance(options.target, str) and options.target in named and not is_number(options.target):
        return True
    if not named or len(set(named)) < len(named) or any(is_number(cell) for cell in named):
        return False
    if any(cell in options.missing for cell in named):
        return False
    if len(named) == len(cells):
        return True
    return (len(named) == len(cells) - 1 and not cells[0]) or any(is_number(cell) for cell in second)


def dates_among(names: list[str], rows: list[list[str]], options: Options) -> list[str]:
    """Columns whose cells are dates; read as numbers, 04.08.2019 would be 4,082,019 where points group thousands."""
    return [
        name
        for j, name in enumerate(names)
        if are_dates((row[j] for row in rows if j < len(row)), (*options.missing, *NO_NUMBER))
    ]


def decimal_of(rows: list[list[str]], delimiter: str, options: Options) -> tuple[str, str | None]:
    """The decimal mark and what groups thousands: commas where numbers have them and no number has a point."""
    cells = [cell.strip() for row in rows for cell in row]
    if options.decimal is not None:
        grouped = options.decimal == "," and any(GROUPED.match(cell) for cell in cells)
        return options.decimal, "." if grouped else None
    if delimiter == ",":
        return ".", None
    commas = sum(COMMA_NUMBER.match(cell) is not None for cell in cells)
    points = sum(POINT_NUMBER.match(cell) is not None and not GROUPED.match(cell) for cell in cells)
    if commas <= points:
        return ".", None
    return ",", "." if any(GROUPED.match(cell) for cell in cells) else None


def is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True
