"""Parquet by pyarrow, one batch of rows at a time."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from .streams import Source
from .table import CATEGORICAL, NUMERIC, Columns, DataError, Dictionary, Options, Table, labels_of, numbers_of_texts

MICROSECONDS = 86_400_000_000.0  # of a day


def tables(source: Source, format: str, options: Options) -> Iterator[Table]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = None
    if source.path is None or source.is_compressed or source.size is None:  # the format needs to seek: a copy on disk
        file: Any = tempfile.TemporaryFile()  # noqa: SIM115
        shutil.copyfileobj(source.start(), file)
        file.seek(0)
    else:
        path = os.fspath(source.path)
        file = pa.OSFile(path)
    with file:
        try:
            footer = None if path is None else footer_of(path)
            parquet = pq.ParquetFile(file, metadata=footer, read_dictionary=_coded_columns(options))
            schema = parquet.schema_arrow
            if options.columns is None and (index := _index_of(schema, options)):
                warnings.warn(
                    f"{source.name}: {', '.join(map(repr, index))} is pandas' index and left out", stacklevel=2
                )
                options = replace(options, ignore=[*options.ignore, *index])
            columns = Columns.chosen(schema.names, options, source.name)
            chosen = columns.set_kinds(options)
            kinds = {name: chosen.get(name) or _kind_of(schema.field(name).type) for name in columns.features}
            dictionaries = {
                name: Dictionary(name, source.name, options.categories.get(name, ()), options.missing)
                for name in columns.features
                if kinds[name] == CATEGORICAL
            }
            dates = tuple(name for name, kind in kinds.items() if kind == NUMERIC and _is_date(schema.field(name).type))
            first_row = 0
            wanted = list(
                dict.fromkeys([*([options.text] if options.text else columns.all), *options.keep, *_target(columns)])
            )
            if options.whole:
                groups = range(parquet.num_row_groups) if options.row_groups is None else options.row_groups
                found = parquet.read_row_groups(list(groups), wanted, use_threads=False).combine_chunks()
                batches = iter(found.to_batches())
            else:
                batches = parquet.iter_batches(options.rows_of_chunk(len(wanted)), columns=wanted)
            for batch in batches:
                table = _table(batch, columns, kinds, dictionaries, options, source.name, first_row)
                yield replace(table, dates=dates)
                first_row += batch.num_rows
                source.seen = (source.size or 0) * first_row // parquet.metadata.num_rows
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{source.name}: not a readable Parquet file ({str(error)[:200]})") from error
        if first_row == 0:
            raise DataError(f"{source.name} has no rows")


def footer_of(path: str) -> Any:
    """What a file says of its row groups; kept for a while, since every block of the file asks for it."""
    about = os.stat(path)
    return _footer(path, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=4)
def _footer(path: str, size: int, changed: int) -> Any:
    import pyarrow.parquet as pq

    return pq.read_metadata(path)


def _table(batch: Any, columns: Columns, kinds, dictionaries, options: Options, file: str, first_row: int) -> Table:
    import pandas as pd

    y = None if columns.target is None else _labels(batch.column(columns.target), options)
    kept = {name: _texts(batch.column(name)) for name in options.keep}
    if options.text:
        frame = pd.DataFrame({"text": pd.Series(_texts(batch.column(options.text)), dtype=object)})
        return Table(frame, y, ("text",), {}, first_row, columns.target, kept)
    X: dict[str, Any] = {}
    for name in columns.features:
        column = batch.column(name)
        if kinds[name] == NUMERIC:
            X[name] = _numbers(column, name, file, first_row + 1, options)
        else:
            X[name] = dictionaries[name].encode(*_coded(column))
    return Table(pd.DataFrame(X, copy=False), y, columns.features, kinds, first_row, columns.target, kept)


def _kind_of(type_: Any) -> str:
    import pyarrow.types as types

    is_numeric = types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_)
    return NUMERIC if is_numeric or _is_date(type_) else CATEGORICAL


def _is_date(type_: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_date(type_) or types.is_timestamp(type_))


def _coded(column: Any) -> tuple[Any, Any]:
    import pyarrow as pa

    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    return _codes_and_values(column.cast(pa.string()).dictionary_encode())


def _labels(column: Any, options: Options) -> Any:
    """Labels of a column; as it is stored where that is a dictionary of texts, of which some need not occur."""
    return labels_of(*_codes_of_labels(column), options)


def _codes_of_labels(column: Any) -> tuple[Any, Any]:
    import pyarrow as pa

    is_coded = isinstance(column, pa.DictionaryArray) and pa.types.is_string(column.type.value_type)
    return _codes_and_values(column) if is_coded else _coded(column)


def _codes_and_values(encoded: Any) -> tuple[Any, Any]:
    return encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), encoded.dictionary.to_pylist()


def _numbers(column: Any, name: str, file: str, first_row: int, options: Options) -> Any:
    import pyarrow as pa

    try:
        if _is_date(column.type):  # days since 1970, as in text files and frames
            moments = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
            return moments.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False) / MICROSECONDS
        return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except pa.ArrowException as error:
        if options.bad_cells == "missing":
            import pandas as pd

            return numbers_of_texts(pd.Series(column.cast(pa.string()).to_pylist()), name, file, first_row, "missing")
        raise DataError(f"{file}: column {name!r} cannot be read as numeric ({error}); try categorical") from error


def _texts(column: Any) -> list[str]:
    import pyarrow as pa

    return [text or "" for text in column.cast(pa.string()).to_pylist()]


def _coded_columns(options: Options) -> list[str]:
    """The column of labels, where a block is read at once: texts are then read as codes, which takes a quarter of the time."""
    return [options.target] if options.whole and isinstance(options.target, str) else []


def outline(path: str, groups: range, options: Options) -> tuple[int, dict[str, int], frozenset[int]]:
    """(number of rows, how often each label occurs, numbers of the features that have nulls) of groups of rows; the features are not
    read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    options = replace(options, whole=True)
    try:
        with pq.ParquetFile(path, metadata=footer_of(path), read_dictionary=_coded_columns(options)) as file:
            labels: dict[str, int] = {}
            if options.target is not None:
                found = file.read_row_groups(list(groups), [options.target], use_threads=False).combine_chunks()
                codes, values = _codes_of_labels(found.to_batches()[0].column(0))
                counts = np.bincount(codes + 1, minlength=len(values) + 1)[1:].tolist()
                for value, count in zip(values, counts, strict=True):
                    if count and value is not None and value not in options.missing:
                        labels[str(value)] = labels.get(str(value), 0) + count
            about = [file.metadata.row_group(group) for group in groups]
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: not a readable Parquet file ({str(error)[:200]})") from error
    places = {name: j for j, name in enumerate(options.columns or ())}
    columns = [group.column(k) for group in about for k in range(group.num_columns)]
    with_nulls = {column.path_in_schema for column in columns if column.statistics and column.statistics.null_count}
    gaps = frozenset(places[name] for name in with_nulls if name in places)
    return sum(group.num_rows for group in about), labels, gaps


def _target(columns: Columns) -> list[str]:
    return [] if columns.target is None else [columns.target]


def _index_of(schema: Any, options: Options) -> list[str]:
    """Columns that pandas wrote for the index of its frame, unless they are asked for."""
    import json

    found = json.loads((schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    asked = {options.target, options.text, *options.keep, *options.kinds, *options.ignore}
    return [name for name in found if isinstance(name, str) and name in schema.names and name not in asked]
