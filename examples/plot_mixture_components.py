"""
How many components?
====================

BIC over the number of components, and what variational Bayes makes of too many: superfluous components lose their mass.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import GaussianMixture

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(m, 0.5, (150, 2)) for m in ([0, 0], [3, 0], [0, 3], [3, 3])])
counts = range(1, 9)
bic = [GaussianMixture(k, covariance_type="diag", n_init=3, random_state=0).fit(X).bic(X) for k in counts]
variational = GaussianMixture(8, covariance_type="diag", algorithm="variational", random_state=0, max_iter=500).fit(X)

_, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
left.plot(counts, bic, "o-")
left.set(
    xlabel="components", ylabel="BIC (lower is better)", title=f"least at {counts[int(np.argmin(bic))]} components"
)
right.bar(range(8), np.sort(variational.weights_)[::-1])
right.set(xlabel="component", ylabel="weight", title="variational Bayes, begun with 8")
