"""
Missing cells at prediction
===========================

Cells of test rows are removed at random. A generative model sums them out; a logistic regression needs somebody to fill them in.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from suffice import GaussianDiscriminant, GaussianNB

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
models = {
    "suffice GaussianNB": GaussianNB(random_state=0),
    "suffice GaussianDiscriminant": GaussianDiscriminant(random_state=0),  # knows how columns hang together
    "mean imputation + logistic regression": make_pipeline(
        SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=1000)
    ),
}
for model in models.values():
    model.fit(X_train, y_train)

rng, shares = np.random.default_rng(0), [0, 0.2, 0.4, 0.6, 0.8]
losses = {name: [] for name in models}
for share in shares:
    holes = np.where(rng.random(X_test.shape) < share, np.nan, X_test)
    for name, model in models.items():
        losses[name].append(log_loss(y_test, model.predict_proba(holes)))

_, ax = plt.subplots(figsize=(6, 3.4))
for name, values in losses.items():
    ax.plot(shares, values, "o-", label=name)
ax.set(xlabel="share of the cells removed", ylabel="log-loss of the test rows (lower is better)", ylim=(0, None))
ax.legend()
