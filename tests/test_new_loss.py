"""A loss from outside of the package: forty lines, nothing edited, trained by every learner that needs no dual."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import suffice
from suffice import GaussianNB, LDAClassifier, MixtureClassifier, MultinomialNB, losses
from suffice.choosing import priors
from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.kernels.compile import digest_of
from suffice.kernels.loops.measure import measure_rows
from suffice.kernels.loops.weights import weigh_rows
from suffice.kernels.structures.mixture import weigh_groups
from suffice.learners.batch import Batch
from suffice.learners.driver import Problem
from suffice.learners.stochastic import Stochastic
from suffice.losses import LABEL, RIVAL, Loss, best_rivals, loss_named, register
from suffice.structures.joint import Joint

# -- the loss --------------------------------------------------------------------------------------------------------------


class SquaredHinge(Loss):
    """h^2 / 2 with h = max(0, margin - (score of the label - score of the best rival))."""

    name = "squared_hinge"
    terms = ((LABEL, +1), (RIVAL, -1))
    kernels = __name__

    def labelled_values(self, scores, y):
        own = scores[np.arange(len(y)), y]
        return 0.5 * np.maximum(0.0, self.margin - own + best_rivals(scores, y)[1]) ** 2

    def labelled_weights(self, scores, y):
        rivals, best = best_rivals(scores, y)
        rows, weights = np.arange(len(y)), np.zeros_like(scores)
        weights[rows, y] = np.maximum(0.0, self.margin - scores[rows, y] + best)
        weights[rows, rivals] = -weights[rows, y]
        return weights


def weigh(scores, label, settings, weights):
    rival = -1
    for k in range(len(scores)):
        weights[k] = 0.0
        if k != label and (rival < 0 or scores[k] > scores[rival]):
            rival = k
    short = max(0.0, settings[0] - scores[label] + scores[rival])
    weights[label], weights[rival] = short, -short
    return 0.5 * short * short


# -- what follows ----------------------------------------------------------------------------------------------------------

SQUARED = SquaredHinge()


@pytest.fixture(autouse=True, scope="module")
def _registered():
    """Its name is known while these tests run."""
    register(SquaredHinge)
    yield
    del losses._CLASSES["squared_hinge"]


def rows_with_scores(n: int = 60, n_classes: int = 4):
    generator = np.random.default_rng(0)
    return generator.normal(0, 2, (n, n_classes)), generator.integers(-1, n_classes, n), generator.uniform(0.5, 2, n)


def table(n: int = 900):
    generator = np.random.default_rng(1)
    y = generator.integers(3, size=n)
    X = generator.normal(size=(3, 4))[y] + generator.normal(size=(n, 4))
    copies = X[:, [0, 0, 1]] + 0.2 * generator.normal(size=(n, 3))  # not independent, as the likelihood's own model is
    return np.hstack([X, copies]), y


def documents(n: int = 900, n_classes: int = 3):
    generator = np.random.default_rng(2)
    y = generator.integers(n_classes, size=n)
    topics = generator.dirichlet(np.full(40, 2.0), n_classes)
    counts = np.array([generator.multinomial(12, topics[k]) for k in y], dtype=float)
    return sparse.csr_matrix(
        counts * generator.geometric(0.3, counts.shape)
    ), y  # a word that occurs once does so again


CASES = {
    "GaussianNB": (GaussianNB(random_state=0), table),
    "MultinomialNB": (MultinomialNB(random_state=0), documents),
    "MixtureClassifier": (MixtureClassifier(random_state=0), table),
}


def test_a_loss_takes_at_most_fifty_lines():
    lines = inspect.getsource(SquaredHinge) + inspect.getsource(weigh)
    assert lines.count("\n") <= 50


@pytest.mark.parametrize("margin", [0.5, 1.0, 3.0])
def test_weights_are_minus_the_gradient_in_the_scores(margin):
    scores, y, _ = rows_with_scores()
    loss, gradient = loss_named("squared_hinge", margin=margin), np.empty_like(scores)
    for k in range(scores.shape[1]):
        step = 1e-6 * (np.arange(scores.shape[1]) == k)
        gradient[:, k] = (loss.values(scores + step, y) - loss.values(scores - step, y)) / 2e-6
    np.testing.assert_allclose(loss.weights(scores, y), -gradient, atol=1e-6)


def test_the_kernel_is_its_twin():
    scores, y, sample_weight = rows_with_scores()
    found = np.empty_like(scores)
    weigh_rows.of(SQUARED.kernels)(scores, y, sample_weight, SQUARED.settings, found)
    np.testing.assert_allclose(found, sample_weight[:, None] * SQUARED.weights(scores, y), atol=1e-12)
    sums = measure_rows.of(SQUARED.kernels)(scores, y, sample_weight, np.zeros((0, 4)), 1.0, SQUARED.settings)
    assert sums[0] == pytest.approx(sample_weight @ SQUARED.values(scores, y))


def test_the_kernel_of_groups_is_its_twin():
    scores, y, sample_weight = rows_with_scores()
    y = np.where(y < 0, -1, y % 2)
    grouped, signed = loss_named("squared_hinge", width=2), scores.copy()
    total = weigh_groups.of(SQUARED.kernels)(
        signed, np.zeros(4), y, sample_weight, 2, SQUARED.settings, np.empty((len(y), 2)), np.empty(scores.size)
    )
    np.testing.assert_allclose(signed, sample_weight[:, None] * grouped.weights(scores, y), atol=1e-10)
    assert total == pytest.approx(sample_weight @ grouped.values(scores, y))


def test_compiled_names_carry_a_digest_of_the_file_of_the_loss():
    name = weigh_rows.of(SQUARED.kernels).py_func.__qualname__
    assert digest_of(sys.modules[__name__]) in name


@pytest.mark.parametrize("learner", [Stochastic(), Stochastic(batch_size=50), Batch()])
def test_every_step_lowers_the_objective_or_is_taken_back(learner):
    X, y = table()
    model = Joint.of(GaussianDiagonal.for_data(X, 3))
    statistics = model.statistics(X, y, np.ones(len(y)))
    problem = Problem(
        model, X, y, np.ones(len(y)), SQUARED, priors.blended(model, statistics, priors.Setting(20.0, 0.1))
    )
    state = learner.init(problem, priors.interior(model, statistics), np.random.default_rng(0))
    objectives = [problem.measure(state.moments).objective]
    for _ in range(8):
        state = learner.step(problem, state)
        objectives.append(problem.measure(state.moments).objective)
    assert (np.diff(objectives) <= 1e-9).all()
    assert objectives[-1] < objectives[0] - 1.0


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("prior", [1.0, "auto"])
def test_training_beats_maximum_likelihood_at_its_loss(name, prior):
    model, rows = CASES[name]
    X, y = rows()
    trained = clone(model).set_params(loss="squared_hinge", prior=prior).fit(X, y)
    plain = clone(model).set_params(loss="nll").fit(X, y)
    objective = trained.history_["objective"]
    assert objective[-1] <= objective[0]
    values = [float(SQUARED.values(one.predict_joint_log_proba(X), y).mean()) for one in (trained, plain)]
    assert values[0] < values[1]
    assert trained.score(X, y) >= plain.score(X, y) - 0.01
    assert np.isfinite(trained.predict_proba(X)).all()


@pytest.mark.parametrize("given", ["squared_hinge", SquaredHinge(margin=2.0)])
@pytest.mark.parametrize("name", CASES)
def test_a_trained_model_is_saved_and_read_and_goes_on(name, given, tmp_path):
    model, rows = CASES[name]
    X, y = rows()
    trained = clone(model).set_params(loss=given, prior=1.0).fit(X, y)
    suffice.save(trained, tmp_path / "model.sfc")
    read = suffice.load(tmp_path / "model.sfc")
    assert read.loss == given
    np.testing.assert_array_equal(read.predict_proba(X), trained.predict_proba(X))
    read.partial_fit(X[:100], y[:100])
    assert np.isfinite(read.predict_proba(X)).all()


def test_a_stream_learns():
    X, y = table()
    model = GaussianNB(loss="squared_hinge")
    for part in np.array_split(np.arange(len(y)), 4):
        model.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert model.score(X, y) > 0.7


def test_the_topics_of_a_classifier_are_sampled():
    X, y = documents(120)
    model = LDAClassifier(loss="squared_hinge", inference="gibbs", max_epochs=3, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.6


def test_what_needs_a_dual_says_so():
    X, y = table()
    with pytest.raises(
        ValueError,
        match="algorithm='incremental' needs the dual of the loss, and loss='squared_hinge' has none: use 'auto'",
    ):
        GaussianNB(loss="squared_hinge", algorithm="incremental").fit(X, y)
    with pytest.raises(ValueError, match="inference='map' needs the dual of the loss"):
        LDAClassifier(loss="squared_hinge").fit(np.abs(X).round(), y)


def test_a_name_is_taken_once():
    with pytest.raises(ValueError, match="the name 'hinge' is taken"):
        register(type("Mine", (SquaredHinge,), {"name": "hinge"}))


SCRIPT = """
import numpy as np
from suffice.kernels.loops.weights import weigh_rows
found, loop = np.empty((1, 2)), weigh_rows.of("mine")
loop(np.zeros((1, 2)), np.array([0]), np.ones(1), (1.0, 0.0), found)
print(found[0, 0], sum(loop.stats.cache_hits.values()))
"""


@pytest.mark.slow
def test_an_edited_loss_is_not_served_stale(tmp_path):
    def outcome(value: float) -> list[float]:
        (tmp_path / "mine.py").write_text(
            f"def weigh(scores, label, settings, weights):\n    weights[:] = {value}\n    return 0.0\n"
        )
        path = os.pathsep.join([str(tmp_path), *sys.path])
        environment = {**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
        )
        return [float(part) for part in done.stdout.split()]

    assert outcome(1.0) == [1.0, 0]
    assert outcome(1.0) == [1.0, 1]
    assert outcome(2.0) == [2.0, 0]
