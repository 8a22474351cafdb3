"""Fuzzed inputs: shapes, types, missing and infinite cells, huge and denormal numbers, one class, unseen categories.

Whatever comes in, `fit`, `partial_fit` and the answers either work, with finite parameters, or refuse with a message that names the
argument, and a refused fit changes nothing. A short version runs by default; `make fuzz` (SUFFICE_FUZZ=200) runs 192,000 inputs here
and 102,000 corrupted model and data files in test_storage and test_files.
"""

from __future__ import annotations

import os
import re
import warnings

import numpy as np
import pytest
from estimators import ESTIMATORS, LOSSES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.base import clone

from suffice import MixedNB, MultinomialNB
from suffice.mixture import (
    BernoulliMixture,
    CategoricalMixture,
    GaussianMixture,
    MixedMixture,
    MixtureClassifier,
    MultinomialMixture,
    PoissonMixture,
)

FUZZ = int(os.environ.get("SUFFICE_FUZZ", "1"))
MIXTURES = (
    GaussianMixture(),
    BernoulliMixture(),
    CategoricalMixture(),
    MultinomialMixture(),
    PoissonMixture(),
    MixedMixture(),
)
MIXTURE_CLASSES = tuple(type(mixture) for mixture in MIXTURES)
EVERY = {
    **ESTIMATORS,
    "MixedNB": MixedNB(),
    "MixtureClassifier": MixtureClassifier(2),
    **{type(mixture).__name__: mixture for mixture in MIXTURES},
}
ARGUMENTS = re.compile(
    r"\b(X|y|classes|sample_weight|loss|prior|algorithm|max_epochs|step_size|class_weight|class_prior|unlabelled_weight|kinds|column|"
    r"covariance|n_components|labels|reg_covar|n_topics|concentration|row_norm|count_power|total_documents)\b"
)
SETTINGS = settings(
    max_examples=60 * FUZZ,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
    derandomize=FUZZ == 1,
)
USUAL = [0.0, 1.0, 2.0, 3.0, -1.0, 0.5]
ODD = [np.nan, np.inf, -np.inf, 1e308, -1e308, 1.7e308, 1e-308, 5e-324, 1e150, 1e-150, 1e16, -0.0, 2.0**53 + 1, 1e6]
LABELS = st.sampled_from([0, 1, 2, -1, "a", "b", "", None, np.nan, 1.5, 10**12, True])


@st.composite
def rows(draw, n: int | None = None, d: int | None = None):
    n = draw(st.sampled_from([0, 1, 2, 3, 5, 8, 12, 40])) if n is None else n
    d = draw(st.integers(0, 4)) if d is None else d
    kind = draw(
        st.sampled_from(["usual", "usual", "odd", "float32", "whole", "flags", "objects", "sparse", "constant"])
    )
    if kind == "objects":
        cells = st.sampled_from(["a", "b", None, 1, 2.0, np.nan, "", True])
        return np.array(draw(st.lists(cells, min_size=n * d, max_size=n * d)), dtype=object).reshape(n, d)
    if kind == "whole":
        return draw(arrays(np.int64, (n, d), elements=st.sampled_from([0, 1, 2, 3, 5, -1, 2**62])))
    if kind == "flags":
        return draw(arrays(bool, (n, d)))
    if kind == "constant":
        return np.full((n, d), draw(st.sampled_from(USUAL + ODD)))
    pool = USUAL if kind in ("usual", "sparse") else USUAL * 3 + ODD
    X = draw(arrays(np.float64, (n, d), elements=st.sampled_from(pool)))
    if kind == "float32":
        with np.errstate(over="ignore"):
            return X.astype(np.float32)
    return sparse.csr_matrix(X) if kind == "sparse" and n and d else X


@st.composite
def labels(draw, n: int):
    kind = draw(st.sampled_from(["codes", "codes", "codes", "one", "any", "floats", "short"]))
    if kind == "one":
        return np.full(n, draw(LABELS))
    if kind == "any":
        return np.array([*draw(st.lists(LABELS, min_size=n, max_size=n)), None], dtype=object)[:-1]
    if kind == "floats":
        return draw(arrays(np.float64, n, elements=st.sampled_from([0.0, 1.0, 0.5, np.nan, np.inf])))
    n = max(n - 1, 0) if kind == "short" else n
    return draw(arrays(np.int64, n, elements=st.integers(-1, 2)))


@st.composite
def weights(draw, n: int):
    if draw(st.integers(0, 3)):
        return None
    return draw(
        arrays(np.float64, n, elements=st.sampled_from([1.0, 2.0, 0.0, 1e-9, 1e9, -1.0, np.nan, np.inf, 5e-324]))
    )


OPTIONS = st.fixed_dictionaries(
    {"loss": st.sampled_from(LOSSES), "prior": st.sampled_from(["auto", "auto", 1.0, "log", 1e-6, 1e6, 0])},
    optional={
        "algorithm": st.sampled_from(["incremental", "stochastic", "batch", "paper"]),
        "step_size": st.sampled_from([1e-3, 1.0, 1e3]),
        "class_prior": st.sampled_from([[0.5, 0.5], [1.0, 0.0, 0.0], [np.nan, 1.0]]),
        "unlabelled_weight": st.sampled_from([0.0, 1.0, 1e6]),
    },
)

WORD_OPTIONS = st.fixed_dictionaries(
    {},
    optional={"count_power": st.sampled_from([1, 0.5, 0.25, 0.1]), "row_norm": st.sampled_from([None, 1.0, 1e6, 0.0])},
)
FAMILIES = st.fixed_dictionaries(
    {},
    optional={
        "family": st.sampled_from(["bernoulli", "categorical", "multinomial", "poisson", "mixed"]),
        "covariance_type": st.sampled_from(["full", "tied", "spherical"]),
        "algorithm": st.sampled_from(["em", "lbfgs"]),
    },
)
MIXTURE_OPTIONS = st.fixed_dictionaries(
    {"n_components": st.integers(1, 3), "algorithm": st.sampled_from(["em", "accelerated", "online", "variational"])},
    optional={
        "prior": st.sampled_from([1.0, 1e-6, 1e6, 0, "log"]),
        "init_params": st.sampled_from(["k-means++", "random", "random_from_data"]),
        "n_init": st.just(2),
        "batch_size": st.sampled_from([1, 3]),
        "weight_concentration_prior": st.sampled_from([1e-6, 1e6]),
    },
)
GAUSSIAN_OPTIONS = st.fixed_dictionaries(
    {"covariance_type": st.sampled_from(["full", "tied", "diag", "spherical"])},
    optional={"reg_covar": st.sampled_from([0.0, 1e-6, 1e6])},
)


@st.composite
def models(draw, name: str):
    """An estimator with fuzzed options."""
    model = clone(EVERY[name]).set_params(random_state=0)
    if not isinstance(model, MIXTURE_CLASSES):
        model.set_params(max_epochs=4, **draw(OPTIONS))
        if isinstance(model, MultinomialNB):
            model.set_params(**draw(WORD_OPTIONS))
        return model.set_params(**draw(FAMILIES)) if isinstance(model, MixtureClassifier) else model
    model.set_params(max_iter=4, **draw(MIXTURE_OPTIONS))
    return model.set_params(**draw(GAUSSIAN_OPTIONS)) if isinstance(model, GaussianMixture) else model


def is_finite(model) -> bool:
    """Natural parameters of zero probabilities are -inf; every moment is a number."""
    return model.moments_.is_finite()


def attempt(function, *arguments, **options):
    """The result, or None where the call was refused with a message that names the argument."""
    try:
        return function(*arguments, **options)
    except (ValueError, TypeError) as error:
        assert ARGUMENTS.search(str(error)), f"{type(error).__name__} names no argument: {error}"
        return None


@pytest.mark.parametrize("name", EVERY)
@SETTINGS
@given(data=st.data())
def test_fuzzed_rows_work_or_are_refused_by_name(name, data):
    X = data.draw(rows())
    y = data.draw(labels(X.shape[0]))
    weight = data.draw(weights(X.shape[0]))
    model = data.draw(models(name))
    unsupervised = isinstance(model, MIXTURE_CLASSES)  # y is a component where it is known
    stream = {} if unsupervised else {"classes": [0, 1, 2]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if data.draw(st.booleans()):
            known = {"labels": data.draw(st.sampled_from([None, y]))} if unsupervised else {"y": y}
            fitted = attempt(model.fit, X, sample_weight=weight, **known)
        else:
            fitted = attempt(model.partial_fit, X, y, sample_weight=weight, **stream)
        if fitted is None:
            assert not hasattr(model, "moments_")
            return
        assert is_finite(model)
        new = data.draw(rows(n=data.draw(st.integers(0, 3)), d=X.shape[1]))
        for answer in ("predict_proba", "predict", "score_samples", "impute"):
            if not hasattr(model, answer):  # a classifier that is no density
                continue
            result = attempt(getattr(model, answer), new)
            if answer == "predict_proba" and result is not None:
                assert not np.isnan(result).any()
        before = model.moments_.flat().copy()
        if attempt(model.partial_fit, new, data.draw(labels(new.shape[0]))) is None:
            np.testing.assert_array_equal(model.moments_.flat(), before)
        assert is_finite(model)
