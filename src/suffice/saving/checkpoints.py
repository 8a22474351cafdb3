"""Checkpoints of long fits: the journal of a fit (`suffice.learners.watch`) in one file that is always whole.

A file is an archive as models are saved in: no pickle, checksums, written beside its destination and renamed over it, so a process
killed at
any moment leaves the old checkpoint or the new one. It also says of what it is: parameters, a digest of the rows, versions. A fit that
resumes from the checkpoint of another one is refused by name.
"""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .. import __version__
from . import archive


@dataclass
class Checkpoint:
    identity: dict[str, Any]
    done: dict[str, Any] = field(default_factory=dict)
    under_way: dict[str, Any] = field(default_factory=dict)


def digest(*tables: Any) -> str:
    """Of arrays, sparse matrices, data frames and lists of texts."""
    found = hashlib.sha256()
    for table in tables:
        if sparse.issparse(table):
            parts = [table.indptr, table.indices, table.data]
        elif hasattr(table, "columns") and hasattr(table, "to_numpy"):
            parts = [
                np.asarray(table.columns, dtype=object),
                *(table.iloc[:, j].to_numpy() for j in range(table.shape[1])),
            ]
        else:
            parts = [] if table is None else [np.asarray(table)]
        for part in parts:
            array = np.ascontiguousarray(part)
            found.update(f"{array.dtype.str}{array.shape}".encode())
            found.update(repr(array.tolist()).encode() if array.dtype.hasobject else array.data)
    return found.hexdigest()[:16]


class Keeper:
    """Writes the journal to `path` when `minutes` have passed since it was last written; begins with that of `resume`.

    `resume` is the path of a checkpoint, or True: `path`, if there is one yet.
    """

    def __init__(self, path: Any, minutes: float, resume: Any, identity: dict[str, Any], journal: Any):
        self.path, self.seconds, self.last = path, 60.0 * float(minutes), time.monotonic()
        self.identity, self.journal = {**identity, "suffice": __version__}, journal
        if resume is True:
            resume = path if path is not None and os.path.exists(path) else None
        if resume is not None and resume is not False:
            self._recall(resume)
        if path is not None:
            folder = Path(path).absolute().parent
            if not folder.is_dir() or not os.access(folder, os.W_OK):
                raise ValueError(
                    f"checkpoint={os.fspath(path)!r} cannot be written: the folder does not exist or is read-only"
                )

    def _recall(self, path: Any) -> None:
        found = archive.load(path, max_bytes=1 << 40)
        if not isinstance(found, Checkpoint):
            raise ValueError(f"resume={os.fspath(path)!r} is a {type(found).__name__} and not a checkpoint of a fit")
        different = [name for name in self.identity if found.identity.get(name) != self.identity[name]]
        if different:
            raise ValueError(
                f"resume={os.fspath(path)!r} is the checkpoint of another fit: {', '.join(different)} differ "
                f"({different[0]} was {found.identity.get(different[0])!r:.80}, is {self.identity[different[0]]!r:.80})"
            )
        self.journal.done, self.journal.under_way = found.done, found.under_way

    def is_due(self) -> bool:
        return self.path is not None and time.monotonic() - self.last >= self.seconds

    def write(self) -> None:
        if self.path is not None:
            archive.save(Checkpoint(self.identity, self.journal.done, self.journal.under_way), self.path)
            self.last = time.monotonic()
