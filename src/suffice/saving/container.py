"""The zip that holds a model: members one behind the other, each as both of its headers say, and nothing else.

A zip says everything twice, beside each member and in the directory at its end, and readers differ in which they believe. Files where
the two differ, in which members lie over each other or anything lies between, before or behind them, are refused before any is read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import struct
import zipfile
from concurrent.futures import Executor
from typing import IO, Any

import numpy as np

from .tree import ArchiveError

MAX_MEMBERS = 10_000
LONGEST_ENTRY = 256  # bytes of a member's entry in the directory
PIECE = 1 << 20
LOCAL = struct.Struct("<4s5H3L2H")
END = struct.Struct("<4s4H2LH")
LONG_END = struct.Struct("<4sQ2H2L4Q4sLQL")  # of a zip64, and where it is
HARMLESS = 0x80E  # flags: how hard it was packed, sizes behind the data, a name in UTF-8
SIZES_BEHIND = 0x8
LONGEST_SIZES = 24  # bytes of the sizes behind the data
LARGE = 0xFFFFFFFF  # a size that stands elsewhere


class Container:
    """A zip whose members can be read; `size` is that of the file."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.size = file, file.seek(0, os.SEEK_END)
        count = self._count()
        self.zip = zipfile.ZipFile(file)
        found = self.zip.infolist()
        self.members = {info.filename: info for info in found}
        if len(self.members) != len(found):
            raise ArchiveError("two members have the same name: the file was altered")
        if len(found) != count:
            raise ArchiveError(
                f"its directory has {len(found):,} members and is said to have {count:,}: the file was altered"
            )
        self._starts: dict[str, int] = {}
        end = 0
        for info in sorted(found, key=lambda info: info.header_offset):
            end = self._end_of(info, end)
        if end != self.zip.start_dir:
            raise ArchiveError("something lies between its members and its directory: the file was altered")

    def _count(self) -> int:
        """How many members the end of the file says that there are: not too many, before an object is made of each."""
        self.file.seek(max(0, self.size - END.size - LONG_END.size))
        tail = self.file.read()
        sign, disk, first_disk, here, count, length, _, comment = END.unpack(tail[-END.size :])
        if sign != b"PK\5\6" or comment:
            raise zipfile.BadZipFile("its end is missing")
        if tail[-END.size - 20 :][:4] == b"PK\6\7":  # sizes beyond 32 bits: zipfile believes these
            sign, _, _, _, disk, first_disk, here, count, length, _, _, _, place, _ = LONG_END.unpack(
                tail[: LONG_END.size]
            )
            if sign != b"PK\6\6" or place != self.size - END.size - LONG_END.size:
                raise zipfile.BadZipFile("its end is not where it says")
        if disk or first_disk or here != count:
            raise zipfile.BadZipFile("it is one of several")
        if count > MAX_MEMBERS + 1 or length > count * LONGEST_ENTRY:
            raise ArchiveError(
                f"it has {count:,} members in a directory of {length:,} bytes; at most {MAX_MEMBERS:,} are allowed"
            )
        return int(count)

    def _end_of(self, info: zipfile.ZipInfo, begin: int) -> int:
        """Where a member ends that begins there."""
        name = info.orig_filename
        if info.flag_bits & 0x1:
            raise ArchiveError(f"{name:.80} is encrypted")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ArchiveError(f"{name:.80} is compressed by a method other than deflate")
        if info.flag_bits & ~HARMLESS or stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG) or info.volume:
            raise ArchiveError(f"{name:.80} is not a plain file: the file was altered")
        self.file.seek(info.header_offset)
        sign, _, flags, method, _, _, *sizes, n_name, n_extra = LOCAL.unpack(self.file.read(LOCAL.size))
        own_name, extra = self.file.read(n_name), self.file.read(n_extra)
        long_sizes = struct.pack("<HHQQ", 1, 16, info.file_size, info.compress_size)
        is_same = sizes == [info.CRC, info.compress_size, info.file_size]
        is_same |= sizes == [info.CRC, LARGE, LARGE] and extra[:20] == long_sizes
        is_same |= bool(flags & SIZES_BEHIND) and sizes in ([0, 0, 0], [0, LARGE, LARGE])
        is_same &= own_name == name.encode() and name == info.filename and sign == b"PK\3\4"
        is_same &= (flags, method) == (info.flag_bits, info.compress_type)
        if not is_same or (method == zipfile.ZIP_STORED and info.compress_size != info.file_size):
            raise ArchiveError(f"{name:.80} is not what the directory of the file says: the file was altered")
        if info.header_offset != begin:
            told = (
                f"{name:.80} and the member before it overlap"
                if info.header_offset < begin
                else f"something lies before {name:.80}"
            )
            raise ArchiveError(f"{told}: the file was altered")
        self._starts[name] = info.header_offset + LOCAL.size + n_name + n_extra
        end = self._starts[name] + info.compress_size
        return end + self._sizes_behind(info, end) if flags & SIZES_BEHIND else end

    def _sizes_behind(self, info: zipfile.ZipInfo, place: int) -> int:
        """How many bytes they take there."""
        self.file.seek(place)
        found = self.file.read(LONGEST_SIZES)
        sizes = info.CRC, info.compress_size, info.file_size
        forms = [b"PK\7\10" + struct.pack("<LQQ", *sizes), struct.pack("<LQQ", *sizes)]
        if max(sizes) <= LARGE:
            forms += [b"PK\7\10" + struct.pack("<LLL", *sizes), struct.pack("<LLL", *sizes)]
        for form in forms:
            if found.startswith(form):
                return len(form)
        raise ArchiveError(f"{info.filename:.80} is not what the sizes behind it say: the file was altered")

    def read(self, name: str, limit: int, beside: Executor | None = None) -> tuple[memoryview, Any]:
        """A member's bytes, never more than `limit`, whatever sizes it declares, and their SHA-256, whole once `beside` has ended.

        The checksum of the zip itself is looked at only where the member is compressed.
        """
        info = self.members[name]
        if info.file_size > limit:
            raise ArchiveError(f"{name:.80} has {info.file_size:,} bytes; the limit is {limit:,}")
        is_plain = info.compress_type == zipfile.ZIP_STORED
        content, total, digest = np.empty(info.file_size, np.uint8).data, 0, hashlib.sha256()
        with contextlib.ExitStack() as stack:
            file: Any = self.file if is_plain else stack.enter_context(self.zip.open(info))
            if is_plain:
                file.seek(self._starts[name])
            while total < info.file_size and (n := file.readinto(content[total : total + PIECE])):
                piece = content[total : total + n]
                if beside:
                    beside.submit(digest.update, piece)
                else:
                    digest.update(piece)
                total += n
            if not is_plain and file.read(1):
                raise ArchiveError(f"{name:.80} has more bytes than the {info.file_size:,} that it declares")
        if total != info.file_size:
            raise ArchiveError(f"{name} ends after {total:,} of {info.file_size:,} bytes: the file was truncated")
        return content, digest
