"""Peers of `MixtureRegressor`: boosting with a constant deviation or with quantiles, Bayesian ridge, ridge, a Gaussian process on few
rows; NGBoost where installed."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import BayesianRidge, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ...evaluation.regression import gaussian_scores

LEVELS = np.arange(0.05, 1.0, 0.1)
MOST_ROWS = 1100  # of a Gaussian process


def held_out(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Four fifths and one fifth of the rows."""
    rows = np.random.default_rng(seed).permutation(n)
    return rows[n // 5 :], rows[: n // 5]


def boosting(X, y, X_test, y_test, seed: int) -> dict[str, float]:
    """HistGradientBoosting; the deviation is that of held-out training rows."""
    fitted, rest = held_out(len(y), seed)
    part = HistGradientBoostingRegressor(random_state=seed).fit(X[fitted], y[fitted])
    deviation = np.sqrt(np.mean((part.predict(X[rest]) - y[rest]) ** 2))
    whole = HistGradientBoostingRegressor(random_state=seed).fit(X, y)
    return gaussian_scores(whole.predict(X_test), np.full(len(y_test), deviation), y_test)


def boosted_quantiles(X, y, X_test, y_test, seed: int) -> dict[str, float]:
    """HistGradientBoosting of ten quantiles: their pinball loss is a tenth-wise CRPS; there is no density."""
    models = [HistGradientBoostingRegressor(loss="quantile", quantile=q, random_state=seed).fit(X, y) for q in LEVELS]
    found = np.sort(np.column_stack([model.predict(X_test) for model in models]), axis=1)
    short = y_test[:, None] - found
    pinball = np.maximum(LEVELS * short, (LEVELS - 1) * short)
    inside = (y_test >= found[:, 0]) & (y_test <= found[:, -1])
    return {"crps": float(2 * pinball.mean()), "coverage_90": float(inside.mean())}


def linear(X, y, X_test, y_test, seed: int) -> dict[str, float]:
    """Bayesian ridge with its predictive deviation; missing cells are means."""
    prepare = make_pipeline(SimpleImputer(), StandardScaler())
    model = BayesianRidge().fit(prepare.fit_transform(X), y)
    return gaussian_scores(*model.predict(prepare.transform(X_test), return_std=True), y_test)


def ridge(X, y, X_test, y_test, seed: int) -> dict[str, float]:
    """Ridge with a constant deviation."""
    prepare = make_pipeline(SimpleImputer(), StandardScaler())
    rows = prepare.fit_transform(X)
    model = RidgeCV(np.logspace(-3, 3, 13)).fit(rows, y)
    deviation = np.full(len(y_test), np.sqrt(np.mean((model.predict(rows) - y) ** 2)))
    return gaussian_scores(model.predict(prepare.transform(X_test)), deviation, y_test)


def gaussian_process(X, y, X_test, y_test, seed: int) -> dict[str, float]:
    """A Gaussian process with a length for every column; nothing where there are too many rows."""
    if len(y) > MOST_ROWS:
        return {}
    prepare = make_pipeline(SimpleImputer(), StandardScaler())
    kernel = ConstantKernel(1.0) * RBF(np.full(X.shape[1], 2.0), (1e-2, 1e4)) + WhiteKernel(0.1, (1e-6, 10.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed)
        model.fit(prepare.fit_transform(X), y)
        return gaussian_scores(*model.predict(prepare.transform(X_test), return_std=True), y_test)


def natural_boosting(X, y, X_test, y_test, seed: int) -> dict[str, float]:
    from ngboost import NGBRegressor  # type: ignore[import-not-found]

    prepare = SimpleImputer()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NGBRegressor(verbose=False, random_state=seed).fit(prepare.fit_transform(X), y)
        found = model.pred_dist(prepare.transform(X_test))
    return gaussian_scores(found.loc, found.scale, y_test)


PEERS = {
    "boosting, constant sd": boosting,
    "boosting, quantiles": boosted_quantiles,
    "Bayesian ridge": linear,
    "ridge": ridge,
    "Gaussian process": gaussian_process,
    "NGBoost": natural_boosting,
}
