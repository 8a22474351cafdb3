"""
A mixture of a table with holes
===============================

Two fifths of the cells are gone. They are latent variables of EM, so the components are found all the same. Filling in column means
first ruins them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from suffice import GaussianMixture

rng = np.random.default_rng(0)
labels = rng.integers(3, size=600)
factor = rng.normal(size=(600, 1))
X = np.array([[0, 0, 0, 0], [4, -3, 4, 2], [-4, -4, 3, -2]])[labels] + factor + 0.6 * rng.normal(size=(600, 4))
holes = np.where(rng.random(X.shape) < 0.4, np.nan, X)
means = np.where(np.isnan(holes), np.nanmean(holes, axis=0), holes)

_, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
for ax, (name, rows) in zip(axes, {"holes as they are": holes, "column means": means}.items(), strict=True):
    model = GaussianMixture(3, random_state=0, n_init=5).fit(rows)
    found = model.predict(rows)
    ax.scatter(X[:, 0], X[:, 1], 8, c=[f"C{k}" for k in found])
    ax.set(title=f"{name}: agreement with the truth {adjusted_rand_score(labels, found):.2f}", xlabel="x0")
axes[0].set_ylabel("x1")
