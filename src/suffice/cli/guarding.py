"""Nothing is destroyed: an output that is also an input is refused before anything is read."""

from __future__ import annotations

import os

from .notices import UsageError


def refuse_overwriting(output: str | None, **inputs: str) -> None:
    """`output` may be no file that is read ("-" is none), and its folder must be there."""
    if output not in (None, "-"):
        assert output is not None
        folder = os.path.dirname(os.path.abspath(output))
        if not os.path.isdir(folder):
            raise UsageError(f"-o {output}: the folder {folder!r} does not exist: create it first")
        if os.path.isdir(output):
            raise UsageError(f"-o {output} is a folder: give the name of a file in it")
    for name, path in inputs.items():
        if output in (None, "-") or path == "-":
            continue
        assert output is not None
        same = os.path.realpath(output) == os.path.realpath(path)
        if same or (os.path.exists(output) and os.path.exists(path) and os.path.samefile(output, path)):
            raise UsageError(f"-o {output} is the {name} itself, which would be overwritten: give another name")
