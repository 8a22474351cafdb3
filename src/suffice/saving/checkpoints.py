"""Checkpoints of long fits: the journal of a fit (`suffice.learners.watch`) in one file that is always whole.

A file is an archive as models are saved in: no pickle, checksums, written beside its destination and renamed over it, so a process
killed at any moment leaves the old checkpoint or the new one. It also says of what it is: parameters, a digest of the rows, versions.
A fit that resumes from the checkpoint of another one is refused by name.
"""

from __future__ import annotations

import hashlib
import io
import os
import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from .. import __version__
from . import archive
from .atomic import remove_leftovers, try_path

MAX_BYTES = 1 << 40  # of a checkpoint: what was written here may be read again


@dataclass
class Checkpoint:
    identity: dict[str, Any]
    done: dict[str, Any] = field(default_factory=dict)
    under_way: dict[str, Any] = field(default_factory=dict)


def load_checkpoint(path: Any, name: str = "checkpoint") -> Checkpoint:
    """The checkpoint at `path`; errors call it by `name`."""
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{name}={os.fspath(path)!r} does not exist: give the path that `checkpoint=` wrote to, or resume=True"
        )
    found = archive.load(path, max_bytes=MAX_BYTES)
    if not isinstance(found, Checkpoint):
        raise ValueError(f"{name}={os.fspath(path)!r} is a {type(found).__name__} and not a checkpoint of a fit")
    return found


def digest(*tables: Any) -> str:
    """Of arrays, sparse matrices, data frames and lists of texts."""
    found = hashlib.sha256()
    for number, table in enumerate(tables):
        found.update(f"table {number}".encode())
        for part in _arrays_of(table):
            array = np.ascontiguousarray(part)
            found.update(f"{array.dtype.str}{array.shape}".encode())
            if array.dtype.hasobject:
                found.update(repr(array.tolist()).encode())
            else:
                found.update(array.view(np.int64).data if array.dtype.kind in "mM" else array.data)
    return found.hexdigest()[:16]


def _arrays_of(table: Any) -> list[Any]:
    if sparse.issparse(table):
        rows = table.tocsr()
        return [np.asarray(rows.shape), rows.indptr, rows.indices, rows.data]
    if hasattr(table, "columns") and hasattr(table, "to_numpy"):
        columns = [table.iloc[:, j].to_numpy() for j in range(table.shape[1])]
        return [np.asarray(table.columns, dtype=object), *columns]
    return [] if table is None else [np.asarray(table)]


class Keeper:
    """Writes the journal to `path` when `minutes` have passed since it was last written; begins with that of `resume`.

    `resume` is the path of a checkpoint, or True: `path`, if there is one yet. Every run that is under way has a clock of its own:
    runs on several threads do not wait for each other.
    """

    path: Any
    seconds: float
    identity: dict[str, Any]
    journal: Any

    def __init__(self, path: Any, minutes: float, resume: Any, identity: dict[str, Any], journal: Any) -> None:
        self.path, self.seconds = path, 60.0 * float(minutes)
        self.last: dict[str, float] = {
            "": time.monotonic()
        }  # when the journal was last written, with each run under way
        self.identity, self.journal = {**identity, "suffice": __version__}, journal
        if path is not None:
            self._check_path()
        if resume is True:
            resume = path if path is not None and os.path.exists(path) else None
        if resume is not None and resume is not False:
            self._recall(resume)

    def _check_path(self) -> None:
        """Write there once before training: a fit of hours must not find out at its end."""
        try:
            try_path(self.path)
        except OSError as error:
            reason = error.strerror or str(error)
            raise ValueError(f"checkpoint={os.fspath(self.path)!r} cannot be written: {reason}") from error
        remove_leftovers(self.path)
        archive.save(Checkpoint(self.identity), io.BytesIO())  # that parameters can be stored is found out here too

    def _recall(self, path: Any) -> None:
        found = load_checkpoint(path, "resume")
        different = [name for name in self.identity if found.identity.get(name) != self.identity[name]]
        if different:
            raise ValueError(
                f"resume={os.fspath(path)!r} is the checkpoint of another fit: {', '.join(different)} differ "
                f"({different[0]} was {found.identity.get(different[0])!r:.80}, is {self.identity[different[0]]!r:.80})"
            )
        self.journal.done, self.journal.under_way = found.done, found.under_way

    def begins(self, name: str) -> None:
        """Start the clock of a run."""
        self.last[name] = time.monotonic()

    def is_due(self, name: str = "") -> bool:
        return self.path is not None and time.monotonic() - self.last[name] >= self.seconds

    def write(self, name: str = "") -> None:
        """Write the journal, of which `name` is news. A full disk or too large a journal costs the checkpoint and not the fit."""
        if self.path is None:
            return
        try:
            archive.save(Checkpoint(self.identity, self.journal.done, self.journal.under_way), self.path)
        except (OSError, archive.ArchiveError) as error:
            warnings.warn(f"checkpoint={os.fspath(self.path)!r} could not be written: {error}", stacklevel=2)
        self.last[""] = self.last[name] = time.monotonic()
