"""The zip around the tree: members, limits, checksums, the atomic write."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
import platform
import re
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import IO, Any

import numpy as np
import scipy
import sklearn

from .. import __version__
from .atomic import PathOrFile, replacing
from .container import MAX_MEMBERS, Container
from .names import name_of
from .schema import SchemaError
from .tree import ArchiveError, Decoder, Encoder, is_plain_objects

FORMAT = "suffice-model"
VERSION = 1
HEADER = "header.json"
MEMBER_NAME = re.compile(r"arrays/[0-9]{1,6}\.npy|objects/[0-9]{1,6}\.json")
MAX_HEADER = 64 << 20  # bytes
MAX_VALUES = 1_000_000  # of a header: lists and objects take up to a hundred times the bytes that say them
FREE_BYTES = 16 << 20  # that a file may unpack to, however small it is
FLAT = re.compile(rb'\[(?:[^\[\]{}"]|"(?:[^"\\]|\\.)*+")*+\]', re.DOTALL)  # a JSON list of texts and numbers
LARGE = 4 << 20  # bytes of a file whose checksums are made beside the reading
LONGEST_START = 1 << 17  # bytes of an .npy member before its numbers
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    tokenize.TokenError,
    SyntaxError,
    NotImplementedError,
    EOFError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    OverflowError,
    RecursionError,
    RuntimeError,
)


def save(model: Any, path: PathOrFile) -> None:
    """Write an estimator (or a record) to a file that `load` reads: no pickle, written atomically.

    Raises `ArchiveError` naming the attribute that cannot be saved; an older file at `path` then stays as it was.

    Examples
    --------
    >>> import io, suffice
    >>> model = suffice.GaussianNB(loss="nll").fit([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1])
    >>> file = io.BytesIO()  # or a path: "model.sfc"
    >>> suffice.save(model, file)
    """
    unchanged = getattr(model, "_check_unchanged", None)
    if callable(unchanged):
        unchanged()  # or the file would hold a model that its parameters do not describe
    members: dict[str, bytes] = {}
    described: dict[str, dict[str, Any]] = {}

    def put(array: np.ndarray) -> str:
        name, content = _packed(array, len(members))
        members[name] = content
        described[name] = {
            "size": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
            "dtype": array.dtype.str if array.dtype.names is None else str(array.dtype.descr),
            "shape": list(array.shape),
        }
        return name

    tree = Encoder(put).encode(model)
    versions = {"suffice": __version__, "python": platform.python_version()}
    versions |= {library.__name__: library.__version__ for library in (np, scipy, sklearn)}
    head = {
        "format": FORMAT,
        "version": VERSION,
        "class": name_of(type(model)),
        "written_by": versions,
        "object": tree,
        "members": described,
    }
    text = json.dumps(head, allow_nan=False, ensure_ascii=True, separators=(",", ":")).encode()
    if len(text) > MAX_HEADER or len(members) > MAX_MEMBERS or text.count(b",") > MAX_VALUES // 2:
        raise ArchiveError(
            f"the model needs a header of {len(text):,} bytes and {len(members):,} arrays; the limits are "
            f"{MAX_HEADER:,} and {MAX_MEMBERS:,}: keep long lists of numbers as arrays"
        )

    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, content in {HEADER: text, **members}.items():
            archive.writestr(zipfile.ZipInfo(name), content)  # a fixed date: the same model is the same bytes


def load(path: PathOrFile, *, max_bytes: int | None = None) -> Any:
    """Read what `save` wrote. Safe on files from strangers: nothing but this package's own classes is made.

    `max_bytes` limits what is unpacked into memory; the default is 16 MiB plus 20 times the size of the file.

    Examples
    --------
    >>> import io, suffice
    >>> file = io.BytesIO()
    >>> suffice.save(suffice.GaussianNB(loss="nll").fit([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1]), file)
    >>> _ = file.seek(0)
    >>> suffice.load(file).predict([[0.5], [4.5]])
    array([0, 1])
    """
    with _opened(path) as archive:
        limit = _limit_of(archive) if max_bytes is None else max_bytes
        head = _header_of(archive, min(limit, MAX_HEADER))
        arrays = _members_of(archive, head, limit)
        decoder = Decoder(lambda member: arrays[member])
        try:
            return decoder.decode(head["object"])
        except DAMAGE as error:
            raise _placed(error, "".join(decoder.place).lstrip(".")) from error


def header(path: PathOrFile) -> dict[str, Any]:
    """The header alone (class, versions, parameters, members), without reading any array.

    Examples
    --------
    >>> import io
    >>> from suffice import GaussianNB
    >>> from suffice.saving import header, save
    >>> file = io.BytesIO()
    >>> save(GaussianNB(loss="nll").fit([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1]), file)
    >>> _ = file.seek(0)
    >>> header(file)["format"]
    'suffice-model'
    """
    with _opened(path) as archive:
        return _header_of(archive, min(_limit_of(archive), MAX_HEADER))


def _limit_of(archive: Container) -> int:
    return 20 * archive.size + FREE_BYTES


def _packed(array: np.ndarray, number: int) -> tuple[str, bytes]:
    if array.dtype.hasobject:
        return f"objects/{number}.json", json.dumps(array.ravel().tolist(), separators=(",", ":")).encode()
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return f"arrays/{number}.npy", buffer.getvalue()


@contextlib.contextmanager
def _opened(path: PathOrFile) -> Iterator[Container]:
    """The archive; whatever goes wrong inside with a bad file leaves as an ArchiveError."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else "<stream>"
    with contextlib.ExitStack() as stack:
        if isinstance(path, str | os.PathLike):
            file: IO[bytes] = stack.enter_context(open(path, "rb"))
        else:
            file = io.BytesIO(path.read())
        try:
            start = file.read(4)
            if not start.startswith(b"PK"):
                kind = "is empty" if not start else "is not a zip"
                raise ArchiveError(f"the file {kind}: it was not written by suffice.save")
            yield Container(file)
        except SchemaError as error:
            raise ArchiveError(
                f"{name!s}: {error}; the file was altered, or written by another version of suffice"
            ) from error
        except ArchiveError as error:
            raise ArchiveError(f"{name!s}: {error}") from error
        except (*DAMAGE, OSError) as error:
            reason = f"{type(error).__name__}: {error}".rstrip(": ")
            raise ArchiveError(
                f"{name!s}: the file is truncated or altered ({reason[:200]}); copy it again or save the model anew"
            ) from error
        except MemoryError as error:
            raise ArchiveError(f"{name!s}: not enough memory for this model") from error


def _placed(error: Exception, place: str) -> Exception:
    """The error with the field that it is about."""
    if isinstance(error, SchemaError) and not place:
        return error  # it names an attribute of the model
    if isinstance(error, SchemaError | ArchiveError):
        return type(error)(f"{place or 'the model'}: {error}")
    reason = f"{type(error).__name__}: {error}".rstrip(": ")[:200]
    return ArchiveError(
        f"the file is truncated or altered at {place or 'the model'} ({reason}); copy it again or save the model anew"
    )


def _header_of(archive: Container, limit: int) -> dict[str, Any]:
    if HEADER not in archive.members:
        raise ArchiveError(f"it has no {HEADER}: it was not written by suffice.save")
    text = bytes(archive.read(HEADER, limit)[0])
    if zlib.crc32(text) != archive.members[HEADER].CRC:
        raise ArchiveError(f"the checksum of {HEADER} does not match: the file was altered; copy it again")
    if text.count(b",") + text.count(b"[") + text.count(b"{") > MAX_VALUES:
        raise ArchiveError(f"its header has more than {MAX_VALUES:,} values: it was not written by suffice.save")
    head = json.loads(text, parse_constant=_refuse_constant)
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise ArchiveError(f"its header does not say format {FORMAT!r}: it was not written by suffice.save")
    version = head.get("version")
    if type(version) is not int or version < 1:
        raise ArchiveError(f"its format version is {version!r:.40}, not a positive integer: the file was altered")
    if version > VERSION:
        raise ArchiveError(
            f"it has format version {version}; suffice {__version__} reads versions up to {VERSION}: "
            "try `pip install -U suffice`"
        )
    return head


def _refuse_constant(name: str) -> Any:
    raise ArchiveError(f"the header holds the number {name}, which JSON does not have")


def _members_of(archive: Container, head: dict[str, Any], limit: int) -> dict[str, np.ndarray]:
    described = head["members"]
    for name in set(archive.members) - {HEADER}:
        if not MEMBER_NAME.fullmatch(name) or name not in described:
            raise ArchiveError(f"it has a member {name!r:.80} that does not belong into a model file")
    if missing := set(described) - set(archive.members):
        raise ArchiveError(f"the member {sorted(missing)[0]!r:.80} is missing: the file was altered")
    total = sum(info.file_size for info in archive.members.values())
    if total > limit:
        raise ArchiveError(
            f"it unpacks to {total:,} bytes, more than the limit of {limit:,}; if you trust the file, "
            f"load(path, max_bytes={total})"
        )
    with contextlib.ExitStack() as stack:
        beside = stack.enter_context(ThreadPoolExecutor(1)) if total > LARGE else None
        read = {name: _checked(archive, name, described[name], beside) for name in described}
    for name, (_, digest) in read.items():
        if digest.hexdigest() != described[name]["sha256"]:
            raise ArchiveError(f"the checksum of {name} does not match: the file was altered; copy it again")
    most = max(MAX_VALUES, archive.size)  # a list that is not compressed has fewer items than bytes
    return {name: _array(content, name, described[name], most) for name, (content, _) in read.items()}


def _checked(archive: Container, name: str, said: dict[str, Any], beside: Executor | None) -> tuple[memoryview, Any]:
    size = archive.members[name].file_size
    if size != said["size"]:
        raise ArchiveError(f"{name} has {size:,} bytes, the header says {said['size']!r:.40}")
    return archive.read(name, size, beside)


def _array(content: memoryview, name: str, said: dict[str, Any], most: int) -> np.ndarray:
    shape = tuple(said["shape"])
    if any(type(length) is not int or length < 0 for length in shape):
        raise ArchiveError(f"{name} is said to have the shape {shape!r:.80}")
    if name.startswith("objects/"):
        text = bytes(content)
        if text.count(b",") > most:
            raise ArchiveError(f"{name} has more than {most:,} items")
        if not FLAT.fullmatch(text):
            raise ArchiveError(f"{name} holds more than strings and numbers")
        items = np.fromiter(json.loads(text), dtype=object)
        if not is_plain_objects(items):
            raise ArchiveError(f"{name} holds more than strings and numbers")
        return items.reshape(shape)
    return _unpacked(content, name, shape)


def _unpacked(content: memoryview, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The array that an .npy member says, in the bytes of the member themselves: nothing is copied."""
    start = io.BytesIO(content[:LONGEST_START])
    formats = np.lib.format
    version = formats.read_magic(start)
    reader = formats.read_array_header_1_0 if version == (1, 0) else formats.read_array_header_2_0
    actual, is_fortran, dtype = reader(start)
    is_endless = dtype.itemsize == 0 and 0 not in actual  # no bytes, and any number of them
    size = math.prod(actual) * dtype.itemsize
    if dtype.hasobject or is_endless or actual != shape or size != len(content) - start.tell():
        raise ArchiveError(f"{name} is a {dtype} array of shape {actual}, not what the header says: {shape}")
    if version not in ((1, 0), (2, 0)):  # version 3 has names outside latin-1
        return formats.read_array(io.BytesIO(content), allow_pickle=False)
    if len(content) == start.tell():
        return np.zeros(shape, dtype)
    array = np.frombuffer(content, dtype, offset=start.tell()).reshape(shape, order="F" if is_fortran else "C")
    return array if array.flags.aligned else array.copy(order="K")
