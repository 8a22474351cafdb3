"""Complement-style counts: the passes of words with the other sign, and a classifier that is no density."""

import warnings

import numpy as np
import oracles
import pytest
from estimators import assert_finite
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from suffice import ComplementNB, MultinomialNB
from suffice.choosing import priors
from suffice.families.complement import Complement
from suffice.kernels.words import complement as kernels
from suffice.learners.driver import Problem, run
from suffice.learners.incremental import Incremental
from suffice.learners.stochastic import Stochastic
from suffice.losses import loss_named
from suffice.structures import words as structure
from suffice.structures.joint import Joint
from suffice.structures.words import ComplementWords


@pytest.fixture(autouse=True)
def _words_whatever_the_number_of_rows(monkeypatch):
    monkeypatch.setattr(structure, "FEW_ROWS", 1)


def rows(n_classes: int, n: int, n_words: int, seed: int = 0):
    generator = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), generator.integers(n_classes, size=n - n_classes)])
    topics = generator.dirichlet(np.full(n_words, 0.3), size=n_classes)
    X = [generator.multinomial(generator.integers(5, 40), topics[k]) for k in y]
    return sparse.csr_matrix(np.array(X, dtype=float)), y


def problem(loss, n_classes, strength, *, n=200, n_words=60, weighted=False, softness=0.0) -> Problem:
    X, y = rows(n_classes, n, n_words)
    weights = np.random.default_rng(1).integers(0, 3, size=n).astype(float) if weighted else np.ones(n)
    model = ComplementWords.of(Complement.for_data(X, n_classes))
    prior = priors.uniform(model, model.statistics(X, y, weights), priors.Setting(strength, 0.1), model.squared_row)
    return Problem(model, X, y, weights, loss_named(loss, softness=softness), prior)


def test_statistics_are_the_words_of_the_other_classes():
    X, y = rows(3, 30, 8)
    model = ComplementWords.of(Complement.for_data(X, 3))
    found = model.statistics(X, y, np.ones(30)).columns[0]
    for k in range(3):
        np.testing.assert_allclose(found.count[:, k], np.asarray(X[y != k].sum(axis=0)).ravel())
    one_hot = np.eye(3)[y]
    np.testing.assert_allclose(model.expected_statistics(X, one_hot).columns[0].count, found.count)


def test_scores_agree_with_the_formula():
    task = problem("ncll", 3, 0.1)
    moments = task.prior + task.model.statistics(task.X, task.y, task.weights)
    expected = task.model.log_joint(moments, task.X)
    which = np.array([5, 0, 17])
    np.testing.assert_allclose(task.model.scores(moments, task.X), expected, rtol=1e-9)
    np.testing.assert_allclose(task.model.scores(moments, task.X, which=which), expected[which], rtol=1e-9)
    assert task.measure(moments).objective == pytest.approx(
        task.measure(moments, state=task.model.state_of(moments)).objective
    )


def test_slopes_and_shares_are_those_of_a_step():
    task = problem("ncll", 3, 0.1)
    moments = task.prior + task.model.statistics(task.X, task.y, task.weights)
    words, values = task.X[4].indices, task.X[4].data
    rows, buffer = task.model.rows_of(task.X)[0], np.empty(60)
    for k in range(3):
        state = task.model.state_of(moments)
        flat = task.model.flat(state)
        slope, down, up = kernels.slope_and_shares(words, values, flat, k)
        step = 1e-4 / max(up, down)
        before, after = np.empty(3), np.empty(3)
        length = kernels.score_one(rows, np.arange(5), 4, values, flat, before)
        kernels.move_outcome(words, values, flat, k, step, length, buffer)
        kernels.score_one(rows, np.arange(5), 4, values, flat, after)
        normaliser = length**2 / moments.columns[0].weight[k]  # what the slope leaves out
        assert (after[k] - before[k]) / step == pytest.approx(slope - normaliser, rel=1e-3)
        moved = task.model.counts_of(task.model.moments_of_state(state))
        assert 1.0 - (moved[words, k] / task.model.counts_of(moments)[words, k]).min() == pytest.approx(up * step)
        assert down == pytest.approx(1.0 / moments.mass[k])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize(
    ("loss", "strength", "softness"), [("ncll", 0.03, 0.0), ("hinge", 1.0, 0.0), ("hinge", 0.3, 1.0)]
)
def test_the_fast_pass_reaches_the_objective_of_its_twin(loss, strength, softness, n_classes, weighted, monkeypatch):
    task = problem(loss, n_classes, strength, weighted=weighted, softness=softness)

    def fitted():
        return run(Incremental(1e-6), task, task.prior, np.random.default_rng(0), max_epochs=300, tol=1e-7)

    fast = fitted()
    monkeypatch.setattr(ComplementWords, "incremental_pass", Joint.incremental_pass)
    twin = fitted()
    room = 1e-4 * float(task.weights.sum())
    assert fast.measure.objective <= twin.measure.objective + room
    assert twin.measure.objective <= fast.measure.objective + room


@pytest.mark.parametrize("loss", ["ncll", "hinge"])
def test_moments_stay_prior_minus_weighted_rows(loss):
    task = problem(loss, 4, 0.1)
    state, multipliers, slack = task.model.state_of(task.prior), np.zeros((200, 4)), np.zeros(200)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(200)
        task.model.incremental_pass(task.X, task.y, task.weights, order, multipliers, state, task.loss, 1e-4, slack)
    found = task.model.moments_of_state(state)
    expected = task.model.counts_of(task.prior) - task.X.T @ multipliers
    np.testing.assert_allclose(task.model.counts_of(found), expected, rtol=1e-9)
    np.testing.assert_allclose(found.mass, task.prior.mass + multipliers.sum(axis=0), rtol=1e-9)
    assert np.abs(multipliers).max() > 0.1


def test_the_optimum_is_that_of_l_bfgs():
    task = problem("ncll", 3, 0.1, n=80, n_words=10)
    fit = run(Incremental(1e-8), task, task.prior, np.random.default_rng(0), max_epochs=500, tol=1e-8)
    assert fit.measure.objective == pytest.approx(oracles.best(task, task.prior)[0], rel=1e-4)


@pytest.mark.parametrize("loss", ["ncll", "hinge"])
def test_stochastic_steps_are_the_exact_ones(loss):
    task = problem(loss, 4, 1.0)
    order, rates = np.random.default_rng(2).permutation(200), np.full(200, 0.05)
    state, moments = task.model.state_of(task.prior), task.prior
    assert task.model.stochastic_pass(task.X, task.y, task.weights, order, rates, state, task.loss)[0] == 0
    for i in order:
        weights = rates[0] * task.loss.weights(task.model.log_joint(moments, task.X[[i]]), task.y[[i]])
        moments = moments + task.model.expected_statistics(task.X[[i]], weights)
    np.testing.assert_allclose(state[1][0], task.model.counts_of(moments), rtol=1e-6)
    np.testing.assert_allclose(state[0][0], moments.mass, rtol=1e-6)


@pytest.mark.parametrize("loss", ["ncll", "hinge"])
def test_stochastic_passes_come_near_the_optimum(loss):
    task = problem(loss, 4, 0.3)
    tight = run(Incremental(1e-6), task, task.prior, np.random.default_rng(0), max_epochs=60, tol=1e-5)
    loose = run(Stochastic(), task, task.prior, np.random.default_rng(0), max_epochs=20, tol=0.0)
    assert loose.measure.objective - tight.measure.objective <= 0.02 * abs(tight.measure.objective)


def test_two_classes_are_the_multinomial_mirrored():
    """The words of the other class are all there is to say of one: the same scores up to the sign of the classes."""
    X, y = rows(2, 200, 30)
    ours, other = ComplementNB(loss="nll").fit(X, y), MultinomialNB(loss="nll", class_prior=[0.5, 0.5]).fit(X, y)
    difference = np.diff(ours.predict_joint_log_proba(X), axis=1)
    np.testing.assert_allclose(difference, np.diff(other.predict_joint_log_proba(X), axis=1), rtol=1e-8)


def test_it_is_no_density():
    X, y = rows(3, 40, 8)
    machine = ComplementNB(loss="nll").fit(X, y)
    for name in ("sample", "score_samples", "impute", "sample_missing"):
        assert not hasattr(machine, name)
        with pytest.raises(AttributeError, match="MultinomialNB"):
            getattr(machine, name)
    labels = np.where(np.arange(40) % 5 == 4, np.nan, y)
    with pytest.raises(ValueError, match=r"y has 8 rows without a label.*MultinomialNB"):
        ComplementNB().fit(X, labels)
    with pytest.raises(ValueError, match=r"without a label.*MultinomialNB"):
        ComplementNB().partial_fit(X, labels, classes=[0, 1, 2])
    left_out = ComplementNB(loss="nll", unlabelled_weight=0).fit(X, labels)
    without = ComplementNB(loss="nll").fit(X[labels >= 0], labels[labels >= 0])
    np.testing.assert_allclose(left_out.feature_log_prob_, without.feature_log_prob_)


@pytest.mark.parametrize("loss", ["ncll", "hinge"])
def test_threads_do_not_change_a_bit(loss):
    X, y = rows(3, 1100, 40)
    fits = [ComplementNB(loss=loss, random_state=4, n_jobs=jobs).fit(X, y) for jobs in (None, 2)]
    np.testing.assert_array_equal(*(fit.predict_joint_log_proba(X) for fit in fits))


@pytest.mark.parametrize("algorithm", ["incremental", "stochastic", "batch"])
@pytest.mark.parametrize("loss", ["ncll", "hinge"])
@pytest.mark.parametrize(("prior", "weight"), [(1e-12, 1.0), (1e-3, 1e9), (1.0, 1e-9), (1e6, 1.0), ("auto", 1e9)])
def test_no_input_gives_a_parameter_that_is_not_finite(prior, weight, loss, algorithm):
    X, y = rows(3, 150, 20)
    X = sparse.vstack([X, sparse.csr_matrix((3, 20))], format="csr")  # rows without a word
    y = np.concatenate([y, [0, 1, 2]])
    weights = weight * np.where(np.arange(len(y)) % 7 == 0, 1e3, 1.0)
    machine = ComplementNB(loss=loss, prior=prior, algorithm=algorithm, random_state=0, max_epochs=10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(X, y, sample_weight=weights)
    assert_finite(machine, X)
