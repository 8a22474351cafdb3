"""What every pass of a fit came to."""

from __future__ import annotations

from typing import Any

import numpy as np

from .style import COLOURS, legend, on_axes, reference


class ConvergenceDisplay:
    """The objective (or another line of `history_`) after every pass, and the best of them.

    Parameters
    ----------
    history : dict {name: list of values}
        One list an estimator.
    measure : str
    stopped : str or None
        Why training stopped; the title, if one estimator is shown.

    Attributes
    ----------
    ax_, figure_ : what was drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import ConvergenceDisplay, GaussianMixture
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> display = ConvergenceDisplay.from_estimator(GaussianMixture(2, random_state=0).fit(X))
    >>> display.ax_.get_ylabel()
    'objective'
    """

    history: dict[str, list[Any]]
    measure: str
    stopped: str | None

    def __init__(self, history: dict[str, list[Any]], measure: str = "objective", stopped: str | None = None) -> None:
        self.history, self.measure, self.stopped = history, measure, stopped

    @classmethod
    def from_estimator(cls, estimator: Any, *, measure: str = "objective", ax: Any = None) -> ConvergenceDisplay:
        """Draw a fitted estimator, or several: a dict {name: estimator}."""
        models = estimator if isinstance(estimator, dict) else {type(estimator).__name__: estimator}
        history = {name: values_of(model, measure) for name, model in models.items()}
        stopped = getattr(next(iter(models.values())), "stopped_", None) if len(models) == 1 else None
        return cls(history, measure, None if stopped is None else str(stopped)).plot(ax=ax)

    def plot(self, ax: Any = None) -> ConvergenceDisplay:
        """Draw; `ax` is an axes of matplotlib, None makes a figure."""
        with on_axes(self, ax, size=(5.4, 3.4)) as axes:
            for colour, (name, values) in zip(COLOURS * 9, self.history.items(), strict=False):
                axes.plot(range(1, len(values) + 1), values, "o-", color=colour, markersize=2.5, label=name)
            if len(self.history) == 1:
                (values,) = self.history.values()
                best = float(np.min(values))
                reference(axes, f"best: {best:.6g}", [1, max(2, len(values))], [best, best])
            axes.set(xlabel="pass over the data", ylabel=self.measure)
            axes.xaxis.get_major_locator().set_params(integer=True)
            if self.stopped:
                axes.set_title(self.stopped, wrap=True, fontsize=8)
            legend(axes)
        return self


def values_of(model: Any, measure: str) -> list[float]:
    """A line of the history of a fitted model."""
    history = getattr(model, "history_", None)
    if history is None:
        raise ValueError(f"{type(model).__name__} has no history_: fit it first")
    if isinstance(history, list) and all(isinstance(value, float) for value in history):
        history = {"objective": history}
    if isinstance(history, dict):
        known, lines = list(history), history.get(measure)
    else:  # a record a pass
        known = sorted({name for line in history for name in line})
        lines = [line[measure] for line in history if measure in line] or None
    if lines is None:
        raise ValueError(f"measure={measure!r} is not one of {', '.join(known)}")
    return [float(value) for value in lines]
