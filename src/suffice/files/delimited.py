"""CSV and TSV by pandas' C parser (chosen by measurement, see docs/decisions-io.md)."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from .dates import are_dates
from .encoding import encoding_of
from .layout import Layout, layout_of
from .streams import Source
from .table import (
    CATEGORICAL,
    NO_NUMBER,
    NUMERIC,
    Columns,
    DataError,
    Dictionary,
    Options,
    Table,
    labels_of,
    numbers_of_texts,
)


def tables(source: Source, format: str, options: Options) -> Iterator[Table]:
    import pandas as pd

    encoding = encoding_of(source, options.encoding)
    start = source.peek(1 << 20).decode(encoding, errors="replace")
    layout = layout_of(start, format, options, source.name)
    if layout.unnamed is not None and options.columns is None:
        options = replace(options, ignore=[*options.ignore, layout.unnamed])
        warnings.warn(f"{source.name}: the first column has no name; it is left out as an index", stacklevel=2)
    exact = (
        {"float_precision": "round_trip"} if int(pd.__version__.split(".")[0]) < 3 else {}
    )  # before, the last digit may be another
    has_spaces = f"{layout.delimiter} " in start[: 1 << 16]  # skipping them costs a quarter of the time

    def parse(dtypes: dict[str, str], missing: Any) -> Any:
        return pd.read_csv(
            io.BufferedReader(source, 1 << 20),
            sep=layout.delimiter,
            header=0 if layout.has_header else None,  # skiprows=1 would do, and cost a third of the time
            skiprows=layout.skipped,
            names=layout.names,
            index_col=False,  # no usecols: with it, rows that are too long would be cut in silence
            dtype=dtypes,
            na_values=missing,
            keep_default_na=False,
            skipinitialspace=has_spaces,
            encoding=encoding,
            decimal=layout.decimal,
            thousands=layout.thousands,
            chunksize=options.rows_of_chunk(len(layout.names)),
            low_memory=False,
            **exact,
        )

    try:
        yield from _chunks(source, layout, options, parse)
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        reason = str(error).replace("Error tokenizing data. C error: ", "").strip()
        hint = f"is the delimiter {layout.delimiter!r} right, and quotes closed?"
        raise DataError(f"{source.name}: {reason}; {hint}") from error


def _chunks(source: Source, layout: Layout, options: Options, parse: Callable) -> Iterator[Table]:
    """The kinds of the columns from a first look, then one chunk after the other."""
    columns = Columns.chosen(layout.names, options, source.name)
    kinds = columns.set_kinds(options)
    undecided = [] if options.text else [name for name in columns.features if name not in kinds]
    numbers = [*options.missing, *NO_NUMBER]
    if undecided:
        sample = next(parse(dict.fromkeys(layout.dates, "str"), numbers))
        kinds |= {name: _kind_of(sample[name].dtype) for name in undecided}
        kinds |= {
            name: NUMERIC for name in layout.dates if name in undecided and are_dates(sample[name].dropna().unique())
        }
        del sample
    kinds = {name: kinds.get(name, CATEGORICAL) for name in columns.features}
    categorical = [name for name in columns.features if kinds[name] == CATEGORICAL and not options.text]
    dictionaries = {
        name: Dictionary(name, source.name, options.categories.get(name, ()), options.missing) for name in categorical
    }
    missing = {name: numbers if kinds.get(name) == NUMERIC else list(options.missing) for name in layout.names}
    as_text = dict.fromkeys([*options.keep, *([options.text] if options.text else [])], "str")
    dates = tuple(name for name in layout.dates if kinds.get(name) == NUMERIC)
    coded = dict.fromkeys([*categorical, *([columns.target] if columns.target else [])], "category")
    source.start()
    first_row, line = 0, layout.skipped + layout.has_header + 1
    for chunk in parse(dict.fromkeys(dates, "str") | coded | as_text, missing):
        if first_row == 0 and chunk.index.nlevels > 1:
            raise DataError(f"{source.name}: rows have more cells than line {line - 1}; is the delimiter right?")
        for name in as_text:
            if name in coded:
                chunk[name] = chunk[name].astype("category")
        table = _table(chunk, columns, kinds, dictionaries, options, source.name, first_row, line)
        yield replace(table, dates=dates)
        first_row += len(chunk)
    if first_row == 0:
        raise DataError(f"{source.name} has no rows")


def _table(
    chunk, columns: Columns, kinds, dictionaries, options: Options, file: str, first_row: int, line: int
) -> Table:
    import pandas as pd

    kept = {name: chunk[name].astype(object).fillna("").astype(str).tolist() for name in options.keep}
    y = None if columns.target is None else labels_of(*_coded(chunk[columns.target]), options)
    if options.text:
        texts = pd.DataFrame({"text": chunk[options.text].fillna("").astype(object)})
        return Table(texts, y, ("text",), {}, first_row, columns.target, kept)
    X = {}
    for name in columns.features:
        if kinds[name] == NUMERIC:
            X[name] = _numbers(chunk[name], file, first_row + line, options)
        else:
            X[name] = dictionaries[name].encode(*_coded(chunk[name]))
    return Table(pd.DataFrame(X, copy=False), y, columns.features, kinds, first_row, columns.target, kept)


def _kind_of(dtype: Any) -> str:
    import pandas as pd

    return NUMERIC if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype) else CATEGORICAL


def _coded(column: Any) -> tuple[Any, Any]:
    return column.cat.codes.to_numpy(), column.cat.categories.tolist()


def _numbers(column: Any, file: str, first_line: int, options: Options) -> Any:
    if _kind_of(column.dtype) == NUMERIC:
        return column.to_numpy(dtype="float64", na_value=float("nan"))
    return numbers_of_texts(column, column.name, file, first_line, options.bad_cells)
