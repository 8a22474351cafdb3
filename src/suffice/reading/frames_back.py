"""Values as a frame again: of the library and with the dtypes that came in.

A frame of pandas is remembered by the names of its dtypes and its categories; one of polars or pyarrow by an Arrow file without rows.
Numbers go back into the dtype of their column: whole numbers and truth values are rounded, days become dates.
"""

from __future__ import annotations

import datetime
import io
import warnings
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import narwhals as nw
import numpy as np

from ..saving.schema import require
from .frames import EPOCH, columns_of, is_frame, names_of, plain
from .labels import is_missing

LIBRARIES = ("pandas", "polars", "pyarrow")


@dataclass
class Schema:
    """What a frame was, without its rows."""

    library: str
    names: list = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)  # pandas
    categories: dict[str, list] = field(default_factory=dict)  # pandas: by place of the column
    ordered: list[int] = field(default_factory=list)
    content: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.uint8))  # others: an Arrow file

    def check_stored(self) -> None:
        """What a file must hold (`saving.schema`)."""
        require(self.library in LIBRARIES, f"library must be one of {', '.join(LIBRARIES)}")
        require(all(isinstance(name, str) for name in self.dtypes), "dtypes must be texts")
        require(
            self.library != "pandas" or len(self.names) == len(self.dtypes),
            "names and dtypes must be of the same columns",
        )


def schema_of(X: Any) -> Schema | None:
    """None for a library whose frames cannot be made again here: answers are arrays then."""
    library = nw.get_native_namespace(nw.from_native(X)).__name__
    if library == "pandas":
        dtypes = list(X.dtypes)
        categorical = [place for place, dtype in enumerate(dtypes) if hasattr(dtype, "categories")]
        categories = {str(place): plain(dtypes[place].categories) for place in categorical}
        ordered = [place for place in categorical if dtypes[place].ordered]
        return Schema(library, plain(X.columns), [str(dtype) for dtype in dtypes], categories, ordered)
    if library == "polars":
        file = io.BytesIO()
        X.head(0).write_ipc(file)
        return Schema(library, content=np.frombuffer(file.getvalue(), dtype=np.uint8))
    if library == "pyarrow":
        return Schema(library, content=np.frombuffer(X.schema.serialize().to_pybytes(), dtype=np.uint8))
    return None


def framed(schema: Schema | None, values: np.ndarray) -> Any:
    """Rows (n, d) of numbers and categories as a frame of that schema; as they are without one."""
    if schema is None:
        return values
    try:
        library = import_module(schema.library)
    except ModuleNotFoundError:
        warnings.warn(f"{schema.library} is not installed: rows come as an array and not as its frame", stacklevel=3)
        return values
    if schema.library == "pandas":
        series = {}
        for place, dtype in enumerate(schema.dtypes):
            if dtype == "category":
                is_ordered = place in schema.ordered
                made: Any = library.Categorical(values[:, place], schema.categories[str(place)], is_ordered)
            else:
                made = _pandas_values(values[:, place], _pandas_dtype(dtype))
            series[place] = made
        found = library.DataFrame(series)
        found.columns = schema.names
        return found
    if schema.library == "polars":
        empty = library.read_ipc(io.BytesIO(schema.content.tobytes()))
        columns = [_polars_values(values[:, j], empty.to_series(j)) for j in range(empty.width)]
        return library.DataFrame(columns)
    arrow = library.ipc.read_schema(library.py_buffer(schema.content.tobytes()))
    return library.table([_arrow_values(values[:, j], arrow.field(j).type) for j in range(len(arrow))], schema=arrow)


def as_given(X: Any, values: Any) -> Any:
    """What was filled in, as a frame where X is one."""
    return filled_frame(X, np.asarray(values)) if is_frame(X) and values is not X else values


def filled_frame(X: Any, values: np.ndarray, names: list | None = None) -> Any:
    """The frame with missing cells of the columns `names` (None: all) taken from `values`, a column for each name."""
    every, columns = names_of(X), columns_of(X)
    places = [every.index(name) for name in (every if names is None else names)]
    library = nw.get_native_namespace(nw.from_native(X)).__name__
    if library not in LIBRARIES:
        return values
    if library == "pandas":
        X = X.copy()
    for place, j in enumerate(places):
        holes = columns[j].missing
        if not holes.any():
            continue
        new = values[holes, place]
        if library == "pandas":
            column = X.iloc[:, j].copy()
            column.iloc[np.flatnonzero(holes)] = _pandas_values(new, column.dtype, column)
            X.isetitem(j, column)
        elif library == "polars":
            X = X.with_columns(_polars_filled(X.to_series(j), holes, new))
        else:
            X = X.set_column(j, X.schema.field(j), _arrow_filled(X.column(j), holes, new))
    return X


def _pandas_dtype(name: Any) -> Any:
    """The dtype of that name; a file may be of another version of pandas, or altered."""
    import pandas as pd

    try:
        return pd.api.types.pandas_dtype(name)
    except TypeError as error:
        raise ValueError(
            f"the training frame had a column of dtype {name!r:.60}, which pandas {pd.__version__} does not know"
        ) from error


def _pandas_values(values: np.ndarray, dtype: Any, column: Any = None) -> Any:
    """A pandas array of the dtype; a column of objects says by its own values what they are."""
    import pandas as pd

    if hasattr(dtype, "categories"):
        own = {text: category for text, category in zip(plain(dtype.categories), dtype.categories, strict=True)}
        return pd.Categorical([own.get(value) for value in values.tolist()], dtype=dtype)
    text = str(dtype)
    if "datetime" in text or "timestamp" in text:
        zone = None if getattr(dtype, "tz", None) is None else "UTC"
        return pd.Series(_dates(values)).dt.tz_localize(zone).astype(dtype).array
    if "timedelta" in text or "duration" in text:
        return pd.Series(_durations(values)).astype(dtype).array
    if text == "object" and column is not None:
        example = next((value for value in column if not is_missing(value)), None)
        if isinstance(example, datetime.date):
            found = [EPOCH + datetime.timedelta(days=day) for day in values.tolist()]
            is_time = isinstance(example, datetime.datetime)
            values = np.array([time.replace(tzinfo=None) if is_time else time.date() for time in found], dtype=object)
    if dtype.kind in "iub":
        return pd.Series(_whole(values, dtype)).astype(dtype).array
    return pd.Series(values.tolist(), dtype=object).astype(dtype).array


def _polars_values(values: np.ndarray, column: Any) -> Any:
    import polars as pl

    dtype = column.dtype
    if dtype.is_temporal() and dtype != pl.Time:
        made = pl.Series(column.name, _durations(values) if dtype == pl.Duration else _dates(values))
        if getattr(dtype, "time_zone", None):
            made = made.dt.replace_time_zone("UTC").dt.convert_time_zone(dtype.time_zone)
        return made.cast(dtype)
    if dtype.is_integer() or dtype == pl.Boolean:
        return pl.Series(column.name, _whole(values, dtype)).cast(dtype)
    if dtype.is_numeric():
        return pl.Series(column.name, np.asarray(values, dtype=float)).cast(dtype)
    return pl.Series(column.name, values.tolist(), dtype=pl.String).cast(dtype)


def _polars_filled(column: Any, holes: np.ndarray, values: np.ndarray) -> Any:
    import polars as pl

    places = np.flatnonzero(holes)
    if column.dtype == pl.Categorical:  # as texts: in older versions every series numbers its own categories
        return column.cast(pl.String).scatter(places, values.tolist()).cast(column.dtype)
    return column.clone().scatter(places, _polars_values(values, column))


def _arrow_values(values: np.ndarray, type_: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(type_):
        return pa.array(values.tolist(), type=type_.value_type).dictionary_encode().cast(type_)
    if pa.types.is_timestamp(type_) or pa.types.is_date(type_):
        return pa.array(_dates(values)).cast(type_, safe=False)
    if pa.types.is_duration(type_):
        return pa.array(_durations(values)).cast(type_, safe=False)
    if pa.types.is_integer(type_) or pa.types.is_boolean(type_):
        return pa.array(_whole(values, type_)).cast(type_)
    if pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return pa.array(np.asarray(values, dtype=float)).cast(type_, safe=False)
    return pa.array(values.tolist(), type=type_)


def _arrow_filled(column: Any, holes: np.ndarray, values: np.ndarray) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    column, type_ = column.combine_chunks(), column.type
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    plain_type = type_.value_type if pa.types.is_dictionary(type_) else type_
    plain_column = column.dictionary_decode() if pa.types.is_dictionary(type_) else column
    made = pc.replace_with_mask(plain_column, pa.array(holes), _arrow_values(values, plain_type))
    return made.dictionary_encode().cast(type_) if pa.types.is_dictionary(type_) else made


def _whole(values: np.ndarray, dtype: Any) -> np.ndarray:
    """Whole numbers within the limits of an integer dtype (of any library, by its name); of others 0 or 1."""
    found = np.rint(np.asarray(values, dtype=float))
    name = str(dtype).lower().partition("[")[0]
    if "int" not in name:
        return np.clip(found, 0, 1).astype(bool)
    least, most = (float(limit) for limit in (np.iinfo(name).min, np.iinfo(name).max))
    return np.clip(found, max(least, -(2.0**62)), min(most, 2.0**62)).astype(np.int64)


def _dates(days: np.ndarray) -> np.ndarray:
    return np.rint(np.asarray(days, dtype=float) * 86_400e6).astype(np.int64).astype("datetime64[us]")


def _durations(days: np.ndarray) -> np.ndarray:
    return np.rint(np.asarray(days, dtype=float) * 86_400e6).astype(np.int64).astype("timedelta64[us]")
