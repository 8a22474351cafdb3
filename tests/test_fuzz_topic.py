"""Fuzzed documents for the topic estimators: as in test_fuzz, whatever comes in works or is refused by the argument's name.

Half of the inputs are counts (whole or not, some huge or tiny), half are the odd tables of test_fuzz. SUFFICE_FUZZ=200 runs more.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import test_fuzz
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from test_fuzz import FUZZ, attempt, labels, rows, weights

from suffice.topic import LatentDirichletAllocation, LDAClassifier

SETTINGS = settings(test_fuzz.SETTINGS, max_examples=40 * FUZZ)
USUAL = [0.0, 0.0, 1.0, 2.0, 3.0, 7.0]
UNUSUAL = [0.5, 1e-9, 5e-324, 1e-308, 30.0, 300.0, 1e9, 1e16, 2.0**62, 1e150, 1e308]


@st.composite
def documents(draw, n: int | None = None, d: int | None = None):
    if draw(st.booleans()):
        return draw(rows(n, d))
    n = draw(st.sampled_from([1, 2, 5, 12, 60])) if n is None else n
    d = draw(st.integers(1, 5)) if d is None else d
    pool = draw(st.sampled_from([USUAL, USUAL, USUAL * 3 + UNUSUAL, UNUSUAL]))
    X = draw(arrays(np.float64, (n, d), elements=st.sampled_from(pool)))
    return sparse.csr_matrix(X) if n and d and draw(st.booleans()) else X


CLASSIFIERS = st.fixed_dictionaries(
    {"loss": st.sampled_from(["ncll", "hinge", "nll"]), "n_topics": st.sampled_from([1, 2, 3])},
    optional={
        "prior": st.sampled_from(["auto", 1.0, 1e-6, 1e6, 0, -1.0]),
        "concentration": st.sampled_from([1e-3, 1.0, 1e3]),
        "row_norm": st.sampled_from([None, 1e-3, 1e3]),
        "nll_passes": st.sampled_from([1, 3]),
        "class_prior": st.sampled_from([[0.5, 0.5], [1.0, 0.0, 0.0], [np.nan, 1.0]]),
        "unlabelled_weight": st.sampled_from([0.0, 1.0, 1e6]),
        "share_word_topic": st.booleans(),
        "likelihood": st.sampled_from(["plug-in", "left-to-right", "variational"]),
    },
)
TOPICS = st.fixed_dictionaries(
    {"n_topics": st.sampled_from([1, 2, 4])},
    optional={
        "algorithm": st.sampled_from(["online", "batch"]),
        "prior": st.sampled_from([1e-6, 0.1, 1e6, 0]),
        "concentration": st.sampled_from([1e-3, 1.0, 1e3]),
        "batch_size": st.sampled_from([1, 256]),
        "total_documents": st.sampled_from([None, 1, 1e9, 0, -1]),
    },
)


@pytest.mark.parametrize("inference", ("map", "variational", "gibbs"))
@SETTINGS
@given(data=st.data())
def test_fuzzed_documents_work_or_are_refused_by_name(inference, data):
    X = data.draw(documents())
    y = data.draw(labels(X.shape[0]))
    weight = data.draw(weights(X.shape[0]))
    options = data.draw(CLASSIFIERS)
    model = LDAClassifier(inference=inference, max_epochs=3, n_sweeps=3, random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if data.draw(st.booleans()):
            fitted = attempt(model.fit, X, y, sample_weight=weight)
        else:
            fitted = attempt(model.partial_fit, X, y, classes=[0, 1, 2], sample_weight=weight)
        if fitted is None:
            assert not hasattr(model, "moments_")
            return
        assert model.moments_.is_finite() and np.isfinite(model.topics_).all()
        new = data.draw(documents(n=data.draw(st.integers(0, 3)), d=X.shape[1]))
        for answer in (model.predict_proba, model.predict, model.score_samples):
            result = attempt(answer, new)
            if answer == model.predict_proba and result is not None:
                assert not np.isnan(result).any()
        before = model.moments_.flat().copy()
        if attempt(model.partial_fit, new, data.draw(labels(new.shape[0]))) is None:
            np.testing.assert_array_equal(model.moments_.flat(), before)
        assert model.moments_.is_finite() and np.isfinite(model.topics_).all()


@pytest.mark.parametrize("inference", ("map", "variational", "gibbs"))
@SETTINGS
@given(data=st.data())
def test_fuzzed_documents_of_unsupervised_topics(inference, data):
    X = data.draw(documents())
    model = LatentDirichletAllocation(inference=inference, max_iter=3, random_state=0, **data.draw(TOPICS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if attempt(model.fit if data.draw(st.booleans()) else model.partial_fit, X) is None:
            assert not hasattr(model, "components_")
            return
        assert np.isfinite(model.components_).all() and np.isfinite(model.topics_).all()
        new = data.draw(documents(n=data.draw(st.integers(0, 3)), d=X.shape[1]))
        for answer in (model.transform, model.score_samples, model.score, model.left_to_right, model.coherence):
            result = attempt(answer, new)
            if answer == model.transform and result is not None:
                assert np.isfinite(result).all()
        before = model.components_.copy()
        if attempt(model.partial_fit, new) is None:
            np.testing.assert_array_equal(model.components_, before)
        assert np.isfinite(model.components_).all() and np.isfinite(model.topics_).all()
