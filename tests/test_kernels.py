"""The compiled kernels do what the readable models say, and the cache never serves yesterday's kernel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import registry
import twins
from scipy import sparse

import suffice
from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.families.rows import one_hot
from suffice.kernels.rows import ROWS
from suffice.learners.driver import run
from suffice.learners.incremental import Incremental
from suffice.structures.joint import loops


@pytest.fixture(params=[*registry.NAMES, "complement"])
def case(request) -> registry.Case:
    """Also the family that is no density: its kernels do what its readable methods say all the same."""
    return registry.complement() if request.param == "complement" else registry.cases()[request.param]


def signed_steps(n: int, seed: int = 0):
    """Steps whose entries add up to zero: what the discriminative losses ask for (the tied kernel takes no others)."""
    generator = np.random.default_rng(seed)
    for _ in range(n):
        step = generator.normal(size=registry.N_OUTCOMES)
        step[generator.integers(registry.N_OUTCOMES)] *= generator.integers(2)
        yield step - step.mean()


def one_row(case, i: int):
    """(kernels, state, row, scores, scratch) after `score` and `reach`, as the epoch calls them."""
    rows, layout = case.model.rows_of(case.X)
    row_of = ROWS[layout]
    module = twins.RowKernels(case.model)
    state = case.model.state_of(case.prior)
    row, scores, scratch = row_of(rows, i), np.empty(registry.N_OUTCOMES), module.scratch_for(state)
    module.score(state, row, scores, scratch)
    return module, state, row, scores, scratch


def test_scores_are_the_log_joint(case):
    np.testing.assert_allclose(
        case.model.scores(case.prior, case.X), case.model.log_joint(case.prior, case.X), rtol=1e-10
    )


def test_move_adds_the_statistics(case):
    model = case.model
    for i, step in enumerate(signed_steps(20)):
        module, state, row, _, scratch = one_row(case, i)
        step = 0.5 * min(1.0, module.reach(state, row, step, scratch)) * step
        module.move(state, row, step, scratch)
        expected = case.prior + model.expected_statistics(case.X[[i]], step[None])
        registry.assert_records_close(model.moments_of_state(state), expected, rtol=1e-9, atol=1e-9)
        again = np.empty(registry.N_OUTCOMES)
        module.score(state, row, again, scratch)
        np.testing.assert_allclose(again, model.log_joint(expected, case.X[[i]])[0], rtol=1e-9)


def test_curve_is_the_score_after_the_move(case):
    for i, step in enumerate(signed_steps(20)):
        module, state, row, scores, scratch = one_row(case, i)
        reach = module.reach(state, row, step, scratch)
        for rate in (0.01, 0.3, 0.9):
            moved = np.empty(registry.N_OUTCOMES)
            module.curve(state, row, scores, step, rate * min(1.0, reach), moved, scratch)
            after = case.prior + case.model.expected_statistics(case.X[[i]], rate * min(1.0, reach) * step[None])
            # the total mass is left alone: steps add up to zero
            np.testing.assert_allclose(moved, case.model.log_joint(after, case.X[[i]])[0], rtol=1e-9, atol=1e-9)


def test_slope_is_the_derivative_of_the_curve(case):
    """Of outcome k alone. The multinomial's is floored at 1/mass; the tied one leaves out what all outcomes share."""
    for i, k in enumerate([0, 1, 2] * 5):
        module, state, row, scores, scratch = one_row(case, i)
        step = np.zeros(registry.N_OUTCOMES)
        step[k] = 1.0
        module.reach(state, row, step, scratch)
        h, ahead, behind = 1e-5, np.empty(registry.N_OUTCOMES), np.empty(registry.N_OUTCOMES)
        module.curve(state, row, scores, step, h, ahead, scratch)
        module.curve(state, row, scores, step, -h, behind, scratch)
        slope = (ahead[k] - behind[k]) / (2 * h)
        if case.name in registry.WORDS:
            slope = max(slope, 1.0 / state[0][0][k])
        elif case.name == "gaussian_tied":  # without the determinant, which changes the scores of all outcomes alike
            slope += 0.5 * scratch[3][k, k] / state[1][0].sum()
        assert module.slope(state, row, k, scratch) == pytest.approx(slope, rel=1e-6)


def test_reach_is_inside_the_domain(case):
    for i, step in enumerate(signed_steps(registry.N_ROWS, seed=1)):
        module, state, row, _, scratch = one_row(case, i)
        reach = module.reach(state, row, step, scratch)
        assert reach > 0
        assert case.model.in_domain(case.prior + case.model.expected_statistics(case.X[[i]], 0.99 * reach * step[None]))
        module.move(state, row, 0.99 * reach * step, scratch)
        assert case.model.in_domain(case.model.moments_of_state(state))


def test_reach_is_the_edge_of_the_domain(case):
    """Not only inside: a step 1 % longer leaves it (the tied reach is a bound and may be shorter)."""
    if case.name == "gaussian_tied":
        pytest.skip("the tied reach is a safe bound and not the edge")
    for i, step in enumerate(signed_steps(20, seed=2)):
        module, state, row, _, scratch = one_row(case, i)
        reach = module.reach(state, row, step, scratch)
        beyond = case.prior + case.model.expected_statistics(case.X[[i]], 1.01 * reach * step[None])
        assert not case.model.in_domain(beyond)


@pytest.mark.parametrize("unlabelled", [False, True])
def test_compiled_epochs_end_where_the_readable_twin_ends(case, unlabelled):
    n_rows, n_epochs = 24, 30
    y = np.where(np.arange(n_rows) % 3 == 0, -1, case.y[:n_rows]) if unlabelled else case.y[:n_rows]
    problem = replace(case.problem("ncll"), X=case.X[:n_rows], y=y, weights=case.weights[:n_rows])
    learner = Incremental(1e-9)
    state = learner.init(problem, case.moments, np.random.default_rng(0))
    multipliers, moments = state.memory.multipliers.copy(), state.moments
    orders = np.random.default_rng(0)
    for _ in range(n_epochs):
        state = learner.step(problem, state)
        moments = twins.epoch(problem, multipliers, moments, orders.permutation(len(y)))
    state = learner.measured(problem, state)
    twin = problem.measure(moments, multipliers)
    assert state.measure.objective == pytest.approx(twin.objective, rel=1e-5)
    np.testing.assert_allclose(state.memory.multipliers, multipliers, atol=2e-2)


def test_an_epoch_keeps_moments_and_multipliers_together(case):
    """moments = prior + sum_i r_i s(x_i), also after many compiled updates in place."""
    for loss in ("ncll", "hinge"):
        problem, learner = case.problem(loss), Incremental(1e-6)
        state = learner.init(problem, case.moments, np.random.default_rng(0))
        for _ in range(30):
            state = learner.step(problem, state)
        state = learner.measured(problem, state)
        rebuilt = problem.prior + case.model.expected_statistics(
            case.X, case.weights[:, None] * state.memory.multipliers
        )
        registry.assert_records_close(state.moments, rebuilt, rtol=1e-8, atol=1e-8)


def test_sparse_rows_give_the_same_epoch():
    for name in registry.NAMES:
        case = registry.cases()[name]
        if name in registry.WORDS:
            continue
        dense, rows = case.problem("ncll"), replace(case.problem("ncll"), X=sparse.csr_matrix(case.X))
        fits = [
            run(Incremental(), p, case.moments, np.random.default_rng(0), max_epochs=3, tol=0.0) for p in (dense, rows)
        ]
        np.testing.assert_allclose(fits[0].multipliers, fits[1].multipliers, atol=1e-8)


# -- the cache ---------------------------------------------------------------------------------------------------------

SCRIPT = """
import numpy as np
from suffice.families.poisson import Poisson
from suffice.structures.joint import Joint, loops
X = np.arange(12.0).reshape(4, 3)
model = Joint.of(Poisson(2, 3))
moments = model.statistics(X, np.array([0, 1, 0, 1]), np.ones(4))
scores = model.scores(moments, X)
print(repr(float(scores.sum())), sum(loops(model.modules, "dense")["score_rows"].stats.cache_hits.values()))
"""


def run_copy(folder: Path) -> tuple[float, int]:
    environment = {**os.environ, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    value, hits = done.stdout.split()
    return float(value), int(hits)


@pytest.mark.slow
def test_an_edited_kernel_is_not_served_stale(tmp_path):
    home = Path(suffice.__file__).parent
    shutil.copytree(home, tmp_path / "suffice", ignore=shutil.ignore_patterns("__pycache__"))
    first, hits = run_copy(tmp_path)
    assert hits == 0
    second, hits = run_copy(tmp_path)
    assert second == first
    assert hits > 0, "the second process should read the compiled loop from the cache"
    kernel = tmp_path / "suffice" / "kernels" / "families" / "poisson.py"
    line = "scores[k] += sum_ - norm[k]"
    assert kernel.read_text().count(line) == 1
    kernel.write_text(kernel.read_text().replace(line, line + " + 1.0"))
    edited, hits = run_copy(tmp_path)
    assert hits == 0
    assert edited == pytest.approx(first + 8.0)


def test_every_loop_hits_the_cache_of_its_second_process():
    """The digest of the sources is part of every compiled name."""
    from suffice.kernels.compile import SOURCE_DIGEST

    found = loops(("suffice.kernels.families.poisson",), "dense")
    for loop in (found["epoch"].of("suffice.kernels.losses.ncll"), found["score_rows"]):
        assert SOURCE_DIGEST in loop.py_func.__qualname__


@pytest.mark.parametrize("gaps", [[], [3], [0], [0, 3]])
def test_sums_by_label_are_those_of_one_hot_shares(gaps):
    """Row 0 has no label: a gap there is not met."""
    generator = np.random.default_rng(0)
    X, y, weights = generator.normal(size=(9, 4)), np.array([-1, 0, 1, 1, 0, 2, 2, 1, 0]), generator.random(9)
    X[gaps, 2] = np.nan
    family = GaussianDiagonal.for_data(X, 3)
    found, expected = family.labelled_statistics(X, y, weights), family.statistics(X, one_hot(y, weights, 3))
    np.testing.assert_allclose(found.flat(), expected.flat(), rtol=1e-12, atol=1e-14)
