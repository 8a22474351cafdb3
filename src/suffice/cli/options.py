"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Data = Annotated[
    str, typer.Argument(metavar="DATA", help="CSV, TSV, Parquet, svmlight, label<TAB>text or .ts; also .gz .xz")
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A file written by `suffice train` or suffice.save.")]
Output = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where to write.")]
Target = Annotated[
    str | None, typer.Option("--target", "-t", metavar="COL", help="The label's column: name or position.")
]
Format = Annotated[str | None, typer.Option("--format", help="csv, tsv, parquet, svmlight, text or ts; else by name.")]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether line 1 names the columns; else guessed.")
]
Delimiter = Annotated[str | None, typer.Option(help="Of CSV; else ',' or ';'.")]
Names = Annotated[list[str] | None, typer.Option(metavar="COL")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON rather than text.")]
