"""The page: sections of text, charts and tables in one file of HTML without script, font or address of another file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import override

from .svg import Chart

MAX_ROWS = 400  # of a table on the page: all the numbers of a chart
STYLE = Path(__file__).with_name("report.css")


@dataclass
class Table:
    """A head and rows of cells: texts, numbers or None."""

    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    caption: str = ""
    is_folded: bool = False  # shown when its caption is opened

    def draw(self) -> str:
        texts = {j for row in self.rows for j, c in enumerate(row) if isinstance(c, str)}
        head = "".join(
            f'<th scope="col"{" class=t" if j in texts else ""}>{escape(str(name))}</th>'
            for j, name in enumerate(self.head)
        )
        body = "".join(
            f'<tr><th scope="row">{cell(row[0])}</th>'
            + "".join(f"<td{' class=t' if isinstance(c, str) else ''}>{cell(c)}</td>" for c in row[1:])
            + "</tr>"
            for row in self.rows[:MAX_ROWS]
        )
        more = len(self.rows) - MAX_ROWS
        caption = self.caption + (f" ({more:,} more rows are left out)" if more > 0 else "")
        caption = f"<caption>{escape(caption)}</caption>" if caption else ""
        region = f'role="region" tabindex="0" aria-label="{escape(self.caption or "table", quote=True)}"'
        drawn = f'<div class="scroll" {region}><table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        return f"<details><summary>{escape(self.caption)}</summary>{drawn}</details>" if self.is_folded else drawn


def cell(value: Any) -> str:
    """Numbers with their bits in `data-value`, so that a reader (or a test) gets them whole."""
    if value is None or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return '<span aria-label="none">–</span>'
    if isinstance(value, (bool, np.bool_, str)):
        return escape(str(value))
    if isinstance(value, (int, np.integer)):
        return f"{int(value):,}"
    if isinstance(value, (float, np.floating)):
        number = float(value)
        shown = f"{number:.4f}" if 1e-3 <= abs(number) < 1e4 or number == 0 else f"{number:.4g}"
        return f'<data value="{number!r}">{shown}</data>'
    return escape(str(value))


@dataclass
class Section:
    """A heading, some sentences, charts with their tables, and tables alone."""

    title: str
    text: list[str] = field(default_factory=list)
    charts: list[tuple[Chart, Table]] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)

    @property
    def key(self) -> str:
        return "".join(c if c.isalnum() else "-" for c in self.title.lower())

    def draw(self) -> str:
        text = "".join(f"<p>{escape(line)}</p>" for line in self.text)
        tables = "".join(table.draw() for table in self.tables)
        figures = "".join(
            f"<figure><figcaption>{escape(chart.title)}</figcaption>{chart.draw()}"
            f"<details><summary>The numbers of “{escape(chart.title)}”</summary>{table.draw()}</details></figure>"
            for chart, table in self.charts
        )
        figures = f'<div class="charts">{figures}</div>' if figures else ""
        return f'<section aria-labelledby="{self.key}"><h2 id="{self.key}">{escape(self.title)}</h2>{text}{tables}{figures}</section>'


@dataclass
class Report:
    """A report: its page (`html`, `save`), and the numbers on it.

    Attributes
    ----------
    title : str
    sections : list of sections
    scores : dict {name: value}
        What the model is worth on the rows.
    columns : list of (name, value, standard error)
        Columns that tell, the first first.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import suffice
    >>> X, y = load_iris(return_X_y=True)
    >>> page = suffice.report(suffice.GaussianNB(loss="nll").fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> round(page.scores["accuracy"], 2), page.html().startswith("<!doctype html>")
    (0.96, True)
    """

    title: str
    subtitle: str = ""
    sections: list[Section] = field(default_factory=list)
    scores: dict[str, float] = field(default_factory=dict)
    columns: list[tuple[str, float, float]] = field(default_factory=list)

    def html(self) -> str:
        """The page."""
        links = "".join(f'<li><a href="#{s.key}">{escape(s.title)}</a></li>' for s in self.sections)
        body, style = "".join(section.draw() for section in self.sections), STYLE.read_text(encoding="utf-8")
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width,initial-scale=1">'
            f"<title>{escape(self.title)}</title><style>{style}</style></head><body>"
            '<a class="skip" href="#content">To the content</a>'
            f"<header><h1>{escape(self.title)}</h1><p>{escape(self.subtitle)}</p></header>"
            f'<nav aria-label="Sections"><ul>{links}</ul></nav><main id="content">{body}</main></body></html>\n'
        )

    def save(self, path: str | Path) -> None:
        """Write the page."""
        from ..saving.atomic import replacing

        with replacing(path) as file:
            file.write(self.html().encode("utf-8"))

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.html(), quote=True)}" style="width:100%;height:40rem;border:0"></iframe>'

    @override
    def __repr__(self) -> str:
        scores = ", ".join(f"{name} {value:.4g}" for name, value in list(self.scores.items())[:3])
        return f"<Report {self.title!r}: {len(self.sections)} sections{'; ' + scores if scores else ''}>"
