"""A reader of model files in plain Python (standard library and numpy): docs/file-format.md says what the parts mean.

    python tools/read_model.py model.sfc          # prints the tree
    read_model.read("model.sfc")                  # the object as dicts, lists and arrays

It makes no object of any library: an estimator is {"class", "params", "attributes"}, a record {"class", "fields"}. So a model can be read
after this library is gone. It trusts the file's sizes: for files of strangers use `suffice.load`.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import zipfile
from typing import Any

import numpy as np


def read(path: Any) -> Any:
    """The object in a model file."""
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
        if header["format"] != "suffice-model" or header["version"] != 1:
            raise ValueError(
                f"{path}: format {header['format']!r} version {header['version']} is not one of this reader"
            )
        arrays = {name: member(archive.read(name), name, said) for name, said in header["members"].items()}
    return value(header["object"], arrays)


def member(content: bytes, name: str, said: dict[str, Any]) -> np.ndarray:
    """One array, its checksum compared."""
    if hashlib.sha256(content).hexdigest() != said["sha256"]:
        raise ValueError(f"the checksum of {name} does not match")
    if name.startswith("objects/"):
        return np.array([*json.loads(content), None], dtype=object)[:-1].reshape(said["shape"])
    return np.load(io.BytesIO(content), allow_pickle=False)


def value(tree: Any, arrays: dict[str, np.ndarray]) -> Any:
    """What a tree of the header stands for."""
    if isinstance(tree, list):
        return [value(part, arrays) for part in tree]
    if not isinstance(tree, dict):
        return tree

    def each(parts: dict[str, Any]) -> dict[str, Any]:
        return {name: value(part, arrays) for name, part in parts.items()}

    kind = tree["$"]
    if kind == "float":
        return float(tree["value"])
    if kind == "scalar":
        return np.array(value(tree["value"], arrays), dtype=tree["dtype"])[()]
    if kind == "array":
        return arrays[tree["member"]]
    if kind in ("tuple", "set", "frozenset"):
        return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind](value(tree["items"], arrays))
    if kind == "dict":
        return {value(key, arrays): value(part, arrays) for key, part in tree["items"]}
    if kind == "objects":
        return {"shape": tree["shape"], "items": value(tree["items"], arrays)}
    if kind == "sparse":
        data, indices, indptr = value(tree["parts"], arrays)
        return {"format": tree["format"], "shape": tree["shape"], "data": data, "indices": indices, "indptr": indptr}
    if kind == "random":
        return {"legacy": tree["legacy"], "state": value(tree["state"], arrays)}
    if kind == "loss":
        return {"loss": tree["name"], "fields": each(tree["fields"])}
    if kind == "record":
        return {"class": tree["class"], "fields": each(tree["fields"])}
    if kind == "estimator":
        return {"class": tree["class"], "params": each(tree["params"]), "attributes": each(tree["attributes"])}
    raise ValueError(f"unknown kind {kind!r}")


def shown(part: Any, indent: int = 0) -> None:
    """Print a value as lines."""
    room = "  " * indent
    if isinstance(part, dict):
        for key, inner in part.items():
            is_leaf = not isinstance(inner, dict)
            print(f"{room}{key}:" + (f" {brief(inner)}" if is_leaf else ""))
            if not is_leaf:
                shown(inner, indent + 1)
    else:
        print(f"{room}{brief(part)}")


def brief(part: Any) -> str:
    return f"{part.dtype} array of shape {part.shape}" if isinstance(part, np.ndarray) else f"{part!r:.100}"


if __name__ == "__main__":
    shown(read(sys.argv[1]))
