"""Words of one row joined to a column: the same problem, with fewer columns, for everything that a choice asks of it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from suffice import ComplementNB, MultinomialNB
from suffice.choosing import priors
from suffice.choosing.priors import Setting
from suffice.choosing.recipes.words import WORTH_JOINING
from suffice.choosing.recipes.words import Words as Recipe
from suffice.families.complement import Complement
from suffice.families.lone_words import Join, share_of_lone_words
from suffice.families.multinomial import Multinomial
from suffice.families.words import ScaledRows
from suffice.learners.driver import Problem, run
from suffice.learners.incremental import Incremental
from suffice.losses import loss_named
from suffice.structures.words import ComplementWords, Words

STRUCTURES = {Multinomial: Words, Complement: ComplementWords}
SETTINGS = [Setting(0.3), Setting(0.3, telling=1.0), Setting(1.0, second=0.1, telling=0.5), Setting(0.3, common=0.4)]


def counts(n: int = 150, n_words: int = 400, n_classes: int = 3) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Documents most of whose words are theirs alone; some words occur nowhere, and one document is empty."""
    generator = np.random.default_rng(0)
    y = generator.integers(n_classes, size=n)
    X = generator.poisson(np.where(np.arange(n_words) < 30, 0.6, 0.004), (n, n_words)).astype(float)
    X[np.arange(n), y] += generator.integers(3, size=n)
    X[7] = 0.0
    return sparse.csr_matrix(X), y


def two_problems(family, loss: str, setting: Setting, roots: int = 0) -> tuple[Problem, Problem, Join]:
    X, y = counts()
    rows = ScaledRows(X, np.random.default_rng(1).uniform(0.5, 2.0, len(y)), roots)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    weights[::5] = 0.0  # held out
    join = Join.of(X)
    model = STRUCTURES[family].of(family.for_data(rows, 3, weights))
    found = []
    for own, part in ((rows, model), (join.joined(rows), model.joined(join))):
        statistics = part.statistics(own, y, weights)
        common = priors.commonness(own, weights, part.family.alike)
        prior = priors.uniform(part, statistics, setting, part.squared_row, common=common)
        found.append(Problem(part, own, y, weights, loss_named(loss), prior))
    return found[0], found[1], join


@pytest.mark.parametrize("roots", [0, 1, 2])
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("family", STRUCTURES)
def test_priors_and_maximum_likelihood_are_those_of_the_words(family, setting, roots):
    whole, small, join = two_problems(family, "hinge", setting, roots)
    assert small.model.n_features < 0.6 * whole.model.n_features

    def summed(moments) -> np.ndarray:
        table = np.zeros((len(join.alike), 3))
        np.add.at(table, join.place, whole.model.counts_of(moments))
        return table

    np.testing.assert_allclose(
        small.model.counts_of(small.prior), summed(whole.prior), rtol=1e-5
    )  # roots of what rounds to zero
    for make in (lambda p: p.statistics(), lambda p: priors.interior(p.model, p.statistics())):
        np.testing.assert_allclose(small.model.counts_of(make(small)), summed(make(whole)), rtol=1e-10, atol=1e-12)
    tolerances = [p.model.row_tolerance(p.loss, p.prior, 1e-3) for p in (whole, small)]
    assert tolerances[0] == pytest.approx(tolerances[1], rel=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "ncll"])
@pytest.mark.parametrize("family", STRUCTURES)
def test_every_pass_gives_every_row_the_same_scores(family, loss):
    whole, small, _ = two_problems(family, loss, SETTINGS[1], roots=1)
    scores, measures = [], []
    for problem in (whole, small):
        fit = run(Incremental(1e-3, watch=False), problem, None, np.random.default_rng(0), max_epochs=5)
        scores.append(problem.model.scores(fit.moments, problem.X))
        measures.append(problem.measure(fit.moments, fit.multipliers))
    assert np.ptp(scores[0], axis=1).max() > 1.0
    np.testing.assert_allclose(
        scores[1] - scores[1].mean(1)[:, None], scores[0] - scores[0].mean(1)[:, None], atol=1e-7
    )
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-6)
    np.testing.assert_allclose(measures[1], measures[0], rtol=1e-5, atol=1e-5)  # priors round so far


@pytest.mark.parametrize("machine", [MultinomialNB, ComplementNB])
def test_the_choice_is_that_on_the_words_themselves(machine, monkeypatch):
    X, y = counts(300)
    joined = machine(random_state=0).fit(X, y)
    monkeypatch.setattr(Recipe, "for_choice", lambda self, problem: problem)
    whole = machine(random_state=0).fit(X, y)
    assert share_of_lone_words(X) > WORTH_JOINING
    assert joined.choice_.setting == whole.choice_.setting
    assert joined.choice_.score == pytest.approx(whole.choice_.score, rel=1e-6)
    np.testing.assert_allclose(joined.predict_proba(X), whole.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(joined.history_["objective"], whole.history_["objective"], rtol=1e-5)
    again = machine(random_state=0, warm_start=True).fit(X, y)
    np.testing.assert_allclose(again.fit(X, y).predict_proba(X), whole.predict_proba(X), atol=0.02)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(0, 2), min_size=6, max_size=6), min_size=1, max_size=6))
def test_only_words_of_one_row_and_count_are_joined(table):
    cells = np.array(table, dtype=float)  # zeros are stored
    X = sparse.csr_matrix(
        (cells.ravel(), np.tile(np.arange(6), len(cells)), np.arange(0, cells.size + 1, 6)), cells.shape
    )
    join = Join.of(X)
    small = join.joined(X).toarray()
    assert join.alike.sum() == X.shape[1]
    expected = np.zeros_like(small)
    np.add.at(expected.T, join.place, X.toarray().T)
    np.testing.assert_array_equal(small, expected)
    columns = X.toarray().T
    for place in np.unique(join.place):
        own = columns[join.place == place]
        assert (own == own[0]).all()
        assert len(own) == 1 or np.count_nonzero(own[0]) <= 1


def test_rows_know_the_counts_they_were_made_of():
    X, _ = counts()
    rows = Join.of(X).joined(replace(ScaledRows(X, np.full(X.shape[0], 2.0)), roots=1))
    assert rows.given is X
    assert rows[:5].shape == (5, rows.shape[1])
