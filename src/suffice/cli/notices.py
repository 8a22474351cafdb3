"""Words for the person at the terminal; light, so that every command can import it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from typing import Any


class UsageError(ValueError):
    """An option that makes no sense."""


def say(message: str) -> None:
    """A line on standard error; standard output is for results."""
    print(f"suffice: {message}", file=sys.stderr)


def show(line: str) -> None:
    """A line of a longer text for a person, on standard error."""
    print(line, file=sys.stderr)


def print_lines(lines: Iterable[str]) -> None:
    """Results, on standard output."""
    for line in lines:
        print(line)


def short_warnings() -> None:
    """Warnings as lines of ours, each once."""
    seen = set()

    def show(message: Any, *_: Any, **__: Any) -> None:
        if str(message) not in seen:
            seen.add(str(message))
            say(f"warning: {' '.join(str(message).split())}")

    warnings.showwarning = show
