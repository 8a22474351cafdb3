"""Where a data file is: in the folder `SUFFICE_DATA`, in our cache, or at its public source."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

TIMEOUT = 60  # seconds a server may keep silent
UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".xz": lzma.decompress,
    ".gz": gzip.decompress,
}  # by the end of a file's name


class DataNotFound(FileNotFoundError):
    """A data file is neither on this machine nor could it be downloaded."""


def data_folder() -> Path | None:
    """The folder `SUFFICE_DATA` names, if it is set."""
    named = os.environ.get("SUFFICE_DATA")
    return Path(named).expanduser() if named else None


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "suffice"


def find(file: str, urls: Sequence[str] = (), md5: str | None = None, hint: str = "") -> Path:
    """The path of `file` ("text/r8-train-stemmed.txt"; `.xz` or `.gz` may be appended), downloaded if need be."""
    folders = [folder for folder in (data_folder(), cache_folder()) if folder is not None]
    for folder in folders:
        for ending in UNPACK:
            if (folder / f"{file}{ending}").is_file():
                return folder / f"{file}{ending}"
    problems = []
    for url in urls:
        try:
            ending = Path(url).suffix
            return download(url, cache_folder() / (file + (ending if ending in UNPACK else "")), md5)
        except (OSError, ValueError) as problem:
            problems.append(f"{url}: {problem}")
    looked = " and ".join(str(folder) for folder in folders)
    tried = "".join(f"\n  tried {problem}" for problem in problems)
    advice = "Put it (plain, .xz or .gz) there, or set SUFFICE_DATA to a folder that has it."
    raise DataNotFound(f"{file} is not in {looked}{tried}\n  {advice} {hint}".rstrip())


def download(url: str, target: Path, md5: str | None = None) -> Path:
    """Fetch `url` to `target`; a half-finished or altered file is never left there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    digest = hashlib.md5(usedforsecurity=False)
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as response, part.open("wb") as out:
            while block := response.read(1 << 20):
                digest.update(block)
                out.write(block)
        if md5 is not None and digest.hexdigest() != md5:
            raise ValueError(f"the file's md5 is {digest.hexdigest()}, expected {md5}")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return target


def read_bytes(path: Path) -> bytes:
    return UNPACK.get(path.suffix, bytes)(path.read_bytes())


def content(file: str, urls: Sequence[str] = (), md5: str | None = None, hint: str = "") -> bytes:
    """What is in `file`, unpacked, wherever `find` finds it."""
    return read_bytes(find(file, urls, md5, hint))


def read_lines(path: Path) -> list[str]:
    return read_bytes(path).decode("utf-8").splitlines()
