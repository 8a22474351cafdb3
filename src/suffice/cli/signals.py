"""Signals end a command as they end any other program: old files whole, no temporary files left, exit code 128 + the signal.

Ctrl-C in Python ends a fit and keeps its best state. A command has no one to keep it for: here both SIGINT and SIGTERM raise what no
learner catches, and everything on the way out cleans up.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
USUAL = (signal.SIG_DFL, signal.default_int_handler)


class Signalled(BaseException):
    """A signal has come."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number
        self.code: int = 128 + number


@contextmanager
def raised() -> Iterator[None]:
    """A block in which signals that nobody handles yet are raised; what fails because of one ends the block as the signal."""
    seen: list[int] = []

    def raise_it(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        raise Signalled(number)

    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in SIGNALS if signal.getsignal(number) in USUAL}
    try:
        for number in before:
            signal.signal(number, raise_it)
        yield
    except Exception as error:  # a library on the way has made another exception of it
        if seen:
            raise Signalled(seen[0]) from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
