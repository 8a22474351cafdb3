"""Forged model files: trees of every stored class, mutated, with checksums that are right.

Shapes, dtypes, values, classes, references and counts are changed at random places. Each file is refused by `load` (an ArchiveError),
or is loaded and then every method works or raises a ValueError, within a second and 200 MB. Run it with NUMBA_BOUNDSCHECK=1.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import json
import re
import resource
import time
import warnings
import zipfile
from typing import Any

import numpy as np
from sklearn.base import is_classifier

import suffice
from attack.cast import Report, main
from attack.models import models
from suffice.files.trained import Trained
from suffice.saving import ArchiveError, load, names, save

SECONDS, MEGABYTES = 1.0, 200
METHODS = (
    "predict", "predict_proba", "predict_joint_log_proba", "score_samples", "impute", "sample_missing", "transform", "filter", "decode",
    "forecast", "predict_component_proba", "reconstruct",
)  # fmt: skip
NUMBERS = (-1, 0, 1, 2, 3, 5, 10**6, 10**9, 2**62, 2**70, -(2**63), 0.5, 1e300, None, "x", True, [], [1, 2])
CELLS = (np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300, 1e-300, 5.0)


class File:
    """A model file in parts that can be changed."""

    def __init__(self, content: bytes) -> None:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            self.head = json.loads(archive.read("header.json"))
            self.members = {name: archive.read(name) for name in archive.namelist() if name != "header.json"}
        self.paths = places(self.head["object"])

    def copy(self) -> File:
        made = copy.copy(self)
        made.head, made.members = copy.deepcopy(self.head), dict(self.members)
        return made

    def array(self, name: str) -> np.ndarray:
        return np.load(io.BytesIO(self.members[name]), allow_pickle=False)

    def put(self, name: str, array: np.ndarray) -> None:
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, array, allow_pickle=False)
        self.members[name] = buffer.getvalue()
        self.head["members"][name]["shape"] = list(array.shape)

    def bytes(self) -> bytes:
        for name, content in self.members.items():
            self.head["members"][name] |= {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, content in {"header.json": json.dumps(self.head).encode(), **self.members}.items():
                archive.writestr(name, content)
        return buffer.getvalue()


def places(tree: Any, path: tuple = ()) -> list[tuple]:
    """The path of every value in a tree."""
    found = [path] if path else []
    parts = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, part in parts:
        found += places(part, (*path, key))
    return found


def at(tree: Any, path: tuple) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def mutate(file: File, generator: np.random.Generator) -> str:
    """Change one thing; what it was."""
    way = generator.choice(
        ["shape", "dtype", "value", "leaf", "leaf", "leaf", "class", "swap", "drop", "member", "length"]
    )
    arrays = [name for name in file.members if name.startswith("arrays/")]
    found = places(file.head["object"])
    path = found[int(generator.integers(len(found)))]
    holder, key = at(file.head["object"], path[:-1]), path[-1]
    if way in ("shape", "dtype", "value"):
        if not arrays:
            return way
        name = arrays[int(generator.integers(len(arrays)))]
        file.put(name, changed(way, file.array(name), generator))
    elif way == "leaf":
        leaves = [p for p in found if not isinstance(at(file.head["object"], p), (dict, list))]
        path = leaves[int(generator.integers(len(leaves)))]
        at(file.head["object"], path[:-1])[path[-1]] = copy.deepcopy(NUMBERS[int(generator.integers(len(NUMBERS)))])
    elif way == "class":
        classes = [p for p in found if p[-1] == "class"]
        path = classes[int(generator.integers(len(classes)))]
        every = list(names._homes())
        at(file.head["object"], path[:-1])["class"] = every[int(generator.integers(len(every)))]
    elif way == "swap":
        other = found[int(generator.integers(len(found)))]
        holder[key] = copy.deepcopy(at(file.head["object"], other))
    elif way == "drop":
        if isinstance(holder, (dict, list)):
            del holder[key]
    elif way == "member":
        members = [p for p in found if p[-1] == "member"]
        if members and arrays:
            at(file.head["object"], members[int(generator.integers(len(members)))][:-1])["member"] = str(
                generator.choice(arrays)
            )
    elif isinstance(holder, list):
        holder.extend(copy.deepcopy(holder[: int(generator.integers(1, 4))]))
    return f"{way} {'.'.join(map(str, path))}"[-160:]


def changed(way: str, array: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    if way == "dtype":
        kind = str(generator.choice(["f4", "i8", "u1", ">f8", "U3", "c16", "?", "M8[s]", "f2"]))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            is_plain = kind != "M8[s]" and array.dtype.kind not in "UM"
            return array.astype(kind) if is_plain else np.zeros(array.shape, kind)
    if way == "value" and array.size and array.dtype.kind in "fiu":
        array = array.copy()
        cell = generator.choice(CELLS) if array.dtype.kind == "f" else generator.choice([0, 100, 10**6, 2**31 - 1])
        array.flat[int(generator.integers(array.size))] = cell
        return array
    ways = [
        lambda a: a[:0], lambda a: a[:-1], lambda a: np.concatenate([a, a]), lambda a: a.T, lambda a: a.ravel(),
        lambda a: a[..., None], lambda a: np.asfortranarray(a), lambda a: np.zeros((50, *a.shape), a.dtype),
        lambda a: a.reshape(-1)[0],
    ]  # fmt: skip
    return np.asarray(ways[int(generator.integers(len(ways)))](np.atleast_1d(array)) if array.size else array)


def use(model: Any) -> str:
    """What goes wrong when everything a model offers is called; "" if nothing does."""
    estimator = model.model if isinstance(model, Trained) else model
    n = getattr(estimator, "n_features_in_", 4)
    n = n if isinstance(n, int) and 0 < n < 100 else 4
    X = np.random.default_rng(1).integers(0, 3, (5, n)).astype(float)
    gaps: Any = X.copy()
    gaps[0, 0] = np.nan
    if isinstance(estimator, suffice.HMMClassifier):
        X, gaps = [X[:3], X[3:]], [gaps[:3], gaps[3:]]
    if isinstance(estimator, (suffice.TextClassifier, suffice.TextTagger)):
        X = gaps = (
            ["the dog", "a new cat"]
            if isinstance(estimator, suffice.TextClassifier)
            else [["the", "dog"], ["a", "new", "cat"]]
        )
    calls = [(name, (gaps if name in ("impute", "sample_missing") else X,), {}) for name in METHODS]
    calls += (
        [
            ("sample", (3,), {"random_state": 0}),
            ("partial_fit", (X, getattr(estimator, "classes_", [0])[:1].repeat(len(X))), {}),
        ]
        if isinstance(getattr(estimator, "classes_", None), np.ndarray)
        else [("sample", (3,), {"random_state": 0}), ("partial_fit", (X,), {})]
    )
    labels = getattr(estimator, "classes_", None)
    labels = (labels[:1].repeat(len(X)),) if isinstance(labels, np.ndarray) and labels.ndim == 1 else ()
    if hasattr(estimator, "committees_"):
        labels, calls = (np.ones(len(X)),), [call for call in calls if call[0] != "partial_fit"]
        calls += [(name, (X,), {}) for name in ("predict_quantiles", "predict_interval", "sample_y", "components")]
    calls += [("sample", (3,), {"random_state": 0}), ("partial_fit", (X, *labels), {}), ("top_words", (), {})]
    calls += [("explain", (X,), {}), ("telling_words", (), {})]
    if is_classifier(estimator) and not labels:  # not fitted any more: a stream begins with labels
        calls = [call for call in calls if call[0] != "partial_fit"]
    for name, arguments, options in calls:
        method = getattr(estimator, name, None)
        if not callable(method):
            continue
        try:
            method(*arguments, **options)
        except (ValueError, NotImplementedError):
            continue
        except Exception as error:
            return f"{name}: {type(error).__name__}: {error}"[:200]
    with contextlib.suppress(ValueError):
        save(model, io.BytesIO())
    return ""


def names_a_field(message: str, file: File) -> bool:
    """Whether a refusal says where: a field, a parameter, a member of the archive, or that it is the model itself."""
    words = set(re.findall(r"[A-Za-z_]\w*", message.partition("; ")[0].partition(" (")[0]))
    known = {key for path in file.paths for key in path if isinstance(key, str)}
    known -= {"$", "class", "fields", "items", "value"}
    return bool(words & known) or "the model" in message or re.search(r"(arrays|objects)/\d", message) is not None


def peak() -> int:
    """The most memory in bytes since the last call."""
    try:
        with open("/proc/self/status") as status:
            most = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) << 10
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        return most
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def tried(file: File, report: Report) -> str:
    """What is wrong with a forged file; "" if nothing is. Its second and 200 MB are those of another go, where the first took more."""
    content = file.bytes()
    for _ in range(2):
        peak()
        before, began = resident(), time.process_time()
        try:
            model = load(io.BytesIO(content))
            reason, outcome = use(model), "loaded"
        except ArchiveError as error:
            reason = "" if names_a_field(str(error), file) else f"the refusal names no field: {error}"[:300]
            outcome = "refused"
        except Exception as error:
            return f"load: {type(error).__name__}: {error}"[:200]
        seconds, grown = time.process_time() - began, (peak() - before) >> 20
        if reason or (seconds <= SECONDS and grown <= MEGABYTES):
            report.count(outcome)
            report.most(seconds, grown)
            return reason
    return f"took {seconds:.1f} s and {grown} MB"


def forge(count: int = 1000, seed: int = 0, first: int = 0) -> Report:
    """`count` files, from the number `first` of the seed on."""
    report = Report("forge")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        files = []
        for model in models():
            buffer = io.BytesIO()
            save(model, buffer)
            files.append(File(buffer.getvalue()))
            if reason := use(load(io.BytesIO(buffer.getvalue()))):
                report.found(f"unchanged {type(model).__name__}", reason)
        for number in range(first, first + count):
            generator = np.random.default_rng([seed, number])
            file = files[number % len(files)].copy()
            told = "; ".join(mutate(file, generator) for _ in range(int(generator.integers(1, 3))))
            where = f"seed {seed} number {number} {file.head.get('class')}: {told}"
            if reason := tried(file, report):
                report.found(where, reason)
    return report


if __name__ == "__main__":
    main(forge, 20_000)
