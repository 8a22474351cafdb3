"""Objects as trees of JSON values, with arrays set apart in members.

None, booleans, integers, finite floats, strings and lists stand for themselves; all else is `{"$": kind, ...}`. Classes
are written by their names in a table (`suffice.saving.names`): a file cannot name code.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from ..losses import Loss, loss_class
from . import names
from .random import restored
from .schema import check_stored

MAX_DEPTH = 60
PLAIN = (bool, int, float, str)
MAX_KEYS = 100_000  # of a set or dict
MAX_COLLISIONS = 100  # of them with a hash of another: a table with more takes long
PATHS = ("checkpoint", "resume")  # parameters that a file does not bring: the next `fit` would write or read there
SPARSE = {
    ("csr", True): sp.csr_array,
    ("csc", True): sp.csc_array,
    ("csr", False): sp.csr_matrix,
    ("csc", False): sp.csc_matrix,
}


class ArchiveError(ValueError):
    """A model file that cannot be read, or an object that cannot be written.

    Examples
    --------
    >>> import io
    >>> from suffice.saving import ArchiveError, load
    >>> try:
    ...     load(io.BytesIO(b"a text"))
    ... except ArchiveError as error:
    ...     print("not a zip" in str(error))
    True
    """


def class_named(name: str) -> Any:
    """The class of that name in files (`suffice.saving.names`), or an error that says why there is none."""
    found = names.class_named(name) if isinstance(name, str) else None
    if found is None:
        raise ArchiveError(
            f"the class {name!r:.80} is unknown here: was the file written by a newer suffice? try `pip install -U suffice`; a class "
            "of another package must be registered first (`suffice.saving.names.register`)"
        )
    return found


def _is_code(cls: type, name: str) -> bool:
    return hasattr(inspect.getattr_static(cls, name, None), "__get__")  # a method or property


def state_of(estimator: BaseEstimator) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters of the constructor, and everything that fitting added."""
    params = estimator.get_params(deep=False)
    kept = {name: value for name, value in vars(estimator).items() if name not in params}
    return params, {
        name: value for name, value in kept.items() if not name.startswith("_skl_")
    }  # callbacks of scikit-learn


class Encoder:
    """`encode(value)` gives the tree; `put(array)` is called for each distinct array and names its member."""

    def __init__(self, put: Callable[[np.ndarray], str]) -> None:
        self.put = put
        self._seen: dict[int, tuple[np.ndarray, str]] = {}  # holds the array, so that its id stays its own

    def encode(self, value: Any, where: str = "", depth: int = 0) -> Any:
        if depth > MAX_DEPTH:
            raise ArchiveError(f"{where[:200]} is nested deeper than {MAX_DEPTH}: a cycle? it cannot be saved")

        def inner(part: Any, name: str) -> Any:
            return self.encode(part, f"{where}{name}", depth + 1)

        def inner_dict(parts: dict[str, Any]) -> dict[str, Any]:
            return {name: inner(part, f".{name}") for name, part in parts.items()}

        kind = type(value)
        if value is None or kind in (bool, str, int):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"$": "float", "value": repr(value)}
        if kind is list:
            return [inner(part, f"[{i}]") for i, part in enumerate(value)]
        if kind in (tuple, set, frozenset):
            return {"$": kind.__name__, "items": [inner(part, f"[{i}]") for i, part in enumerate(value)]}
        if isinstance(value, dict):
            pairs = [[inner(k, f".key({k!r:.40})"), inner(v, f"[{k!r:.40}]")] for k, v in value.items()]
            return {"$": "dict", "items": pairs}
        if isinstance(value, np.generic) and value.dtype.kind in "biufU" and type(value.item()) in PLAIN:
            return {"$": "scalar", "dtype": value.dtype.str, "value": inner(value.item(), "")}
        if isinstance(value, np.ndarray) and kind in (np.ndarray, np.memmap):
            if not value.dtype.hasobject or is_plain_objects(value):
                return {"$": "array", "member": self._member(value)}
            if value.dtype == object:
                items = [inner(part, f"[{i}]") for i, part in enumerate(value.flat)]
                return {"$": "objects", "shape": list(value.shape), "items": items}
        if (sparse := (getattr(value, "format", None), isinstance(value, sp.sparray))) in SPARSE:
            parts = [inner(getattr(value, name), f".{name}") for name in ("data", "indices", "indptr")]
            return {"$": "sparse", "format": sparse[0], "array": sparse[1], "shape": list(value.shape), "parts": parts}
        if isinstance(value, np.random.Generator):
            return {"$": "random", "legacy": False, "state": inner(value.bit_generator.state, ".state")}
        if isinstance(value, np.random.RandomState):
            return {"$": "random", "legacy": True, "state": inner(value.get_state(legacy=False), ".state")}
        if isinstance(value, Loss):
            if type(value) is not loss_class(value.name):
                raise ArchiveError(f"{where} is a loss of a class that is not registered (`suffice.losses.register`)")
            settings = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
            return {"$": "loss", "name": value.name, "fields": inner_dict(settings)}
        name = names.name_of(kind)
        if name is not None:
            if isinstance(value, BaseEstimator):
                params, attributes = map(inner_dict, state_of(value))
                return {"$": "estimator", "class": name, "params": params, "attributes": attributes}
            own = [field.name for field in fields(value)] if is_dataclass(value) else value._fields
            return {"$": "record", "class": name, "fields": inner_dict({n: getattr(value, n) for n in own})}
        raise ArchiveError(f"{where or 'the object'} is a {kind.__module__}.{kind.__qualname__}, which cannot be saved")

    def _member(self, array: np.ndarray) -> str:
        if id(array) not in self._seen:
            self._seen[id(array)] = array, self.put(np.asarray(array))
        return self._seen[id(array)][1]


def is_plain_objects(array: np.ndarray) -> bool:
    """Whether an object array holds nothing but what JSON gives back as it was."""
    return array.dtype == object and all(
        item is None or type(item) in (str, bool, int) or (type(item) is float and math.isfinite(item))
        for item in array.flat
    )


def _plain_dtype(name: str) -> np.dtype:
    dtype = np.dtype(name)
    if dtype.kind not in "biufU" or dtype.itemsize > 1 << 16:
        raise ArchiveError(f"a number or string cannot have the dtype {name!r:.40}")
    return dtype


class Decoder:
    """`decode(tree)` gives the value; `get(name)` gives the array of a member."""

    def __init__(self, get: Callable[[str], np.ndarray]) -> None:
        self.get = get

    def decode(self, tree: Any, depth: int = 0) -> Any:
        if depth > MAX_DEPTH + 2:
            raise ArchiveError(f"the header is nested deeper than {MAX_DEPTH}")
        if not isinstance(tree, list | dict):
            return tree
        if isinstance(tree, list):
            return [self.decode(part, depth + 1) for part in tree]
        method = getattr(self, f"_{tree.get('$')}", None) if tree.get("$") in KINDS else None
        if method is None:
            raise ArchiveError(f"the header holds an unknown kind {tree.get('$')!r:.60}; try `pip install -U suffice`")
        return method(tree, depth + 1)

    def _float(self, tree: dict[Any, Any], depth: int) -> float:
        return float(tree["value"])

    def _tuple(self, tree: dict[Any, Any], depth: int) -> tuple[Any, ...]:
        return tuple(self.decode(tree["items"], depth))

    def _set(self, tree: dict[Any, Any], depth: int) -> set:
        return set(self._keys(tree["items"], depth))

    def _frozenset(self, tree: dict[Any, Any], depth: int) -> frozenset:
        return frozenset(self._keys(tree["items"], depth))

    def _dict(self, tree: dict[Any, Any], depth: int) -> dict[Hashable, Any]:
        keys = self._keys([key for key, _ in tree["items"]], depth)
        return {key: self.decode(value, depth) for key, (_, value) in zip(keys, tree["items"], strict=True)}

    def _keys(self, items: list[Any], depth: int) -> list[Any]:
        """Items that go into a table by their hashes: not too many, and none made to fall on one place."""
        if len(items) > MAX_KEYS:
            raise ArchiveError(f"a set or dict has {len(items):,} items; at most {MAX_KEYS:,} are allowed")
        keys = self.decode(items, depth)
        if len(keys) - len({hash(key) for key in keys}) > MAX_COLLISIONS:
            raise ArchiveError("keys of a set or dict were made to have the same hash")
        return keys

    def _array(self, tree: dict[Any, Any], depth: int) -> np.ndarray:
        return self.get(tree["member"])

    def _scalar(self, tree: dict[Any, Any], depth: int) -> Any:
        return np.array(self.decode(tree["value"], depth), dtype=_plain_dtype(tree["dtype"]))[()]

    def _objects(self, tree: dict[Any, Any], depth: int) -> np.ndarray:
        array = np.empty(len(tree["items"]), dtype=object)
        for i, item in enumerate(tree["items"]):
            array[i] = self.decode(item, depth)
        return array.reshape(tree["shape"])

    def _sparse(self, tree: dict[Any, Any], depth: int) -> Any:
        matrix = SPARSE[tree["format"], tree["array"]](tuple(self.decode(tree["parts"], depth)), shape=tree["shape"])
        matrix.check_format(full_check=True)
        return matrix

    def _random(self, tree: dict[Any, Any], depth: int) -> np.random.Generator | np.random.RandomState:
        return restored(self.decode(tree["state"], depth), is_legacy=bool(tree["legacy"]))

    def _record(self, tree: dict[Any, Any], depth: int) -> Any:
        cls = class_named(tree["class"])
        values = {name: self.decode(value, depth) for name, value in tree["fields"].items()}
        names = [field.name for field in fields(cls)] if is_dataclass(cls) else list(getattr(cls, "_fields", ()))
        if is_dataclass(cls):  # fields that came after the file was written
            values = {field.name: field.default for field in fields(cls) if field.default is not MISSING} | values
        if set(values) != set(names):
            raise ArchiveError(f"{tree['class']} has the fields {names}, the file {sorted(values)}: another version?")
        if not is_dataclass(cls):
            made = cls(**values)
            check_stored(made)
            return made
        record: Any = object.__new__(cls)  # type: ignore[arg-type]
        for name, value in values.items():
            object.__setattr__(record, name, value)  # as it was saved: __post_init__ may derive or round
        check_stored(record)
        return record

    def _loss(self, tree: dict[Any, Any], depth: int) -> Loss:
        found = loss_class(tree["name"])
        if found is None:
            raise ArchiveError(
                f"the loss {tree['name']!r:.60} is unknown here: import the module that registers it first"
            )
        try:
            return found(**{name: self.decode(value, depth) for name, value in tree["fields"].items()})
        except TypeError as error:
            raise ArchiveError(f"the loss {tree['name']!r} has other settings than the file's: {error}") from error

    def _estimator(self, tree: dict[Any, Any], depth: int) -> BaseEstimator:
        cls = class_named(tree["class"])
        if not issubclass(cls, BaseEstimator):
            raise ArchiveError(f"{tree['class']} is not an estimator")
        known = set(cls._get_param_names())
        if unknown := set(tree["params"]) - known:
            raise ArchiveError(
                f"{tree['class']} has no parameter {sorted(unknown)}: another version of suffice wrote it"
            )
        estimator = cls(
            **{name: self.decode(value, depth) for name, value in tree["params"].items() if name not in PATHS}
        )
        for name, value in tree["attributes"].items():
            if not name.isidentifier() or name.startswith("__") or _is_code(cls, name):
                raise ArchiveError(f"the file sets {tree['class']}.{name:.60}, which is not an attribute of a fit")
            vars(estimator)[name] = self.decode(value, depth)
        check = getattr(estimator, "_check_loaded", None)  # a model's own test of shapes and domains
        if callable(check):
            check()
        return estimator


KINDS = {name[1:] for name in vars(Decoder) if name[0] == "_" and name[1] != "_"}
