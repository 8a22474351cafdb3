"""Pictures. matplotlib is an extra and imported only here, when a picture is drawn."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

COLOURS = ("#1b6ca8", "#c8553d", "#588157", "#7a5195", "#bc8f00", "#555555")


@contextmanager
def figure(path: Path, rows: int = 1, columns: int = 1, size: tuple[float, float] = (6.0, 4.0)):
    """Axes (an array of them) to draw on; the picture is written when the block ends."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'suffice[figures]'") from error
    picture = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    FigureCanvasAgg(picture)
    yield picture.subplots(rows, columns, squeeze=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path, dpi=110)


def tidy(axes, title: str = "", x: str = "", y: str = "") -> None:
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
