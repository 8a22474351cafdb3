"""Pictures of weights, samples, completions and learning curves; matplotlib is imported when one is drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def figure(n_inches_wide: float, n_inches_high: float):
    from matplotlib.figure import Figure  # no pyplot: nothing global, no display needed

    return Figure(figsize=(n_inches_wide, n_inches_high), dpi=120)


def mosaic(images: np.ndarray, n_columns: int, blank: float) -> np.ndarray:
    """Images (n, height, width) side by side with a line of `blank` between them."""
    n, height, width = images.shape
    n_rows = -(-n // n_columns)
    board = np.full((n_rows * (height + 1) + 1, n_columns * (width + 1) + 1), blank)
    for k, image in enumerate(images):
        top, left = (k // n_columns) * (height + 1) + 1, (k % n_columns) * (width + 1) + 1
        board[top : top + height, left : left + width] = image
    return board


def tiles(images: np.ndarray, n_columns: int | None = None, symmetric: bool = False, title: str = ""):
    """A figure of many small images; `symmetric` for weights (grey is zero)."""
    n_columns = n_columns or int(np.ceil(np.sqrt(len(images))))
    limit = float(np.quantile(np.abs(images), 0.995)) or 1.0
    low, high = (-limit, limit) if symmetric else (0.0, 1.0)
    board = mosaic(images, n_columns, high if symmetric else 0.5)
    drawn = figure(8, 8 * board.shape[0] / board.shape[1] + (0.3 if title else 0))
    axes = drawn.add_axes((0, 0, 1, 0.97 if title else 1))
    axes.imshow(board, cmap="gray", vmin=low, vmax=high, interpolation="nearest")
    axes.set_axis_off()
    if title:
        axes.set_title(title, fontsize=9)
    return drawn


def dictionary(model, shape: tuple[int, int], n_units: int | None = None):
    """The first layer's weights of a fitted network, one tile a hidden unit."""
    images = model.components_[:n_units, : model.n_features_in_].reshape(-1, *shape)
    return tiles(images, symmetric=True)


def curves(lines: dict[str, list[tuple[np.ndarray, np.ndarray]]], xlabel: str, ylabel: str, title: str = "", low=None):
    """One colour a name, one line a seed."""
    drawn = figure(6, 4)
    axes = drawn.add_subplot()
    for k, (name, runs) in enumerate(lines.items()):
        for i, (x, y) in enumerate(runs):
            axes.plot(x, y, color=f"C{k}", label=name if i == 0 else None, marker="o", markersize=2)
    axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
    if low is not None:
        axes.set_ylim(bottom=low)
    axes.legend()
    axes.grid(alpha=0.3)
    drawn.tight_layout()
    return drawn


def save(drawn, folder: Path, name: str) -> Path:
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    drawn.savefig(path)
    return path
