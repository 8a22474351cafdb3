"""The recipe for dense tables: gradients, twins, posteriors of the settled density, bins, repeatability, rare classes, weights."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

from suffice import (
    CategoricalNB,
    GaussianDiscriminant,
    GaussianNB,
    MixedNB,
    MixtureClassifier,
    TableClassifier,
    load,
    save,
)  # fmt: skip
from suffice.choosing.calibration import clipped_losses, doubted_losses
from suffice.choosing.candidates import Candidate, affordable, complete, weighed
from suffice.choosing.priors import Setting
from suffice.choosing.race import Race
from suffice.choosing.recipes.base import Options as TrainingOptions
from suffice.choosing.recipes.linear import Linear
from suffice.choosing.search import Tried
from suffice.experiments import EXPERIMENTS, Options
from suffice.families.categorical import Categorical
from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.families.gaussian_tied import GaussianTied
from suffice.families.histogram import Histogram
from suffice.families.poisson import Poisson
from suffice.kernels.loops import chain as chains
from suffice.kernels.loops import linear as loops
from suffice.learners.linear import search
from suffice.learners.linear.cells import BinsPart
from suffice.learners.linear.conditional import CERTIFIED, Conditional
from suffice.learners.linear.design import Design
from suffice.learners.linear.metrics import Chain, Products
from suffice.learners.linear.settle import Tellers, settled
from suffice.learners.linear.sums import ClassSums, FoldSums
from suffice.learners.quasi_newton import QuasiNewton
from suffice.learners.watch import Watch
from suffice.reading.bins import cuts_of
from suffice.reading.date_parts import parts_for, with_parts
from suffice.structures.joint import Joint

GAPS = ("complete", "ignored", "told")


def case(gaps: str, seed: int = 0):
    """A joint of every family with rows, labels, weights and tellers."""
    rng, n, K = np.random.default_rng(seed), 80, 3
    y = rng.integers(K, size=n)
    numbers = 100 + rng.normal(size=(n, 2)) * [1, 5] + y[:, None]
    codes = np.stack([rng.integers(3, size=n), rng.random(n) < 0.3 + 0.2 * y], axis=1).astype(float)
    counts, bins = (
        rng.poisson(2 + y[:, None], size=(n, 1)),
        np.clip(rng.normal(2 + 0.5 * y[:, None], 1, (n, 1)), 0, 4.99),
    )
    X, sizes, told = np.hstack([numbers, codes, counts, bins]), np.array([3, 2]), np.zeros(0, dtype=int)
    if gaps != "complete":
        X[rng.random(X.shape) < 0.15] = np.nan
    if gaps == "told":
        X = np.hstack([X[:, :4], ~np.isnan(X), X[:, 4:]])
        sizes, told = np.append(sizes, np.full(6, 2)), np.array([0, 1, 2, 3, 10, 11])
    edges = np.arange(5.0)
    model = Joint.of(
        GaussianDiagonal.for_data(X[:, :2], K), Categorical(K, len(sizes), sizes), Poisson(K, 1),
        Histogram(K, 1, np.array([5]), left=edges, right=edges + 1),
    )  # fmt: skip
    return model, X, y, rng.random(n) + 0.5, Tellers(told, 4 + np.arange(len(told)))


def problem_of(gaps: str, is_tied: bool, share: float = 0.1):
    model, X, y, weights, tellers = case(gaps)
    told = np.zeros(model.n_features, dtype=bool)
    told[tellers.told] = True
    design = Design.of(model, X, y, weights, told, squares=True)
    goal = Conditional.of(design, ClassSums(design, y, weights, 3), 1.0, share, is_tied)
    return goal, model, X, tellers


@pytest.mark.parametrize("is_tied", [True, False])
@pytest.mark.parametrize("gaps", GAPS)
def test_gradient(gaps, is_tied):
    goal, *_ = problem_of(gaps, is_tied)
    rng = np.random.default_rng(1)
    for _ in range(3):
        x, way = 0.5 * rng.normal(size=goal.shape).ravel(), rng.normal(size=goal.shape).ravel()
        slope = (goal.value_and_gradient(x + 1e-6 * way)[0] - goal.value_and_gradient(x - 1e-6 * way)[0]) / 2e-6
        assert slope == pytest.approx(goal.value_and_gradient(x)[1] @ way, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("is_tied", [True, False])
@pytest.mark.parametrize("gaps", GAPS)
def test_problems_side_by_side_are_each_as_if_alone(gaps, is_tied):
    goal, *_ = problem_of(gaps, is_tied)
    rng = np.random.default_rng(2)
    weights = rng.random((len(goal.y), 4)) * (rng.random((len(goal.y), 4)) < 0.8)
    together = Conditional.of(goal.design, FoldSums(goal.design, goal.y, weights, 3), 2.0, 0.1, is_tied)
    T = [0.5 * rng.normal(size=(size, 12)) for size in (1, *(part.size for part in together.parts))]
    (value, gradient), total = together.value_and_gradient(together.start(T)), 0.0
    scores = together.scores(T, goal.design).reshape(len(goal.y), 4, 3)
    for number in range(4):
        sums = ClassSums(goal.design, goal.y, weights[:, number], 3)
        alone = Conditional.of(goal.design, sums, 2.0, 0.1, is_tied)
        own = [each[:, 3 * number : 3 * number + 3] for each in T]
        total += alone.total * alone.value_and_gradient(alone.start(own))[0]
        np.testing.assert_allclose(scores[:, number], alone.scores(own, goal.design), atol=1e-12)
    assert value == pytest.approx(total / together.total, rel=1e-12)
    x, way = together.start(T), rng.normal(size=len(gradient))
    slope = together.value_and_gradient(x + 1e-6 * way)[0] - together.value_and_gradient(x - 1e-6 * way)[0]
    assert slope / 2e-6 == pytest.approx(gradient @ way, rel=1e-5, abs=1e-7)


def test_a_gap_that_nothing_tells_of_beside_gaps_that_are_told():
    model, X, y, weights, tellers = case("told")
    told = np.zeros(model.n_features, dtype=bool)
    tellers = Tellers(np.delete(tellers.told, 3), np.delete(tellers.by, 3))
    told[tellers.told] = True
    design = Design.of(model, X, y, weights, told, squares=True)
    goal = Conditional.of(design, ClassSums(design, y, weights, 3), 1.0, 0.0, True)
    T = goal.solved(None, 1e-10, 300)
    density = log_softmax(model.log_joint(settled(model, goal, T, tellers), X), axis=1)
    np.testing.assert_allclose(density, log_softmax(goal.scores(T, design), axis=1), atol=1e-8)


@pytest.mark.parametrize("is_tied", [True, False])
@pytest.mark.parametrize("gaps", GAPS)
def test_the_settled_density_has_the_trained_posteriors(gaps, is_tied):
    goal, model, X, tellers = problem_of(gaps, is_tied, 0.0)
    T = goal.solved(None, 1e-10, 300)
    moments = settled(model, goal, T, tellers)
    assert model.in_domain(moments)
    trained, density = (
        log_softmax(goal.scores(T, goal.design), axis=1),
        log_softmax(model.log_joint(moments, X), axis=1),
    )
    np.testing.assert_allclose(density, trained, atol=1e-8)


def test_the_settled_density_has_the_moments_of_the_rows():
    goal, model, X, tellers = problem_of("complete", False, 0.0)
    moments = settled(model, goal, goal.solved(None, 1e-10, 300), tellers)
    w = goal.weights / goal.weights.sum()
    gaussian, categorical, poisson, _ = moments.columns
    np.testing.assert_allclose(gaussian.first.sum(axis=0), w @ (X[:, :2] - model.families[0].location), atol=1e-3)
    np.testing.assert_allclose(categorical.count[:3].sum(axis=1), [w @ (X[:, 2] == v) for v in range(3)], atol=1e-3)
    np.testing.assert_allclose(poisson.count.sum(axis=0), w @ X[:, 4:5], atol=1e-2)


@pytest.mark.parametrize("own", [1.0, 0.1, 0.0])
def test_correlated_columns_keep_their_posteriors_and_have_the_covariance_of_the_rows(own):
    X, y = load_wine(return_X_y=True)
    model, weights, nothing = Joint.of(GaussianTied.for_data(X, 3)), np.ones(len(y)), np.zeros(0, dtype=int)
    design = Design.of(model, X, y, weights, np.zeros(X.shape[1], dtype=bool), squares=False, own=own)
    goal = Conditional.of(design, ClassSums(design, y, weights, 3), 1.0, 0.0, True)
    T = goal.solved(None, 1e-10, 300)
    moments = settled(model, goal, T, Tellers(nothing, nothing))
    np.testing.assert_allclose(
        softmax(model.log_joint(moments, X), axis=1), softmax(goal.scores(T, design), axis=1), atol=1e-7
    )
    mean, within = model.families[0].parameters(moments.columns[0])
    apart = (mean - moments.mass @ mean) * np.sqrt(moments.mass)[:, None]
    found, spread = within + apart.T @ apart, X.std(axis=0)
    np.testing.assert_allclose(found / np.outer(spread, spread), np.corrcoef(X.T), atol=0.02)


def test_rows_held_out_take_no_part_in_the_covariance():
    X, y = load_wine(return_X_y=True)
    model, weights = Joint.of(GaussianTied.for_data(X, 3)), np.ones(len(y))
    train, held_out = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    designs = []
    for labels in (y, np.where(np.arange(len(y)) % 2, 0, y)):  # those of the rows held out are others
        design = Design.of(model, X, labels, weights, np.zeros(X.shape[1], dtype=bool), squares=False, own=0.0)
        designs.append(design.split(train, held_out, labels, weights, 0.0))
    for one, other in zip(*designs, strict=True):
        np.testing.assert_array_equal(one.dense, other.dense)


def test_one_more_row_that_is_wrong():
    """All rows right: the surer, the less they lose; not with one more, unless all of them are as far from wrong."""
    y = np.array([0, 1] * 20)
    margins = np.linspace(0.1, 4.0, 40)
    for spread, is_doubted in ((margins, True), (np.full(40, 2.0) + 0.01 * margins, False)):
        sure = spread[:, None] * np.where(y[:, None] == [0, 1], 0.5, -0.5)
        plain, doubted = (
            [losses(t * sure, y).mean() for t in (0.5, 2.0, 10.0)] for losses in (clipped_losses, doubted_losses)
        )
        assert plain[0] > plain[1] > plain[2]
        assert doubted[0] > doubted[1]
        assert (doubted[1] < doubted[2]) == is_doubted


def test_kernels_and_their_twins():
    rng = np.random.default_rng(0)
    scores, y, weights = 5 * rng.normal(size=(40, 4)), rng.integers(4, size=40), rng.random(40)
    total, gradient = loops.plain_weights(scores.copy(), y, weights)
    found = scores.copy()
    assert loops.weigh_rows(found, y, weights, np.empty(found.size)) == pytest.approx(total)
    np.testing.assert_allclose(found, gradient, atol=1e-12)


def test_chains_and_their_twin():
    rng = np.random.default_rng(0)
    h, stiffness = rng.random((7, 2)), 3.0 * rng.random((7, 2))
    stiffness[[0, 4]] = 0.0  # columns of four and of three cells
    chain, g = Chain(h, stiffness), rng.normal(size=(7, 2))
    for k in range(2):
        below = np.append(-stiffness[1:, k], 0.0)
        L = chains.plain_factor(h[:, k] + 1e-9 + stiffness[:, k] - below, below)
        np.testing.assert_allclose(chain.variables(g)[:, k], L.T @ g[:, k], atol=1e-12)
        np.testing.assert_allclose(chain.parameters(g)[:, k], np.linalg.solve(L.T, g[:, k]), atol=1e-10)
        np.testing.assert_allclose(chain.pulled(g)[:, k], np.linalg.solve(L, g[:, k]), atol=1e-10)


def test_products_are_a_newton_step_away_from_the_optimum_of_a_parabola():
    """Variables in which the curvature v_k (phi' phi + prior / v_k) is 1, whatever the correlations."""
    rng = np.random.default_rng(0)
    phi, v, g = rng.normal(size=(30, 4)) @ rng.normal(size=(4, 4)), np.array([0.2, 0.1]), rng.normal(size=(4, 2))
    metric = Products(phi.T @ phi, v, 3.0 * np.repeat(v[None], 4, axis=0))
    np.testing.assert_allclose(metric.parameters(metric.variables(g)), g, atol=1e-10)
    step = metric.parameters(metric.pulled(g))
    np.testing.assert_allclose((phi.T @ phi + 3.0 * np.eye(4)) @ (v * step), g, rtol=1e-5, atol=1e-7)
    with pytest.raises(np.linalg.LinAlgError):
        Products(np.full((2, 2), np.inf), v, np.ones((2, 2)))


def test_bins_without_their_slope():
    """The penalty is the least one over all slopes."""
    rng = np.random.default_rng(0)
    family = Histogram(2, 2, np.array([5, 4]), left=np.arange(9.0), right=np.arange(9.0) + 1)
    centre, a, T = rng.normal(size=9), np.array([0.3, 0.7]), rng.normal(size=(9, 2))
    part = BinsPart(
        family, np.zeros((9, 2)), np.zeros(2, dtype=bool), slice(0, 9), np.zeros((9, 2)), centre=centre, a=a
    )

    def lost(slopes):
        found = 0.5 * float((a * slopes**2).sum())
        for j, cells in enumerate((slice(0, 5), slice(5, 9))):
            d = np.diff(T[cells] - np.outer(centre[cells], slopes[j]), axis=0)
            found += 0.5 * len(d) / 9.0 * float((a * d**2).sum())
        return found

    least = minimize(lambda x: lost(x.reshape(2, 2)), np.zeros(4), tol=1e-12).fun
    assert part.penalty(T, (T, None, None))[0] == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("kind", ["continuous", "whole", "spike", "constant"])
def test_bins_hold_every_value_and_give_it_back(kind):
    rng = np.random.default_rng(0)
    values = {
        "continuous": rng.normal(size=500),
        "whole": rng.integers(0, 7, 500).astype(float),
        "spike": np.where(rng.random(500) < 0.9, 0.0, rng.exponential(size=500)),
        "constant": np.full(20, 3.0),
    }[kind]
    cuts = cuts_of(values, 32)
    assert len(cuts) <= 70
    assert (cuts.left <= cuts.right).all()
    positions = cuts.positions(values)
    assert (positions >= 0).all()
    assert (positions < len(cuts)).all()
    np.testing.assert_allclose(cuts.values(positions), values, atol=1e-6)
    assert np.isnan(cuts.positions(np.array([np.nan]))).all()


def test_a_histogram_is_a_density():
    family = Histogram(2, 1, np.array([3]), left=np.array([0.0, 1.0, 3.0]), right=np.array([1.0, 3.0, 3.0]))
    moments = family.of_counts(np.array([[0.2, 0.5], [0.5, 0.4], [0.3, 0.1]]))
    grid = np.linspace(0, 2, 4001)[:-1] + 2.5e-4  # positions: bins of width 1 and 2, then an atom
    values = np.where(grid < 1, 1.0, 2.0) * (grid[1] - grid[0])
    density = np.exp(family.log_densities(moments, grid[:, None]) + family.log_base_measure(grid[:, None])[:, None])
    atom = np.exp(family.log_densities(moments, np.array([[2.5]])) + family.log_base_measure(np.array([[2.5]])))
    np.testing.assert_allclose(values @ density + atom[0], 1.0, atol=1e-3)


def test_two_default_fits_in_two_processes_have_equal_bits():
    code = (
        "from sklearn.datasets import load_wine; from suffice import MixedNB; X, y = load_wine(return_X_y=True); "
        "print(MixedNB().fit(X[::2], y[::2]).predict_proba(X).tobytes().hex()[:4000])"
    )
    outputs = {subprocess.check_output([sys.executable, "-c", code], env=os.environ) for _ in range(2)}
    assert len(outputs) == 1


def test_default_fits_are_certified():
    X, y = load_iris(return_X_y=True)
    for model in (GaussianNB(), GaussianDiscriminant(), MixedNB()):
        model.fit(X, y)
        assert model.converged_
        if model.choice_.setting is not None:  # else maximum likelihood was kept, in closed form
            assert model.stopped_.startswith("at its optimum")
            assert model.history_["gap"][-1] / len(y) <= CERTIFIED


def test_columns_that_tell_nothing_are_left_out():
    """Some rows of a table in which every class has every combination of values once: class frequencies are all there is to learn."""
    rows = np.array([(f"a{a}", f"b{b}", y) for a in range(6) for b in range(5) for y in "012"], dtype=object)
    some = rows[np.random.default_rng(0).random(len(rows)) < 0.67]
    frequencies = np.unique(some[:, 2], return_counts=True)[1] / len(some)
    np.testing.assert_allclose(
        MixedNB().fit(some[:, :2], some[:, 2]).predict_proba(rows[:, :2]), [frequencies] * 90, atol=1e-3
    )


def test_the_prior_holds_a_rare_class_as_it_holds_the_others():
    model, X, y, weights, _ = case("complete")
    design = Design.of(model, X, y, weights, np.zeros(X.shape[1], dtype=bool), squares=False)
    for part in ClassSums(design, np.minimum(np.arange(len(y)), 2), weights, 3).parts(6.0, 0.0, is_tied=True):
        for name in ("w0", "alpha", "weight", "a"):
            held = getattr(part, name, np.full((1, 3), 2.0))
            np.testing.assert_allclose(held, np.broadcast_to(held[..., :1], held.shape))


def test_a_comparison_does_not_warn_of_its_own_folds():
    """Most values of the column are in one row or two, so rows held out have some that were not seen."""
    X = pd.DataFrame({"number": np.arange(60.0), "name": [f"n{i}" for i in range(30)] * 2}).iloc[:45]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TableClassifier().fit(X, (X["number"] > 20).to_numpy())


def test_a_search_is_taken_up_again_with_less_tolerance(monkeypatch):
    """Steps that gain little may come before the optimum (diamonds: 2,900 in all), and a certificate is not there yet."""
    asked = []
    monkeypatch.setattr(search, "CERTIFIED", -1.0)
    monkeypatch.setattr(search, "QuasiNewton", lambda tol: asked.append(tol) or QuasiNewton(tol))
    X = np.random.default_rng(0).integers(20, size=(400, 6))
    model = CategoricalNB(prior=1.0).fit(X, X[:, 0] % 3)
    np.testing.assert_allclose(asked, Conditional.tol * 0.1 ** np.arange(len(asked)))
    assert len(asked) > 1 and not model.converged_


def test_rare_classes_are_trained():
    rng = np.random.default_rng(0)
    centres = 3 * rng.normal(size=(24, 6))
    y = np.append(rng.integers(23, size=160), 23)  # the last class has one row
    X = centres[y] + rng.normal(size=(len(y), 6))
    test = rng.integers(23, size=500)
    rows = centres[test] + rng.normal(size=(500, 6))
    model = GaussianNB().fit(X, y)
    assert "held-out" in model.choice_.reason  # compared, whichever won: the family is the true one
    assert len(model.classes_) == 24
    peer = LogisticRegression(max_iter=1000).fit(X, y)
    assert model.score(rows, test) > peer.score(rows, test) - 0.03
    own, other = (-each.predict_log_proba(rows)[np.arange(500), test].mean() for each in (model, peer))
    assert own < other


@pytest.mark.parametrize("loss", ["ncll", "nll"])
def test_balanced_classes(loss):
    rng = np.random.default_rng(0)
    y = (rng.random(600) < 0.06).astype(int)
    X = rng.normal(size=(600, 4)) + y[:, None]
    test_y = rng.integers(2, size=1000)
    test = rng.normal(size=(1000, 4)) + test_y[:, None]
    ours = GaussianNB(loss=loss, class_weight="balanced").fit(X, y).predict(test)
    peer = LogisticRegression(class_weight="balanced").fit(X, y).predict(test)
    assert balanced_accuracy_score(test_y, ours) > balanced_accuracy_score(test_y, peer) - 0.03


def bumps(n: int, seed: int):
    """A class that depends on a number as a wave, which no line can say."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 6, n)
    frame = pd.DataFrame({"wave": x, "noise": rng.normal(size=n), "kind": rng.choice(["a", "b"], n)})
    return frame, np.where(rng.random(n) < 1 / (1 + np.exp(-4 * np.sin(2 * x))), "up", "down")


def test_numbers_are_read_as_bins_where_that_helps():
    (X, y), (rows, labels) = bumps(800, 0), bumps(2000, 1)
    model = MixedNB().fit(X, y)
    assert model.kinds_["wave"] == "histogram"
    assert model.score(rows, labels) > 0.8
    edges, curve = model.shapes_["wave"]
    assert len(edges) == curve.shape[1] + 1
    assert curve.shape[0] == 2
    drawn, _ = model.sample(500, random_state=0)
    assert np.asarray(drawn["wave"] if hasattr(drawn, "columns") else drawn[:, 0], dtype=float).min() >= 0
    holes = rows.copy()
    holes.loc[::3, "wave"] = np.nan
    filled = model.impute(holes)
    assert not filled["wave"].isna().any()
    assert np.isfinite(model.score_samples(holes)).all()
    line, straight = bumps(800, 0)
    straight = np.where(line["noise"] + np.random.default_rng(2).normal(size=800) > 0, "up", "down")
    assert MixedNB().fit(line, straight).kinds_["noise"] == "gaussian"


def test_bins_on_demand_under_every_loss():
    X, y = bumps(300, 0)
    for loss in ("nll", "hinge"):
        assert MixedNB({"wave": "histogram"}, loss=loss).fit(X, y).kinds_["wave"] == "histogram"


def test_a_gap_that_says_something_is_heard(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=600)
    X = pd.DataFrame({"a": rng.normal(size=600), "b": rng.choice(["u", "v"], 600)})
    X.loc[(rng.random(600) < 0.6) & (y == 1), "a"] = np.nan
    model = MixedNB().fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.7
    assert np.isfinite(model.score_samples(X)).all()
    assert not model.impute(X)["a"].isna().any()
    save(model, tmp_path / "model.sfc")
    np.testing.assert_array_equal(load(tmp_path / "model.sfc").predict_proba(X), model.predict_proba(X))


def test_flat_pseudo_counts_of_categories():
    X, y = np.array([[0], [0], [0], [1], [2], [2]] * 10), np.array([0, 0, 1, 1, 1, 1] * 10)
    model = CategoricalNB().fit(X, y)
    assert model.converged_
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_table_classifier(tmp_path):
    rng = np.random.default_rng(0)
    n = 400
    X = pd.DataFrame(
        {"a": rng.choice(list("xo"), n), "b": rng.choice(list("xo"), n), "id": [f"row {i}" for i in range(n)]}
    )
    y = np.where(X["a"] == X["b"], "same", "other")  # naive Bayes can't say it, mixtures can
    with pytest.warns(UserWarning, match="left out"):
        model = TableClassifier(max_seconds=1200).fit(X, y)
    assert model.dropped_ == ["id"]
    assert model.score(X, y) > 0.99
    assert isinstance(model.choice_, list)
    assert any(row["kept"] and "mixtures" in row["model"] for row in model.choice_)
    assert len(model.sample(5, random_state=0)[1]) == 5
    assert np.isfinite(model.score_samples(X)).all()
    save(model, tmp_path / "model.suffice")
    np.testing.assert_array_equal(load(tmp_path / "model.suffice").predict_proba(X), model.predict_proba(X))
    X.loc[:9, "a"] = None
    assert not model.sample_missing(X)["a"].isna().any()
    for others in ([], [MixedNB().fit(X[["a", "b"]], y)]):  # alone, and averaged with another model
        model.others_ = others
        found, probability = model.explain(X, "same"), model.predict_proba(X)[:, 1]
        assert found.names == ["a", "b"] and (found.parts[:10, 0] == 0).all()
        np.testing.assert_allclose(found.log_odds, np.log(probability / (1 - probability)), rtol=1e-6)


def test_table_classifier_keeps_its_time(monkeypatch):
    """The clock is ours: a fit by likelihood takes 1 s, one of the quarter of the rows that is drawn 20 s."""
    clock, (X, y) = [0.0], load_iris(return_X_y=True, as_frame=True)
    model_of = TableClassifier._model

    def slow(self, candidate):
        model = model_of(self, candidate)
        fit = model.fit

        def fitted(X, y, weights=None):
            clock[0] += 1.0 if candidate.setting == "nll" else 20.0 * len(y) / 37
            return fit(X, y, weights)

        model.fit = fitted
        return model

    monkeypatch.setattr(TableClassifier, "_model", slow)
    monkeypatch.setattr("suffice.estimators.table.time.monotonic", lambda: clock[0])
    for seconds, said in (
        (5.0, "maximum likelihood"),
        (60.0, "maximum likelihood"),
        (150.0, "not compared"),
        (400.0, "naive Bayes"),
    ):
        clock[0] = 0.0
        model = TableClassifier(max_seconds=seconds).fit(X, y)
        assert said in model.choice_[0]["model"] and clock[0] <= seconds
        assert model.model_.loss == ("nll" if seconds < 100 else "ncll") and model.score(X, y) > 0.9
    assert len(model.choice_) == 1 and np.isfinite(model.choice_[0]["log_loss"])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_parts_of_dates_tell_the_classes(library, tmp_path, monkeypatch):
    """Weekends in winter: a number of days cannot say it."""
    monkeypatch.setattr("suffice.estimators.table.COMPONENTS", ())
    days = np.datetime64("2020-01-01") + np.random.default_rng(0).permutation(900)[:600]
    weekday = (days.astype(int) + 3) % 7
    y = np.where((weekday >= 5) & (days.astype("datetime64[M]").astype(int) % 12 < 6), "yes", "no")
    X = pytest.importorskip(library).DataFrame({"when": days.astype("datetime64[us]"), "noise": np.arange(600.0) % 7})
    model = TableClassifier().fit(X[:400], y[:400])
    assert model.date_parts_ == {"when": ["month", "day of the week"]}
    assert model.score(X[400:], y[400:]) > 0.95 > 0.9 > np.mean(y[400:] == "no")
    rows, _ = model.sample(5, random_state=0)
    assert list(rows.columns) == ["when", "noise"] and model.explain(X[:5]).names == ["when", "noise"]
    assert list(model.impute(X[:5]).columns) == ["when", "noise"] and model.n_features_in_ == 2
    save(model, tmp_path / "model.suffice")
    np.testing.assert_array_equal(load(tmp_path / "model.suffice").predict_proba(X), model.predict_proba(X))


def test_a_race_leaves_out_what_is_clearly_behind_and_what_is_late(monkeypatch):
    """The second errs everywhere, the fourth goes on until the time is over."""
    codes, clock, fitted = np.arange(300) % 2, [0.0], []
    monkeypatch.setattr("suffice.choosing.race.time.monotonic", lambda: clock[0])

    def answers(candidate, train, test, watch, name):
        fitted.append(candidate.name)
        clock[0] += {"slow": 50.0}.get(candidate.name, 1.0)
        right = {"wrong": 0.2, "good": 0.8, "slow": 0.8}.get(candidate.name, 0.7) + 0.1 * (test % 3 == 0)
        return np.where(np.arange(2) == codes[test][:, None], right[:, None], 1.0 - right[:, None])

    race = Race(codes, 300, answers, 100.0, Watch()).dealt(np.arange(300), np.random.default_rng(0))
    tried = race.run(Candidate(name, "mixture") for name in ("fair", "wrong", "good", "slow", "never"))
    assert fitted == ["fair"] * 3 + ["wrong"] + ["good"] * 3 + ["slow"] * 2
    assert [each.name for each in tried] == ["fair", "wrong", "good"]
    assert [each.name for each in complete(tried)] == ["fair", "good"] and tried[0].fit_seconds == 1.5
    members = [(tried[2], 0.6), (tried[0], 0.4)]
    assert affordable(members, 5.0) == members and affordable(members, 2.0) == [(tried[2], 1.0)]


def test_a_fit_whose_time_is_over_ends_at_its_best_state():
    X, y = load_iris(return_X_y=True)
    for model in (GaussianNB(), GaussianDiscriminant("tied"), MixtureClassifier(2)):
        model._outer = Watch()
        model._outer.until = 0.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        assert np.isfinite(model.predict_proba(X)).all() and model.score(X, y) > 0.5
        assert not model.converged_ and "time" in model.stopped_, model


def test_only_parts_that_come_round_twice():
    pd = pytest.importorskip("pandas")
    hours = pd.Series(pd.date_range("2024-03-01", periods=24 * 5, freq="h", tz="Europe/Madrid"))
    X = pd.DataFrame({"when": hours, "day": hours.dt.tz_localize(None).dt.floor("D")})
    X.iloc[3, 0], X.index = pd.NaT, range(9, 129)
    found = parts_for(X)
    assert found == {"when": ["hour"]} and parts_for(X.to_numpy()) == {}
    wide = with_parts(X, found)
    seen = X["when"].notna()
    assert (wide["when: hour"][seen].astype(int) == X["when"].dt.hour[seen]).all()
    assert wide["when: hour"].isna().sum() == 1 and list(wide.columns) == ["when", "day", "when: hour"]


def test_table_classifier_refuses_what_it_cannot_read():
    with pytest.raises(ValueError, match="max_seconds"):
        TableClassifier(max_seconds=-1).fit([[1.0], [2.0]], [0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X, y = load_iris(return_X_y=True)
        assert TableClassifier().fit(X, y).predict(X[:2]).shape == (2,)


def test_the_lectures_question(tmp_path):
    report = EXPERIMENTS["lecture-discriminants"].run(Options(quick=True, folder=tmp_path, say=lambda text: None))
    error = {row.name: row.ours for row in report.rows}
    right, wrong = (
        {
            name: error[f"error, {name}, {kind} assumptions, 320 rows"]
            for name in ("generative", "conditional", "margin")
        }
        for kind in ("right", "wrong")
    )
    assert max(right.values()) < min(right.values()) + 0.01  # level
    assert wrong["generative"] > max(wrong["conditional"], wrong["margin"]) + 0.05  # robust
    assert -0.6 < report.rows[-1].ours < -0.4  # consistent
    assert report.pictures[0].exists()


def test_models_share_what_each_of_them_explains():
    rng = np.random.default_rng(0)
    good = rng.random(400) < 0.5
    left, right = Candidate("left", "mixture"), Candidate("right", "mixture")
    left.losses, right.losses = np.where(good, 0.1, 2.0), np.where(good, 2.0, 0.1)
    shares = {each.name: share for each, share in weighed([left, right])}
    assert abs(shares["left"] - good.mean()) < 0.1 and abs(sum(shares.values()) - 1.0) < 1e-12
    right.losses = left.losses + 0.5
    assert weighed([right, left]) == [(left, 1.0)]
    for each in (left, right):  # a row cannot tell
        each.losses = each.losses[:1]
    assert {each.name for each, _ in weighed([left, right])} == {"left", "right"}


@pytest.mark.parametrize("lowest", range(9))
def test_a_path_from_its_middle_finds_the_lowest_strength(lowest):
    strengths, tried = [10.0**-k for k in range(9)], Tried()
    walk, scored = tried.along_path(Setting(0.0), strengths, 4), []
    setting, _ = next(walk)
    with pytest.raises(StopIteration):
        while True:
            scored.append(setting.strength)
            setting, _ = walk.send(np.array([1.0 + abs(strengths.index(setting.strength) - lowest)]))
    assert tried.best().strength == strengths[lowest] and len(scored) == len(set(scored)) <= 8


def test_a_few_heavy_rows_are_no_evidence_for_maximum_likelihood():
    """Of 12 rows and fewer than parameters: a gain is enough where all count alike (or for so many equal ones), not where it is that
    of two rows of heavy classes."""
    fold = SimpleNamespace(memory={"own": np.zeros(40)}, problem=None)
    model = SimpleNamespace(chart=lambda own: SimpleNamespace(vector=lambda own: own))
    alike, heavy = np.ones(12), np.array([10.0] * 2 + [1.0] * 10)
    for weights, has_class_weights, expected in (
        (alike, True, 0.0),
        (heavy, True, 1.0 + 100 / 12),
        (heavy, False, 0.0),
    ):
        recipe = Linear(TrainingOptions(has_class_weights=has_class_weights))
        held_out = SimpleNamespace(
            problem=SimpleNamespace(model=model), folds=[fold], y=np.zeros(12), weights=weights / weights.sum()
        )
        assert recipe.asked_of_likelihood(held_out)[0] == expected


@pytest.mark.parametrize("model", [GaussianNB(), CategoricalNB(), MixedNB(), GaussianDiscriminant()], ids=repr)
def test_equal_rows_of_few_values_are_draws(model):
    """Four rows, 25 times each, were held out as four: a conjunction was not learned (accuracy .75)."""
    X = np.tile([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], (25, 1))
    y = X.all(axis=1).astype(int)
    model.fit(X, y)
    assert model.score(X, y) == 1.0
    weighted = type(model)().fit(X[:4], y[:4], sample_weight=np.full(4, 25.0))
    np.testing.assert_array_equal(model.predict_proba(X[:4]), weighted.predict_proba(X[:4]))


def test_components_of_few_values_are_chosen_on_rows():
    """Four distinct rows are "fewer than 10 for each class", so "auto" was one component: .5 of an exclusive or, which needs two."""
    X = np.tile([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], (25, 1))
    y = X[:, 0] != X[:, 1]
    assert MixtureClassifier("auto", family="bernoulli", random_state=0).fit(X, y).score(X, y) == 1.0


def test_a_survey_of_few_answers_is_chosen_on_rows_and_not_on_answers():
    """Three questions and 1,000 answers have some 20 distinct rows; held out one by one they say that nothing can be learned."""
    generator = np.random.default_rng(0)
    X = pd.DataFrame({name: generator.choice(list("abcd"[:n]), 1000) for name, n in (("p", 4), ("q", 2), ("r", 3))})
    chance = 0.15 + 0.7 * (X["q"] == "a") - 0.1 * (X["p"] == "d")
    y = generator.random(1000) < chance
    truth = np.where(y, chance, 1.0 - chance)[500:]
    model = MixedNB().fit(X[:500], y[:500])
    own = model.predict_proba(X[500:])[np.arange(500), y[500:].astype(int)]
    gain = np.log(truth) - np.log(own)
    assert gain.mean() < 0.02
    assert model.choice_.setting.strength < 1000.0
