"""A progress bar on standard error if that is a terminal; nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


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


@contextmanager
def shown_passes(estimator: Any, update: Callable[[float | None, str], None]) -> Iterator[None]:
    """While the estimator is fitted, its passes move the bar; it is left as it was."""
    if update is _nothing or not hasattr(estimator, "_report") or "verbose" not in estimator.get_params(deep=False):
        yield
        return
    verbose, most = estimator.verbose, getattr(estimator, "max_epochs", None)

    def report(number: int, line: dict) -> None:
        share = min(1.0, number / most) if isinstance(most, int) else None
        update(share, f"fitting, pass {number}")

    update(None, "fitting")
    estimator.verbose, estimator._report = 1, report
    try:
        yield
    finally:
        estimator.verbose = verbose
        vars(estimator).pop("_report", None)
