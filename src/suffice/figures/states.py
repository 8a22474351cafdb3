"""A sequence and the states a hidden Markov model sees in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .style import COLOURS, legend, on_axes


class StatesDisplay:
    """Above: a sequence, its steps coloured by the most probable path. Below: the probability of every state at every step.

    Parameters
    ----------
    steps : ndarray of shape (n_steps, n_features) or (n_steps,)
        What was observed (symbols as numbers or texts).
    path : ndarray of shape (n_steps,)
        The most probable path.
    probabilities : ndarray of shape (n_steps, n_states)
        Given the whole sequence.
    expected : ndarray of shape (n_steps,), default=None
        The mean of the column under the states' probabilities, drawn as a line: the states' means over time.

    Attributes
    ----------
    ax_ : array of two axes
    figure_ : the figure

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import GaussianHMM, StatesDisplay
    >>> X = np.array([0.1, -0.2, np.nan, 0.1, 5.1, 4.8, 5.0, 5.2, 0.0, 0.1])[:, None]
    >>> display = StatesDisplay.from_estimator(GaussianHMM(2, random_state=0).fit(X), X)
    >>> len(display.ax_)
    2
    """

    steps: np.ndarray
    path: np.ndarray
    probabilities: np.ndarray
    column: int

    def __init__(
        self, steps: np.ndarray, path: np.ndarray, probabilities: np.ndarray, column: int = 0, expected: Any = None
    ) -> None:
        self.steps, self.path, self.probabilities, self.column = steps, path, probabilities, column
        self.expected = expected

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, column: int = 0, ax: Any = None) -> StatesDisplay:
        """Draw one sequence X, an array of steps by columns, under a fitted model; `column` is the one to show, `ax` two axes."""
        path, shares = np.asarray(estimator.predict(X)), np.asarray(estimator.predict_proba(X))
        means = getattr(estimator, "means_", getattr(estimator, "lambdas_", None))
        expected = shares @ means[:, column] if isinstance(means, np.ndarray) and means.ndim == 2 else None
        return cls(np.asarray(X), path, shares, column, expected).plot(ax=ax)

    def plot(self, ax: Any = None) -> StatesDisplay:
        """Draw; `ax` is a pair of axes of matplotlib, None makes a figure."""
        with on_axes(self, ax, rows=2, size=(7.0, 1.9)) as (top, bottom):
            cells = self.steps if self.steps.ndim == 1 else self.steps[:, self.column]
            if cells.dtype.kind in "OUS":
                names, cells = np.unique(cells.astype(str), return_inverse=True)
                top.set_yticks(range(len(names)), names)
            time, n_states = np.arange(len(self.path)), self.probabilities.shape[1]
            top.plot(time, cells, color="#BFBFBF", linewidth=0.8, zorder=1)
            for k in range(n_states):
                own = self.path == k
                top.scatter(time[own], cells[own], 8, color=COLOURS[k % len(COLOURS)], label=f"state {k}", zorder=2)
            if self.expected is not None:
                top.plot(time, self.expected, color="#404040", linewidth=1.2, label="states' means", zorder=3)
            top.set_ylabel("observed")
            colours = [COLOURS[k % len(COLOURS)] for k in range(n_states)]
            bottom.stackplot(time, self.probabilities.T, colors=colours, alpha=0.8, step="mid")
            bottom.set(xlabel="step", ylabel="p(state | sequence)", ylim=(0, 1))
            legend(top)
        return self
