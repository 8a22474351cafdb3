"""A progress bar on standard error if that is a terminal; nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def _nothing(fraction: float | None, note: str = "") -> None:
    pass


@contextmanager
def progress(title: str) -> Iterator[Callable[[float | None, str], None]]:
    """`update(fraction, note)`; a fraction of None is work of unknown length."""
    if not sys.stderr.isatty():
        yield _nothing
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = [TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()]
    with Progress(*columns, TextColumn("{task.fields[note]}"), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None, note="")

        def update(fraction: float | None, note: str = "") -> None:
            bar.update(task, total=None if fraction is None else 1.0, completed=fraction or 0.0, note=note)

        yield update
