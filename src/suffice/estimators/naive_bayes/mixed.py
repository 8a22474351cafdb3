"""Naive Bayes for a table with columns of several kinds."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from ...families.gaussian_diagonal import mean_and_variance
from ...families.mixed import Mixed
from ...families.poisson import rates
from ...families.rows import location_of
from ...reading.guards import naming, refuse_huge
from ...reading.labels import is_missing
from ..classifier import GenerativeClassifier
from .sections import documented

__all__ = ["MixedNB"]

KINDS = ("gaussian", "categorical", "bernoulli", "count")
PLACES = {"gaussian": 0, "categorical": 1, "bernoulli": 1, "count": 2}
MAX_INTEGERS = 20  # an integer column with at most so many distinct values is categorical


@documented
class MixedNB(GenerativeClassifier):
    """Naive Bayes for one table with columns of several kinds: numbers, categories, yes and no, counts.

    Use it for a DataFrame as it comes: no encoding, no scaling, no imputation. A category that was not seen in training is treated
    as missing at prediction, with a warning.

    PARAMETERS
    kinds : dict {column: kind}, list of kinds, one kind or "auto", default="auto"
        "gaussian", "categorical", "bernoulli" (two values) or "count" (Poisson). Columns that are not named are inferred from
        their dtype: texts, objects, categories and booleans are categorical; integers are categorical if they have at most 20
        distinct values, else Gaussian; floats are Gaussian. Counts are never inferred.

    ATTRIBUTES
    kinds_ : dict {column: kind}
    columns_ : list of the columns' names (x0, x1, ... where X has none)
    categories_ : dict {column: list of categories}
    theta_, var_ : dict {column: ndarray of shape (n_classes,)}
        Means and variances of the Gaussian columns.
    category_log_prob_ : dict {column: ndarray of shape (n_classes, n_categories)}
    rate_ : dict {column: ndarray of shape (n_classes,)}
        Expected counts.
    class_log_prior_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> import pandas as pd
    >>> from suffice import MixedNB
    >>> X = pd.DataFrame({"height": [1.9, 1.6, None, 1.7], "hair": ["long", "short", "short", None]})
    >>> model = MixedNB(loss="nll").fit(X, ["a", "b", "b", "a"])
    >>> model.kinds_
    {'height': 'gaussian', 'hair': 'categorical'}
    >>> model.predict(pd.DataFrame({"height": [None], "hair": ["short"]}))
    array(['b'], dtype='<U1')
    """

    def __init__(
        self, kinds="auto", *, loss="ncll", prior="auto", algorithm="auto", step_size=None, max_epochs=100, tol=1e-3,
        average=True, class_prior=None, class_weight=None, unlabelled_weight="auto", random_state=None, verbose=0,
        warm_start=False, n_jobs=None,
    ):  # fmt: skip
        super().__init__(
            loss=loss, prior=prior, algorithm=algorithm, step_size=step_size, max_epochs=max_epochs, tol=tol, average=average,
            class_prior=class_prior, class_weight=class_weight, unlabelled_weight=unlabelled_weight,
            random_state=random_state, verbose=verbose, warm_start=warm_start, n_jobs=n_jobs,
        )  # fmt: skip
        self.kinds = kinds

    # -- rows: columns to numbers, ordered by kind ----------------------------------------------------------------------

    def _validated(self, X, y="no_validation", *, reset):
        """A DataFrame (or array of objects) stays what it is; an array of numbers is checked as by the other classifiers."""
        is_table = hasattr(X, "columns") and hasattr(X, "iloc")
        if not is_table:
            X = np.asarray(X) if not hasattr(X, "toarray") else X
            if getattr(X, "dtype", None) is None or X.dtype.kind not in "OUS" or X.ndim != 2 or not all(X.shape):
                return super()._validated(X, y, reset=reset)
        elif X.shape[0] == 0 or X.shape[1] == 0:
            raise ValueError(f"X has {X.shape[0]} rows and {X.shape[1]} columns: it needs at least one of each")
        if isinstance(y, str):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True)
        with naming("X and y"):
            check_consistent_length(X, y)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X, y

    def _row_options(self):
        return super()._row_options() | {"accept_sparse": False, "dtype": "numeric"}

    def _check_rows(self, X, *, reset):
        columns = columns_of(X)
        if reset:
            names = [str(name) for name in getattr(self, "feature_names_in_", [f"x{j}" for j in range(len(columns))])]
            self.columns_ = names
            self.kinds_ = dict(zip(names, self._find_kinds(names, columns), strict=True))
            places = [PLACES[kind] for kind in self.kinds_.values()]
            self._order = np.argsort(places, kind="stable")
            self.categories_ = {
                name: distinct(column, name) if PLACES[kind] == 1 else []
                for (name, kind), column in zip(self.kinds_.items(), columns, strict=True)
            }
            self.categories_ = {name: values for name, values in self.categories_.items() if values}
        rows = np.empty((X.shape[0], len(columns)))
        unseen = []
        for place, j in enumerate(self._order):
            name = self.columns_[j]
            if self.kinds_[name] in ("categorical", "bernoulli"):
                rows[:, place], n_unseen = coded(columns[j], self.categories_.get(name, []))
                unseen += [name] * bool(n_unseen)
            else:
                rows[:, place] = numbers(columns[j], name, self.kinds_[name])
        if unseen:
            warnings.warn(
                f"columns {unseen[:10]} hold categories that were not seen in training; they are treated as missing",
                stacklevel=4,
            )
        return rows

    def _find_kinds(self, names: list, columns: list) -> list[str]:
        kinds = self.kinds
        if isinstance(kinds, str):
            kinds = {} if kinds == "auto" else dict.fromkeys(names, kinds)
        elif not isinstance(kinds, dict):
            if len(kinds) != len(names):
                raise ValueError(f"kinds has {len(kinds)} entries, but X has {len(names)} columns")
            kinds = dict(zip(names, kinds, strict=True))
        kinds = {str(name): kind for name, kind in kinds.items()}
        for name, kind in kinds.items():
            if name not in names:
                raise ValueError(f"kinds names the column {name!r}, which X does not have: it has {names[:20]!r}")
            if kind not in (*KINDS, "auto"):
                raise ValueError(f"kinds[{name!r}]={kind!r} is not one of {', '.join(map(repr, KINDS))} or 'auto'")
        found = []
        for name, column in zip(names, columns, strict=True):
            kind = kinds.get(name, "auto")
            found.append(inferred(column) if kind == "auto" else kind)
            if kind == "bernoulli" and len(distinct(column, name)) > 2:
                raise ValueError(f"kinds[{name!r}]='bernoulli', but the column has more than two values")
        return found

    def _model(self, X, n_outcomes, codes, weights):
        counts = np.bincount([PLACES[kind] for kind in self.kinds_.values()], minlength=3)
        sizes = [
            max(len(self.categories_.get(self.columns_[j], [])), 1)
            for j in self._order[counts[0] : counts[0] + counts[1]]
        ]
        location = location_of(X[:, : counts[0]])
        return Mixed(n_outcomes, X.shape[1], location, np.array(sizes, dtype=np.int64), int(counts[2]))

    # -- what the model shows -------------------------------------------------------------------------------------------

    def _expose(self, model, moments) -> None:
        named = [self.columns_[j] for j in self._order]
        first, second = model.cuts
        parts, (_, categories, _) = moments.parts, model.models
        mean, variance = mean_and_variance(parts[0])
        self.theta_ = dict(zip(named[:first], (mean + model.location).T, strict=True))
        self.var_ = dict(zip(named[:first], variance.T, strict=True))
        logs = np.log(categories.probabilities(parts[1]))
        blocks = np.split(logs, categories.offset[1:]) if second > first else []
        self.category_log_prob_ = {name: block.T for name, block in zip(named[first:second], blocks, strict=True)}
        self.rate_ = dict(zip(named[second:], rates(parts[2]).T, strict=True))
        self.class_log_prior_ = np.log(moments.mass / moments.mass.sum())

    # -- rows back to columns -------------------------------------------------------------------------------------------

    def _unscaled(self, X, model):
        """Columns in their own order; objects where one is categorical."""
        is_object = any(not isinstance(value, (int, float)) for values in self.categories_.values() for value in values)
        result = np.empty(X.shape, dtype=object if is_object else float)
        for place, j in enumerate(self._order):
            values = self.categories_.get(self.columns_[j])
            if values is None:
                result[:, j] = X[:, place] if PLACES[self.kinds_[self.columns_[j]]] != 1 else np.nan
            else:
                result[:, j] = np.array([*values, None], dtype=object)[:-1][X[:, place].astype(int)]
        return result

    def _unscaled_std(self, std):
        result = np.empty_like(std)
        result[:, self._order] = std
        return result

    def _cells(self, X):
        given = self._validated(X, reset=False)
        return given, self._check_rows(given, reset=False)

    def _filled(self, given, filled):
        if not hasattr(given, "iloc"):
            missing = np.vectorize(is_missing, otypes=[bool])(given)
            return np.where(missing, filled, given)
        given = given.copy()
        for j in range(filled.shape[1]):
            column = given.iloc[:, j]
            if column.isna().any():
                given.isetitem(j, column.where(column.notna(), filled[:, j]))
        return given

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.categorical = tags.input_tags.string = True
        return tags


def columns_of(X) -> list:
    if hasattr(X, "iloc"):
        return [X.iloc[:, j] for j in range(X.shape[1])]
    return [X[:, j] for j in range(X.shape[1])]


def is_number_column(column) -> bool:
    kind = getattr(column.dtype, "kind", "O")
    return kind in "iuf" and not hasattr(column, "cat")


def inferred(column) -> str:
    """The kind of a column, from its dtype."""
    if not is_number_column(column):
        return "categorical"
    if column.dtype.kind in "iu":
        return "categorical" if len(set(present(column))) <= MAX_INTEGERS else "gaussian"
    return "gaussian"


def present(column) -> list:
    """The values of a column that are not missing, as Python objects."""
    if hasattr(column, "cat"):
        return [value for value in column.cat.categories[np.unique(column.cat.codes[column.cat.codes >= 0])]]
    if hasattr(column, "dropna"):
        return column.dropna().unique().tolist()
    return [value for value in column.tolist() if not is_missing(value)]


def distinct(column, name: str) -> list:
    """Sorted categories (by their text if they are of several types)."""
    values = set(present(column))
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))


def coded(column, categories: list) -> tuple[np.ndarray, int]:
    """Codes (NaN where missing or unseen), and how many were unseen."""
    place = {value: float(code) for code, value in enumerate(categories)}
    if hasattr(column, "cat"):
        table = np.array([place.get(value, -1.0) for value in column.cat.categories] + [np.nan])
        codes = table[np.asarray(column.cat.codes)]
    else:
        values = column.tolist()
        codes = np.fromiter(
            (np.nan if is_missing(value) else place.get(value, -1.0) for value in values), float, len(values)
        )
    unseen = codes < 0
    codes[unseen] = np.nan
    return codes, int(unseen.sum())


def numbers(column, name: str, kind: str) -> np.ndarray:
    try:
        values = (
            column.to_numpy(dtype=float, na_value=np.nan)
            if hasattr(column, "to_numpy")
            else np.array([np.nan if is_missing(value) else float(value) for value in column])
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name!r} is {kind} but holds values that are not numbers ({error})") from None
    if np.isinf(values).any():
        raise ValueError(
            f"column {name!r} of X contains infinity: only finite numbers and missing cells (NaN) are allowed"
        )
    with naming(f"column {name!r} of X"):
        refuse_huge(values)
    if kind == "count" and (values < 0).any():
        raise ValueError(f"column {name!r} is of counts, but its smallest value is {np.nanmin(values)}")
    return values
