"""
What "auto" chose, and why
==========================

``prior="auto"`` tries priors on held-out parts of the training rows. Maximum likelihood takes part as the model to beat, and is kept where
training for classification shows no gain. ``choice_`` says what happened.
"""

from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from suffice import GaussianNB

for name, load in {"wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}.items():
    X, y = load(return_X_y=True)
    model = GaussianNB(random_state=0).fit(X[::2], y[::2])
    kept = "maximum likelihood" if model.choice_.setting is None else "trained for classification"
    print(f"{name:14} {kept}: {model.choice_.reason}")
    print(f"{'':14} accuracy on the other half {model.score(X[1::2], y[1::2]):.3f}")
