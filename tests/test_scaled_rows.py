"""Roots of rows times a factor each are the same rows as those computed beforehand, for everything that reads them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from suffice.choosing import priors
from suffice.families.complement import Complement
from suffice.families.multinomial import Multinomial
from suffice.families.words import ScaledRows, column_sizes, row_sizes, weighted_sums
from suffice.learners.batch import Batch
from suffice.learners.driver import Problem, run
from suffice.learners.incremental import Incremental
from suffice.learners.paper import Paper
from suffice.learners.stochastic import Stochastic
from suffice.losses import loss_named
from suffice.structures import words
from suffice.structures.words import ComplementWords, Words

STRUCTURES = {Multinomial: Words, Complement: ComplementWords}


def two_ways(n_classes: int = 3, roots: int = 0) -> tuple[ScaledRows, sparse.csr_matrix, np.ndarray]:
    """Scaled rows, the same as numbers, and labels; one row is empty."""
    generator = np.random.default_rng(0)
    y = generator.integers(n_classes, size=120)
    topics = generator.dirichlet(np.full(40, 0.3), size=n_classes)
    counts = np.array([generator.multinomial(generator.integers(5, 40), topics[k]) for k in y], dtype=float)
    counts[7] = 0.0
    factors = generator.uniform(0.2, 3.0, len(y))
    plain = sparse.csr_matrix(counts**0.5**roots * factors[:, None])
    return ScaledRows(sparse.csr_matrix(counts), factors, roots), plain, y


@pytest.mark.parametrize("roots", [0, 1, 2])
def test_they_multiply_add_slice_and_turn_into_numbers_as_the_same_rows(roots):
    scaled, plain, _ = two_ways(roots=roots)
    generator = np.random.default_rng(1)
    table, shares = generator.normal(size=(40, 3)), generator.normal(size=(120, 3))
    np.testing.assert_allclose(scaled @ table, plain @ table)
    np.testing.assert_allclose(weighted_sums(scaled, shares), plain.T @ shares)
    np.testing.assert_allclose(weighted_sums(scaled, shares[:, 0]), plain.T @ shares[:, 0])
    for some in (slice(3, 50), np.array([5, 7, 2]), np.arange(120) % 2 == 0):
        np.testing.assert_allclose(scaled[some].toarray(), plain[some].toarray())
    for sizes in (row_sizes, lambda rows: column_sizes(rows, np.arange(120.0))):
        for ours, expected in zip(sizes(scaled), sizes(plain), strict=True):
            np.testing.assert_allclose(ours, expected)


def test_their_values_are_the_callers():
    counts = sparse.random(50, 20, 0.3, "csr", random_state=0)
    scaled = ScaledRows(counts, np.full(50, 2.0))
    before = counts.copy()
    model = Words.of(Multinomial.for_data(scaled, 2))
    model.statistics(scaled, np.arange(50) % 2, np.ones(50))
    assert np.shares_memory(scaled.data, counts.data)
    assert (counts != before).nnz == 0


@pytest.mark.parametrize("roots", [0, 2])
@pytest.mark.parametrize("family", [Multinomial, Complement])
def test_a_model_reads_the_same_from_them(family, roots):
    scaled, plain, y = two_ways(roots=roots)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    model, expected = (STRUCTURES[family].of(family.for_data(rows, 3, weights)) for rows in (scaled, plain))
    for name in ("length", "unit", "squared_row"):
        assert getattr(model, name) == pytest.approx(getattr(expected, name))
    moments = priors.interior(model, model.statistics(plain, y, weights))
    found = [model.counts_of(model.statistics(rows, y, weights)) for rows in (scaled, plain)]
    np.testing.assert_allclose(*found)
    np.testing.assert_allclose(model.scores(moments, scaled), model.scores(moments, plain))
    np.testing.assert_allclose(model.log_joint(moments, scaled), model.log_joint(moments, plain))
    np.testing.assert_allclose(model.log_base_measure(scaled), model.log_base_measure(plain))


LEARNERS = [Incremental(1e-4), Stochastic(), Batch()]
PAIRS = [(Multinomial, Paper()), *((family, learner) for family in (Multinomial, Complement) for learner in LEARNERS)]


@pytest.mark.parametrize("few_rows", [0, 1000], ids=["fast passes", "general loop"])
@pytest.mark.parametrize(("n_classes", "roots"), [(2, 0), (2, 1), (3, 0), (3, 2)])
@pytest.mark.parametrize("loss", ["ncll", "hinge"])
@pytest.mark.parametrize(("family", "learner"), PAIRS, ids=lambda part: getattr(part, "__name__", type(part).__name__))
def test_a_learner_takes_the_same_steps(monkeypatch, family, learner, loss, n_classes, roots, few_rows):
    monkeypatch.setattr(words, "FEW_ROWS", few_rows)
    scaled, plain, y = two_ways(n_classes, roots)
    model, weights = STRUCTURES[family].of(family.for_data(plain, n_classes)), np.ones(len(y))
    prior = priors.uniform(model, model.statistics(plain, y, weights), priors.Setting(0.3), model.squared_row)
    task = Problem(model, plain, y, weights, loss_named(loss), prior)
    fits = [
        run(learner, replace(task, X=X), prior, np.random.default_rng(0), max_epochs=2, tol=0.0)
        for X in (plain, scaled)
    ]
    np.testing.assert_allclose(*(model.counts_of(fit.moments) for fit in fits), rtol=1e-6)
    assert fits[0].measure.objective == pytest.approx(fits[1].measure.objective)
