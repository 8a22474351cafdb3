"""How the columns of a file were read, said to the person; identifiers and free text are left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from shlex import quote

from ..files.profile import Profile, profiles, without_columns
from ..files.table import NUMERIC, Table
from .notices import say, show

MOST_LINES = 25
FEW_CATEGORIES = 1000
SPREAD = 0.4  # different values, as a share of the rows, that make a column of categories doubtful


class Arrangement:
    """What becomes of the columns of a table: those left out, or the one column of texts."""

    def __init__(self, tables: Sequence[Table], set_kinds: Mapping[str, str]) -> None:
        self.n_rows: int = sum(table.n_rows for table in tables)
        self.found: list[Profile] = profiles(tables, set_kinds)
        self.texts: list[str] = [profile.name for profile in self.found if profile.role == "text"]
        self.ids: list[str] = [profile.name for profile in self.found if profile.role == "identifier"]
        others = [profile for profile in self.found if profile.role not in ("text", "identifier")]
        if not others and not self.texts:  # all identifiers: take them as they are
            self.ids = []
        self.text: str | None = self.texts[0] if len(self.texts) == 1 and not others else None
        self.left_out: set[str] = {*self.ids, *(self.texts if self.text is None and (others or self.ids) else ())}
        if len(self.left_out) == len(self.found):
            self.left_out = set()

    def __call__(self, table: Table) -> Table:
        if self.text is None:
            return without_columns(table, self.left_out)
        import pandas as pd

        texts = table.X[self.text].astype(object)
        frame = pd.DataFrame({"text": texts.where(texts.notna(), "")})
        return replace(table, X=frame, columns=("text",), kinds={})

    def say(self) -> None:
        for line in self.lines():
            show(line)
        for name in sorted(self.left_out, key=[profile.name for profile in self.found].index):
            if name in self.ids:
                say(
                    f"column {name!r} is left out: nearly every row has a value of its own "
                    f"(--kind {quote(name + '=categorical')} keeps it)"
                )
            else:
                say(f"column {name!r} is left out: it is free text (--text {name} trains on it alone)")
        for profile in self.found:
            if profile.role == "categorical" and profile.numbers > 0.8:
                say(
                    f"warning: column {profile.name!r} is read as {profile.n_values:,} categories, but {profile.numbers:.0%} of its "
                    f"cells are numbers: --kind {quote(profile.name + '=numeric')} reads the others as missing"
                )
            elif profile.role == "categorical" and profile.n_values > max(50, self.n_rows * SPREAD):
                say(
                    f"warning: column {profile.name!r} has {profile.n_values:,} different values in {self.n_rows:,} rows "
                    f"({profile.examples[0]!r}, ...), and is read as categories: is it a number with a unit, or a date in a form that "
                    f"is not known? Write plain numbers or 2024-12-31, or leave it out with --drop {quote(profile.name)}"
                )
            elif profile.role == "categorical" and profile.n_values > FEW_CATEGORIES:
                say(
                    f"warning: column {profile.name!r} has {profile.n_values:,} categories, which are written into the model file; "
                    f"--drop {profile.name} leaves it out"
                )

    def lines(self) -> Iterator[str]:
        if self.text is not None:
            yield f"text: column {self.text!r}, one document a row"
            return
        used = [profile for profile in self.found if profile.name not in self.left_out]
        n_numeric = sum(profile.role == NUMERIC for profile in used)
        yield f"columns: {len(used)} ({n_numeric} numeric, {len(used) - n_numeric} categorical)"
        width = min(30, max((len(profile.name) for profile in used), default=0))
        for profile in used[:MOST_LINES]:
            yield f"  {short(profile):<{width}}  {profile.line()}"
        if len(used) > MOST_LINES:
            yield f"  ... and {len(used) - MOST_LINES} more"


def short(profile: Profile) -> str:
    return profile.name if len(profile.name) <= 30 else profile.name[:27] + "..."
