"""A model together with how its data were read: what `suffice train` saves, and `predict` needs to read new rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..saving.schema import require
from .dates import clock_times
from .table import CATEGORICAL, NUMERIC, DataError, Table


@dataclass(frozen=True)
class Trained:
    """An estimator, and the columns, categories or vocabulary that turn rows of a file into its input."""

    model: Any
    format: str  # "table", "svmlight", "text", "steps" (of sequences) or "letters" (texts as sequences)
    columns: tuple[str, ...] = ()  # of a table
    kinds: Mapping[str, str] = field(default_factory=dict)
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    vocabulary: np.ndarray | None = None  # of texts: the words, in the order of the model's columns
    target: str | None = None
    zero_based: bool | None = None  # of svmlight
    text_column: str | None = None  # of a table whose texts the model reads
    dates: tuple[str, ...] = ()  # columns that the model takes as dates; files hold days since 1970

    stored_as: ClassVar[dict[str, str]] = {
        "format": "'table' 'svmlight' 'text' 'steps' 'letters'",
        "columns": "tuple of str",
        "dates": "tuple of str",
    }

    def check_stored(self) -> None:
        """What a file must hold: columns, categories and words of the model's own number (`saving.schema`)."""
        n = getattr(self.model, "n_features_in_", None)
        require(hasattr(self.model, "predict") and isinstance(n, int), "the model is not a fitted estimator")
        if self.format == "table":
            require(len(self.columns) == n == len(set(self.columns)), f"{len(self.columns)} columns for a model of {n}")
            require(list(self.kinds) == list(self.columns), "kinds are not those of the columns")
            require(set(self.kinds.values()) <= {NUMERIC, CATEGORICAL}, "kinds must be numeric or categorical")
            require(all(self.kinds.get(name) == NUMERIC for name in self.dates), "dates must be numeric columns")
            named = {name for name, kind in self.kinds.items() if kind == CATEGORICAL}
            require(set(self.categories) == named, "categories are not those of the categorical columns")
            for name, values in self.categories.items():
                texts = isinstance(values, tuple) and all(isinstance(value, str) for value in values)
                require(
                    texts and len(set(values)) == len(values), f"categories of {name!r:.40} must be different texts"
                )
        if self.format == "text":
            words = self.vocabulary
            require(isinstance(words, np.ndarray) and words.shape == (n,), f"the vocabulary must have {n} words")
            found = words.tolist()  # type: ignore[union-attr]
            require(
                all(isinstance(word, str) for word in found) and len(set(found)) == n,
                "the vocabulary must be different words",
            )

    @classmethod
    def of(cls, model: Any) -> Trained:
        """An estimator that was saved from Python, as far as it tells what it was trained on."""
        if isinstance(model, Trained):
            return model
        if not hasattr(model, "predict") or not (hasattr(model, "classes_") or hasattr(model, "committees_")):
            raise DataError(f"the file holds a {type(model).__name__}, not a fitted classifier or regressor")
        names = tuple(map(str, getattr(model, "feature_names_in_", ())))
        names = names or tuple(f"x{i}" for i in range(model.n_features_in_))
        return cls(model, "table", names, dict.fromkeys(names, NUMERIC))

    @property
    def reading_format(self) -> str | None:
        """The format of files that this model reads, where it is one."""
        if self.text_column is not None:
            return None
        return {"table": None, "steps": None, "letters": "text"}.get(self.format, self.format)

    @property
    def is_regressor(self) -> bool:
        """Whether the target is a number with a density."""
        return hasattr(self.model, "log_density")

    @property
    def classes(self) -> np.ndarray:
        return self.model.classes_

    def inputs(self, table: Table) -> Any:
        """The estimator's X for some rows of a file of the same format."""
        if self.format == "text":
            return self._counts(table)
        if self.format == "letters":
            if table.columns != ("text",):
                raise DataError("the model was trained on texts, but this file holds none; try --format text")
            return list(table.X["text"])
        if self.format == "steps":
            return self._steps(table)
        if self.format == "svmlight":
            if not sp.issparse(table.X):
                raise DataError("the model was trained on svmlight data, and this file is not; try --format svmlight")
            return table.X
        return self._frame(table)

    def _steps(self, table: Table) -> Any:
        """A DataFrame of steps: numbers, and texts for categories (None where missing)."""
        if sp.issparse(table.X) or any(name not in table.X for name in self.columns):
            raise DataError(
                f"the model was trained on the columns {', '.join(self.columns[:20])}, which this file lacks"
            )
        X = table.X[list(self.columns)].copy()
        for name in self.columns:
            if self.kinds[name] == CATEGORICAL:
                column = X[name].astype(object)
                X[name] = column.where(column.notna(), None)
        return X

    def _counts(self, table: Table) -> sp.csr_matrix:
        from sklearn.feature_extraction.text import CountVectorizer

        if table.columns != ("text",):
            raise DataError("the model was trained on texts, but this file holds none; try --format text")
        return CountVectorizer(vocabulary=list(self.vocabulary), dtype=np.float64).transform(table.X["text"])  # type: ignore[arg-type]

    def _frame(self, table: Table) -> Any:
        """A float array if all columns are numbers and none a date, codes if all are categories, else the DataFrame."""
        if sp.issparse(table.X) or any(name not in table.X for name in self.columns):
            raise DataError(
                f"the model was trained on the columns {', '.join(self.columns[:20])}, which this file lacks"
            )
        return self.frame_inputs(table.X)

    def frame_inputs(self, frame: Any) -> Any:
        """The estimator's X for a frame that has the columns."""
        X = frame[list(self.columns)]
        if self.dates:
            X = X.assign(**{name: clock_times(X[name]) for name in self.dates})
        kinds = set(self.kinds.values())
        if kinds == {NUMERIC} and not self.dates:
            rows = np.empty(X.shape)  # row by row in memory, as estimators take them
            for j, name in enumerate(self.columns):
                rows[:, j] = X[name].to_numpy(dtype=np.float64, na_value=np.nan)
            return rows
        X = X.assign(**{name: self._known(X[name]) for name in self.columns if self.kinds[name] == CATEGORICAL})
        if kinds == {CATEGORICAL} and not self.is_regressor:
            codes = np.column_stack([X[name].cat.codes for name in self.columns]).astype(np.int64)
            return codes if codes.min(initial=0) >= 0 else np.where(codes < 0, np.nan, codes)
        return X

    def _known(self, column: Any) -> Any:
        """The column with the categories of training; others become missing, with a warning."""
        known = column.cat.set_categories(list(self.categories[column.name]))
        if unseen := set(column.cat.categories) - set(self.categories[column.name]):
            name = sorted(map(str, unseen))[0]
            warnings.warn(
                f"column {column.name!r}: {name!r} was not seen in training; taken as missing",
                UserWarning,
                stacklevel=3,
            )
        return known


def prepared(
    model: Any, tables: Sequence[Table], format: str, max_words: int | None, text_column: str | None = None
) -> Trained:
    """A `Trained` around an unfitted model: columns, categories and vocabulary as the first rows have them."""
    first, last = tables[0], tables[-1]
    if format == "svmlight":
        return Trained(model, "svmlight", zero_based=first.zero_based)
    if format == "text":
        from sklearn.feature_extraction.text import CountVectorizer

        vectorizer = CountVectorizer(max_features=max_words)
        try:
            vectorizer.fit(text for table in tables for text in table.X["text"])
        except ValueError as error:
            raise DataError(f"the texts hold no words ({error})") from error
        words = np.array(vectorizer.get_feature_names_out(), dtype=object)
        return Trained(model, "text", first.columns, {}, {}, words, first.target, None, text_column)
    categories = {
        name: tuple(last.X[name].cat.categories) for name in first.columns if first.kinds[name] == CATEGORICAL
    }
    dates = tuple(name for name in first.dates if name in first.columns) if getattr(model, "takes_dates", False) else ()
    return Trained(model, "table", first.columns, dict(first.kinds), categories, None, first.target, dates=dates)


def stacked(parts: Sequence[Any]) -> Any:
    """Inputs of several chunks as one."""
    if len(parts) == 1:
        return parts[0]
    if sp.issparse(parts[0]):
        return sp.vstack(parts, format="csr")
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    import pandas as pd

    return pd.concat(parts, ignore_index=True)
