"""Save and load: what is written comes back; what was damaged or made by an enemy is refused with a clear error."""

import contextlib
import io
import json
import os
import pickle
import signal
import subprocess
import sys
import zipfile
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import BaseEstimator

from suffice.saving import ArchiveError, archive, header, load, names, save

PACKAGE = __name__.split(".")[0]
FUZZ = int(os.environ.get("SUFFICE_FUZZ", "1"))  # `make fuzz` raises it


class Stub(BaseEstimator):
    def __init__(self, loss="ncll", prior: Any = 1.0):
        self.loss = loss
        self.prior = prior

    def predict(self, X):
        return X


@dataclass(frozen=True)
class Moments:
    mass: Any
    first: Any = field(default_factory=lambda: np.zeros(2))


class Shape(NamedTuple):
    n_classes: int
    name: str


class Checked(Stub):
    def _check_loaded(self):
        if self.mass_ < 0:
            raise ValueError("mass_ is negative")


@pytest.fixture(autouse=True)
def own_package(monkeypatch):
    """The classes of this file are known to model files while its tests run."""
    monkeypatch.setattr(names, "_REGISTERED", {})
    for cls in [
        value for value in list(globals().values()) if isinstance(value, type) and value.__module__ == __name__
    ]:
        names.register(cls)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, BaseEstimator):
        return type(a) is type(b) and same(vars(a), vars(b))
    if isinstance(a, Moments):
        return type(a) is type(b) and same(vars(a), vars(b))
    if isinstance(a, np.random.Generator):
        return same(a.bit_generator.state, b.bit_generator.state)
    if sp.issparse(a):
        return type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and same(a.toarray(), b.toarray())
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return all(map(same, a.flat, b.flat)) if a.dtype == object else a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or (a != a and b != b)


def round_trip(value: Any) -> Any:
    buffer = io.BytesIO()
    save(value, buffer)
    buffer.seek(0)
    return load(buffer)


def fitted() -> Stub:
    model = Stub(prior=np.array([1.0, 2.0]))
    model.classes_ = np.array(["ja", "nein"], dtype=object)
    model.feature_names_in_ = np.array(["größe", "w"])
    model.moments_ = Moments(np.array([3.0, 4.0]), np.arange(6.0).reshape(2, 3))
    model.model_ = Shape(2, "gaussian")
    model.history_ = [{"epoch": 1, "nll": float("inf"), "seconds": 0.25}]
    model._rng = np.random.default_rng(3)
    model.n_iter_ = np.int64(7)
    return model


leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | hnp.arrays(
        hnp.scalar_dtypes() | hnp.unicode_string_dtypes() | hnp.byte_string_dtypes(),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
    )
    | hnp.arrays(object, hnp.array_shapes(max_dims=2), elements=st.none() | st.text(max_size=4) | st.floats(width=16))
    | hnp.from_dtype(np.dtype(np.float32))
    | hnp.from_dtype(np.dtype(np.int16))
)
hashable = st.integers() | st.text(max_size=5) | st.tuples(st.integers(), st.text(max_size=3))
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(hashable, inner, max_size=3)
        | st.builds(Moments, inner, inner)
        | st.builds(Stub, prior=inner)
    ),
    max_leaves=8,
)


@settings(max_examples=150 * FUZZ, deadline=None)
@given(values)
def test_round_trip(value):
    model = Stub(prior=value)
    model.value_ = value
    assert same(round_trip(model), model)


def test_round_trip_of_everything_a_fit_may_hold(tmp_path):
    model = fitted()
    model.counts_ = sp.csr_array(np.eye(3))
    model.random_state_ = np.random.RandomState(5)
    model.kinds_ = {"a", "b"}
    model.tables_ = np.array([np.zeros(2), Moments(1)], dtype=object)
    save(model, tmp_path / "m.sfc")
    again = load(tmp_path / "m.sfc")
    assert again.random_state_.random() == model.random_state_.random()
    assert again._rng.random() == model._rng.random()
    del again.random_state_, model.random_state_
    assert same(again, model)
    assert again.moments_.mass.flags.writeable


def test_same_model_is_the_same_bytes_and_shared_arrays_stay_shared():
    model = fitted()
    model.theta_ = model.moments_.first
    first, second = io.BytesIO(), io.BytesIO()
    save(model, first)
    save(model, second)
    assert first.getvalue() == second.getvalue()
    again = round_trip(model)
    assert again.theta_ is again.moments_.first


def test_header_is_readable_without_the_arrays(tmp_path):
    save(fitted(), tmp_path / "m.sfc")
    head = header(tmp_path / "m.sfc")
    assert head["version"] == 1 and head["class"].endswith(":Stub") and head["written_by"]["numpy"] == np.__version__
    assert head["object"]["params"]["loss"] == "ncll"


@pytest.mark.parametrize("value", [lambda x: x, Stub, object(), np.array(["2020"], "M8[D]")[0], np.ma.array([1.0])])
def test_what_cannot_be_saved_is_named_and_leaves_the_old_file(tmp_path, value):
    path = tmp_path / "m.sfc"
    save(fitted(), path)
    before = path.read_bytes()
    model = fitted()
    model.history_ = [{"step": value}]
    with pytest.raises(ArchiveError, match=r"history_\[0\]\['step'\]"):
        save(model, path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["m.sfc"]


def test_cycles_are_refused():
    model = Stub()
    model.me_ = [model]
    with pytest.raises(ArchiveError, match="nested deeper"):
        round_trip(model)


def test_classes_of_other_packages_are_not_saved(monkeypatch):
    monkeypatch.setattr(names, "_REGISTERED", {})
    with pytest.raises(ArchiveError, match="Stub, which cannot be saved"):
        round_trip(Stub())


def written() -> bytes:
    buffer = io.BytesIO()
    save(fitted(), buffer)
    return buffer.getvalue()


def altered(change=lambda head, members: None, **options) -> io.BytesIO:
    """The archive of `fitted()` with header and members changed by an enemy who knows the format."""
    with zipfile.ZipFile(io.BytesIO(written())) as old:
        members = {name: old.read(name) for name in old.namelist()}
    head = json.loads(members.pop("header.json"))
    change(head, members)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", **options) as new:
        new.writestr("header.json", json.dumps(head))
        for name, content in members.items():
            new.writestr(name, content)
    buffer.seek(0)
    return buffer


def test_truncated_anywhere_is_refused(tmp_path):
    content = written()
    for length in [*range(0, len(content), 7), len(content) - 1]:
        with pytest.raises(ArchiveError, match=r"truncated|empty|not a zip"):
            load(io.BytesIO(content[:length]))


def test_flipped_bits_are_refused_or_harmless():
    content, original, n_refused = written(), fitted(), 0
    positions = range(0, len(content), 3)
    for position in positions:
        damaged = bytearray(content)
        damaged[position] ^= 1 << (position % 8)
        try:
            assert same(load(io.BytesIO(bytes(damaged))), original), position
        except ArchiveError:
            n_refused += 1
    assert n_refused > 0.8 * len(positions)


@settings(max_examples=150 * FUZZ, deadline=None)
@given(st.data())
def test_random_damage_never_raises_anything_else(data):
    content = bytearray(written())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        content[start : start + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
    with contextlib.suppress(ArchiveError):
        assert same(load(io.BytesIO(bytes(content))), fitted())


def test_rezipped_with_deflate_still_loads():
    assert same(load(altered(compression=zipfile.ZIP_DEFLATED)), fitted())


def set_version(head, members):
    head["version"] = 99


def other_format(head, members):
    head["format"] = "else"


def no_object(head, members):
    del head["object"]


def foreign_class(head, members):
    head["object"]["class"] = "os:system"


def foreign_class_through_a_module(head, members):
    head["object"]["class"] = f"{__name__}:np.random.RandomState"


def function_as_class(head, members):
    head["object"]["class"] = f"{__name__}:fitted"


def dunder_module(head, members):
    head["object"]["class"] = f"{PACKAGE}.__main__:Stub"


def unknown_class(head, members):
    head["object"]["class"] = f"{__name__}:Newer"


def unknown_parameter(head, members):
    head["object"]["params"]["later"] = 1


def shadowed_method(head, members):
    head["object"]["attributes"]["predict"] = 1


def missing_field(head, members):
    del head["object"]["attributes"]["moments_"]["fields"]["mass"]


def unknown_kind(head, members):
    head["object"]["attributes"]["n_iter_"] = {"$": "_init__"}


def wild_dtype(head, members):
    head["object"]["attributes"]["n_iter_"]["dtype"] = "O"


def deep(head, members):
    nest: list = []
    for _ in range(900):
        nest = [nest]
    head["object"]["attributes"]["n_iter_"] = nest


def pickle_member(head, members):
    members["arrays/0.npy"] = pickle.dumps(print)
    describe(head, members, "arrays/0.npy")


def pickled_npy(head, members):
    buffer = io.BytesIO()
    np.save(buffer, np.array([print], dtype=object), allow_pickle=True)
    members["arrays/0.npy"] = buffer.getvalue()
    describe(head, members, "arrays/0.npy")


def huge_shape(head, members):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)})
    members["arrays/0.npy"] = buffer.getvalue()
    describe(head, members, "arrays/0.npy")
    head["members"]["arrays/0.npy"]["shape"] = [1 << 40]


def wrong_checksum(head, members):
    head["members"]["arrays/0.npy"]["sha256"] = "0" * 64


def wrong_shape(head, members):
    head["members"]["arrays/0.npy"]["shape"] = [5]


def traversal(head, members):
    members["../../evil.py"] = b"x"


def undeclared(head, members):
    members["arrays/77.npy"] = b"x"


def removed(head, members):
    del members["arrays/0.npy"]


def many(head, members):
    for i in range(100, 100 + archive.MAX_MEMBERS):
        members[f"arrays/{i}.npy"] = b""
        describe(head, members, f"arrays/{i}.npy")


def describe(head, members, name):
    content = members[name]
    head["members"].setdefault(name, {"shape": [2], "dtype": "<f8"})
    head["members"][name] |= {"size": len(content), "sha256": archive.hashlib.sha256(content).hexdigest()}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (set_version, "format version 99.*pip install -U suffice"),
        (other_format, "not written by suffice"),
        (no_object, "altered.*object"),
        (foreign_class, "'os:system' is unknown here"),
        (foreign_class_through_a_module, "unknown here"),
        (function_as_class, "unknown here"),
        (dunder_module, "unknown here"),
        (unknown_class, "unknown here.*newer"),
        (unknown_parameter, "no parameter.*later"),
        (shadowed_method, "predict"),
        (missing_field, "fields"),
        (unknown_kind, "unknown kind"),
        (wild_dtype, "dtype"),
        (deep, "nested"),
        (pickle_member, "arrays/0.npy|magic"),
        (pickled_npy, "arrays/0.npy"),
        (huge_shape, "arrays/0.npy"),
        (wrong_checksum, "checksum of arrays/0.npy"),
        (wrong_shape, "arrays/0.npy"),
        (traversal, r"evil.*does not belong"),
        (undeclared, "does not belong"),
        (removed, "missing"),
        (many, "at most"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_hostile_files_are_refused(change, says, tmp_path):
    with pytest.raises(ArchiveError, match=says):
        load(altered(change))


def test_bombs_are_refused():
    def zeros(head, members):
        members["arrays/0.npy"] = bytes(100 << 20)
        describe(head, members, "arrays/0.npy")

    bomb = altered(zeros, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(ArchiveError, match=r"limit.*max_bytes="):
        load(bomb)


def test_a_bomb_that_lies_about_its_size_is_refused():
    def zeros(head, members):
        members["arrays/0.npy"] = bytes(1 << 20)
        describe(head, members, "arrays/0.npy")
        head["members"]["arrays/0.npy"]["size"] = 100

    content = altered(zeros, compression=zipfile.ZIP_DEFLATED).getvalue()
    lying = content.replace((1 << 20).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    assert lying != content
    with pytest.raises(ArchiveError):
        load(io.BytesIO(lying))


def test_a_large_header_is_refused(monkeypatch):
    content = io.BytesIO(written())
    monkeypatch.setattr(archive, "MAX_HEADER", 100)
    with pytest.raises(ArchiveError, match="limits"):
        written()
    with pytest.raises(ArchiveError, match=r"header.json.*limit is 100"):
        header(content)


def test_duplicate_names_are_refused():
    buffer = altered()
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(buffer, "a") as file:
        file.writestr("arrays/0.npy", b"")
    buffer.seek(0)
    with pytest.raises(ArchiveError, match="same name"):
        load(buffer)


def test_a_model_can_check_itself():
    good, bad = Checked(), Checked()
    good.mass_, bad.mass_ = 1.0, -1.0
    assert round_trip(good).mass_ == 1.0
    with pytest.raises(ArchiveError, match="mass_ is negative"):
        round_trip(bad)


def test_missing_files_and_folders_keep_their_own_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.sfc")
    with pytest.raises(FileNotFoundError, match="create it"):
        save(Stub(), tmp_path / "none" / "m.sfc")
    with pytest.raises(OSError, match="not a regular file"):
        save(Stub(), tmp_path)
    with pytest.raises(ArchiveError, match="not a zip"):
        load(io.BytesIO(b"a,b\n1,2\n"))


KILLED = """
import os, sys, numpy as np
from suffice.saving import atomic, names, save
from sklearn.base import BaseEstimator
class M(BaseEstimator): pass
names.register(M)
m = M(); m.big_ = np.ones(2_000_000)
def wait(fd):
    print("writing", flush=True)
    sys.stdin.read()
atomic.os.fsync = wait
save(m, sys.argv[1])
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_killed_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.sfc"
    save(fitted(), path)
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "writing\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(os.listdir(tmp_path)) == 2  # the old file and the unfinished one
    assert same(load(path), fitted())


@pytest.mark.skipif(os.name != "posix", reason="permissions and links")
def test_mode_and_links_are_kept(tmp_path):
    path, link = tmp_path / "m.sfc", tmp_path / "link.sfc"
    save(fitted(), path)
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask
    path.chmod(0o640)
    link.symlink_to(path)
    save(Stub(), link)
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o640 and same(load(path), Stub())
