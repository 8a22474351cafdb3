"""Files that are replaced all at once or not at all."""

from __future__ import annotations

import contextlib
import glob
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TypeAlias

PathOrFile: TypeAlias = str | os.PathLike[str] | IO[bytes]


@contextlib.contextmanager
def replacing(path: PathOrFile) -> Iterator[IO[bytes]]:
    """A file that takes the place of `path` at the end, all at once or not at all."""
    if not isinstance(path, str | os.PathLike):
        yield path
        return
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise OSError(f"{str(path)!r} is not a regular file: give another name to save to")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {str(target.parent)!r} does not exist: create it first")
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.{os.getpid()}.", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode_of(target))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    if os.name == "posix":  # the rename itself reaches the disk with the folder
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def try_path(path: str | os.PathLike[str]) -> None:
    """Raise the OSError that writing to `path` would raise; nothing is left there."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise OSError(f"{str(path)!r} is not a regular file")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {str(target.parent)!r} does not exist")
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.{os.getpid()}.", suffix=".tmp") as file:
        file.write(bytes(4096))
        file.flush()


def _mode_of(target: Path) -> int:
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Delete what processes left beside `path` that were killed while they wrote."""
    target = Path(os.path.realpath(path))
    for leftover in target.parent.glob(f".{glob.escape(target.name)}.*.tmp"):
        with contextlib.suppress(ValueError, OSError):
            if not _is_running(int(leftover.name.split(".")[-3])):
                leftover.unlink()


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
