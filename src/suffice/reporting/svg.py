"""Charts as SVG: bars, lines, points and a heat map. Plain text, no library, no script; colours come from the page's style sheet.

Every chart is an image with a title and a description for a screen reader; the page puts its numbers beside it as a table. Colours are
those of `suffice.figures`, by class name, so that the page can have a dark variant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import count
from typing import Any

import numpy as np

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 520, 280, 56, 44, 12, 12
TURNED = 46  # more room below for labels that are turned
N_COLOURS = 8
_numbers = count()


def ticks(low: float, high: float, n: int = 5) -> list[float]:
    """About n round numbers between low and high."""
    if not high > low:
        return [low]
    raw = (high - low) / n
    size = 10.0 ** np.floor(np.log10(raw))
    step = size * next(m for m in (1, 2, 2.5, 5, 10) if m * size >= raw * 0.999)
    first = np.ceil(low / step - 1e-9) * step
    return [float(v) + 0.0 for v in np.round(np.arange(first, high + step * 1e-6, step) / step) * step]


def label(value: float) -> str:
    return f"{value:.6g}".replace("e-0", "e-").replace("e+0", "e")


@dataclass
class Chart:
    """Axes with marks on them; numbers are in data coordinates."""

    title: str
    x: tuple[float, float]
    y: tuple[float, float]
    x_name: str = ""
    y_name: str = ""
    height: int = HEIGHT
    left: int = LEFT
    description: str = ""
    marks: list[str] = field(default_factory=list)
    legend: list[tuple[str, str]] = field(default_factory=list)
    x_labels: Sequence[str] | None = None
    y_labels: Sequence[str] | None = None
    has_grid: bool = True

    @property
    def is_crowded(self) -> bool:
        """Whether the labels below would run into each other, and are turned."""
        room = (WIDTH - self.left - RIGHT) / max(len(self.x_labels or ()), 1)
        return any(6.2 * min(len(words), 14) > room for words in self.x_labels or ())

    @property
    def foot(self) -> float:
        """Pixels below the drawing."""
        return BOTTOM + (TURNED if self.is_crowded else 0)

    def px(self, value: Any) -> np.ndarray:
        low, high = self.x
        return self.left + (np.asarray(value, dtype=float) - low) / ((high - low) or 1.0) * (WIDTH - self.left - RIGHT)

    def py(self, value: Any) -> np.ndarray:
        low, high = self.y
        inner = self.height - TOP - self.foot
        return TOP + (1 - (np.asarray(value, dtype=float) - low) / ((high - low) or 1.0)) * inner

    def line(self, x: Any, y: Any, name: str = "", colour: int = 0, dashed: bool = False) -> Chart:
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(self.px(x), self.py(y), strict=True))
        kind = "ref" if dashed else f"l c{colour % N_COLOURS}"
        self.marks.append(f'<polyline class="{kind}" points="{points}"/>')
        return self._named(name, "ref" if dashed else f"c{colour % N_COLOURS}")

    def points(self, x: Any, y: Any, name: str = "", colour: int = 0, size: Any = 3.5) -> Chart:
        sizes = np.broadcast_to(np.asarray(size, dtype=float), np.shape(x))
        for a, b, r in zip(self.px(x), self.py(y), sizes, strict=True):
            self.marks.append(f'<circle class="f c{colour % N_COLOURS}" cx="{a:.1f}" cy="{b:.1f}" r="{r:.1f}"/>')
        return self._named(name, f"c{colour % N_COLOURS}")

    def ranges(self, x: Any, low: Any, high: Any, colour: int = 0) -> Chart:
        for a, b, c in zip(self.px(x), self.py(low), self.py(high), strict=True):
            self.marks.append(f'<path class="l c{colour % N_COLOURS}" d="M{a:.1f} {b:.1f}V{c:.1f}"/>')
        return self

    def boxes(
        self, x0: Any, x1: Any, y1: Any, name: str = "", colour: int = 0, y0: Any = 0.0, faint: bool = False
    ) -> Chart:
        """Rectangles between x0 and x1, from y0 to y1."""
        arrays = np.broadcast_arrays(self.px(x0), self.px(x1), self.py(y0), self.py(y1))
        kind = f"f c{colour % N_COLOURS}" + (" faint" if faint else "")
        for a, b, c, d in zip(*arrays, strict=True):
            place = f'x="{min(a, b):.2f}" y="{min(c, d):.2f}" width="{abs(b - a):.2f}" height="{abs(c - d):.2f}"'
            self.marks.append(f'<rect class="{kind}" {place}/>')
        return self._named(name, f"c{colour % N_COLOURS}")

    def text(self, x: float, y: float, words: str, kind: str = "note", up: float = 0.0) -> Chart:
        """Words around (x, y), `up` pixels higher."""
        a, b = float(self.px(x)), float(self.py(y)) - up
        self.marks.append(
            f'<text class="{kind}" x="{a:.1f}" y="{b + 4:.1f}" text-anchor="middle">{escape(words)}</text>'
        )
        return self

    def _named(self, name: str, colour: str) -> Chart:
        if name:
            self.legend.append((name, colour))
        return self

    def draw(self) -> str:
        number = next(_numbers)
        out = [
            f'<svg viewBox="0 0 {WIDTH} {self.height}" role="img" aria-labelledby="t{number} d{number}">'
            f'<title id="t{number}">{escape(self.title)}</title><desc id="d{number}">{escape(self.description)} '
            "The numbers are in the table that follows.</desc>",
            *self._axes(),
            *self.marks,
            "</svg>",
        ]
        if self.legend:
            keys = "".join(f'<li><span class="key {c}"></span>{escape(name)}</li>' for name, c in self.legend)
            out.append(f'<ul class="legend">{keys}</ul>')
        return "".join(out)

    def _axes(self) -> list[str]:
        bottom, out = self.height - self.foot, []
        x_ticks = range(len(self.x_labels)) if self.x_labels else ticks(*self.x)
        y_ticks = range(len(self.y_labels)) if self.y_labels else ticks(*self.y)
        for i, (value, place) in enumerate(zip(x_ticks, self.px(list(x_ticks)), strict=True)):
            words = self.x_labels[i] if self.x_labels else label(value)
            out.append(f'<path class="grid" d="M{place:.1f} {TOP}V{bottom}"/>' if self.has_grid else "")
            turn = f'text-anchor="end" transform="rotate(-35 {place:.1f} {bottom + 12})"'
            anchor = turn if self.is_crowded else 'text-anchor="middle"'
            out.append(f'<text x="{place:.1f}" y="{bottom + 14}" {anchor}>{escape(short(words, 14))}</text>')
        for i, (value, place) in enumerate(zip(y_ticks, self.py(list(y_ticks)), strict=True)):
            words = self.y_labels[i] if self.y_labels else label(value)
            out.append(f'<path class="grid" d="M{self.left} {place:.1f}H{WIDTH - RIGHT}"/>' if self.has_grid else "")
            out.append(
                f'<text x="{self.left - 5}" y="{place + 4:.1f}" text-anchor="end">{escape(short(words, 26))}</text>'
            )
        middle = (self.left + WIDTH - RIGHT) / 2
        out.append(f'<text x="{middle:.0f}" y="{self.height - 8}" text-anchor="middle">{escape(self.x_name)}</text>')
        y = (TOP + bottom) / 2
        turned = f'transform="rotate(-90 12 {y:.0f})" x="12" y="{y:.0f}" text-anchor="middle"'
        out.append(f"<text {turned}>{escape(self.y_name)}</text>" if self.y_name else "")
        return out


def short(text: str, n: int) -> str:
    return text if len(text) <= n else text[: n - 1] + "…"


def bar_chart(
    title: str,
    names: Sequence[str],
    values: Any,
    errors: Any = None,
    x_name: str = "",
    description: str = "",
) -> Chart:
    """Horizontal bars, the first one on top, with standard errors."""
    values = np.asarray(values, dtype=float)
    spread = np.zeros(len(values)) if errors is None else np.nan_to_num(np.asarray(errors, dtype=float))
    low, high = min(0.0, float((values - spread).min())), max(0.0, float((values + spread).max()))
    n = len(names)
    chart = Chart(
        title, (low, high or 1.0), (-0.6, n - 0.4), x_name, height=BOTTOM + TOP + 20 * n, left=176,
        description=description, y_labels=list(names)[::-1],
    )  # fmt: skip
    places = np.arange(n)[::-1]
    for y, value, error in zip(places, values, spread, strict=True):
        chart.boxes([0.0], [value], [y + 0.32], y0=[y - 0.32], colour=0 if value >= 0 else 1)
        if error:
            a, b, c = chart.px(value - error), chart.px(value + error), chart.py(y)
            chart.marks.append(f'<path class="ink" d="M{a:.1f} {c:.1f}H{b:.1f}"/>')
    return chart


def heat_map(title: str, rows: Sequence[str], columns: Sequence[str], values: Any, x_name: str, y_name: str) -> Chart:
    """Cells shaded by their share of the row, with their numbers if there are few."""
    values = np.asarray(values, dtype=float)
    n, m = values.shape
    chart = Chart(
        title, (-0.5, m - 0.5), (-0.5, n - 0.5), x_name, y_name, height=BOTTOM + TOP + max(80, 26 * n), left=110,
        x_labels=list(columns), y_labels=list(rows)[::-1], has_grid=False,
    )  # fmt: skip
    chart.height += int(chart.foot) - BOTTOM
    share = values / np.maximum(values.sum(axis=1, keepdims=True), 1e-300)
    for i in range(n):
        for j in range(m):
            a, b, c, d = chart.px(j - 0.48), chart.px(j + 0.48), chart.py(n - 1 - i + 0.48), chart.py(n - 1 - i - 0.48)
            place = f'x="{a:.1f}" y="{c:.1f}" width="{b - a:.1f}" height="{d - c:.1f}"'
            chart.marks.append(f'<rect class="f c0" style="opacity:{share[i, j]:.3f}" {place}/>')
            if m <= 12:
                chart.text(j, n - 1 - i, label(values[i, j]), "dark" if share[i, j] > 0.5 else "bare")
    return chart
