"""The states of a hidden Markov model as a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from .style import COLOURS, on_axes

LEAST = 0.01  # transitions below it are not drawn


class TransitionsDisplay:
    """States on a circle, an arrow where one follows another: the wider, the more probable. The number in a state: how probable it is
    to stay.

    Parameters
    ----------
    transitions : ndarray of shape (n_states, n_states)
    names : list of str, default=None
        Of the states; None numbers them.

    Attributes
    ----------
    ax_ : the axes
    figure_ : the figure

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import GaussianHMM, TransitionsDisplay
    >>> X = np.array([0.1, -0.2, np.nan, 0.1, 5.1, 4.8, 5.0, 5.2, 0.0, 0.1])[:, None]
    >>> display = TransitionsDisplay.from_estimator(GaussianHMM(2, random_state=0).fit(X))
    >>> display.transitions.shape
    (2, 2)
    """

    def __init__(self, transitions: np.ndarray, names: list[str] | None = None) -> None:
        self.transitions: np.ndarray = np.asarray(transitions)
        self.names: list[str] = [str(k) for k in range(len(self.transitions))] if names is None else list(names)

    @classmethod
    def from_estimator(cls, estimator: Any, *, names: list[str] | None = None, ax: Any = None) -> TransitionsDisplay:
        """Draw a fitted hidden Markov model."""
        return cls(estimator.transmat_, names).plot(ax=ax)

    def plot(self, ax: Any = None) -> TransitionsDisplay:
        """Draw; `ax` is an axes of matplotlib, None makes a figure."""
        S = len(self.transitions)
        angle = np.pi / 2 - 2 * np.pi * np.arange(S) / S
        places = np.stack([np.cos(angle), np.sin(angle)], axis=1) if S > 1 else np.zeros((1, 2))
        with on_axes(self, ax, size=(4.6, 4.2)) as axes:
            for i in range(S):
                for j in range(S):
                    p = self.transitions[i, j]
                    if i != j and p >= LEAST:
                        way = {
                            "arrowstyle": "-|>", "connectionstyle": "arc3,rad=0.18", "lw": 0.6 + 4 * p, "shrinkA": 17,
                            "shrinkB": 17, "color": COLOURS[i % len(COLOURS)], "alpha": 0.35 + 0.65 * p,
                        }  # fmt: skip
                        axes.annotate("", places[j], places[i], arrowprops=way)
            for k, (x, y) in enumerate(places):
                axes.scatter([x], [y], 900, color=COLOURS[k % len(COLOURS)], zorder=3)
                text = f"{self.names[k]}\n{self.transitions[k, k]:.2f}"
                axes.text(x, y, text, ha="center", va="center", color="white", fontsize=8, zorder=4)
            axes.set(xlim=(-1.35, 1.35), ylim=(-1.35, 1.35), aspect="equal")
            axes.axis("off")
        return self
