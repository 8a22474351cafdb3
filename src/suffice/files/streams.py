"""Bytes from a path or standard input: decompressed, counted for the progress bar, and readable twice at the start."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
from pathlib import Path
from typing import IO, Any

from typing_extensions import override

from .table import DataError

COMPRESSIONS: list[tuple[bytes, Any]] = [
    (b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    (b"\xfd7zXZ\x00", lzma.LZMAFile),
    (b"BZh", bz2.BZ2File),
]
COMPRESSED_SUFFIXES = {".gz", ".xz", ".bz2"}


class _Counted(io.RawIOBase):
    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.count = file, 0

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Any) -> int:
        n = self.file.readinto(buffer)  # type: ignore[attr-defined]
        self.count += n
        return n


class Source(io.RawIOBase):
    """A stream of decompressed bytes. What is read before `start()` can be read again after `rewind()`."""

    def __init__(self, path: str | os.PathLike) -> None:
        self.is_stdin = os.fspath(path) == "-"
        self.path = None if self.is_stdin else Path(path)
        self.name = "<stdin>" if self.is_stdin else os.fspath(path)
        if self.path is not None and self.path.is_dir():
            raise DataError(f"{self.name} is a folder: give a file")
        self._file: IO[bytes] = sys.stdin.buffer if self.is_stdin else open(path, "rb", buffering=0)  # noqa: SIM115
        is_plain_file = self.path is not None and self.path.is_file()
        self.size = os.fstat(self._file.fileno()).st_size if is_plain_file else None
        self._counted = _Counted(self._file)
        buffered = io.BufferedReader(self._counted, 1 << 18)
        start = buffered.peek(6)[:6]
        opener = next((opener for magic, opener in COMPRESSIONS if start.startswith(magic)), None)
        self.is_compressed = opener is not None
        self._stream: Any = buffered if opener is None else opener(buffered)
        self.seen = 0  # bytes that a format reads on its own way
        self._head, self._position, self._recording = bytearray(), 0, True

    @property
    def fraction(self) -> float | None:
        """How much of the file has been read; None if its size is unknown."""
        return min(1.0, max(self.seen, self._counted.count) / self.size) if self.size else None

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Any) -> int:
        if self._position < len(self._head):
            piece: bytes = bytes(self._head[self._position : self._position + len(buffer)])
        else:
            try:
                piece = self._stream.read(len(buffer))
            except (EOFError, lzma.LZMAError, OSError, ValueError) as error:
                raise DataError(f"{self.name}: cannot be decompressed ({error}): truncated? copy it again") from error
            if self._recording:
                self._head += piece
        buffer[: len(piece)] = piece
        self._position += len(piece)
        if not self._recording and self._position >= len(self._head) > 0:
            self._head.clear()
            self._position = 0
        return len(piece)

    def peek(self, n_bytes: int) -> bytes:
        """The first bytes, at most `n_bytes`."""
        self.rewind()
        while self._position < n_bytes and self.read(n_bytes - self._position):
            pass
        self.rewind()
        return bytes(self._head[:n_bytes])

    def rewind(self) -> None:
        assert self._recording
        self._position = 0

    def start(self) -> Source:
        """From here on the stream is read once, and nothing is kept."""
        self.rewind()
        self._recording = False
        return self

    @override
    def close(self) -> None:  # readers close what they are given; only `finish` ends this one
        pass

    def finish(self) -> None:
        if not self.is_stdin:
            self._file.close()


def suffix_of(path: str) -> str:
    """The extension without compression: "train.csv.gz" gives ".csv"."""
    suffixes = Path(path).suffixes
    while suffixes and suffixes[-1].lower() in COMPRESSED_SUFFIXES:
        suffixes.pop()
    return suffixes[-1].lower() if suffixes else ""
