"""
Counts
======

Events in an hour, visits in a day: Poisson columns, trained for classification. The data are made so that the columns are far from
independent: that is where training for classification pays. Where they are nearly independent, maximum likelihood is as good or better.
"""

import numpy as np
from sklearn.naive_bayes import GaussianNB as PlainGaussianNB

from suffice import PoissonNB

rng = np.random.default_rng(0)
y = rng.integers(3, size=4000)
busy = rng.gamma(1, 1, (4000, 1))  # some rows are busier in all columns: the columns are not independent
X = rng.poisson(3 * busy * np.array([[2, 4, 1, 6], [3, 3, 2, 4], [1, 5, 1, 5]])[y])
for name, model in {
    "PoissonNB, ncll": PoissonNB(random_state=0),
    "PoissonNB, nll": PoissonNB(loss="nll"),
    "scikit-learn's GaussianNB": PlainGaussianNB(),
}.items():
    print(f"{name:26} {model.fit(X[:2000], y[:2000]).score(X[2000:], y[2000:]):.3f}")
