"""
Probabilities that mean what they say
=====================================

Plain naive Bayes counts dependent columns as if they were independent and is far too sure. Trained with ``loss="ncll"``, the same family is
calibrated.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_predict

from suffice import GaussianNB, ReliabilityDisplay

X, y = load_breast_cancer(return_X_y=True)
_, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for ax, loss in zip(axes, ("nll", "ncll"), strict=True):
    proba = cross_val_predict(GaussianNB(loss=loss, random_state=0), X, y, cv=5, method="predict_proba")
    display = ReliabilityDisplay.from_predictions(y, proba, labels=[0, 1], n_bins=8, ax=ax)
    ax.set_title(f"{loss}: calibration error {display.calibration_error:.3f}")
