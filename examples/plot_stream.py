"""
A classifier from a stream
==========================

Batches of fifty digits; no batch is kept. The dashed line is a fit on all of them at once, which visits every row many times.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from suffice import GaussianNB

X, y = load_digits(return_X_y=True)
stream, seen, scores = GaussianNB(), [], []
for rows in np.array_split(np.arange(1400), 28):
    stream.partial_fit(X[rows], y[rows], classes=range(10))
    seen.append(rows[-1] + 1)
    scores.append(stream.score(X[1400:], y[1400:]))
whole = GaussianNB(random_state=0).fit(X[:1400], y[:1400]).score(X[1400:], y[1400:])

_, ax = plt.subplots(figsize=(6, 3.2))
ax.plot(seen, scores, "o-", label="stream")
ax.axhline(whole, color="#8C8C8C", linestyle="--", label="fit on all 1,400 rows")
ax.set(xlabel="rows seen", ylabel="accuracy on 397 later digits")
ax.legend()
