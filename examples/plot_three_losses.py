"""
What the losses do to a density
===============================

One column, two classes, and data that are not normal given the class (Masegosa 2014, section 4.1). Maximum likelihood puts the second
normal between the two heaps of its class, where there is nothing. The other losses put the densities where they separate the classes.

Bars and curves are joint densities p(x, y): they are of one height where the model fits.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import DensityDisplay, GaussianNB

rng = np.random.default_rng(0)
n = 4000
y = rng.choice([-1, 1], n)
heaps = np.where(rng.random(n) < 0.8, -5.0, 5.0) + 0.1 * rng.normal(size=n)
X = np.where(y == -1, 3.0 * rng.normal(size=n), heaps)[:, None]
train, test = slice(0, n // 2), slice(n // 2, n)

_, axes = plt.subplots(3, 1, figsize=(7, 6), sharex=True, layout="constrained")
for ax, loss in zip(axes, ("nll", "ncll", "hinge"), strict=True):
    model = GaussianNB(loss=loss, random_state=0).fit(X[train], y[train])
    DensityDisplay.from_estimator(model, X, y, n_points=800, bins=120, ax=ax)
    ax.set(yscale="log", ylim=(1e-3, 3), title=f"{loss}: accuracy {model.score(X[test], y[test]):.3f}")
