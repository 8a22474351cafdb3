"""Data in blocks, which need not fit in memory: files of this machine or of all machines of a cluster, and parts of dask collections.

A `Dataset` is given to `fit` in the place of X. Its blocks are fixed by the data; they are read again in every pass, or kept where
there is room, and who works at them (`suffice.engine`) changes no bit of the result.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from typing_extensions import override

from ..engines.blocks import BlockEngine, Placed
from .first_pass import first_pass
from .joined import Joined, first_of, joined_sources, runs_of
from .pieces import Part, pieces_of
from .reader import FORMATS, format_of
from .streams import Source
from .survey import ROWS, SPARE, Question, Survey
from .svmlight import of_width
from .table import CATEGORICAL, MISSING, NUMERIC, DataError, Options
from .trained import Trained


@dataclass(frozen=True)
class Layout:
    """What blocks are read as, known after the first pass."""

    kinds: Mapping[str, str]
    vocabulary: tuple[str, ...] | None = None
    width: int | None = None  # of sparse rows
    shift: int = 0  # 1 where their indices begin at 1
    trained: Trained | None = None  # arrays as the command line reads them

    def __call__(self, part: Part) -> Part:
        X = part.X
        if self.vocabulary is not None:
            from sklearn.feature_extraction.text import CountVectorizer

            X = CountVectorizer(vocabulary=self.vocabulary, dtype=np.float64).transform(X)
        elif self.width is not None:
            X = of_width(sp.csr_matrix(X), self.width + self.shift)[:, self.shift :]
        elif self.trained is not None:
            X = self.trained.frame_inputs(X)
        return Part(X, part.y, part.weights)


class Blocks:
    """Sources of blocks in their order. `survey` finds out what is in them; `layout` is what it found."""

    max_words: int | None = None
    plain = False  # tables as arrays, as the command line reads them
    by_outlines = True  # whether the first pass may leave out cells where files say enough of them
    layout: Layout

    def __init__(self, sources: Sequence, name: str = "blocks") -> None:
        if not sources:
            raise DataError(f"{name} has no blocks")
        self.sources, self.name = list(sources), name
        self._surveys: dict[Any, Survey] = {}

    def __len__(self) -> int:
        return len(self.sources)

    @override
    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {len(self)} blocks>"

    def survey(self, engine: BlockEngine, cells: str = "gaps", sequences: tuple[str | None] | None = None) -> Survey:
        """The first pass (made once for the same question). `sequences` is the name of their column, where rows are steps."""
        asked = cells, sequences
        if asked not in self._surveys:
            quota = int(np.ceil((SPARE if len(self) > 1 else 1.0) * ROWS / len(self)))
            question = Question(quota, cells, 0, sequences is not None, sequences[0] if sequences else None)
            found = self._surveyed(engine, question)
            mixed = [name for name, kinds in found.kinds.items() if len(kinds) > 1]
            runs = runs_of(found.sequences)
            if mixed:  # numbers in some blocks and texts in others
                self._set_kinds(dict.fromkeys(mixed, CATEGORICAL))
            if len(runs) < len(found.sequences):  # a block must not cut a sequence
                self.sources = [joined_sources(self.sources[run[0] : run[-1] + 1]) for run in runs]
            if mixed or len(runs) < len(found.sequences):
                found = self._surveyed(engine, question)
            self._surveys[asked] = found
            self.layout = self._layout(found)
        return self._surveys[asked]

    def read_whole(self) -> None:
        """Forget first passes; later ones read every cell."""
        self.by_outlines = False
        self._surveys.clear()

    @property
    def surveyed(self) -> Survey:
        """What the last first pass found."""
        return list(self._surveys.values())[-1]

    def _surveyed(self, engine: BlockEngine, question: Question) -> Survey:
        found = first_pass(engine, self.sources, question, by_outlines=self.by_outlines)
        if found.n_rows == 0:
            raise DataError(f"{self.name} has no rows")
        return found

    def _set_kinds(self, kinds: dict[str, str]) -> None:
        raise DataError(
            f"{self.name}: column {next(iter(kinds))!r} is of numbers in some blocks and of texts in others"
        )

    def _layout(self, found: Survey) -> Layout:
        kinds = {name: next(iter(own)) for name, own in found.kinds.items()}
        if found.words is not None:
            counts = found.words
            words = sorted(counts)
            if self.max_words is not None:
                words = sorted(sorted(words, key=lambda word: -counts[word])[: self.max_words])
            if not words:
                raise DataError(f"{self.name}: the texts hold no words")
            return Layout({}, tuple(words))
        if found.columns or not sp.issparse(found.drawn[0].rows.X):
            return Layout(kinds)
        shift = int(self._begins_at_one(found))
        return Layout({}, None, found.width - shift, shift)

    def _begins_at_one(self, found: Survey) -> bool:
        return False

    @property
    def reading(self) -> Any:
        """How blocks are read for a model that was trained before: as in the first pass, or as they are."""
        return getattr(self, "layout", None)

    def place(self, engine: BlockEngine, prepare: Any, n_bytes: int) -> Placed:
        """The blocks' rows, read by the layout and then by `prepare`."""
        return engine.place(self.sources, Steps((self.layout, prepare)), n_bytes)

    def identity(self) -> str:
        """What another process must have to go on with a fit of these data."""
        return repr([repr(source) for source in self.sources])


class Dataset(Blocks):
    """Rows of files, in blocks, to be given to `fit` in the place of X.

    Parameters
    ----------
    path : str, path or list of them
        Files, with * and ? for several (in the order of their names): Parquet, CSV, TSV, svmlight or `label<TAB>text`.
    target : str or int, default=None
        The label's column; svmlight and text hold the label first. Labels are texts.
    text : str, default=None
        The column of texts, for documents in a table; their words are counted.
    weight : str, default=None
        The column of the rows' weights.
    columns, ignore : list of str
        The features to read (by default all but the target), and columns to leave out.
    kinds : dict {column: "numeric" or "categorical"}, default=None
        By default found in the first pass.
    format : str, default=None
        By default from the name of the first file, else from its content.
    block_rows, block_bytes : int
        Rows of a block of Parquet, which is of whole row groups; bytes of a block of other files.
    max_words : int, default=None
        Of texts: only the most frequent words.
    header, delimiter, missing, encoding, decimal
        As of `suffice.files.read`.
    like : Dataset, default=None
        The one that a model was trained on: words are counted and columns are read as there (for `predict` and `score`).

    Examples
    --------
    >>> import os, tempfile
    >>> import pandas as pd
    >>> from suffice import GaussianNB
    >>> from suffice.files import Dataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in range(3):
    ...         rows = pd.DataFrame({"x": [part, part + 1.0, part + 4.0], "y": ["low", "low", "high"]})
    ...         rows.to_csv(os.path.join(folder, f"part{part}.csv"), index=False)
    ...     model = GaussianNB(loss="nll").fit(Dataset(f"{folder}/*.csv", target="y"))
    >>> model.class_count_
    array([3., 6.])
    """

    def __init__(
        self, path: Any, target: str | int | None = None, *, text: str | None = None, weight: str | None = None,
        columns: Sequence[str] | None = None, ignore: Sequence[str] = (), kinds: Mapping[str, str] | str | None = None,
        format: str | None = None, block_rows: int = 1 << 17, block_bytes: int = 1 << 24, max_words: int | None = None,
        header: bool | None = None, delimiter: str | None = None, missing: Sequence[str] = MISSING,
        encoding: str | None = None, decimal: str | None = None, like: Dataset | None = None,
    ) -> None:  # fmt: skip
        for name, value in (("block_rows", block_rows), ("block_bytes", block_bytes)):
            if value < 1:
                raise ValueError(f"{name}={value} must be at least 1")
        if format is not None and format not in FORMATS:
            raise ValueError(f"format={format!r} is not one of {', '.join(map(repr, FORMATS))}")
        self.paths = files_of(path)
        options = Options(
            target=target, kinds={} if kinds is None or isinstance(kinds, str) else kinds,
            every_kind=kinds if isinstance(kinds, str) else None, columns=columns, ignore=ignore, header=header,
            delimiter=delimiter, missing=missing, encoding=encoding, decimal=decimal, text=text,
        )  # fmt: skip
        if format is None:
            source = Source(self.paths[0])
            format = format_of(source, columns[0] if columns else target)
            source.finish()
        self.format, self.target, self.text, self.max_words = format, target, text, max_words
        sources: list = []
        for file in self.paths:
            sources += pieces_of(file, format, options, block_rows, block_bytes, weight)
            options = replace(options, columns=sources[0].options.columns, target=sources[0].options.target)
        super().__init__(sources, f"{path}")
        if like is not None:
            self.layout = like.layout
            self._set_kinds(dict(like.layout.kinds))

    @property
    @override
    def reading(self) -> Any:
        if not hasattr(self, "layout") and (self.format in ("text", "svmlight") or self.text):
            raise DataError(
                f"{self.name}: which words a model knows is told by Dataset(..., like=the one it was trained on)"
            )
        return super().reading

    @override
    def _set_kinds(self, kinds: dict[str, str]) -> None:
        def changed(source: Any) -> Any:
            if isinstance(source, Joined):
                return Joined(tuple(map(changed, source.sources)))
            return replace(source, options=replace(source.options, kinds={**source.options.kinds, **kinds}))

        self.sources = [changed(source) for source in self.sources]

    @override
    def _begins_at_one(self, found: Survey) -> bool:
        return found.lowest >= 1

    @override
    def _layout(self, found: Survey) -> Layout:
        layout = super()._layout(found)
        return replace(layout, trained=self.trained_as(None)) if self.plain and layout.kinds else layout

    def trained_as(self, model: Any) -> Trained:
        """The model with how its data were read, as `suffice train` saves it."""
        found = self.surveyed
        layout = super()._layout(found)
        target = first_of(self.sources[0]).options.target
        if layout.vocabulary is not None:
            words = np.array(layout.vocabulary, dtype=object)
            return Trained(model, "text", ("text",), {}, {}, words, target, None, self.text)
        if layout.width is not None:
            return Trained(model, "svmlight", zero_based=layout.shift == 0)
        return Trained(model, "table", found.columns, layout.kinds, categories_of(found, layout.kinds), None, target)

    @override
    def identity(self) -> str:
        return (
            repr([(path, os.path.getsize(path), os.stat(path).st_mtime_ns) for path in self.paths]) + super().identity()
        )


@dataclass(frozen=True)
class Steps:
    """One function after the other."""

    functions: tuple

    def __call__(self, value: Any) -> Any:
        for function in self.functions:
            value = function(value)
        return value


def files_of(path: Any) -> list[str]:
    """The files that a pattern or a list names, in the order of their names."""
    given = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    found: list[str] = []
    for each in (os.fspath(one) for one in given):
        some = sorted(glob.glob(each)) if glob.has_magic(each) else [each]
        if not some:
            raise DataError(f"{each!r} names no file")
        found += some
    for each in found:
        if os.path.isdir(each):
            raise DataError(f"{each} is a folder: name the files in it, as {each}/*.parquet")
        if not os.path.exists(each):
            raise DataError(f"{each} does not exist")
    return found


def categories_of(found: Survey, kinds: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The categories of every column of them, in order."""
    names = list(kinds)
    values: dict[str, set] = {name: set() for name, kind in kinds.items() if kind != NUMERIC}
    for drawn in found.drawn:
        for place, value in drawn.keys:
            if place != "label" and value is not None and names[place] in values:
                values[names[place]].add(str(value))
    return {name: tuple(sorted(own)) for name, own in values.items()}
