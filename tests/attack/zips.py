"""Tricks with the zip around a model: bombs, overlaps, duplicates, links, odd names, zip64, encryption, headers that disagree.

Each trick is refused by `load` with an ArchiveError; files with bytes changed at random, and files cut off, are refused or are the same
model. No file takes more than a second and 200 MB.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import time
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import suffice
from attack.cast import Report, main
from attack.forge import MEGABYTES, SECONDS, peak, resident
from attack.signals import learned
from suffice.saving import ArchiveError, header, load, save

LOCAL, CENTRAL, END = "<4s5H3L2H", "<4s6H3L5H2L", "<4s4H2LH"
LARGE = 0xFFFFFFFF


@dataclass
class Entry:
    """A member as it is written; `local` and `central` say what either header says otherwise."""

    name: bytes
    data: bytes
    local: dict[str, Any] = field(default_factory=dict)
    central: dict[str, Any] = field(default_factory=dict)
    after: bytes = b""  # behind its data
    size: int | None = None  # before it was packed

    def header(self, own: dict[str, Any]) -> dict[str, Any]:
        size = len(self.data) if self.size is None else self.size
        said = {"flags": 0, "method": 0, "crc": zlib.crc32(self.data), "packed": len(self.data), "size": size}
        return said | {"name": self.name, "extra": b"", "attributes": 0, "version": 20} | own


def written(
    entries: list[Entry], *, before: bytes = b"", behind: bytes = b"", end: Any = (), comment: bytes = b""
) -> bytes:
    """An archive of the entries, byte by byte."""
    content, places = before, []
    for entry in entries:
        said = entry.header(entry.local)
        places.append(len(content))
        numbers = (said["version"], said["flags"], said["method"], 0, 33, said["crc"], said["packed"], said["size"])
        start = struct.pack(LOCAL, said.get("sign", b"PK\3\4"), *numbers, len(said["name"]), len(said["extra"]))
        content += start + said["name"] + said["extra"] + entry.data + entry.after
    first = len(content)
    for entry, place in zip(entries, places, strict=True):
        said = entry.header(entry.central)
        numbers = (said["version"], 20, said["flags"], said["method"], 0, 33, said["crc"], said["packed"], said["size"])
        lengths = (len(said["name"]), len(said["extra"]), 0, said.get("disk", 0), 0)
        start = struct.pack(CENTRAL, b"PK\1\2", *numbers, *lengths, said["attributes"], said.get("offset", place))
        content += start + said["name"] + said["extra"]
    count, length = len(entries), len(content) - first
    said = {"disk": 0, "here": count, "count": count, "length": length, "offset": first} | dict(end)
    content += behind
    record = (said["disk"], said["disk"], said["here"], said["count"], said["length"], said["offset"], len(comment))
    return content + struct.pack(END, b"PK\5\6", *record) + comment


def entries_of(content: bytes) -> list[Entry]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [Entry(name.encode(), archive.read(name)) for name in archive.namelist()]


def described(entries: list[Entry], **changes: dict[str, Any]) -> list[Entry]:
    """The entries with a header that says of them what is true, and `changes` in its parts."""
    head = json.loads(entries[0].data)
    named = {entry.name.decode(): entry for entry in entries[1:]}
    for name, entry in named.items():
        said = head["members"].setdefault(name, {"dtype": "<f8", "shape": [1]})
        said |= {"size": len(entry.data), "sha256": hashlib.sha256(entry.data).hexdigest()}
    for name, change in changes.items():
        head["members"][name] |= change
    return [Entry(entries[0].name, json.dumps(head).encode()), *entries[1:]]


def npy(text: str, data: bytes = b"", version: tuple[int, int] = (1, 0)) -> bytes:
    """An .npy file with that header."""
    text = text.ljust(117) + "\n"
    size = struct.pack("<H" if version == (1, 0) else "<I", len(text))
    return b"\x93NUMPY" + bytes(version) + size + text.encode() + data


def zip64(*numbers: int) -> bytes:
    return struct.pack(f"<HH{len(numbers)}Q", 1, 8 * len(numbers), *numbers)


def tricks(content: bytes) -> Iterator[tuple[str, bytes]]:
    """(what was done, the file): from a model's file."""

    def fresh() -> list[Entry]:
        return entries_of(content)

    def with_first(**own: Any) -> bytes:
        entries = fresh()
        for name, value in own.items():
            setattr(entries[1], name, value)
        return written(entries)

    names = (
        b"/etc/passwd",
        b"../x",
        b"arrays/../../x",
        b"C:\\x",
        b"link",
        b"arrays/",
        b"arrays/0.npy",
        b"header.json",
        b"arrays/0.npy\0x",
    )
    odd = (
        "ARRAYS/9.NPY",
        "arrays\\9.npy",
        "arrays/9999999.npy",
        "arrays/٣.npy",
        "arrays/9.npy/",
        "./arrays/9.npy",
        "arrays/9.npy ",
    )
    for name in (*names, *(one.encode() for one in odd)):
        yield f"a member {name!r}", written([*fresh(), Entry(name, b"{}")])
        plain = fresh()[1].data
        extra = (
            described([*fresh(), Entry(name, plain, {"flags": 0x800}, {"flags": 0x800})]) if name not in names else None
        )
        if extra:
            yield f"a described member {name!r}", written(extra)
    yield from tricks_of_headers(with_first, fresh)
    yield from tricks_of_places(fresh)
    yield from bombs(fresh)
    for cut in range(1, len(content), max(1, len(content) // 60)):
        yield f"cut off after {cut}", content[:cut]


def tricks_of_headers(with_first: Any, fresh: Any) -> Iterator[tuple[str, bytes]]:
    first = fresh()[1]
    for where in ("local", "central"):
        for what, change in {
            "is encrypted": {"flags": 1}, "is strongly encrypted": {"flags": 0x41}, "is patched": {"flags": 0x20},
            "is masked": {"flags": 0x2000}, "is deflated": {"method": 8}, "is of bzip2": {"method": 12}, "is of lzma": {"method": 14},
            "is of AES": {"method": 99}, "has another name": {"name": b"arrays/7.npy"},
            "has a longer name": {"name": b"arrays/0.npy\0"},
            "has another size": {"size": len(first.data) - 1}, "is packed shorter": {"packed": len(first.data) - 1},
            "is longer": {"size": len(first.data) + 1, "packed": len(first.data) + 1}, "has another sum": {"crc": 1},
            "is 4 GB": {"size": LARGE, "packed": LARGE},
            "is 4 GB, really": {"size": LARGE, "packed": LARGE, "extra": zip64(2**40, 2**40)},
            "is -1 bytes": {"size": LARGE, "packed": LARGE, "extra": zip64(2**64 - 1, 2**64 - 1)},
        }.items():  # fmt: skip
            yield f"the {where} header {what}", with_first(**{where: change})
    for what, change in {
        "is encrypted": {"flags": 1}, "is of bzip2": {"method": 12}, "is a link": {"attributes": 0o120777 << 16},
        "is a pipe": {"attributes": 0o010600 << 16}, "is a folder": {"attributes": 0o040700 << 16}, "is on another disk": {"disk": 1},
    }.items():  # fmt: skip
        yield f"a member {what}", with_first(local=change, central=change)
    yield "no local header", with_first(local={"sign": b"PK\3\5"})
    yield "zip64 offset outside", with_first(central={"offset": LARGE, "extra": zip64(2**50)})
    entries = fresh()
    yield (
        "header.json encrypted",
        written([Entry(b"header.json", entries[0].data, {"flags": 1}, {"flags": 1}), *entries[1:]]),
    )


def tricks_of_places(fresh: Any) -> Iterator[tuple[str, bytes]]:
    one, other = fresh(), fresh()
    other[-1].data = one[-1].data[:-1] + b"\1"
    whole = written(one)
    yield "two models, one behind the other", written(other) + whole
    yield "a model inside the first bytes", written(one, before=b"PK\3\4" + b"hidden")
    yield "a script before", written(one, before=b"#!/bin/sh\n")
    yield "bytes behind", whole + b"hidden"
    yield "a comment", written(one, comment=b"hidden")
    yield "a comment that is an end", written(one, comment=struct.pack(END, b"PK\5\6", 0, 0, 0, 0, 0, 0, 0))
    yield "a gap before the end", written(one, behind=b"hidden")
    yield "other disks", written(one, end={"disk": 1})
    yield "another count", written(one, end={"count": 1, "here": 1})
    yield "no directory", written(one, end={"length": 0, "offset": len(whole) - 22})
    gapped = fresh()
    gapped[1].after = b"hidden bytes"
    yield "a gap between members", written(gapped)
    for what, reach in {"by its own length": 0, "by local extra bytes": 1, "into the directory": 2}.items():
        entries = fresh()
        last = entries[-1]
        if reach == 0:
            last.central = {"offset": 0}
        elif reach == 1:
            inner = described([entries[0], *entries[1:]])
            entries = inner
            entries[1].local = {"extra": struct.pack("<HH", 0x9999, 40) + bytes(40)}
            entries[1].central = {"packed": len(entries[1].data) + 60, "size": len(entries[1].data) + 60}
        else:
            entries[-1].central = entries[-1].local = {"packed": len(last.data) + 40, "size": len(last.data) + 40}
        yield f"a member over another {what}", written(entries)
    entries = fresh()
    inside = written([Entry(b"arrays/9.npy", one[1].data)])
    entries[-1].data += inside[: 42 + len(one[1].data)]
    place = sum(30 + len(entry.name) + len(entry.data) for entry in entries) - len(one[1].data) - 42
    hidden = Entry(
        b"arrays/9.npy",
        b"",
        {},
        {"offset": place, "packed": len(one[1].data), "size": len(one[1].data), "crc": zlib.crc32(one[1].data)},
    )
    made = described([*entries, Entry(b"arrays/9.npy", one[1].data)])
    hidden.central["offset"] += len(made[0].data) - len(entries[0].data)
    yield "a member inside another", written([*made[:-1], hidden])
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, 60, len(whole)) + struct.pack(
        "<4sLQL", b"PK\6\7", 0, 0, 1
    )
    yield "another directory by zip64", written(one, behind=record)


def deflated(entry: Entry, size: int) -> Entry:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    whole = {"method": 8, "crc": zlib.crc32(entry.data)}
    return Entry(entry.name, packer.compress(entry.data) + packer.flush(), whole, whole, size=size)


def bombs(fresh: Any) -> Iterator[tuple[str, bytes]]:
    zeros = Entry(
        b"arrays/0.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (12500000,), }", bytes(100_000_000))
    )
    one = described([fresh()[0], zeros, *fresh()[2:]])
    for size in (len(zeros.data), 1000):
        entries = [one[0], deflated(zeros, size), *one[2:]]
        yield f"100 MB in a few bytes, said to be {size}", written(entries)
    head = fresh()[0]
    for text in (
        b'{"object":' + b"[" * 50_000_000,
        b'{"object":"' + b"x" * 60_000_000 + b'"}',
        b'{"object":' + b"[]," * 20_000_000,
    ):
        bomb = Entry(head.name, text)
        yield f"a header of {text[:12]!r} again and again", written([deflated(bomb, len(text)), *fresh()[1:]])
    yield "300,000 members", many_times(Entry(b"arrays/9.npy", b""), 300_000, fresh())
    for item in (b"1.5,", b'"ab",', b"1,", b"[],", b'"\\u0100",'):
        text = b"[" + item * (16_000_000 // len(item)) + b"0]"
        entries = described(
            [*fresh(), Entry(b"objects/9.json", text)], **{"objects/9.json": {"shape": [text.count(b",") + 1]}}
        )
        entries[-1] = deflated(entries[-1], len(text))
        yield f"a list of {item!r} again and again", written(entries)
    for text in (
        "{'descr': '<U0', 'fortran_order': False, 'shape': (500000000,), }",
        "{'descr': '|V0', 'fortran_order': False, 'shape': (2305843009213693951,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000,), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4611686018427387904), }", "-" * 9000 + "1", "(" * 4000,
        "{'descr': [('a', '<f8', (1000000,))] * 9, 'fortran_order': False, 'shape': (0,), }",
    ):  # fmt: skip
        for version in ((1, 0), (2, 0), (3, 0)):
            shape = [
                int(part) for part in text.partition("(")[2].partition(")")[0].split(",") if part.strip().isdigit()
            ]
            entries = [fresh()[0], Entry(b"arrays/0.npy", npy(text, version=version)), *fresh()[2:]]
            yield f"an array {text[:60]} {version}", written(described(entries, **{"arrays/0.npy": {"shape": shape}}))


def many_times(entry: Entry, count: int, entries: list[Entry]) -> bytes:
    """A directory in which one entry stands again and again."""
    whole = written([*entries, entry])
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        first = archive.start_dir
    directory = whole[first:-22]
    last = directory[directory.rindex(b"PK\1\2") :]
    numbers = (0, 0, 0xFFFF, 0xFFFF, len(directory) + count * len(last), first, 0)
    return whole[:first] + directory + last * count + struct.pack(END, b"PK\5\6", *numbers)


def broken(content: bytes, generator: np.random.Generator) -> bytes:
    """The file with a few of the zip's own bytes changed, or bytes moved, doubled or lost."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        starts = [(info.header_offset, info.header_offset + 30 + len(info.filename)) for info in archive.infolist()]
        starts += [(archive.start_dir, len(content))] * len(starts)
    changed = bytearray(content)
    for _ in range(int(generator.integers(1, 4))):
        first, last = starts[int(generator.integers(len(starts)))]
        place, way = int(generator.integers(first, last)), int(generator.integers(6))
        if way < 3:
            changed[place : place + 1] = bytes([int(generator.choice([0, 1, 8, 255, int(generator.integers(256))]))])
        elif way == 3:
            changed[place : place + 4] = struct.pack("<L", int(generator.choice([0, 1, len(content), LARGE, 2**31])))
        elif way == 4:
            del changed[place : place + int(generator.integers(1, 50))]
        else:
            changed[place:place] = changed[place : place + int(generator.integers(1, 50))]
    return bytes(changed)


def taken(content: bytes, want: Any, report: Report) -> str:
    """What is wrong with a file that is the model `want` or is refused; "" if nothing is."""
    peak()
    before, began = resident(), time.process_time()
    try:
        header(io.BytesIO(content))
        found = load(io.BytesIO(content))
        report.count("the same" if want is not None and learned(found) == want else "another model")
        reason = "" if want is not None and learned(found) == want else "loaded as a model"
    except ArchiveError:
        report.count("refused")
        reason = ""
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"[:200]
    seconds, grown = time.process_time() - began, (peak() - before) >> 20
    report.most(seconds, grown)
    return reason or ("" if seconds <= SECONDS and grown <= MEGABYTES else f"took {seconds:.1f} s and {grown} MB")


def zips(count: int = 1000, seed: int = 0, first: int = 0) -> Report:
    """Every trick, and `count` files with changed bytes, from the number `first` of the seed on."""
    report, buffer = Report("zips"), io.BytesIO()
    model = suffice.GaussianNB(loss="nll", random_state=np.random.RandomState(0)).fit(
        np.arange(12.0).reshape(6, 2), [0, 0, 0, 1, 1, 1]
    )
    save(model, buffer)
    content, want = buffer.getvalue(), learned(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if written(entries_of(content))[:4] != b"PK\3\4" or taken(written(entries_of(content)), want, report):
            report.found("unchanged", "refused")
        for what, made in tricks(content):
            if reason := taken(made, None, report):
                report.found(what, reason)
        for number in range(first, first + count):
            made = broken(content, np.random.default_rng([seed, number]))
            if reason := taken(made, want, report):
                report.found(f"seed {seed} number {number}", reason)
    return report


if __name__ == "__main__":
    main(zips, 20_000)
