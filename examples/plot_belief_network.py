"""
A belief network that completes digits
======================================

Hidden causes of pixels, learned by Monte Carlo EM. Given the upper half of a digit it fills in the lower.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from suffice import SigmoidBeliefNetwork

X = (load_digits().data > 7).astype(float)
model = SigmoidBeliefNetwork(hidden=(40,), max_iter=20, batch_size=200, random_state=0).fit(X[:1500])
half = X[1500:1508].copy()
half[:, 32:] = np.nan
filled = model.impute(half)

_, axes = plt.subplots(3, 8, figsize=(8, 3.2), layout="constrained")
for row, (images, name) in enumerate(zip((X[1500:1508], half, filled), ("true", "given", "filled in"), strict=True)):
    for ax, image in zip(axes[row], images, strict=True):
        ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
    axes[row, 0].set_ylabel(name)
