r"""Files with a token a line and an empty line between sentences: CoNLL, CoNLL-U, and tab-separated words and tags.

    The     DET                       1   The   the   DET   DT ...
    dog     NOUN                      2   dog   dog   NOUN  NN ...

Cells are separated by tabs, or by blanks where a line has no tab. Lines without a tab that begin with "# " are comments; ranges ("1-2")
and empty nodes ("1.1") of CoNLL-U are left out.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator

from .streams import Source
from .table import MISSING, DataError

CONLLU_COLUMNS = 10
CONLLU = (1, 3)  # FORM and UPOS
NOT_WORDS = re.compile(r"\d+[-.]\d+$")  # ids of ranges and of empty nodes

Sentences = list[list[str]]
Tags = list[list[str | None]]


def read_tokens(
    path: str | os.PathLike, word: int | None = None, tag: int | None = None, *, missing: tuple[str, ...] = MISSING,
    encoding: str = "utf-8",
) -> tuple[Sentences, Tags]:  # fmt: skip
    """(sentences, tags) of a file with a token a line, plain or compressed; what `TextTagger.fit` takes.

    Parameters
    ----------
    path : a path, or "-" for standard input
    word, tag : int or None, default=None
        Columns (from 0; -1 is the last). None: FORM and UPOS of CoNLL-U where lines have ten columns, else the first and the second.
        A file of one column has no tags: they are None.
    missing : texts in the place of a tag that is not known
    encoding : str, default="utf-8"

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from suffice.files.tokens import read_tokens
    >>> file = Path(mkdtemp()) / "words.tsv"
    >>> _ = file.write_text("The\\tDET\\ndog\\tNOUN\\n\\nRun\\tVERB\\n")
    >>> read_tokens(file)
    ([['The', 'dog'], ['Run']], [['DET', 'NOUN'], ['VERB']])
    """
    source = Source(path)
    try:
        lines = io.TextIOWrapper(io.BufferedReader(source.start(), 1 << 20), encoding=encoding, newline="\n")
        return sentences_of(lines, source.name, word, tag, missing)
    except UnicodeDecodeError as error:
        raise DataError(f"{source.name}: not {error.encoding} ({error.reason}); try encoding='latin-1'") from error
    finally:
        source.finish()


def sentences_of(lines, name: str, word: int | None, tag: int | None, missing=MISSING) -> tuple[Sentences, Tags]:
    """The same of lines of text."""
    sentences: Sentences = []
    tags: Tags = []
    is_open, known = False, frozenset(missing)
    for number, cells in rows_of(lines):
        if not cells:
            is_open = False
            continue
        is_conllu = len(cells) == CONLLU_COLUMNS
        if is_conllu and NOT_WORDS.match(cells[0]):
            continue
        first, second = CONLLU if is_conllu else (0, 1)
        at = first if word is None else word
        to = second if tag is None else tag
        if not is_open:
            sentences.append([])
            tags.append([])
            is_open = True
        sentences[-1].append(cell(cells, at, "word", number, name))
        is_alone = tag is None and len(cells) == 1
        found = None if is_alone else cell(cells, to, "tag", number, name)
        tags[-1].append(None if found in known else found)
    if not sentences:
        raise DataError(f"{name} has no tokens: expected a token a line, and an empty line between sentences")
    return sentences, tags


def rows_of(lines) -> Iterator[tuple[int, list[str]]]:
    """(number, cells) of the lines; no cells: the end of a sentence."""
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\r\n")
        if "\t" in text:
            yield number, text.split("\t")
        elif not text.startswith("# "):  # a comment
            yield number, text.split()


def cell(cells: list[str], place: int, what: str, number: int, name: str) -> str:
    if not -len(cells) <= place < len(cells):
        raise DataError(
            f"{name}, line {number}: no column {place} for the {what}: the line has {len(cells)} ({cells!r})"
        )
    return cells[place]
