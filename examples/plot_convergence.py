"""
How EM gets there
=================

Plain EM creeps where components overlap. ``algorithm="accelerated"`` leaps along EM's own path and never goes up either.
"""

import numpy as np

from suffice import ConvergenceDisplay, GaussianMixture

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(0, 1, (400, 1)), rng.normal(2.2, 1, (400, 1))])
models = {
    name: GaussianMixture(2, algorithm=name, random_state=0, tol=1e-7, max_iter=500).fit(X)
    for name in ("em", "accelerated")
}
display = ConvergenceDisplay.from_estimator(models)
display.ax_.set_xscale("log")
