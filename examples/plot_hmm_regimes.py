"""
Regimes in a series
===================

A series that changes its level and its spread, with a gap. The hidden Markov model finds the regimes and sees through the gap.
"""

import numpy as np

from suffice import GaussianHMM, StatesDisplay

rng = np.random.default_rng(2)
levels, spreads = [0.0, 0.0, 3.0], [0.3, 1.5, 0.4]
states = np.repeat(rng.permutation(np.tile([0, 1, 2], 3)), rng.integers(20, 60, 9))
X = rng.normal(np.array(levels)[states], np.array(spreads)[states])[:, None]
X[100:120] = np.nan

model = GaussianHMM(3, n_init=4, random_state=0).fit(X)
order = np.argsort(model.means_[:, 0])
print("means", model.means_[order, 0].round(2), "deviations", np.sqrt(model.covars_[order, 0]).round(2))
StatesDisplay.from_estimator(model, X)
