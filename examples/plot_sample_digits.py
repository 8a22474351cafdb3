"""
New digits
==========

A classifier that can draw: three digits of every class, by a mixture of ten components a class.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from suffice import MixtureClassifier

X, y = load_digits(return_X_y=True)
model = MixtureClassifier(10, family="bernoulli", loss="nll", random_state=0).fit((X > 7).astype(int), y)

_, axes = plt.subplots(3, 10, figsize=(8, 2.6), layout="constrained")
for k in range(10):
    rows, _ = model.sample(3, y=k, random_state=1)
    for ax, image in zip(axes[:, k], np.asarray(rows, dtype=float), strict=True):
        ax.imshow(image.reshape(8, 8), cmap="gray_r")
        ax.set(xticks=[], yticks=[])
    axes[0, k].set_title(str(k), loc="center")
