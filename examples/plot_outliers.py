"""
Rows that do not belong
=======================

``score_samples`` is log p(x): low for rows unlike any the model has seen. Here digits are turned upside down.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from suffice import MixtureClassifier

X, y = load_digits(return_X_y=True)
model = MixtureClassifier(2, loss="nll", random_state=0).fit(X[:1200], y[:1200])
upright = X[1200:][y[1200:] == 7]
turned = upright.reshape(-1, 8, 8)[:, ::-1].reshape(-1, 64)

fine, strange = model.score_samples(upright), model.score_samples(turned)
auc = roc_auc_score([0] * len(fine) + [1] * len(strange), -np.concatenate([fine, strange]))
_, ax = plt.subplots(figsize=(6, 3))
bins = np.linspace(min(fine.min(), strange.min()), fine.max(), 40)
ax.hist(fine, bins, alpha=0.6, label="sevens")
ax.hist(strange, bins, alpha=0.6, label="sevens, upside down")
ax.set(xlabel="log p(x)", ylabel="rows", title=f"told apart with an area under the curve of {auc:.3f}")
ax.legend()
