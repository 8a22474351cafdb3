"""How the options of a command say that a file is read. Everything heavy is imported when it is needed."""

from __future__ import annotations

from typing import Any

from .options import Columns


def reader_of(path: str, format: str | None, **options: Any) -> Any:
    from ..files import FORMATS, read
    from .errors import data_errors
    from .notices import UsageError

    if format is not None and format not in FORMATS:
        raise UsageError(f"--format {format!r} is not one of {', '.join(FORMATS)}")
    if (more := options.pop("na", None)) is not None:
        from ..files import MISSING

        options["missing"] = (*MISSING, *more)
    if options.get("decimal") not in (None, ".", ","):
        raise UsageError(f"--decimal {options['decimal']!r} is neither '.' nor ','")
    with data_errors(path):
        return read(path, format=format, **options)


def kinds_of(columns: Columns) -> dict[str, str]:
    """{column: kind} that --kind, --numeric and --categorical ask for."""
    from .notices import UsageError

    found = dict.fromkeys(columns.numeric or [], "numeric") | dict.fromkeys(columns.categorical or [], "categorical")
    for pair in columns.kind or []:
        name, equals, kind = pair.rpartition("=")
        if not equals or kind not in ("numeric", "categorical"):
            raise UsageError(f"--kind {pair!r} is not of the form COL=numeric or COL=categorical")
        found[name] = kind
    return found
