"""Checkpoints of long runs: arrays and a JSON header in one file that is always whole.

A file is a zip of `header.json` and one `.npy` member an array (no pickle). It is written beside its destination,
forced to disk, and renamed over it: a process killed at any moment leaves the old checkpoint or the new one, never a
part. Any learner whose state is a dictionary of arrays and a few numbers can use it.
"""

from __future__ import annotations

import io
import json
import os
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

FORMAT = "suffice-checkpoint-1"


def save(path: str | Path, header: dict, arrays: dict[str, np.ndarray]) -> None:
    """Write a checkpoint atomically."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with open(partial, "wb") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr("header.json", json.dumps({"format": FORMAT, **header}))
            for name, array in arrays.items():
                buffer = io.BytesIO()
                np.save(buffer, np.asarray(array), allow_pickle=False)
                archive.writestr(f"{name}.npy", buffer.getvalue())
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)
    _sync_folder(path.parent)


def _remove_leftovers(path: Path) -> None:
    """Partial files of processes that were killed while writing."""
    for leftover in path.parent.glob(f".{path.name}.*.partial"):
        owner = leftover.name.split(".")[-2]
        try:
            os.kill(int(owner), 0)
        except (ValueError, ProcessLookupError):
            leftover.unlink(missing_ok=True)
        except (PermissionError, OSError):
            continue


def _sync_folder(folder: Path) -> None:
    """The rename itself reaches the disk with its folder; not every system allows it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def load(path: str | Path) -> tuple[dict, dict[str, np.ndarray]]:
    """(header, arrays) of a checkpoint; a ValueError says what is wrong with a file that is not one."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"no checkpoint at {path}: give the path that `checkpoint=` wrote to")
    try:
        with zipfile.ZipFile(path) as archive:
            header = json.loads(archive.read("header.json"))
            names = [name for name in archive.namelist() if name.endswith(".npy")]
            arrays = {n[:-4]: np.load(io.BytesIO(archive.read(n)), allow_pickle=False) for n in names}
    except (zipfile.BadZipFile, KeyError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not a suffice checkpoint ({error})") from error
    if header.get("format") != FORMAT:
        raise ValueError(f"{path} has format {header.get('format')!r}; this version reads {FORMAT!r}")
    return header, arrays


class Checkpointer:
    """Writes a checkpoint when `minutes` have passed since the last one."""

    def __init__(self, path: str | Path | None, minutes: float = 3.0):
        self.path, self.seconds, self.last = path, 60 * minutes, time.monotonic()

    def offer(self, state: Callable[[], tuple[dict, dict]], force: bool = False) -> bool:
        """Save `state()` if it is time (or forced); True if a file was written."""
        if self.path is None or not (force or time.monotonic() - self.last >= self.seconds):
            return False
        save(self.path, *state())
        self.last = time.monotonic()
        return True
