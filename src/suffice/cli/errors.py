"""Errors of the command line, and the doors where errors from inside get their meaning."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from suffice.files.table import DataError
from suffice.storage.tree import ArchiveError


class UsageError(ValueError):
    """An option that makes no sense."""


def say(message: str) -> None:
    """A line for the person at the terminal; standard output is for results."""
    print(f"suffice: {message}", file=sys.stderr)


@contextmanager
def data_errors(name: str) -> Iterator[None]:
    """What an estimator or the system refuses about the data is the data's error; about a parameter, the usage's."""
    from sklearn.utils._param_validation import InvalidParameterError

    try:
        yield
    except (DataError, ArchiveError, UsageError, BrokenPipeError):
        raise
    except InvalidParameterError as error:
        raise UsageError(str(error)) from error
    except (ValueError, OSError) as error:
        raise DataError(
            f"{name}: {error.strerror if isinstance(error, OSError) and error.strerror else error}"
        ) from error


def model_from(path: str) -> tuple[Any, dict[str, Any]]:
    """A model file ("-": standard input) as `Trained`, and its header."""
    from suffice.storage import header, load
    from suffice.trained import Trained

    try:
        content = io.BytesIO(sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes())
        trained = Trained.of(load(content))
        content.seek(0)
        return trained, header(content)
    except ArchiveError as error:
        raise ArchiveError(str(error).replace("<stream>", path, 1)) from error
    except OSError as error:
        raise ArchiveError(f"{path}: {error.strerror or error}; `suffice train ... -o {path}` writes one") from error


def short_warnings() -> None:
    """Warnings as lines of ours, each once."""
    seen = set()

    def show(message: Any, *_: Any, **__: Any) -> None:
        if str(message) not in seen:
            seen.add(str(message))
            say(f"warning: {' '.join(str(message).split())}")

    warnings.showwarning = show
