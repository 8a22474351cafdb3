"""
A mixture from a stream
=======================

``partial_fit`` takes batches and keeps none of them. After sixty batches it is almost as good as EM on all rows at once.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import GaussianMixture

rng = np.random.default_rng(0)


def batch(n):
    labels = rng.integers(3, size=n)
    return np.array([[0, 0], [4, 1], [1, 5]])[labels] + rng.normal(size=(n, 2))


test, seen, scores = batch(2000), [], []
stream = GaussianMixture(3, random_state=0)
for _ in range(60):
    rows = batch(100)
    seen.append(rows)
    scores.append(stream.partial_fit(rows).score(test))
whole = GaussianMixture(3, random_state=0, n_init=3).fit(np.concatenate(seen)).score(test)

_, ax = plt.subplots(figsize=(6, 3.2))
ax.plot(np.arange(1, 61) * 100, scores, label="stream")
ax.axhline(whole, color="#8C8C8C", linestyle="--", label="EM on all rows at once")
ax.set(xlabel="rows seen", ylabel="mean log p(x) of new rows")
ax.legend()
