"""How a classifier of sequences reads them: shapes of X, the family of the steps, labels of sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from ...reading.frames import columns_of, is_frame
from ...reading.guards import naming, refuse_huge
from ...reading.sequences import Sequences, of_padded, sequences_of
from ..contract import without_na
from .families import BernoulliHMM, CategoricalHMM, GaussianHMM, MixedHMM, PoissonHMM

FAMILIES: dict[str, Any] = {
    "gaussian": GaussianHMM,
    "categorical": CategoricalHMM,
    "bernoulli": BernoulliHMM,
    "poisson": PoissonHMM,
    "mixed": MixedHMM,
}


def family_of(given: str, table: Any) -> str:
    """The family that was asked for, or by the columns of the steps: numbers, symbols, or both."""
    if given != "auto":
        return given
    if is_frame(table):
        numbers = [column.is_numeric for column in columns_of(table)]
        return "gaussian" if all(numbers) else "mixed" if any(numbers) else "categorical"
    return "gaussian" if np.asarray(table).dtype.kind in "fiub" else "categorical"


def labels_of(y: Any, steps: Sequences) -> Any:
    """A label for every sequence; one for every row of a frame of steps must be the same within a sequence."""
    n, order = steps.n_sequences, steps.order
    if order is None or len(y) == n or len(y) != steps.n_steps:
        return y
    values = np.asarray(y, dtype=object)[order]
    first = values[steps.offsets[:-1]]
    own = np.repeat(first, steps.lengths)
    same = np.array(
        [a == b or (a is None and b is None) or (a != a and b != b) for a, b in zip(values, own, strict=True)]
    )
    if not same.all():
        k = int(np.searchsorted(steps.offsets, np.flatnonzero(~same)[0], side="right")) - 1
        raise ValueError(f"y has more than one label in sequence {k}: all steps of a sequence have its label")
    array = np.asarray(y)
    return first if array.dtype == object else array[order][steps.offsets[:-1]]


def no_sequence(rows: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """(N,) of bool: sequences without an observed cell."""
    seen = np.concatenate([[0], np.cumsum(~np.isnan(rows).all(axis=1))])
    return seen[offsets[1:]] == seen[offsets[:-1]]


def grouped(groups: Any, n: int) -> np.ndarray:
    """(n,) codes of the groups."""
    found = np.asarray(groups)
    if found.shape != (n,):
        raise ValueError(f"groups has shape {found.shape}; it must have one entry for each of the {n} sequences")
    return np.unique(found.astype(str) if found.dtype == object else found, return_inverse=True)[1].astype(np.int64)


class ReadSequences:
    """A mixin of HMMClassifier."""

    family: str
    family_: str
    covariance_type: str
    kinds: Any
    binarize: Any
    sequence: Any
    time: Any
    n_features_in_: int
    _stored_model: Any
    _takes_series: bool
    _validated: Any  # Contract's
    _column_names: Any

    def _one_hmm(self, n_states: int, **more: Any) -> Any:
        """An unfitted model of one class."""
        family = getattr(self, "family_", self.family)
        kind = FAMILIES.get(family, GaussianHMM)  # an unknown one is refused by `fit`
        own = {"gaussian": "covariance_type", "bernoulli": "binarize", "mixed": "kinds"}.get(family)
        return kind(n_states, **({own: getattr(self, own)} if own else {}), **more)

    def _reader(self) -> Any:
        return self._one_hmm(1)._reader()

    def _sequences(self, X: Any, lengths: Any, *, reset: bool) -> Sequences:
        """X in any of its shapes; what is read already is as it is."""
        if isinstance(X, Sequences):
            return X
        if hasattr(X, "toarray"):
            raise TypeError("X is a sparse matrix: sequences are dense, give X.toarray()")
        is_frame = hasattr(X, "iloc") and hasattr(X, "columns")
        if not is_frame and (
            not isinstance(X, (list, tuple)) or (reset and lengths is None and is_table_of_numbers(X))
        ):
            X = np.asarray(X)
        is_flat = lengths is None and (self.sequence is None if is_frame else isinstance(X, np.ndarray) and X.ndim == 2)
        is_many = isinstance(X, (list, tuple)) or is_frame or X.ndim == 3 or (X.ndim == 1 and X.dtype == object)
        if lengths is None and not is_flat and not is_many:
            raise ValueError(
                f"X is an array with {X.ndim} dimensions of {X.dtype}. Reshape your data: X.reshape(1, -1) is one series of single "
                "numbers; a list has an entry for each sequence"
            )
        if reset:
            self._takes_series = bool(is_flat)
        if not is_flat:
            return sequences_of(X, lengths, self.sequence, self.time)
        return self._series(X, reset=reset)

    def _series(self, X: Any, *, reset: bool) -> Sequences:
        """Rows of a table as series of single values."""
        is_text = has_texts(np.asarray(X))
        if self._takes_series:
            with naming("X"):
                checked = validate_data(
                    self, without_na(X), reset=reset, skip_check_array=is_text,
                    **({} if is_text else {"dtype": np.float64, "ensure_all_finite": "allow-nan"}),
                )  # fmt: skip
            X = checked
        values = np.asarray(X, dtype=object if is_text else float)
        if not is_text:
            refuse_huge(values)
        found = of_padded(values[:, :, None])
        return Sequences(found.table, found.offsets, "list")

    def _read(self, reader: Any, steps: Sequences, *, reset: bool) -> np.ndarray:
        """(n, D) array: the steps as the emissions take them."""
        if not steps.n_steps and not reset:
            return np.zeros((0, self._stored_model.n_features))
        if not steps.n_steps:
            raise ValueError("X has no steps: at least one sequence needs one")
        table = self._read_table(reader, steps, reset=reset)
        rows = (
            reader.learn(table, None if self._takes_series else self._column_names()) if reset else reader.rows(table)
        )
        return np.ascontiguousarray(rows, dtype=float)

    def _read_table(self, reader: Any, steps: Sequences, *, reset: bool) -> Any:
        if not self._takes_series:
            return self._validated(reader, steps.table, reset=reset)
        if steps.table.shape[1] != 1:
            raise ValueError(f"X has {steps.table.shape[1]} columns; the model was fitted on series of single values")
        if not reader.takes_frames:
            refuse_huge(table := np.asarray(steps.table, dtype=float))
            return table
        return steps.table


def is_table_of_numbers(X: Any) -> bool:
    """A list of rows of single numbers, all of the same length."""
    kinds = (int, float, np.number)
    rows = len(X) > 1 and all(isinstance(row, (list, tuple)) and len(row) == len(X[0]) > 0 for row in X)
    return rows and all(isinstance(value, kinds) for row in X for value in row)


def has_texts(values: np.ndarray) -> bool:
    """Whether an array holds symbols and not numbers."""
    return values.dtype.kind in "US" or (
        values.dtype == object and any(isinstance(value, str) for value in values.ravel())
    )
