"""The joint density of one column and the class (or component), above the rows it was learned from."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..evaluation.densities import ColumnDensity, column_density
from .style import COLOURS, legend, on_axes


class DensityDisplay:
    """p(x, y) of one column under a model, with the histograms of the rows on the same scale.

    Histograms and curves are both *joint*: the bars of a class have the area of its share of the rows, the curve that of its
    probability under the model, so bars and curves are of one height where the model fits. Every other column is summed out, exactly.

    Parameters
    ----------
    density : ColumnDensity
    cells, outcomes : ndarray of shape (n_samples,) or None
        The column and the labels, for the histograms.

    Attributes
    ----------
    ax_, figure_ : what was drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import DensityDisplay, GaussianNB
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = GaussianNB(loss="nll").fit(X, y)
    >>> display = DensityDisplay.from_estimator(model, X, y, column="petal length (cm)")
    >>> display.ax_.get_xlabel()
    'petal length (cm)'
    """

    density: Any
    cells: Any
    outcomes: Any

    def __init__(self, density: ColumnDensity, cells: Any = None, outcomes: Any = None) -> None:
        self.density, self.cells, self.outcomes = density, cells, outcomes

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        column: int | str = 0,
        n_points: int = 300,
        bins: int = 40,
        ax: Any = None,
    ) -> DensityDisplay:
        """Draw a column of a fitted classifier or mixture; without y the rows are shown as one histogram."""
        density = column_density(estimator, X, column, n_points)
        place = list(map(str, X.columns)).index(density.column) if hasattr(X, "columns") else int(column)
        cells = X.iloc[:, place].to_numpy() if hasattr(X, "iloc") else np.asarray(X)[:, place]
        return cls(density, cells, None if y is None else np.asarray(y)).plot(ax=ax, bins=bins)

    def plot(self, ax: Any = None, bins: int = 40) -> DensityDisplay:
        """Draw; `ax` is an axes of matplotlib, None makes a figure."""
        with on_axes(self, ax) as axes:
            (self._curves if self.density.is_numeric else self._bars)(axes, bins)
            axes.set_xlabel(self.density.column)
            axes.set_ylabel("joint density p(x, y)" if self.density.is_numeric else "joint probability p(x, y)")
            if len(self.density.outcomes) > 1:
                legend(axes)
        return self

    def _curves(self, axes: Any, bins: int) -> None:
        found = self.density
        edges = np.linspace(found.values[0], found.values[-1], bins + 1)
        for k, name in enumerate(found.outcomes):
            colour = COLOURS[k % len(COLOURS)]
            rows = self._rows(name)
            if rows is not None:
                share = np.full(len(rows), 1.0 / (len(self.cells) * (edges[1] - edges[0])))
                axes.hist(rows.astype(float), edges, weights=share, color=colour, alpha=0.3, linewidth=0)
            axes.plot(found.values, found.joint[:, k], color=colour, label=name)
        if self.cells is not None and self.outcomes is None:
            known = np.asarray(self.cells, dtype=float)
            axes.hist(known[np.isfinite(known)], edges, density=True, color="#BFBFBF", alpha=0.5, zorder=0)
            axes.plot(found.values, found.joint.sum(axis=1), color="black", linewidth=1.0, label="p(x)")

    def _rows(self, name: str) -> Any:
        if self.outcomes is None or self.cells is None:
            return None
        own = self.cells[np.asarray(self.outcomes).astype(str) == name]
        return np.array([cell for cell in own if cell is not None and cell == cell])

    def _bars(self, axes: Any, bins: int) -> None:
        found, n = self.density, len(self.density.outcomes)
        places = np.arange(len(found.values))
        for k, name in enumerate(found.outcomes):
            axes.bar(places + (k - (n - 1) / 2) * 0.8 / n, found.joint[:, k], 0.8 / n, label=name, color=COLOURS[k % 8])
            rows = self._rows(name)
            if rows is not None:
                seen = [np.sum(rows.astype(str) == str(value)) / len(self.cells) for value in found.values]
                axes.plot(places + (k - (n - 1) / 2) * 0.8 / n, seen, "_", color="black", markersize=9)
        axes.set_xticks(places, [str(value) for value in found.values], rotation=30 if len(places) > 5 else 0)
