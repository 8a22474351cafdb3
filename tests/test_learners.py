"""All learners minimise one objective: against L-BFGS, against each other, at every pass."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import oracles
import pytest
import registry
import stepping
from scipy import sparse
from sklearn.datasets import load_digits

from suffice.choosing import priors
from suffice.families.bernoulli import Bernoulli
from suffice.families.categorical import Categorical
from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.families.gaussian_full import GaussianFull
from suffice.families.gaussian_spherical import GaussianSpherical
from suffice.families.gaussian_tied import GaussianTied
from suffice.families.multinomial import Multinomial
from suffice.families.poisson import Poisson
from suffice.learners.batch import Batch
from suffice.learners.driver import Problem, run
from suffice.learners.incremental import Incremental, Warm
from suffice.learners.paper import Paper
from suffice.learners.step_sizes import Constant, InverseTime, Power
from suffice.learners.stochastic import Stochastic
from suffice.learners.watch import Watch
from suffice.losses import loss_named
from suffice.structures.joint import Joint
from suffice.structures.words import BernoulliWords, Words

LEARNERS = {"incremental": Incremental(), "stochastic": Stochastic(), "batch": Batch()}


def fit(learner, problem, start, *, seed=0, max_epochs=100, tol=1e-3, **options):
    return run(learner, problem, start, np.random.default_rng(seed), max_epochs=max_epochs, tol=tol, **options)


@cache
def optimum(name: str) -> tuple[float, object]:
    """min F under ncll and where it is, by L-BFGS from the prior."""
    case = registry.cases()[name]
    return oracles.best(case.problem("ncll"), case.prior)


# -- the objective -----------------------------------------------------------------------------------------------------


def test_measure_is_the_objective(case):
    for loss in ("nll", "ncll", "hinge"):
        problem = case.problem(loss)
        assert problem.measure(case.moments).objective == pytest.approx(
            oracles.objective(problem, case.moments), rel=1e-9
        )


def test_oracle_parameters_are_a_chart(case):
    parameters = oracles.Parameters(case.model)
    registry.assert_records_close(
        parameters.moments(parameters.vector(case.moments)), case.moments, rtol=1e-8, atol=1e-10
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradient_of_the_oracle_by_finite_differences(case, smoothing):
    problem, parameters = case.problem("hinge" if smoothing else "ncll"), oracles.Parameters(case.model)
    vector = parameters.vector(case.moments)
    steps = 1e-5 * np.eye(len(vector))
    values = [
        [oracles.objective(problem, parameters.moments(vector + sign * h), smoothing) for h in steps]
        for sign in (1, -1)
    ]
    expected = (np.array(values[0]) - np.array(values[1])) / 2e-5
    found = oracles.gradient(problem, parameters, vector, smoothing)
    assert np.linalg.norm(found - expected) <= 1e-6 * np.linalg.norm(expected)


def test_oracle_ends_where_the_direction_vanishes(case):
    """At the optimum statistics + prior = what the model expects: the fixed point of every learner."""
    problem = case.problem("ncll")
    _, moments = optimum(case.name)
    weights = case.weights[:, None] * problem.loss.weights(case.model.log_joint(moments, case.X), case.y)
    direction = case.model.direction(case.model.expected_statistics(case.X, weights), case.prior, moments)
    start = case.model.direction(case.model.expected_statistics(case.X, 0 * weights), case.prior, case.moments)
    assert np.abs(direction.mass).max() < 1e-2 * max(np.abs(start.mass).max(), 1.0)


def test_incremental_agrees_with_l_bfgs(case):
    problem = case.problem("ncll")
    found = fit(Incremental(1e-7), problem, case.moments, max_epochs=500, tol=1e-7)
    assert found.converged, found.stopped
    assert found.measure.objective == pytest.approx(optimum(case.name)[0], rel=1e-4)


@pytest.mark.slow
def test_incremental_hinge_is_below_anything_l_bfgs_finds(case):
    """F - gap is a lower bound of the minimum, so no smoothed descent gets below it; and the gap is small."""
    problem = case.problem("hinge")
    found = fit(Incremental(1e-7), problem, case.moments, max_epochs=1000, tol=1e-5)
    gap = problem.measure(found.moments, found.multipliers).gap if found.converged else found.history["gap"][-1]
    others = [oracles.best(problem, case.prior, smoothing, 150)[0] for smoothing in (0.1, 0.01)]
    assert found.measure.objective - found.history["gap"][-1] <= min(others) * (1 + 1e-9)
    assert found.measure.objective <= min(others) * (1 + 1e-4)
    assert gap <= 1e-3 * abs(found.measure.objective)


@pytest.mark.parametrize("loss", ["ncll", "hinge"])
def test_reported_gap_bounds_the_true_gap(case, loss):
    """At every pass: F - min F <= gap (F is convex in theta: the cases' block weights are their outcomes' masses)."""
    problem = case.problem(loss)
    tight = fit(Incremental(1e-8), problem, case.moments, max_epochs=500, tol=1e-8).measure.objective
    learner = Incremental()
    state = learner.init(problem, case.moments, np.random.default_rng(1))
    for _ in range(15):
        state = learner.measured(problem, learner.step(problem, state))
        assert state.measure.objective - tight <= state.measure.gap + 1e-9 * abs(tight)


# -- digits ------------------------------------------------------------------------------------------------------------


@cache
def digits_problem(name: str, loss: str = "ncll") -> tuple[Problem, object]:
    """A prior of 3 % of the rows, pooled, with a trace of the data: what "auto" starts from."""
    X, y = load_digits(return_X_y=True)
    if name == "gaussian_full":
        X = X[:, (X.std(axis=0) > 4)]  # 10 x 64 x 64 covariances say nothing that fewer columns do not
    if name == "categorical":
        X = np.floor(X / 6.0)
        family = Categorical(10, 64, np.full(64, 3))
    elif name == "bernoulli":
        X = (X > 7).astype(float)
        family = Bernoulli.for_data(X, 10)
    elif name == "multinomial":
        X = sparse.csr_matrix(X)
        family = Multinomial.for_data(X, 10)
    else:
        kinds = {
            "gaussian_diagonal": GaussianDiagonal,
            "gaussian_full": GaussianFull,
            "gaussian_tied": GaussianTied,
            "gaussian_spherical": GaussianSpherical,
            "poisson": Poisson,
        }
        family = kinds[name].for_data(X, 10)
    model = {"bernoulli": BernoulliWords, "multinomial": Words}.get(name, Joint).of(family)
    weights = np.ones(len(y))
    statistics = model.statistics(X, y, weights)
    if model.table_prior:
        prior = priors.blended(model, statistics, priors.Setting(0.03 * len(y), 0.03))
    else:
        prior = priors.uniform(model, statistics, priors.Setting(0.1), float(X.multiply(X).sum()) / len(y))
    return Problem(model, X, y.astype(np.int64), weights, loss_named(loss), prior), priors.interior(model, statistics)


@pytest.mark.slow
@pytest.mark.parametrize("name", registry.FAMILIES)
def test_stochastic_gets_within_two_percent_in_twenty_passes(name):
    problem, start = digits_problem(name)
    tight = fit(Incremental(1e-5), problem, start, max_epochs=60, tol=1e-4)
    loose = fit(Stochastic(), problem, start, max_epochs=20, tol=0.0)
    best = tight.measure.objective
    assert loose.measure.objective - best <= 0.02 * abs(best)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_stochastic_hardly_depends_on_the_first_rate(case, factor):
    """A factor only changes how many rounds are taken back (1e3) or grow (1e-3)."""
    problem = case.problem("ncll")
    found = fit(Stochastic(factor), problem, case.moments, max_epochs=60, tol=0.0)
    assert case.model.in_domain(found.moments)
    assert found.measure.objective <= problem.measure(case.moments).objective
    if factor > 1:
        best = optimum(case.name)[0]
        assert found.measure.objective - best <= 0.02 * abs(best)


@pytest.mark.parametrize("loss", ["nll", "ncll", "hinge"])
@pytest.mark.parametrize("step_size", [1e-3, 1.0, 1e3, Constant(1.0), Power(), InverseTime(0.001)], ids=str)
def test_any_step_size_stays_finite(case, loss, step_size):
    problem = case.problem(loss)
    for learner in (Stochastic(step_size), Paper(step_size)):
        if isinstance(learner, Paper) and case.model.printed:
            continue  # printed pseudo-code with its own check step
        found = fit(learner, problem, case.moments, max_epochs=2, tol=0.0, keep_best=False)
        assert found.moments.is_finite()
        assert case.model.natural_of(found.moments).is_finite()
        assert case.model.in_domain(found.moments)


# -- monotone ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["nll", "ncll", "hinge"])
@pytest.mark.parametrize("learner", [Stochastic(), Batch()], ids=["stochastic", "batch"])
def test_objective_falls_at_every_step(case, learner, loss):
    """Measured by stepping the learner: a round that raised F is taken back, so no step does."""
    problem = case.problem(loss)
    path = stepping.objectives(learner, problem, case.moments)
    stepping.assert_falls(path)
    last = stepping.states(learner, problem, case.moments, 25)[-1]
    assert problem.measure(last.moments).objective == pytest.approx(path[-1], rel=1e-12)


@pytest.mark.parametrize("loss", ["ncll", "hinge"])
def test_the_dual_rises_at_every_pass(case, loss):
    """The dual learner does not lower F at every pass, but raises its lower bound F - gap."""
    bounds = stepping.lower_bounds(Incremental(), case.problem(loss), case.moments)
    assert (np.diff(bounds) >= -1e-9 * np.abs(bounds[:-1])).all()


def test_a_learner_that_goes_uphill_is_caught(case):
    """The test above fails for it, although the best state that the driver keeps never gets worse."""
    problem = case.problem("ncll")
    with pytest.raises(AssertionError):
        stepping.assert_falls(stepping.objectives(stepping.Uphill(), problem, case.moments, 10))
    found = fit(stepping.Uphill(), problem, case.moments, max_epochs=10, tol=0.0)
    assert (np.diff(found.history["objective"]) > 0).all()  # the history does not hide it
    assert len(set(found.history["best"])) == 1


@pytest.mark.parametrize("loss", ["nll", "ncll", "hinge"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_the_history_holds_every_pass_and_the_best_so_far(case, learner, loss):
    problem = case.problem(loss)
    found = fit(LEARNERS[learner], problem, case.moments, max_epochs=25, tol=0.0)
    own, best = found.history["objective"], found.history["best"]
    assert len(own) == len(best) == found.n_iter
    start = problem.measure(case.moments).objective
    np.testing.assert_array_equal(best, np.minimum.accumulate([start, *own])[1:])
    assert found.measure.objective == best[-1]
    assert problem.measure(found.moments).objective == pytest.approx(best[-1], rel=1e-12)


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_batch_em_never_lowers_its_bound(case, share):
    """Every single step, and F here is minus the penalised marginal likelihood that EM raises."""
    y = np.where(np.random.default_rng(2).random(len(case.y)) < share, -1, case.y)
    problem, learner = case.problem("nll", y=y), Batch()
    state = learner.init(problem, case.moments, np.random.default_rng(0))
    previous = state.measure.objective
    for _ in range(60):
        state = learner.step(problem, state)
        assert state.measure.objective <= previous + 1e-10 * abs(previous)
        previous = state.measure.objective
    assert previous < problem.measure(case.moments).objective


@pytest.mark.parametrize(
    ("learner", "rel"), [(Incremental(), 1e-4), (Stochastic(), 0.02)], ids=["incremental", "stochastic"]
)
def test_other_learners_reach_what_batch_em_reaches(case, learner, rel):
    y = np.where(np.arange(len(case.y)) % 2 == 0, -1, case.y)
    problem = case.problem("nll", y=y)
    batch = fit(Batch(), problem, case.moments, max_epochs=300, tol=1e-8)
    found = fit(learner, problem, case.moments, max_epochs=20 if rel > 1e-3 else 300, tol=1e-8)
    assert found.measure.objective == pytest.approx(batch.measure.objective, rel=rel)


def test_incremental_em_never_lowers_its_bound_at_any_pass(case):
    y = np.where(np.arange(len(case.y)) % 3 > 0, -1, case.y)
    problem, learner = case.problem("nll", y=y), Incremental(0.0)
    state = learner.init(problem, case.moments, np.random.default_rng(0))
    previous = -np.inf
    for _ in range(20):
        state = learner.step(problem, state)
        r = state.memory.multipliers[y < 0]
        entropy = float(case.weights[y < 0] @ -np.where(r > 0, r * np.log(np.maximum(r, 1e-300)), 0.0).sum(axis=1))
        bound = case.model.log_likelihood(state.moments, state.moments) + entropy  # Neal and Hinton 1998, eq. 7
        assert bound >= previous - 1e-8 * abs(previous)
        previous = bound


# -- closed forms ------------------------------------------------------------------------------------------------------


def test_one_pass_of_rates_one_over_t_is_the_closed_form(case):
    """mu_t = mu_{t-1} + (s(x_t) - mu_{t-1}) / t: after one pass the mean of the statistics, plus the prior's share."""
    n = len(case.y)
    problem = replace(case.problem("nll"), weights=np.ones(n))
    found = fit(
        Stochastic(InverseTime(1.0), batch_size=1, average=False),
        problem,
        case.moments,
        max_epochs=1,
        tol=0.0,
        keep_best=False,
    )
    closed = case.model.statistics(case.X, case.y, np.ones(n)) + case.prior
    natural, expected = case.model.natural_of(found.moments), case.model.natural_of(closed)
    np.testing.assert_allclose(natural.flat(), expected.flat(), rtol=1e-6, atol=1e-8)


def test_batch_of_labelled_rows_is_the_closed_form_in_one_step(case):
    found = fit(Batch(), case.problem("nll"), case.moments)
    assert found.n_iter == 1
    assert found.converged
    registry.assert_records_close(found.moments, case.statistics + case.prior)


# -- the driver --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [Incremental(), Stochastic()], ids=["incremental", "stochastic"])
def test_an_interruption_keeps_the_best_state(case, learner):
    problem, seen = case.problem("ncll"), []

    def report(epoch: int, line: dict) -> None:
        seen.append(line["objective"])
        if epoch == 3:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        found = fit(learner, problem, case.moments, tol=0.0, watch=Watch(report))
    assert found.n_iter == 3
    assert not found.converged
    assert "interrupted" in found.stopped
    assert found.measure.objective <= min(seen)  # passes that were not measured yet count, too
    assert problem.measure(found.moments).objective == pytest.approx(found.measure.objective, rel=1e-12)


def test_keep_best_false_keeps_the_last(case):
    problem = case.problem("ncll")
    found = fit(Stochastic(Constant(1.0), average=False), problem, case.moments, max_epochs=4, tol=0.0, keep_best=False)
    assert problem.measure(found.moments).objective == pytest.approx(found.measure.objective, rel=1e-9)


@pytest.mark.parametrize("learner", [Incremental(), Stochastic(), Batch()], ids=lambda value: type(value).__name__)
def test_a_seed_reproduces(case, learner):
    problem = case.problem("hinge")
    one, other, third = (fit(learner, problem, case.moments, seed=seed, max_epochs=4, tol=0.0) for seed in (5, 5, 6))
    np.testing.assert_array_equal(one.moments.flat(), other.moments.flat())
    if isinstance(learner, Incremental):  # the best moments may still be the start's: look at the weights of the rows
        np.testing.assert_array_equal(one.multipliers, other.multipliers)
        assert (one.multipliers != third.multipliers).any()
    elif isinstance(learner, Stochastic):
        assert (one.moments.flat() != third.moments.flat()).any()


def test_averaging_lowers_the_objective_of_noisy_steps(case):
    """At a constant rate the average of the second half is better than the last iterate."""
    problem = case.problem("ncll")
    plain, mean = (
        fit(
            Stochastic(Constant(0.5), batch_size=2, average=average),
            problem,
            case.moments,
            max_epochs=1,
            tol=0.0,
            keep_best=False,
        )
        for average in (False, True)
    )
    assert mean.measure.objective < plain.measure.objective


def test_stopping_is_by_the_gap(case):
    problem = case.problem("ncll")
    found = fit(Incremental(1e-5), problem, case.moments, max_epochs=300, tol=1e-3)
    assert found.converged
    assert "duality gap" in found.stopped
    scale = float(case.weights.sum()) * max(0.1, found.measure.loss)
    assert found.history["gap"][-1] <= 1e-3 * scale * 1.01
    assert all(gap > 1e-3 * scale * 0.5 for gap in found.history["gap"][:-1])


def test_running_out_of_passes_is_said(case):
    found = fit(Incremental(), case.problem("ncll"), case.moments, max_epochs=1, tol=1e-12)
    assert not found.converged
    assert found.stopped == "1 passes were made, and no more are allowed"


def test_a_warm_start_that_asks_too_much_is_shortened(case):
    """Multipliers of a weak prior do not fit a strong step: they are scaled until the moments lie inside."""
    problem = case.problem("ncll")
    multipliers = 50.0 * np.random.default_rng(0).normal(size=(len(case.y), registry.N_OUTCOMES))
    multipliers -= multipliers.mean(axis=1, keepdims=True)
    state = Incremental().init(problem, case.moments, np.random.default_rng(0), Warm(multipliers))
    assert case.model.in_domain(state.moments)


def test_a_prior_outside_the_domain_is_named(case):
    problem = case.problem("ncll", prior=0.0 * case.prior)
    with pytest.raises(ValueError, match="prior lies outside the domain"):
        Incremental().init(problem, case.moments, np.random.default_rng(0))


@pytest.mark.parametrize("loss", ["hinge", "ncll"])
@pytest.mark.parametrize("structure", ["multinomial", "bernoulli"])
def test_history_says_which_passes_were_measured(structure, loss):
    """A pass over words costs as much as F: most are not measured, and what the history says of the others is exact."""
    generator = np.random.default_rng(0)
    y = generator.integers(3, size=1200)
    X = sparse.csr_matrix((generator.random((1200, 40)) < 0.1 + 0.2 * (np.arange(40) % 3 == y[:, None])).astype(float))
    family = {"multinomial": Multinomial, "bernoulli": Bernoulli}[structure].for_data(X, 3)
    model = (Words if structure == "multinomial" else BernoulliWords)((family,))
    weights = np.ones(len(y))
    problem = Problem(model, X, y, weights, loss_named(loss))
    statistics = problem.statistics()
    problem = replace(
        problem, prior=model.pseudo_counts(statistics, 5.0) + model.smoothed_maximum_likelihood(statistics)
    )
    kept = []
    found = fit(Recording(kept), problem, problem.prior, max_epochs=23, tol=0.0)
    measured = np.flatnonzero(found.history["measured"])
    objective, best = np.array(found.history["objective"]), np.array(found.history["best"])
    assert len(kept) == 23 and measured[0] == 0 and measured[-1] == 22 and len(measured) < 23
    for number in measured:
        assert objective[number] == pytest.approx(problem.measure(kept[number]).objective, rel=1e-9)
    np.testing.assert_array_equal(best, np.minimum.accumulate(objective))
    between = np.setdiff1d(np.arange(23), measured)
    np.testing.assert_array_equal(objective[between], objective[between - 1])
    assert found.measure.objective == pytest.approx(problem.measure(found.moments).objective, rel=1e-9)


def words_of_three_classes(prior: float, loss: str = "hinge") -> Problem:
    generator = np.random.default_rng(0)
    y = generator.integers(3, size=600)
    X = sparse.csr_matrix((generator.random((600, 40)) < 0.1 + 0.2 * (np.arange(40) % 3 == y[:, None])).astype(float))
    model = Words((Multinomial.for_data(X, 3),))
    problem = Problem(model, X, y, np.ones(600), loss_named(loss))
    mass = model.smoothed_maximum_likelihood(problem.statistics())
    return replace(problem, prior=model.pseudo_counts(mass, prior) + mass)


@pytest.mark.parametrize(("falls", "wanted"), [(0.9, [0, 16, 19]), (1.0, [0, 4, 8, 12, 16, 19])])
def test_stochastic_rounds_are_longer_while_the_weights_of_the_labels_fall(falls, wanted, monkeypatch):
    told = iter(1000.0 * falls ** np.arange(20))
    own = Words.stochastic_pass
    monkeypatch.setattr(Words, "stochastic_pass", lambda *given: (own(*given)[0], float(next(told))))
    problem = words_of_three_classes(5.0)
    found = fit(Stochastic(1e-3), problem, problem.prior, max_epochs=20, tol=0.0)
    assert np.flatnonzero(found.history["measured"]).tolist() == wanted


@pytest.mark.parametrize("loss", ["hinge", "ncll"])
def test_a_trial_from_where_it_would_end_is_one_pass(loss):
    problem = words_of_three_classes(5.0, loss)
    found = fit(Incremental(1e-4), problem, problem.prior, max_epochs=200, tol=0.0)
    trial = run(
        Incremental(1e-3, watch=False),
        problem,
        problem.prior,
        np.random.default_rng(0),
        max_epochs=5,
        warm=Warm(found.multipliers),
    )
    assert (trial.n_iter, trial.converged) == (1, True)
    cold = run(Incremental(1e-3, watch=False), problem, problem.prior, np.random.default_rng(0), max_epochs=5)
    assert cold.n_iter > 1


@dataclass(frozen=True)
class Recording(Stochastic):
    """It notes where it is after every pass."""

    kept: list = field(default_factory=list)

    def __init__(self, kept) -> None:
        super().__init__()
        object.__setattr__(self, "kept", kept)

    def step(self, problem, state):
        state = super().step(problem, state)
        self.kept.append(state.moments)
        return state

    def measured(self, problem, state):
        state = super().measured(problem, state)
        if self.kept and state.n_passes == len(self.kept):
            self.kept[-1] = state.moments
        return state


def test_a_pull_in_place_is_that_of_the_moments():
    case = registry.cases()["multinomial"]
    state = case.model.state_of(case.moments)
    plain = super(Words, case.model).pulled(case.model.state_of(case.moments), case.prior, 0.3)
    for mine, other in zip(
        case.model.flat(case.model.pulled(state, case.prior, 0.3)), case.model.flat(plain), strict=True
    ):
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-10)


def test_a_start_below_the_learners_own_does_not_end_it():
    """Stochastic passes over words begin at the prior, whose F may be above that of the start: that is no sign of convergence."""
    generator = np.random.default_rng(0)
    y = generator.integers(3, size=1500)
    X = sparse.csr_matrix(generator.poisson(0.2 + 0.3 * (np.arange(60) % 3 == y[:, None])).astype(float))
    model = Words((Multinomial.for_data(X, 3),))
    problem = Problem(model, X, y, np.ones(len(y)), loss_named("hinge"))
    statistics = problem.statistics()
    problem = replace(problem, prior=replace(model.pseudo_counts(statistics, 1.0), mass=np.ones(3)))
    found = fit(Stochastic(), problem, model.smoothed_maximum_likelihood(statistics), max_epochs=200)
    assert found.first.objective < found.history["objective"][0]
    assert found.measure.objective < 0.9 * found.first.objective
