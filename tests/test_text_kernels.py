"""Every fast kernel of words agrees with its readable twin, or reaches the same objective."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from suffice import MultinomialNB
from suffice.choosing import priors
from suffice.families.multinomial import Multinomial
from suffice.kernels.compile import compiled
from suffice.kernels.loops.paper import words_pass
from suffice.kernels.machine import lanes
from suffice.kernels.machine.fast_log import fast_log
from suffice.kernels.words import binary as words_binary
from suffice.kernels.words import few as words_few
from suffice.kernels.words import passes as words
from suffice.kernels.words.stochastic import stochastic_pass
from suffice.learners.driver import Problem, run
from suffice.learners.incremental import Incremental
from suffice.learners.watch import Watch
from suffice.losses import loss_named
from suffice.structures import words as structure
from suffice.structures.joint import Joint
from suffice.structures.words import Words


@pytest.fixture(autouse=True)
def _few_rows_are_many(monkeypatch):
    """The fast passes, which small problems would otherwise not meet."""
    monkeypatch.setattr(structure, "FEW_ROWS", 0)


def problem(
    loss: str,
    n_classes: int,
    strength: float,
    seed: int = 0,
    n: int = 200,
    weighted: bool = False,
    softness: float = 0.0,
) -> Problem:
    generator = np.random.default_rng(seed)
    y = generator.integers(n_classes, size=n)
    topics = generator.dirichlet(np.full(60, 0.3), size=n_classes)
    X = sparse.csr_matrix(
        np.array([generator.multinomial(generator.integers(5, 40), topics[k]) for k in y], dtype=float)
    )
    weights = generator.integers(0, 3, size=n).astype(float) if weighted else np.ones(n)
    model = Words.of(Multinomial.for_data(X, n_classes))
    prior = priors.uniform(model, model.statistics(X, y, weights), priors.Setting(strength), model.squared_row)
    return Problem(model, X, y, weights, loss_named(loss, softness=softness), prior)


def test_fast_log_is_the_logarithm():
    x = np.exp(np.random.default_rng(0).uniform(-300, 300, 10_000))
    ours = np.array([fast_log(value) for value in x])
    assert np.abs(ours - np.log(x)).max() <= 1e-13 * np.abs(np.log(x)).max()
    assert np.isnan(fast_log(np.nan))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 5, 10])
@pytest.mark.parametrize(
    ("loss", "strength", "softness"), [("ncll", 0.03, 0.0), ("hinge", 1.0, 0.0), ("hinge", 0.3, 1.0)]
)
def test_the_fast_pass_reaches_the_objective_of_its_twin(loss, strength, softness, n_classes, weighted, monkeypatch):
    task = problem(loss, n_classes, strength, weighted=weighted, softness=softness)

    def fitted():
        return run(Incremental(1e-6), task, task.prior, np.random.default_rng(0), max_epochs=60, tol=1e-7)

    fast = fitted()
    monkeypatch.setattr(Words, "incremental_pass", Joint.incremental_pass)
    twin = fitted()
    room = 1e-4 * float(task.weights.sum())  # a hundredth of a percent of a nat for each document
    assert fast.measure.objective <= twin.measure.objective + room
    assert twin.measure.objective <= fast.measure.objective + room


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_softness_is_a_word_of_ones_own(n_classes, weighted):
    """The soft hinge is the plain hinge of rows that have one more word each, so rare that its logarithm is straight.

    (A word that is never seen and very probable keeps the new words from changing the normaliser.)
    """
    task, softness, rare = problem("hinge", n_classes, 0.03, weighted=weighted), 0.7, 1e4
    times = task.weights.astype(int)  # a weight of 2 is two rows, each with a word of its own
    rows = np.repeat(np.arange(len(times)), times)
    own = sparse.diags(np.full(len(rows), np.sqrt(softness * rare)))
    W = task.X.shape[1]

    def fitted(X, y, weights, loss, n_new):
        new = np.concatenate([np.full(n_new, rare), [1e9]])
        count = np.vstack([task.model.counts_of(task.prior), np.repeat(new[:, None], n_classes, axis=1)])
        prior = task.model.of_counts(task.prior.mass, count)
        X = sparse.hstack([X, sparse.csr_matrix((len(y), 1))], format="csr")
        problem = Problem(Words.of(Multinomial.for_data(X, n_classes)), X, y, weights, loss, prior)
        fit = run(Incremental(1e-7), problem, prior, np.random.default_rng(0), max_epochs=400, tol=1e-7)
        return np.log(fit.moments.columns[0].count[:W] / count[:W])

    soft = fitted(task.X, task.y, task.weights, loss_named("hinge", softness=softness), 0)
    X = sparse.hstack([task.X[rows], own], format="csr")
    hard = fitted(X, task.y[rows], np.ones(len(rows)), loss_named("hinge"), len(rows))
    plain = fitted(task.X, task.y, task.weights, loss_named("hinge"), 0)
    np.testing.assert_allclose(soft, hard, atol=0.005)
    assert np.abs(soft - plain).max() > 0.02


def test_many_classes_leave_a_flat_start():
    """With fifty classes every entry of the first direction is small: none may be forgotten."""
    task = problem("ncll", 50, 0.03, n=500)
    fit = run(Incremental(1e-3), task, task.prior, np.random.default_rng(0), max_epochs=5, tol=0.0)
    assert fit.measure.accuracy > 0.5


@pytest.mark.parametrize("loss", ["ncll", "hinge"])
def test_moments_stay_prior_plus_weighted_statistics(loss):
    task = problem(loss, 4, 0.1)
    fit = run(Incremental(1e-4), task, task.prior, np.random.default_rng(0), max_epochs=5, tol=0.0)
    expected = task.prior + task.model.expected_statistics(task.X, fit.multipliers)
    np.testing.assert_allclose(fit.moments.columns[0].count, expected.columns[0].count, rtol=1e-9)
    np.testing.assert_allclose(fit.moments.mass, expected.mass, rtol=1e-9)


@pytest.mark.parametrize("softness", [0.0, 1.0])
def test_two_classes_by_differences_make_the_same_hinge_steps(softness):
    task = problem("hinge", 2, 1.0)
    order = np.random.default_rng(1).permutation(len(task.y))
    rows, results = task.model.rows_of(task.X)[0], []
    for binary in (False, True):
        state = task.model.flat(task.model.state_of(task.prior))
        multipliers, slack = np.zeros((len(task.y), 2)), np.zeros(len(task.y))
        for _ in range(3):
            if binary:
                one_pass = words_binary.binary_pass.of(task.loss.kernels)
            else:
                one_pass = words.dual_pass.of(task.loss.kernels)
            one_pass(rows, task.y, task.weights, order, multipliers, state, (1.0, softness), 1e-4, slack)
        results.append((multipliers, state[2], state[4]))
    for general, special in zip(*results, strict=True):
        np.testing.assert_allclose(general, special, rtol=1e-8, atol=1e-10)


@compiled
def in_lanes(a, b, x, results):
    one, other = lanes.load(a, 1), lanes.load(b, 0)
    lanes.store(results, 0, lanes.add(one, other))
    lanes.store(results, 4, lanes.times(one, lanes.spread(x)))
    lanes.store(results, 8, lanes.over(one, other))
    lanes.store(results, 12, lanes.larger(one, other))


def test_lanes_compute_number_by_number():
    a, b = np.random.default_rng(0).normal(size=(2, 5))
    results = np.empty(16)
    in_lanes(a, b, 3.0, results)
    one, other = a[1:], b[:4]
    np.testing.assert_array_equal(results.reshape(4, 4), [one + other, 3.0 * one, one / other, np.maximum(one, other)])


@pytest.mark.parametrize("n_outcomes", [1, 2, 3, 4, 5, 7, 8, 11, 12, 13, 16, 20, 29, 52])
def test_sums_in_lanes_are_the_product(n_outcomes):
    generator = np.random.default_rng(n_outcomes)
    table, places, values = (
        generator.normal(size=(9, n_outcomes)),
        np.array([8, 0, 3], np.uint32),
        generator.normal(size=3),
    )
    sums = np.full(n_outcomes, np.nan)
    words.sum_words(places, values, table, sums)
    np.testing.assert_allclose(sums, values @ table[places], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("strength", [0.002, 1.0])  # with the weak one counts change by more than SMALL
@pytest.mark.parametrize("n_classes", [3, 4, 5, 8])
@pytest.mark.parametrize(("loss", "softness"), [("ncll", 0.0), ("hinge", 0.0), ("hinge", 1.0)])
def test_few_classes_in_lanes_make_the_same_steps(loss, softness, n_classes, strength):
    task = problem(loss, n_classes, strength, weighted=True)
    order = np.random.default_rng(1).permutation(len(task.y))
    rows, results = task.model.rows_of(task.X)[0], []
    given = (1.0, softness), 1e-4
    for kernels in (words, words_few):
        state = task.model.flat(task.model.state_of(task.prior))
        multipliers, slack = np.zeros((len(task.y), n_classes)), np.zeros(len(task.y))
        one_pass = kernels.dual_pass.of(task.loss.kernels)
        told = [one_pass(rows, task.y, task.weights, order, multipliers, state, *given, slack) for _ in range(3)]
        results.append((np.array(told), multipliers, slack, *state))
    for general, special in zip(*results, strict=True):
        np.testing.assert_allclose(general, special, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(state[4], np.log(state[2]), rtol=1e-13)


def test_logarithms_that_grew_by_many_small_steps_are_those_of_the_counts():
    """Ten thousand times up and down again by less than a hundredth."""
    words_here, values = np.array([0, 2], np.uint32), np.array([1.0, 2.5])
    count = np.random.default_rng(0).gamma(5.0, 20.0, size=(3, 4))
    state = (np.ones(4), np.ones(1), count, count.sum(axis=0), np.log(count), np.log(count.sum(axis=0)), np.zeros(4))
    records = words_few.with_records(state, 2)[7]
    for step in np.random.default_rng(1).uniform(-0.1, 0.1, size=(10_000, 4)):
        steps = np.concatenate([step, np.zeros(8)])
        for sign in (1.0, -1.0):
            words_few.move_block_a_little(words_here, values, records, 12, 0, sign * steps)
    blocks = records.reshape(3, 3, 4)
    np.testing.assert_allclose(blocks[:, 0], count, rtol=1e-11)
    np.testing.assert_allclose(blocks[:, 1], np.log(blocks[:, 0]), rtol=1e-12)
    np.testing.assert_allclose(blocks[:, 2], 1.0 / blocks[:, 0], rtol=1e-15)


@pytest.mark.parametrize("loss", ["ncll", "hinge"])
def test_the_stochastic_pass_makes_the_steps_of_the_exact_one(loss):
    """Small rates, so that neither mends a cell: then both make the same steps (the exact one with a prior of zero growth)."""
    task = problem(loss, 4, 1.0)
    given = task.model.counts_of(task.model.statistics(task.X, task.y, task.weights)) + 20.0
    start = task.model.of_counts(np.full(4, 50.0), given)
    order, rates = np.random.default_rng(2).permutation(len(task.y)), np.full(len(task.y), 0.05)
    rows = task.model.rows_of(task.X)[0]
    state = task.model.flat(task.model.state_of(start))
    one_pass = stochastic_pass.of(task.loss.kernels)
    assert one_pass(rows, task.y, task.weights, order, rates, state, task.loss.settings, 0.0)[0] == 0
    mass, count = start.mass.copy(), given.copy()
    exact = words_pass.of(task.loss.kernels)
    exact(rows, task.y, order, rates, mass, count, count.sum(axis=0), 0.0, 0.0, task.loss.settings)
    np.testing.assert_allclose(state[2], count, rtol=1e-9)
    np.testing.assert_allclose(state[0], mass, rtol=1e-9)


def test_statistics_are_the_words_of_every_label():
    task = problem("ncll", 3, 0.1, weighted=True)
    y = np.where(np.arange(len(task.y)) % 7 == 0, -1, task.y)
    labels = (y[:, None] == np.arange(3)) * task.weights[:, None]
    found = task.model.counts_of(task.model.statistics(task.X, y, task.weights))
    np.testing.assert_allclose(found, task.X.T @ labels, rtol=1e-12)


@pytest.mark.parametrize("max_epochs", [3, 6])
def test_passes_that_are_not_measured_are_told_and_the_last_one_is_measured(max_epochs):
    task = problem("hinge", 3, 0.1)
    fit = run(Incremental(1e-9), task, task.prior, np.random.default_rng(0), max_epochs=max_epochs, tol=0.0)
    objective = fit.history["objective"]
    assert len(objective) == fit.n_iter == max_epochs
    assert objective[1] == objective[0] > objective[-1]
    assert fit.measure.gap == fit.history["gap"][-1] < fit.history["gap"][0]
    expected = task.prior + task.model.expected_statistics(task.X, fit.multipliers)
    np.testing.assert_allclose(fit.moments.columns[0].count, expected.columns[0].count, rtol=1e-9)


def test_an_interruption_measures_passes_that_were_not():
    task = problem("hinge", 3, 0.1)

    def report(epoch: int, line: dict) -> None:
        if epoch == 3:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        fit = run(Incremental(1e-9), task, task.prior, np.random.default_rng(0), tol=0.0, watch=Watch(report))
    assert fit.measure.objective < fit.history["objective"][-1]
    expected = task.prior + task.model.expected_statistics(task.X, fit.multipliers)
    np.testing.assert_allclose(fit.moments.columns[0].count, expected.columns[0].count, rtol=1e-9)


def test_scores_agree_with_the_formula():
    task = problem("ncll", 3, 0.1)
    which = np.array([5, 0, 17])
    moments = task.prior + task.model.statistics(task.X, task.y, task.weights)
    np.testing.assert_allclose(task.model.scores(moments, task.X), task.model.log_joint(moments, task.X), rtol=1e-9)
    np.testing.assert_allclose(
        task.model.scores(moments, task.X, which=which), task.model.log_joint(moments, task.X)[which], rtol=1e-9
    )


def test_resting_rows_do_not_change_the_optimum():
    task = problem("hinge", 5, 0.3, n=400)
    resting = run(Incremental(1e-6), task, task.prior, np.random.default_rng(0), max_epochs=400, tol=0.0)
    assert resting.converged
    assert resting.measure.gap <= 1e-3 * len(task.y)


@pytest.mark.parametrize("options", [{"prior": 100.0}, {}])
def test_a_fit_copies_neither_values_nor_places(options):
    """Places are a third of X and values the rest; the peak is the model, multipliers and sums over rows."""
    generator = np.random.default_rng(0)
    X = sparse.random(10_000, 500, 0.2, "csr", random_state=0, data_rvs=lambda size: generator.integers(1, 4, size))
    X, y = X.astype(np.float64), generator.integers(2, size=10_000)
    machine = MultinomialNB(loss="hinge", random_state=0, max_epochs=2, **options)
    machine.fit(X[:1500], y[:1500])  # compiles
    tracemalloc.start()
    machine.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.indices.nbytes
