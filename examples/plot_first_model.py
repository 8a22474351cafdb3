"""
A first model
=============

The same naive Bayes, trained three ways. Maximum likelihood ("nll") describes the columns; "ncll" and "hinge" tell the classes apart.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score

from suffice import GaussianNB

X, y = load_breast_cancer(return_X_y=True)
for loss in ("nll", "ncll", "hinge"):
    scores = cross_val_score(GaussianNB(loss=loss, random_state=0), X, y, cv=5)
    print(f"{loss:6} accuracy {scores.mean():.3f} +- {scores.std() / 5**0.5:.3f}")

# %%
# The model stays a density. It says how probable a row is, draws new rows and fills in missing cells.

model = GaussianNB(random_state=0).fit(X, y)
print("log p(x) of three rows:", model.score_samples(X[:3]).round(1))
rows, labels = model.sample(2, random_state=0)
print("two rows drawn, of the classes", labels)
X[0, :5] = float("nan")
print("five missing cells:", model.impute(X[:1])[0, :5].round(2))
