"""What scikit-learn's contract asks of every estimator: X and y checked, tags, a line a pass, checkpoints of long fits."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_consistent_length, check_X_y, column_or_1d, validate_data

from ..learners.watch import Journal, Watch
from ..reading.frames import columns_of, is_frame, names_of, numbers_of
from ..reading.frames_back import framed, schema_of
from ..reading.guards import all_moderate, naming, refuse_huge
from ..reading.labels import is_missing
from ..reading.sparse import checked_sparse
from ..saving.checkpoints import Keeper, digest
from .callbacks import Callbacks
from .habits import Habits

NO_LABELS = "no_validation"
# what may differ between the fit that wrote a checkpoint and the one that resumes from it
FREE = ("checkpoint", "checkpoint_minutes", "resume", "verbose", "n_jobs", "warm_start", "callback", "max_minutes")
# what a fitted model is built with: to change one of them takes another `fit`
BUILT = (
    "n_components", "family", "covariance", "covariance_type", "n_topics", "inference", "n_states", "topology", "transitions", "start",
    "has_end", "hidden", "data", "with_labels",
)  # fmt: skip


class Contract(Callbacks, Habits):
    """A base of estimators with the parameters verbose, checkpoint, checkpoint_minutes and resume."""

    verbose: int
    checkpoint: Any
    checkpoint_minutes: float
    resume: Any
    random_state: Any
    prior: Any  # a number or "auto"; so are the next two
    max_iter: Any
    max_epochs: Any
    _stream: Any
    get_params: Any
    _schema: Any = None  # what X was in `fit`, where it was a frame
    _free: tuple[str, ...] = ()  # more parameters that may differ
    _outer: Any = None  # the observer of the fit that this one is a part of, where it is

    def _note_built(self) -> None:
        """Remember what the model was built with."""
        self._built_with = {name: repr(getattr(self, name)) for name in BUILT if hasattr(self, name)}

    def _check_unchanged(self) -> None:
        """Raise where a parameter was set to something else after the model was built with it."""
        for name, before in getattr(self, "_built_with", {}).items():
            if repr(getattr(self, name)) != before:
                raise ValueError(
                    f"{name}={getattr(self, name)!r:.80}, but the model was fitted with {name}={before:.80}: call `fit` to change it"
                )

    def _watch(self, *data: Any, kept: tuple | None = None) -> Watch:
        """The observer of a fit on these arrays; `kept` is (checkpoint, resume) where they are not the estimator's own."""
        if self._outer is not None:
            return self._outer
        checkpoint, resume = (self.checkpoint, self.resume) if kept is None else kept
        if not (isinstance(self.checkpoint_minutes, (int, float, np.number)) and self.checkpoint_minutes >= 0):
            raise ValueError(f"checkpoint_minutes={self.checkpoint_minutes!r} is not a number >= 0")
        report = self._reporting(self._report if self.verbose else None)
        if checkpoint is None and resume in (None, False):
            return Watch(report)
        parameters = self.get_params(deep=False).items()
        identity = {name: _identity_of(value) for name, value in parameters if name not in (*FREE, *self._free)}
        identity = {
            "estimator": type(self).__name__,
            **identity,
            "data": digest(*(part for table in data for part in parts_of(table))),
        }
        return Watch(report, Keeper(checkpoint, self.checkpoint_minutes, resume, identity, Journal()))

    def _fit_seed(self, watch: Watch) -> int:
        """The seed of a fit; the same one when it resumes, whatever `random_state` is."""
        return watch.once(lambda _: int(check_random_state(self.random_state).randint(2**31 - 1)))

    def _report(self, number: int, line: dict[Any, Any]) -> None:
        """Print what a pass came to."""
        parts = [f"{type(self).__name__} pass {number}: objective {line['objective']:.6g}"]
        for name, text in (("accuracy", "accuracy {:.4f}"), ("gap", "gap {:.3g}")):
            if np.isfinite(line.get(name, np.nan)):
                parts.append(text.format(line[name]))
        parts.append(f"{line['seconds']:.1f} s")
        print(", ".join(parts), flush=True)

    def _validated(self, reader: Any, X: Any, y: Any = NO_LABELS, *, reset: bool) -> Any:
        """X (and y, if given) for a reader, with missing cells; columns' number and names are learned or compared."""
        X = table_of(X) if reader.takes_frames else X
        if reset:
            self._schema = schema_of(X) if is_frame(X) else None
        if reader.takes_frames and is_table(X):
            return self._validated_table(X, y, reset=reset)
        options = {"accept_sparse": reader.takes_sparse, "order": "C", "ensure_all_finite": "allow-nan"}
        with naming("X"):
            dtype = "numeric" if reader.takes_frames else np.float64
            return checked_numbers(self, without_na(X), y, reset=reset, dtype=dtype, **options)

    def _validated_table(self, X: Any, y: Any, *, reset: bool) -> Any:
        if X.shape[0] == 0 or X.shape[1] == 0:
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

    def _framed(self, rows: np.ndarray) -> Any:
        """Rows as a frame of the library that X was of in `fit`; an array where it was one."""
        return framed(getattr(self, "_schema", None), rows)

    def _column_names(self) -> list[str] | None:
        """Names of the columns, where X had some."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def _tagged(self, tags: Any, reader: Any) -> Any:
        """scikit-learn's tags of rows that the reader takes."""
        tags.input_tags.sparse = bool(reader.takes_sparse)
        tags.input_tags.allow_nan = reader.takes_missing
        tags.input_tags.positive_only = reader.is_positive
        tags.input_tags.categorical = reader.has_categories
        tags.input_tags.string = reader.takes_frames
        return tags


def checked_numbers(estimator: Any, X: Any, y: Any = NO_LABELS, *, reset: bool, **options: Any) -> Any:
    """scikit-learn's `validate_data`, and no number too large to compute with; of a frame the names are checked by it and the cells
    read by us, so that the library of the frame does not matter."""
    if not is_frame(X) or has_sparse_columns(X):
        with naming("X"):
            found = validate_data(estimator, checked_sparse(X), y, reset=reset, **options)
        refuse_huge(found[0] if isinstance(found, tuple) else found)
        return found
    rows = numbers_of(X, type(estimator).__name__)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    options["estimator"] = estimator
    if is_tame := all_moderate(rows):  # finite as well: one look at the cells instead of two
        options["ensure_all_finite"] = False
    found = check_array(rows, **options) if isinstance(y, str) else check_X_y(rows, y, **options)
    if not is_tame:
        refuse_huge(rows)
    return found


def without_na(X: Any) -> Any:
    """X with NaN in the place of None and pandas NA in an array of objects."""
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2:
        X = np.where(np.vectorize(is_missing, otypes=[bool])(X), np.nan, X) if X.size else X
    return X


def has_sparse_columns(X: Any) -> bool:
    """pandas' sparse columns, which scikit-learn makes a sparse matrix of."""
    return hasattr(X, "iloc") and any(type(dtype).__name__ == "SparseDtype" for dtype in X.dtypes)


def table_of(X: Any) -> Any:
    """Frames and matrices as they are, anything else as an array; lists of rows with texts as objects, so that numbers stay numbers."""
    if is_frame(X) or hasattr(X, "toarray"):
        return X
    found = np.asarray(X)
    return np.array(X, dtype=object) if found.dtype.kind in "US" and not isinstance(X, np.ndarray) else found


def is_table(X: Any) -> bool:
    """A frame, or an array of objects or texts."""
    if is_frame(X):
        return True
    return getattr(X, "dtype", None) is not None and X.dtype.kind in "OUS" and X.ndim == 2 and all(X.shape)


def parts_of(X: Any) -> list[Any]:
    """What a digest is made of: the columns of a frame, or the array."""
    if not is_frame(X):
        return [X]
    columns = columns_of(X)
    return [np.array(names_of(X), dtype=object), *(c.codes if c.numbers is None else c.numbers for c in columns),
            *(np.array(c.values, dtype=object) for c in columns if c.values is not None)]  # fmt: skip


def _identity_of(value: Any) -> str:
    """What two equal parameters have in common, whatever process they are of."""
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return type(value).__name__
    value = value.item() if isinstance(value, np.generic) else value
    return digest(value) if isinstance(value, np.ndarray) else repr(value)
