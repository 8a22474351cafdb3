"""
The lower half of a digit
=========================

Missing cells are filled with their expectation given the rest of the row. A mixture with a tied covariance knows how pixels hang together.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from suffice import GaussianMixture

X, _ = load_digits(return_X_y=True)
model = GaussianMixture(20, covariance_type="tied", random_state=0, max_iter=30).fit(X[:1500])
whole = X[1500:1508]
half = whole.copy()
half[:, 32:] = np.nan
filled, std = model.impute(half, return_std=True)

_, axes = plt.subplots(3, 8, figsize=(8, 3.2), layout="constrained")
for row, (images, name) in enumerate(zip((whole, half, filled), ("true", "given", "filled in"), strict=True)):
    for ax, image in zip(axes[row], images, strict=True):
        ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        ax.set(xticks=[], yticks=[])
    axes[row, 0].set_ylabel(name)
print(
    f"error {np.abs(filled - whole)[:, 32:].mean():.2f} grey levels; with column means {np.abs(X[:1500].mean(0) - whole)[:, 32:].mean():.2f}"
)
