"""What a stored class says of its fields, and the check of it: no object of a file is used before its fields are what they say.

A class declares rules in `stored_as`, a dict {field: rule}; rules of base classes hold too. A field without a rule is held to its
annotation (int, float, bool, str, np.ndarray, tuple, list, dict, and None where it is allowed). `check_stored()`, where a class has it,
says what fields must be to each other. A rule is one or several of these, with " | " between them:

    none   bool   str   any                     of that kind
    int a..b    number a..b                     within limits, either may be left out; "(a.." leaves out a itself
    float[n, 3, *]    int[*] a..b               an array: dimensions are fields of the same object, numbers, or * (any); finite
    float?[n]                                   an array in which NaN may stand
    'one' 'other'                               one of these texts
    list of RULE    tuple of RULE               every item
"""

from __future__ import annotations

import math
import re
import types
import typing
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np

ARRAY = re.compile(r"(float\??|int)\[([^\]]*)\]\s*(\S*)")
LIMITS = re.compile(r"(\()?([-+.\deinf]*?)\.\.([-+.\deinf]*)")


class SchemaError(ValueError):
    """A field is not what its class says it is."""


def check_stored(record: Any) -> None:
    """Raise a SchemaError that names the field, where a stored object is not what its class declares."""
    kind: Any = type(record)
    for name, rule in rules_of(kind).items():
        if not fulfils(getattr(record, name), rule, record):
            raise SchemaError(f"{kind.__name__}.{name} must be {rule}, and is {described(getattr(record, name))}")
    own = getattr(record, "check_stored", None)
    if callable(own):
        own()


def require(condition: Any, message: str) -> None:
    """Raise a SchemaError with this message unless the condition holds."""
    if not condition:
        raise SchemaError(message)


@cache
def rules_of(kind: type) -> dict[str, str]:
    """{field: rule} of a class."""
    found: dict[str, str] = {}
    names = [field.name for field in fields(kind)] if is_dataclass(kind) else list(getattr(kind, "_fields", ()))
    try:
        hints = typing.get_type_hints(kind)
    except Exception:  # a name that exists for type checkers only
        hints = {}
    for name in names:
        rule = rule_of(hints.get(name, Any))
        if rule != "any":
            found[name] = rule
    for base in reversed(kind.__mro__):
        found |= {name: rule for name, rule in vars(base).get("stored_as", {}).items() if name in names}
    return found


def rule_of(hint: Any) -> str:
    """The rule that an annotation says."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        parts = {rule_of(part) for part in typing.get_args(hint)}
        return "any" if "any" in parts else " | ".join(sorted(parts))
    origin = typing.get_origin(hint) or hint
    known = {
        int: "int", float: "number", bool: "bool", str: "str", type(None): "none", np.ndarray: "array", tuple: "tuple", list: "list",
        dict: "dict",
    }  # fmt: skip
    return known.get(origin, "any")


def fulfils(value: Any, rule: str, record: Any) -> bool:
    """Whether a value is what a rule says."""
    return any(_fulfils_one(value, part.strip(), record) for part in rule.split(" | "))


def _fulfils_one(value: Any, rule: str, record: Any) -> bool:
    for kind, words in ((list, "list of "), (tuple, "tuple of ")):
        if rule.startswith(words):
            return type(value) is kind and all(_fulfils_one(part, rule.removeprefix(words), record) for part in value)
    if rule.startswith("'"):
        return isinstance(value, str) and value in re.findall(r"'([^']*)'", rule)
    if found := ARRAY.fullmatch(rule):
        return _is_array(value, found[1], found[2], found[3], record)
    word, _, limits = rule.partition(" ")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return word == "any"  # arrays cannot hold it
    if word == "int":
        return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and _within(value, limits)
    if word == "number":
        is_number = isinstance(value, (int, float, np.integer)) and not isinstance(value, bool)
        return is_number and (not limits or (math.isfinite(value) and _within(value, limits)))
    plain: dict[str, Any] = {
        "none": type(None), "bool": (bool, np.bool_), "str": str, "array": np.ndarray, "tuple": tuple, "list": list, "dict": dict,
    }  # fmt: skip
    return word == "any" or isinstance(value, plain[word])


def _within(value: Any, limits: str) -> bool:
    if not limits:
        return True
    found = LIMITS.fullmatch(limits)
    assert found is not None, limits
    is_open, low, high = found.groups()
    above = not low or (value > float(low) if is_open else value >= float(low))
    return bool(above and (not high or value <= float(high)))


def _is_array(value: Any, kind: str, dimensions: str, limits: str, record: Any) -> bool:
    if type(value) is not np.ndarray:
        return False
    if value.dtype != (np.int64 if kind == "int" else np.float64):
        return False
    wanted = [part.strip() for part in dimensions.split(",")] if dimensions.strip() else []
    if value.ndim != len(wanted):
        return False
    for length, name in zip(value.shape, wanted, strict=True):
        if name != "*" and length != (int(name) if name.isdigit() else getattr(record, name)):
            return False
    if kind == "float" and not np.isfinite(value).all():
        return False
    present = value[~np.isnan(value)] if kind == "float?" else value
    return not present.size or (_within(present.min(), limits) and _within(present.max(), limits))


def described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with shape {value.shape}"
    return f"{value!r:.60}" if isinstance(value, (int, float, str, bool, type(None))) else f"a {type(value).__name__}"
