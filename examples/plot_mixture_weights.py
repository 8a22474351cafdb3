"""
Weighted rows in a mixture
==========================

A weight of two is the row twice. Here every distinct value of a rounded column is kept once, with its count as its weight.
"""

import numpy as np

from suffice import GaussianMixture

rng = np.random.default_rng(0)
x = np.concatenate([rng.normal(0, 1, 30_000), rng.normal(4, 0.5, 10_000)]).round(2)
values, counts = np.unique(x, return_counts=True)
whole = GaussianMixture(2, random_state=0, tol=1e-8).fit(x[:, None])
short = GaussianMixture(2, random_state=0, tol=1e-8).fit(values[:, None], sample_weight=counts)
print(f"{len(x)} rows:        means {np.sort(whole.means_[:, 0]).round(3)}, weights {np.sort(whole.weights_).round(3)}")
print(
    f"{len(values)} weighted rows: means {np.sort(short.means_[:, 0]).round(3)}, weights {np.sort(short.weights_).round(3)}"
)
