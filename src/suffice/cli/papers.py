"""The commands `reproduce` and `demo`. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .notices import print_lines

NEXT = (
    "Next, with a table of your own:",
    "  suffice train DATA.csv --target COLUMN -o model.sfc     how columns were read, what was kept, scores on rows held out",
    "  suffice inspect model.sfc                               which columns tell the classes apart",
    "  suffice report model.sfc DATA.csv -o report.html        one page: scores, calibration, columns that tell, odd rows",
    "  suffice predict model.sfc NEW.csv --proba --explain     classes, probabilities and why",
)


def add_to(app: typer.Typer) -> None:
    app.command()(reproduce)
    app.command()(demo)


def reproduce(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="An experiment of the list.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="The experiments, and how long they take.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A run of seconds.")] = False,
    json_file: Annotated[str | None, typer.Option("--json", metavar="FILE", help="The rows as JSON, too.")] = None,
    minutes: Annotated[float | None, typer.Option(help="A budget for long training.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="How many seeds.")] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where pictures go.")] = Path("out"),
) -> None:
    """Rerun a table or figure of a paper: its numbers beside ours."""
    from ..experiments import Options
    from . import reproduction
    from .notices import UsageError, say

    if list_:
        return print_lines(reproduction.listed())
    if name is None:
        raise UsageError("name an experiment; `suffice reproduce --list` shows them")
    options = Options(quick=quick, seeds=seeds, minutes=minutes, folder=out, say=say)
    return print_lines(reproduction.reproduce(name, options, json_file))


def demo(
    quick: Annotated[bool, typer.Option("--quick", help="A run of seconds.")] = False,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the picture goes.")] = Path("out"),
) -> None:
    """Our three losses against scikit-learn on data that ships with it."""
    from ..experiments import Options
    from ..experiments.demo import run as run_demo

    out.mkdir(parents=True, exist_ok=True)
    report = run_demo(Options(quick=quick, folder=out, say=print))
    print_lines(["", *report.notes, *(f"picture: {path}" for path in report.pictures), "", *NEXT])
