"""Which encoding a file of text is in: as its mark says, else UTF-8 where it is that, else UTF-16 or Windows' Western European."""

from __future__ import annotations

import codecs
import warnings

from .streams import Source

MARKS = [(codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")]
HEAD = 1 << 18


def encoding_of(source: Source, given: str | None) -> str:
    """The encoding: as given, or found in the first bytes; a guess is said in a warning."""
    head = source.peek(HEAD)
    marked = next((name for mark, name in MARKS if head.startswith(mark)), None)
    if given is not None:
        is_same = marked is not None and given.lower().replace("_", "-").startswith(
            ("utf-8", "utf8", "utf-16", "utf16")
        )
        return marked if is_same and marked is not None else checked(given)
    if marked is not None:
        return marked
    if head[1::2].count(0) > 0.3 * len(head[1::2]) > 0:
        return "utf-16-le"
    if head[0::2].count(0) > 0.3 * len(head[0::2]) > 0:
        return "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, final=len(head) < HEAD)
    except UnicodeDecodeError:
        try:
            head.decode("cp1252")
            found = "cp1252"
        except UnicodeDecodeError:
            found = "latin-1"
        warnings.warn(f"{source.name} is not UTF-8 and is read as {found} (--encoding sets another)", stacklevel=2)
        return found
    return "utf-8"


def checked(name: str) -> str:
    try:
        codecs.lookup(name)
    except LookupError as error:
        from .table import DataError

        raise DataError(f"encoding {name!r} is not known; try utf-8, latin-1, cp1252 or utf-16") from error
    return name
