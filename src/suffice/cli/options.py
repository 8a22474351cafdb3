"""Arguments and options of the commands. Options that belong together are a dataclass; `grouped` gives them to a command."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, get_type_hints

import typer

Data = Annotated[
    str, typer.Argument(metavar="DATA", help="CSV, TSV, Parquet, Excel, svmlight, label<TAB>text or .ts; also .gz .xz")
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A file written by `suffice train` or suffice.save.")]
Output = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where to write.")]
Target = Annotated[
    str | None, typer.Option("--target", "-t", metavar="COL", help="The label's column: name or position.")
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON rather than text.")]
MODELS = """auto (of a table: table, else naive-bayes), naive-bayes (by the columns), gaussian-nb, multinomial-nb, complement-nb,
bernoulli-nb, categorical-nb, poisson-nb, mixed-nb, discriminant, mixture-regressor, gaussian-regressor, mixture, table (the best),
lda (topics), hmm (sequences); without labels gaussian-mixture, gaussian-hmm, topics (in blocks)."""


@dataclass(frozen=True)
class Layout:
    """How a file is laid out."""

    panel: ClassVar[str] = "The file (found by itself where not given)"
    format: Annotated[
        str | None, typer.Option("--format", help="csv, tsv, parquet, excel, svmlight, text or ts; else by name.")
    ] = None
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether line 1 names the columns; else guessed.")
    ] = None
    delimiter: Annotated[
        str | None, typer.Option(help="Between the cells of a CSV; else the most frequent of , ; | and tab.")
    ] = None
    encoding: Annotated[str | None, typer.Option(help="utf-8, latin-1, utf-16, ...; else found.")] = None
    decimal: Annotated[str | None, typer.Option(metavar="MARK", help="'.' or ','; else found.")] = None
    na: Annotated[
        list[str] | None, typer.Option("--na", metavar="TEXT", help="Another text that means a missing cell.")
    ] = None

    def options(self) -> dict[str, Any]:
        """What `reader_of` takes beside the format."""
        return {name: value for name, value in vars(self).items() if name != "format"}


@dataclass(frozen=True)
class Columns:
    """Which columns are used, and as what."""

    panel: ClassVar[str] = "Columns"
    target: Target = None
    kind: Annotated[
        list[str] | None, typer.Option("--kind", metavar="COL=KIND", help="Read a column as numeric or categorical.")
    ] = None
    drop: Annotated[list[str] | None, typer.Option("--drop", "--ignore", metavar="COL", help="Leave a column out.")] = (
        None
    )
    numeric: Annotated[list[str] | None, typer.Option(metavar="COL", help="The same as --kind COL=numeric.")] = None
    categorical: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="The same as --kind COL=categorical.")
    ] = None


@dataclass(frozen=True)
class TrainedColumns(Columns):
    """Those of training."""

    id_: Annotated[list[str] | None, typer.Option("--id", metavar="COL", help="A column that only names the rows.")] = (
        None
    )
    text: Annotated[str | None, typer.Option(metavar="COL", help="The column of texts, one document a row.")] = None
    sequence: Annotated[
        str | None, typer.Option(metavar="COL", help="For --model hmm: the sequence that a row belongs to.")
    ] = None
    time: Annotated[
        str | None, typer.Option(metavar="COL", help="For --model hmm: the order of the rows in a sequence.")
    ] = None


@dataclass(frozen=True)
class Learning:
    """What is trained, and how it is scored."""

    panel: ClassVar[str] = "Model and scores"
    model: Annotated[str, typer.Option(help=MODELS)] = "auto"
    loss: Annotated[
        str | None,
        typer.Option(
            help="ncll (conditional likelihood), hinge or nll (likelihood); by default hinge for words, else ncll."
        ),
    ] = None
    task: Annotated[
        str,
        typer.Option(
            help="classification, regression, or auto: regression if the target has more than 20 different numbers."
        ),
    ] = "auto"
    seed: Annotated[int | None, typer.Option(help="Seed of the random numbers.")] = 0
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any parameter of the model.")
    ] = None
    holdout: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the rows held out for the scores; 0 for none.")
    ] = 0.2
    cv: Annotated[
        int | None, typer.Option(metavar="FOLDS", help="Scores by cross-validation, not on held-out rows.")
    ] = None


@dataclass(frozen=True)
class LongFile:
    """A file that does not fit in memory."""

    panel: ClassVar[str] = "Long files"
    classes: Annotated[
        str | None, typer.Option(metavar="A,B,C", help="All classes, if a long file starts with few.")
    ] = None
    memory: Annotated[
        float,
        typer.Option(metavar="MB", help="How much of the file is held in memory; the rest is learned as a stream."),
    ] = 256
    chunk_rows: Annotated[int, typer.Option(min=1, help="Rows read at a time.")] = 1 << 16
    max_words: Annotated[int | None, typer.Option(help="For texts: only this many of the most frequent words.")] = None


@dataclass(frozen=True)
class Where:
    """Who works, where data are in blocks."""

    panel: ClassVar[str] = "Files in blocks ('dir/*.parquet') and clusters"
    workers: Annotated[int | None, typer.Option(metavar="N", help="Processes of a dask cluster on this machine.")] = (
        None
    )
    scheduler: Annotated[
        str | None, typer.Option(metavar="URL", help="Address of a dask cluster: tcp://host:8786.")
    ] = None
    scheduler_file: Annotated[str | None, typer.Option(metavar="FILE", help="Scheduler file of a dask cluster.")] = None
    checkpoint: Annotated[
        str | None, typer.Option(metavar="DIR", help="Where progress is kept: the same command goes on from there.")
    ] = None

    def __bool__(self) -> bool:
        return any(value is not None for value in vars(self).values())


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command with one option a field in the place of every parameter that is a dataclass; its `panel` heads them in the help."""
    hints = get_type_hints(command, include_extras=True)
    hints.pop("return", None)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if dataclasses.is_dataclass(hint)}
    parameters = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += _options_of(groups[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def flat(**given: Any) -> None:
        values = {
            name: group(**{field.name: given.pop(field.name) for field in dataclasses.fields(group)})
            for name, group in groups.items()
        }
        command(**values, **given)

    shown: Any = flat  # a function takes these two attributes; typer reads both
    shown.__signature__ = inspect.Signature(parameters)
    shown.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return flat


def _options_of(group: Any) -> list[inspect.Parameter]:
    """The fields of a group as parameters."""
    hints = get_type_hints(group, include_extras=True)
    found = []
    for field in dataclasses.fields(group):
        kind, option = hints[field.name].__origin__, copy(hints[field.name].__metadata__[0])
        option.rich_help_panel = group.panel
        annotation: Any = Annotated[kind, option]
        found.append(
            inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=annotation)
        )
    return found
