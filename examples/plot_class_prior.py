"""
Other class frequencies tomorrow
================================

A joint model holds p(y) apart from p(x | y). If classes will be met in other proportions, give them: ``class_prior``.
"""

import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

from suffice import GaussianDiscriminant

X, y = make_classification(6000, n_features=6, n_informative=4, random_state=4)
train = np.arange(3000)
rng = np.random.default_rng(0)
test = np.concatenate([rng.choice(np.flatnonzero(y == k), n) for k, n in ((0, 1900), (1, 100))])

for prior in (None, [0.95, 0.05]):
    model = GaussianDiscriminant(class_prior=prior, random_state=0).fit(X[train], y[train])
    proba = model.predict_proba(X[test])
    print(f"class_prior={prior}: accuracy {model.score(X[test], y[test]):.3f}, log-loss {log_loss(y[test], proba):.3f}")
