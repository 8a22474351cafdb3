"""Save and load models: a zip of a JSON header and .npy members, without pickle in or out.

    header.json      format, version, library versions, the object as a tree (see `tree`), sizes and checksums
    arrays/0.npy     numbers, strings of fixed width
    objects/0.json   object arrays of strings (class labels, column names)

Written stored (not compressed) and atomically: a temporary file in the same folder, fsync, rename, fsync of the folder.
Reading instantiates nothing but the dataclasses, named tuples and estimators of this package. A file that is truncated,
altered, newer or hostile gives an `ArchiveError` that says what is wrong and what to try.
"""

from __future__ import annotations

from .archive import VERSION, header, load, save
from .tree import ArchiveError

__all__ = ["VERSION", "ArchiveError", "header", "load", "save"]
