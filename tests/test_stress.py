"""Nothing diverges: hostile data, every estimator, every loss.

Each result is finite and its test accuracy is never more than 2 points below the estimator's own `loss="nll"` fit on
the same split; the units of the data change no prediction. A small grid runs by default, all of it with SUFFICE_FULL=1.
"""

from __future__ import annotations

import os
import warnings
from functools import cache

import numpy as np
import pytest
from estimators import ESTIMATORS, quantised, table
from sklearn.base import clone
from sklearn.model_selection import train_test_split

FULL = os.environ.get("SUFFICE_FULL") == "1"
GAUSSIAN = ("GaussianNB", "tied", "full", "diag")
SETS = ("digits", "breast_cancer", "wine", "iris")
SCALES = (1e-6, 1.0, 1e6)
CHANGES = ("plain", "constant", "duplicated", "few", "separable", "cauchy")
STEP_SIZES = (1e-3, 1.0, 1e3)
QUICK = ("GaussianNB", "BernoulliNB")  # choosing a prior with stochastic fits takes seconds even on small data


def changed(change: str, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    if change == "constant":
        return np.hstack([X, np.full((len(X), 1), 3.0), np.zeros((len(X), 1))]), y
    if change == "duplicated":
        return np.hstack([X, X, X[:, :2]]), y
    if change == "few":  # fewer rows than columns
        rows = np.concatenate([np.flatnonzero(y == k)[:12] for k in np.unique(y)])
        wide = np.hstack([X] * int(np.ceil(1.5 * len(rows) / X.shape[1])))
        return np.abs(wide[rows] + generator.normal(0, 0.01 * (X.std() + 1e-12), (len(rows), wide.shape[1]))), y[rows]
    if change == "separable":
        return np.hstack([X, 100.0 * y[:, None] + generator.random((len(y), 1))]), y
    if change == "cauchy":
        noise = np.abs(generator.standard_cauchy((len(X), 3))) * X.std()
        return np.hstack([X, noise + y[:, None] * X.std()]), y
    return X, y


@cache
def split(name: str, change: str):
    X, y = table(name)
    if name == "digits":
        keep = np.random.default_rng(1).permutation(len(y))[:600]
        X, y = X[keep], y[keep]
    X, y = changed(change, X, y)
    return train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)


def rows_for(kind: str, X: np.ndarray, other: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows as the estimator takes them, in units of `scale`."""
    if kind == "CategoricalNB":
        cuts = np.vstack([X, other])
        both = quantised(cuts * scale)
        return both[: len(X)], both[len(X) :]
    return X * scale, other * scale


@cache
def accuracy(kind: str, name: str, change: str, scale: float, loss: str, **options):
    train, test, y, y_test = split(name, change)
    train, test = rows_for(kind, train, test, scale)
    model = clone(ESTIMATORS[kind]).set_params(loss=loss, random_state=0, **options)
    if kind == "BernoulliNB":
        model.set_params(binarize=float(np.median(train[train > 0])))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(train, y)
        predicted = model.predict(test)
        assert np.isfinite(model.predict_proba(test)).all()
    if model._stored_model.in_domain(model.moments_) or loss != "nll":
        assert model.moments_.is_finite()
        assert model.natural_.is_finite()
    return float((predicted == y_test).mean()), predicted


def check(kind, name, change, scale, loss, **options):
    start, _ = accuracy(kind, name, change, scale, "nll")
    found, _ = accuracy(kind, name, change, scale, loss, **options)
    assert found >= start - 0.02 - 1e-9, f"{found:.4f} is more than 2 points below {start:.4f} of maximum likelihood"


def grid():
    for kind in ESTIMATORS:
        for name in SETS:
            for change in CHANGES:
                for loss in ("ncll", "hinge"):
                    yield kind, name, change, loss


def small(kind, name, change, loss) -> bool:
    return (name == "wine" and loss == "ncll") or (name == "iris" and change == "plain")


CASES = [cell for cell in grid() if FULL or small(*cell)]


# open: .991 of the 106 training rows are right when held out (maximum likelihood: .953 to .972), and 67 or 68 of the 72 test rows (71)
BELOW = {("CategoricalNB", change) for change in ("plain", "constant", "duplicated", "cauchy")}


@pytest.mark.parametrize(("kind", "name", "change", "loss"), CASES)
def test_never_far_below_maximum_likelihood(request, kind, name, change, loss):
    if (kind, change) in BELOW and (name, loss) == ("wine", "ncll"):
        request.applymarker(
            pytest.mark.xfail(reason="open in issue 19: more than two points below on this split", strict=True)
        )
    check(kind, name, change, 1.0, loss)


@pytest.mark.parametrize(
    ("kind", "name", "change", "loss"), [cell for cell in grid() if (FULL and cell[2] == "plain") or small(*cell)]
)
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_change_no_prediction(kind, name, change, loss, scale):
    """The likelihood of counts itself depends on their unit (a Poisson's variance is its mean): there only the trained losses."""
    for each in {loss} if kind in ("MultinomialNB", "ComplementNB", "PoissonNB") else {"nll", loss}:
        _, expected = accuracy(kind, name, change, 1.0, each)
        _, found = accuracy(kind, name, change, scale, each)
        np.testing.assert_array_equal(found, expected, err_msg=f"loss={each}")


@pytest.mark.parametrize("step_size", STEP_SIZES)
@pytest.mark.parametrize(
    ("kind", "name", "change", "loss"),
    [
        cell
        for cell in grid()
        if (cell[2] == "plain" if FULL else cell[0] in QUICK and cell[1:] == ("iris", "plain", "ncll"))
    ],
)
def test_any_step_size(kind, name, change, loss, step_size):
    check(kind, name, change, 1.0, loss, algorithm="stochastic", step_size=step_size)


def test_a_step_size_that_gets_nowhere_keeps_maximum_likelihood():
    check("MultinomialNB", "digits", "plain", 1.0, "hinge", algorithm="stochastic", step_size=2e-3)
    train, _, y, _ = split("digits", "plain")
    model = clone(ESTIMATORS["MultinomialNB"]).set_params(loss="hinge", algorithm="stochastic", random_state=0)
    kept = {size: model.set_params(step_size=size).fit(train, y).stopped_ for size in (2e-5, 1.0)}
    assert "maximum likelihood was kept" in kept[2e-5] and "maximum likelihood was kept" not in kept[1.0]
