"""The doors where errors from inside get their meaning: the data's, the model file's, or the usage's."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..files.table import DataError
from ..saving.tree import ArchiveError
from .notices import UsageError


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
        message = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        short = message.split("For supervised learning, you might")[0].strip()  # scikit-learn's advice to go elsewhere
        raise DataError(f"{name}: {short}") from error


def model_from(path: str, with_chains: bool = False) -> tuple[Any, dict[str, Any]]:
    """A model file ("-": standard input) as `Trained`, and its header; `with_chains`: or a hidden Markov model as it is."""
    from ..files.trained import Trained
    from ..saving import header, load

    try:
        content = io.BytesIO(sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes())
        found = load(content)
        trained = found if with_chains and hasattr(found, "transmat_") else Trained.of(found)
        content.seek(0)
        return trained, header(content)
    except ArchiveError as error:
        raise ArchiveError(str(error).replace("<stream>", path, 1)) from error
    except OSError as error:
        raise ArchiveError(f"{path}: {error.strerror or error}; `suffice train ... -o {path}` writes one") from error


def estimator_with(cls: Any, params: dict[str, Any]) -> Any:
    """An estimator of these parameters; a name or a value that it does not take is wrong usage."""
    if unknown := set(params) - set(cls._get_param_names()):
        raise UsageError(
            f"{cls.__name__} has no parameter {sorted(unknown)[0]!r}; it has {', '.join(cls._get_param_names())}"
        )
    estimator = cls(**params)
    try:
        estimator._check_parameters()
    except ValueError as error:
        raise UsageError(str(error)) from error
    return estimator
