"""The style sheet of every figure, and where figures begin: `figure` writes a file, `on_axes` draws for a display."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STYLE = Path(__file__).with_name("suffice.mplstyle")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#B8A800")  # those of STYLE
QUIET = "#8C8C8C"  # of reference lines and of what is not ours


@contextmanager
def style() -> Iterator[None]:
    """Draw with the project's style inside the block; matplotlib's settings are as before after it.

    Examples
    --------
    >>> from suffice.figures import style
    >>> with style():
    ...     import matplotlib
    ...     matplotlib.rcParams["axes.spines.top"]
    False
    """
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'suffice[figures]'") from error
    with matplotlib.rc_context(fname=str(STYLE)):
        yield


@contextmanager
def figure(path: Path, rows: int = 1, columns: int = 1, size: tuple[float, float] = (6.0, 4.0)) -> Iterator[Any]:
    """Axes (an array of them) to draw on; the picture is written when the block ends, as its name says (.png, .svg, .pdf)."""
    with style():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        picture = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
        FigureCanvasAgg(picture)
        yield picture.subplots(rows, columns, squeeze=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        picture.savefig(path)


def tidy(axes: Any, title: str = "", x: str = "", y: str = "") -> None:
    axes.set_title(title)
    axes.set_xlabel(x)
    axes.set_ylabel(y)


@contextmanager
def on_axes(display: Any, ax: Any, rows: int = 1, size: tuple[float, float] = (5.0, 3.6)) -> Iterator[Any]:
    """`rows` axes for a display (one object if rows is 1): the given ones, or those of a new figure. Sets `ax_`, `figure_`."""
    with style():
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(rows, 1, figsize=(size[0], size[1] * rows), sharex=rows > 1, layout="constrained")
        display.ax_ = ax
        display.figure_ = (ax if rows == 1 else ax[0]).figure
        yield ax


def legend(axes: Any, title: str | None = None) -> None:
    """A legend beside the axes, where it hides nothing."""
    axes.legend(title=title, loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.0)


def reference(axes: Any, label: str, x: Any, y: Any, **how: Any) -> None:
    """A dashed grey line of what would be perfect, or of chance, with its name in the legend."""
    axes.plot(x, y, color=QUIET, linestyle="--", linewidth=1.0, label=label, **how)
