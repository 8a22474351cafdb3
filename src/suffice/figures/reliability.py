"""Are the probabilities right? Predicted against observed shares."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..evaluation.bins import Reliability, reliability
from ..evaluation.calibration import calibration_error
from .style import COLOURS, legend, on_axes, reference

CONFIDENCE = "confidence"


class ReliabilityDisplay:
    """Reliability diagram: of every class, with 95 % intervals, or of the confidence in the predicted class.

    A point on the diagonal: events that were given the probability p happened in a share p of the cases. Its area: how many rows.

    Parameters
    ----------
    curves : dict {name: Reliability}
        Of every class, or {"confidence": ...}.
    calibration_error : float
        Expected calibration error of the confidence (15 bins).

    Attributes
    ----------
    ax_, figure_ : what was drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GaussianNB, ReliabilityDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianNB(loss="nll").fit(X[::2], y[::2])
    >>> display = ReliabilityDisplay.from_estimator(model, X[1::2], y[1::2], n_bins=5)
    >>> display.figure_.axes[0].get_xlabel()
    'predicted probability'
    """

    curves: Any
    calibration_error: float

    def __init__(self, curves: dict[str, Reliability], calibration_error: float) -> None:
        self.curves, self.calibration_error = curves, calibration_error

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        classes: Any = None,
        n_bins: int = 10,
        strategy: str = "uniform",
        ax: Any = None,
    ) -> ReliabilityDisplay:
        """Draw the reliability of a fitted classifier on rows X with labels y.

        `classes` are the labels to draw: None takes all of at most four, and the confidence of more; "confidence" takes that.
        """
        found = estimator.predict_proba(X)
        return cls.from_predictions(
            y, found, labels=estimator.classes_, classes=classes, n_bins=n_bins, strategy=strategy, ax=ax
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: np.ndarray,
        y_proba: np.ndarray,
        *,
        labels: Any,
        classes: Any = None,
        n_bins: int = 10,
        strategy: str = "uniform",
        ax: Any = None,
    ) -> ReliabilityDisplay:
        """Draw the reliability of probabilities (rows by labels)."""
        y, p, labels = np.asarray(y_true), np.asarray(y_proba, dtype=float), np.asarray(labels)
        if p.shape != (len(y), len(labels)):
            raise ValueError(f"y_proba has shape {p.shape}; {len(y)} rows and {len(labels)} labels need one each")
        if classes is None:
            classes = labels[1:] if len(labels) == 2 else labels if len(labels) <= 4 else CONFIDENCE
        if isinstance(classes, str) and classes == CONFIDENCE:
            best = p.argmax(axis=1)
            curves = {CONFIDENCE: reliability(labels[best] == y, p.max(axis=1), n_bins, strategy)}
        else:
            places = [int(np.flatnonzero(labels == label)[0]) for label in np.atleast_1d(classes)]
            curves = {str(labels[k]): reliability(y == labels[k], p[:, k], n_bins, strategy) for k in places}
        return cls(curves, calibration_error(y, p, labels)).plot(ax=ax)

    def plot(self, ax: Any = None) -> ReliabilityDisplay:
        """Draw; `ax` is an axes of matplotlib, None makes a figure."""
        with on_axes(self, ax, size=(5.2, 3.8)) as axes:
            reference(axes, "perfectly calibrated", [0, 1], [0, 1])
            largest = max(float(curve.count.max()) for curve in self.curves.values())
            for colour, (name, curve) in zip(COLOURS * 9, self.curves.items(), strict=False):
                spread = np.maximum(0.0, [curve.observed - curve.low, curve.high - curve.observed])
                axes.errorbar(curve.predicted, curve.observed, spread, color=colour, linewidth=1.0, elinewidth=0.8)
                size = 10 + 90 * curve.count / largest
                axes.scatter(curve.predicted, curve.observed, size, color=colour, label=name, zorder=3)
            is_confidence = list(self.curves) == [CONFIDENCE]
            axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="predicted probability")
            axes.set_ylabel("share that is right" if is_confidence else "share of the class")
            axes.set_title(f"calibration error {self.calibration_error:.3f}")
            legend(axes, None if is_confidence else "class")
        return self
