"""CSV and TSV by pandas' C parser (chosen by measurement, see docs/decisions-io.md)."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from typing import Any

from .streams import Source
from .table import CATEGORICAL, NUMERIC, Columns, DataError, Dictionary, Options, Table, labels_of


def tables(source: Source, format: str, options: Options) -> Iterator[Table]:
    import pandas as pd

    delimiter, names, has_header = _layout(source, format, options)
    columns = Columns.chosen(names, options, source.name)
    encoding = "utf-8-sig" if source.peek(3) == codecs.BOM_UTF8 else options.encoding
    has_spaces = f"{delimiter} ".encode() in source.peek(1 << 16)  # skipping them costs a quarter of the time

    def parse(dtypes: dict[str, str]) -> Any:
        return pd.read_csv(
            io.BufferedReader(source, 1 << 20),
            sep=delimiter,
            header=0 if has_header else None,  # skiprows=1 would do, and cost a third of the time
            names=names,
            index_col=False,  # no usecols: with it, rows that are too long would be cut in silence
            dtype=dtypes,
            na_values=list(options.missing),
            keep_default_na=False,
            skipinitialspace=has_spaces,
            encoding=encoding,
            chunksize=options.chunk_rows,
            low_memory=False,
        )

    try:
        kinds = columns.set_kinds(options)
        if undecided := [name for name in columns.features if name not in kinds]:
            sample = next(parse({}))
            kinds |= {name: _kind_of(sample[name].dtype) for name in undecided}
            del sample
        kinds = {name: kinds[name] for name in columns.features}
        categorical = [name for name in columns.features if kinds[name] == CATEGORICAL]
        dictionaries = {
            name: Dictionary(name, source.name, options.categories.get(name, ()), options.missing)
            for name in categorical
        }
        source.start()
        first_row = 0
        for chunk in parse(dict.fromkeys([*categorical, *([columns.target] if columns.target else [])], "category")):
            X = {}
            for name in columns.features:
                if kinds[name] == NUMERIC:
                    X[name] = _numbers(chunk[name], source.name, first_row + has_header + 1)
                else:
                    X[name] = dictionaries[name].encode(*_coded(chunk[name]))
            y = None if columns.target is None else labels_of(*_coded(chunk[columns.target]), options.missing)
            yield Table(pd.DataFrame(X, copy=False), y, columns.features, kinds, first_row, columns.target)
            first_row += len(chunk)
        if first_row == 0:
            raise DataError(f"{source.name} has no rows")
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        reason = str(error).replace("Error tokenizing data. C error: ", "").strip()
        raise DataError(f"{source.name}: {reason}; is the delimiter {delimiter!r} right, and quotes closed?") from error


def _layout(source: Source, format: str, options: Options) -> tuple[str, list[str], bool]:
    """Delimiter, names of the columns, whether the first line holds them."""
    start = source.peek(1 << 20).decode(options.encoding, errors="replace").removeprefix("\ufeff")
    line = start.partition("\n")[0].rstrip("\r")
    delimiter = options.delimiter or ("\t" if format == "tsv" else max(",;", key=line.count))
    try:
        lines = csv.reader(io.StringIO(start), delimiter=delimiter, skipinitialspace=True)
        cells = [cell.strip() for cell in next(lines)]
        second = next(lines, [])
    except (csv.Error, StopIteration, TypeError) as error:
        raise DataError(f"{source.name}: the first lines cannot be split by {delimiter!r} ({error})") from error
    if any(second[len(cells) :]):
        raise DataError(f"{source.name}: line 2 has {len(second)} cells, line 1 {len(cells)}; is the delimiter right?")
    has_header = options.header
    if has_header is None:
        has_header = len(set(cells)) == len(cells) and not any(
            cell in options.missing or _is_number(cell) for cell in cells
        )
    if not has_header:
        return delimiter, [f"x{i}" for i in range(len(cells))], False
    if repeated := sorted({cell for cell in cells if cells.count(cell) > 1}):
        raise DataError(
            f"{source.name}: the header names column {repeated[0]!r} twice; rename one, or use header=False"
        )
    return delimiter, cells, True


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _kind_of(dtype: Any) -> str:
    import pandas as pd

    return NUMERIC if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype) else CATEGORICAL


def _coded(column: Any) -> tuple[Any, Any]:
    return column.cat.codes.to_numpy(), column.cat.categories.tolist()


def _numbers(column: Any, file: str, first_line: int) -> Any:
    import pandas as pd

    if _kind_of(column.dtype) == NUMERIC:
        return column.to_numpy(dtype="float64", na_value=float("nan"))
    numbers = pd.to_numeric(column.astype(object), errors="coerce") if column.dtype != bool else column * float("nan")
    bad = (numbers.isna() & column.notna()).to_numpy()
    if bad.any():
        i = int(bad.argmax())
        raise DataError(
            f"{file}: line {first_line + i}, column {column.name!r} holds {column.iloc[i]!r:.40}, but the column is "
            f"read as numeric; give kinds={{{column.name!r}: 'categorical'}} (--categorical), or name it in missing="
        )
    return numbers.to_numpy(dtype="float64")
