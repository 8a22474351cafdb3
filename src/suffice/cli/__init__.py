"""The command line: names -> objects -> fit -> report.

Exit codes: 0 done; 1 a failure inside; 2 wrong usage; 3 bad data; 4 bad model file; 130 interrupted; 143 terminated.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from .signals import Signalled, raised

OK, FAILURE, USAGE, BAD_DATA, BAD_MODEL, INTERRUPTED = 0, 1, 2, 3, 4, 130

EXTRAS = {"matplotlib": "figures", "pandas": "files", "pyarrow": "files"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run `suffice`; the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = bool(os.environ.get("SUFFICE_DEBUG")) or "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    try:
        with raised():
            return _run(arguments)
    except Signalled as signalled:
        print(f"suffice: {'interrupted' if signalled.code == INTERRUPTED else 'terminated'}", file=sys.stderr)
        return signalled.code
    except KeyboardInterrupt:
        print("suffice: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has seen enough (`| head`)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except Exception as error:
        if debug:
            import traceback

            traceback.print_exc()
        else:
            message = " ".join(str(error).split()) or "no message"
            kind = "" if _code_of(error) != FAILURE else f"{type(error).__name__}: "
            hint = "" if _code_of(error) != FAILURE else " (--debug shows where)"
            if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
                hint = f": pip install 'suffice[{EXTRAS[error.name]}]'"
            print(f"suffice: {kind}{message}{hint}", file=sys.stderr)
        return _code_of(error)


def _run(arguments: list[str]) -> int:
    try:
        from .app import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "click", "rich"):
            raise
        print(f"suffice: the command line needs {error.name}: pip install 'suffice[cli]'", file=sys.stderr)
        return FAILURE
    return run(arguments)


def _code_of(error: Exception) -> int:
    from ..files.table import DataError
    from ..saving.tree import ArchiveError
    from .notices import UsageError

    codes = [(UsageError, USAGE), (DataError, BAD_DATA), (ArchiveError, BAD_MODEL)]
    return next((code for kind, code in codes if isinstance(error, kind)), FAILURE)
