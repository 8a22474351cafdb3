"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Data = Annotated[
    str, typer.Argument(metavar="DATA", help="CSV, TSV, Parquet, Excel, svmlight, label<TAB>text or .ts; also .gz .xz")
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A file written by `suffice train` or suffice.save.")]
Output = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where to write.")]
Target = Annotated[
    str | None, typer.Option("--target", "-t", metavar="COL", help="The label's column: name or position.")
]
Format = Annotated[
    str | None, typer.Option("--format", help="csv, tsv, parquet, excel, svmlight, text or ts; else by name.")
]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether line 1 names the columns; else guessed.")
]
Delimiter = Annotated[str | None, typer.Option(help="Of CSV; else the most frequent of , ; | and tab.")]
Encoding = Annotated[str | None, typer.Option(help="Of text: utf-8, latin-1, utf-16, ...; else found.")]
Decimal = Annotated[str | None, typer.Option(metavar="MARK", help="'.' or ','; else found.")]
Missing = Annotated[list[str] | None, typer.Option("--na", metavar="TEXT", help="One more spelling of a missing cell.")]
Kinds = Annotated[
    list[str] | None, typer.Option("--kind", metavar="COL=KIND", help="Read a column as numeric or categorical.")
]
Drop = Annotated[list[str] | None, typer.Option("--drop", "--ignore", metavar="COL", help="Leave a column out.")]
Ids = Annotated[list[str] | None, typer.Option("--id", metavar="COL", help="A column that only names the rows.")]
Text = Annotated[str | None, typer.Option(metavar="COL", help="The column of texts, one document a row.")]
Names = Annotated[list[str] | None, typer.Option(metavar="COL")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON rather than text.")]
