"""Mixtures inside classifiers: gradients against enumerated losses, scikit-learn's contract, missing cells, streams, files; bounds."""

from __future__ import annotations

import io
import itertools
import os
import warnings

import numpy as np
import pytest
from mixture_cases import CASES, COVARIANCES, ESTIMATORS, naive_log_joint, rows_for
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.utils.estimator_checks import check_class_weight_classifiers, parametrize_with_checks

from suffice import load, save
from suffice.bounds import Bound
from suffice.experiments import EXPERIMENTS, Options
from suffice.learners.expectation import Rows
from suffice.learners.quasi_newton import GroupProblem
from suffice.losses import loss_named
from suffice.mixture import GaussianMixture, MixtureClassifier
from suffice.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, PoissonNB

FAMILIES = ("gaussian", "bernoulli", "categorical", "multinomial", "poisson", "mixed")
LOSSES = ("nll", "ncll", "hinge")


def data(family: str, n: int = 240, missing: float = 0.0, seed: int = 0):
    """Two classes, each of two components: no single density a class will do."""
    generator = np.random.default_rng(seed)
    y, h = generator.integers(2, size=n), generator.integers(2, size=n)
    if family == "gaussian":
        X = generator.normal(size=(n, 3)) + 3.0 * np.eye(3)[y] * (2 * h - 1)[:, None]
    elif family in ("bernoulli", "categorical"):
        on = generator.random((n, 6)) < np.where(
            (np.arange(6) % 2 == h[:, None]) ^ (np.arange(6) < 3 * y[:, None]), 0.9, 0.1
        )
        X = on.astype(float) * (1 if family == "bernoulli" else 2)
    else:
        X = generator.poisson(np.where((np.arange(4) // 2 == h[:, None]) ^ (np.arange(4) < 2 * y[:, None]), 6.0, 1.0))
        X = X.astype(float)
    if missing:
        X = np.where(generator.random(X.shape) < missing, np.nan, X)
    return X, np.array(["ash", "birch"])[y]


def classifier(family: str, loss: str = "ncll", **options) -> MixtureClassifier:
    kinds = ["gaussian", "count", "count", "gaussian"] if family == "mixed" else "auto"
    return MixtureClassifier(2, family=family, loss=loss, kinds=kinds, random_state=0, **options)


# -- gradients ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("name", "missing"), CASES)
def test_gradients_equal_finite_differences_of_enumerated_losses(name, missing, loss):
    """Loss and prior from naive densities at moved parameters; two classes of two components, some rows without a label."""
    n, width = 30, 2
    X, weights = (part[:n] for part in rows_for(name, missing))
    mixture = clone(ESTIMATORS[name]).set_params(n_components=4, max_iter=2, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture.fit(X, sample_weight=weights)
    model, moments = mixture._stored_model, mixture.moments_ * (1 / float(mixture.moments_.mass.sum()))
    rows = mixture._rows(X)
    y = np.where(np.arange(n) % 7 == 6, -1, np.arange(n) % 2)
    coordinates = model.chart(moments)
    prior = 5.0 * moments
    problem = GroupProblem(Rows(model.form(rows), weights, y, width), loss_named(loss), prior, coordinates)
    base = np.reshape(mixture._base(rows) * np.ones(n), (-1, 1))

    def enumerated(vector: np.ndarray) -> float:
        mixture.moments_ = coordinates.moments(vector)
        mixture._finish(model)
        joint = naive_log_joint(name, mixture, X) - base
        classes = np.logaddexp(joint[:, ::2], joint[:, 1::2])
        value = float(weights @ loss_named(loss).values(classes, y))
        return (value - model.log_likelihood(prior, mixture.moments_)) / weights.sum()

    generator = np.random.default_rng(0)
    vector = coordinates.vector(moments) + 0.1 * generator.normal(size=len(coordinates.vector(moments)))
    value, gradient = problem.value_and_gradient(vector)
    np.testing.assert_allclose(value, enumerated(vector), rtol=1e-10)
    step = 1e-5
    for direction in generator.normal(size=(2, len(vector))):
        slope = (enumerated(vector + step * direction) - enumerated(vector - step * direction)) / (2 * step)
        np.testing.assert_allclose(gradient @ direction, slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_of_groups_equal_enumeration(loss):
    """Table 2: posteriors within the label minus posteriors of everything (or of the rival), over pairs of class and component."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(50, 2))
    moments = GaussianMixture(6, covariance_type="diag", random_state=0, max_iter=1).fit(X)
    y = np.where(np.arange(50) % 9 == 8, -1, np.arange(50) % 3)
    form, weights = moments._stored_model.form(X), generator.uniform(0.5, 2, 50)
    total, statistics = Rows(form, weights, y, 2).loss(form.coefficients(moments.moments_), loss_named(loss))
    joint = moments.predict_joint_log_proba(X)
    mass, value = np.zeros(6), 0.0
    for i in range(50):
        groups = np.array([logsumexp(joint[i, 2 * c : 2 * c + 2]) for c in range(3)])
        everything = np.exp(joint[i] - logsumexp(joint[i]))
        within = [np.where(np.arange(6) // 2 == c, np.exp(joint[i] - groups[c]), 0.0) for c in range(3)]
        if y[i] < 0:
            value -= weights[i] * logsumexp(joint[i])
            mass += weights[i] * everything
        elif loss == "nll":
            value -= weights[i] * groups[y[i]]
            mass += weights[i] * within[y[i]]
        elif loss == "ncll":
            value += weights[i] * (logsumexp(joint[i]) - groups[y[i]])
            mass += weights[i] * (within[y[i]] - everything)
        else:
            rival = max((c for c in range(3) if c != y[i]), key=lambda c: groups[c])
            hinge = 1 - groups[y[i]] + groups[rival]
            if hinge > 0:
                value += weights[i] * hinge
                mass += weights[i] * (within[y[i]] - within[rival])
    np.testing.assert_allclose(total, value, rtol=1e-10)
    np.testing.assert_allclose(statistics.mass, mass, atol=1e-10)


# -- the estimator -----------------------------------------------------------------------------------------------------


@parametrize_with_checks(
    [
        MixtureClassifier(),
        MixtureClassifier(covariance_type="full", prior=1.0),
        *(MixtureClassifier(family=family, prior=1.0) for family in FAMILIES[1:]),
    ]
)
def test_scikit_learn_checks(estimator, check):
    """scikit-learn tries class weights on numbers of any sign, whatever an estimator says it takes: counts have a test of their own."""
    if estimator.family in ("multinomial", "poisson") and check.func is check_class_weight_classifiers:
        with pytest.raises(ValueError, match=r"Negative values in data passed to .* as X"):
            check(estimator)
        return
    check(estimator)


@pytest.mark.parametrize("family", FAMILIES)
def test_class_weights_are_weights_of_rows(family):
    X, y = data(family)
    heavy = classifier(family, prior=1.0, class_weight={"ash": 5.0}).fit(X, y)
    given = classifier(family, prior=1.0).fit(X, y, sample_weight=np.where(y == "ash", 5.0, 1.0))
    np.testing.assert_array_equal(heavy.predict_proba(X), given.predict_proba(X))
    assert (heavy.predict(X) == "ash").sum() >= (classifier(family, prior=1.0).fit(X, y).predict(X) == "ash").sum()
    even = classifier(family, "nll", class_weight="balanced").fit(X[: 3 * len(y) // 4], y[: 3 * len(y) // 4])
    np.testing.assert_allclose(even.class_prior_, 0.5, atol=0.01)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("family", FAMILIES)
def test_two_components_learn_what_one_density_cannot(family, loss):
    """Every class is a mixture of two; the same family with one component is at chance or near it, two are far above."""
    X, y = data(family, 600)
    model = classifier(family, loss, prior="auto" if loss == "ncll" else 1.0).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.8
    assert model.moments_.is_finite()
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-9)
    np.testing.assert_allclose(model.predict_component_proba(X[:9]).sum(axis=2).argmax(axis=1), p[:9].argmax(axis=1))


@pytest.mark.parametrize("family", [family for family in FAMILIES if family != "multinomial"])
@pytest.mark.parametrize("loss", LOSSES)
def test_missing_cells_and_rows_without_a_label(family, loss):
    X, y = data(family, 500, missing=0.2)
    labels = np.where(np.arange(500) % 5 == 0, None, y)
    model = classifier(family, loss, prior=1.0).fit(X[:300], labels[:300])
    assert model.score(X[300:], y[300:]) > 0.65
    filled, std = model.impute(X[:20], return_std=True)
    assert not any(np.isnan(value) for value in np.asarray(filled, dtype=float).ravel())
    assert std.shape == (20, X.shape[1])
    drawn = model.sample_missing(X[:20], y[:20])
    seen = ~np.isnan(X[:20])
    np.testing.assert_array_equal(np.asarray(drawn, dtype=float)[seen], X[:20][seen])


def test_rows_without_a_label_help_where_labels_are_few():
    X, y = data("gaussian", 1600)
    few = np.where(np.arange(600) < 30, y[:600], None)
    with_them = classifier("gaussian", "nll", unlabelled_weight=1.0).fit(X[:600], few).score(X[600:], y[600:])
    without = classifier("gaussian", "nll", unlabelled_weight=0.0).fit(X[:600], few).score(X[600:], y[600:])
    assert with_them > without - 0.01
    assert classifier("gaussian", "nll").fit(X[:600], few).unlabelled_weight_ in (0.0, 0.1, 1.0)


@pytest.mark.parametrize(("family", "plain"), [
    ("gaussian", GaussianNB(loss="nll", prior=1.0)),
    ("bernoulli", BernoulliNB(loss="nll", prior=0.5)),
    ("categorical", CategoricalNB(loss="nll", prior=0.5)),
    ("poisson", PoissonNB(loss="nll", prior=1.0)),
])  # fmt: skip
def test_one_component_and_the_likelihood_is_naive_bayes(family, plain):
    """Up to the pseudo-rows, which are pooled here and by outcome there: the same predictions on nearly all rows."""
    X, y = data(family, 600)
    ours = MixtureClassifier(1, family=family, loss="nll").fit(X, y)
    assert (ours.predict(X) == plain.fit(X, y).predict(X)).mean() > 0.98


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("loss", ["nll", "ncll"])
def test_files_and_streams(family, loss):
    X, y = data(family, 900)
    model = classifier(family, loss)
    for part in np.array_split(np.arange(600), 4):
        model.partial_fit(X[part], y[part], classes=["ash", "birch"])
    assert model.score(X[600:], y[600:]) > 0.75
    buffer = io.BytesIO()
    save(model, buffer)
    buffer.seek(0)
    again = load(buffer)
    np.testing.assert_array_equal(again.predict_joint_log_proba(X), model.predict_joint_log_proba(X))
    np.testing.assert_array_equal(again.sample(4)[0], model.sample(4)[0])
    one, other = again.partial_fit(X[600:], y[600:]), model.partial_fit(X[600:], y[600:])
    np.testing.assert_array_equal(one.predict_joint_log_proba(X), other.predict_joint_log_proba(X))


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "multinomial", "poisson"])
def test_sparse_rows_equal_dense_rows(family):
    X, y = data(family)
    dense = classifier(family, prior=1.0).fit(X, y)
    rows = classifier(family, prior=1.0).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(rows.predict_proba(sparse.csr_matrix(X)), dense.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("kind", COVARIANCES)
def test_every_covariance_and_threads(kind):
    X, y = data("gaussian", 600)
    one = classifier("gaussian", covariance_type=kind, prior=1.0).fit(X[:400], y[:400])
    two = classifier("gaussian", covariance_type=kind, prior=1.0, n_jobs=2).fit(X[:400], y[:400])
    np.testing.assert_array_equal(one.moments_.flat(), two.moments_.flat())
    assert one.score(X[400:], y[400:]) > 0.8
    assert (np.diff(one.history_["objective"]) <= 1e-12 * abs(one.history_["objective"][0])).all()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("family", FAMILIES)
def test_weight_two_is_the_row_twice_to_the_last_bit(family, loss):
    """Also in what is held out to choose a prior."""
    X, y = data(family, 60)
    weight = np.where(np.arange(60) % 3 == 0, 2.0, 1.0)
    twice = np.random.default_rng(0).permutation(np.repeat(np.arange(60), weight.astype(int)))
    chooses = loss == "ncll" and family in ("gaussian", "categorical")
    model = classifier(family, loss, max_epochs=20, prior="auto" if chooses else 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, other = clone(model).fit(X, y, sample_weight=weight), clone(model).fit(X[twice], y[twice])
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("loss", ["nll", "ncll"])
@pytest.mark.parametrize("family", FAMILIES)
def test_weight_two_is_the_row_twice_among_many_rows(family, loss, monkeypatch):
    """Rows are then not merged and a start draws some. (The hinge has kinks where rounding alone stops the minimiser here or there.)"""
    monkeypatch.setattr("suffice.learners.starts.MAX_ROWS", 50)
    X, y = data(family, 160)
    weight = np.where(np.arange(160) % 3 == 0, 2.0, 1.0)
    twice = np.random.default_rng(0).permutation(np.repeat(np.arange(160), weight.astype(int)))
    model = classifier(family, loss, prior=1.0, tol=1e-12, max_epochs=1000)
    one, other = clone(model).fit(X, y, sample_weight=weight), clone(model).fit(X[twice], y[twice])
    tolerance = 1e-9 if loss == "nll" else 1e-4
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=tolerance)


def test_components_are_chosen_on_held_out_rows(tmp_path):
    """Classes of corners of a square: two components each, one is not enough."""
    rng = np.random.default_rng(0)
    corners = rng.integers(2, size=(400, 2))
    X, y = corners + 0.15 * rng.normal(size=(400, 2)), corners.sum(axis=1) % 2
    model = MixtureClassifier("auto", random_state=0).fit(X[:200], y[:200])
    assert model.n_components_ > 1
    assert model.weights_.shape == (2, model.n_components_)
    assert model.score(X[200:], y[200:]) > 0.98
    save(model, tmp_path / "mixture.model")
    np.testing.assert_array_equal(load(tmp_path / "mixture.model").predict_proba(X), model.predict_proba(X))
    plain = np.hstack([corners[:, :1], rng.random((400, 1))])  # one component says it all
    assert MixtureClassifier("auto", loss="nll", random_state=0).fit(plain + 0.1 * X, corners[:, 0]).n_components_ == 1
    model.partial_fit(X[200:], y[200:])
    assert model.n_components_ > 1


def test_seeds_and_class_priors():
    X, y = data("gaussian")
    model = classifier("gaussian", "ncll", prior=1.0)
    np.testing.assert_array_equal(clone(model).fit(X, y).moments_.flat(), clone(model).fit(X, y).moments_.flat())
    tilted = classifier("gaussian", "nll", class_prior=[0.9, 0.1]).fit(X, y)
    np.testing.assert_allclose(tilted.weights_.sum(axis=1), [0.9, 0.1])
    rows, labels = tilted.sample(50, y="birch")
    assert rows.shape == (50, 3) and set(labels) == {"birch"}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("family", FAMILIES)
def test_warm_start_goes_on_where_the_last_fit_ended(family, loss):
    """Short fits in a row come as far as a long one: each begins at the solution of the last."""
    X, y = data(family)
    model = classifier(family, loss, prior=1.0, tol=1e-9, max_epochs=5, warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ends = [model.fit(X, y).history_["objective"][-1] for _ in range(4)]
    slack = 1e-9 * abs(ends[0])
    assert all(later <= earlier + slack for earlier, later in itertools.pairwise(ends))
    if loss == "ncll":
        assert ends[-1] < ends[0] - slack
    model.fit(X, np.where(y == "ash", "alder", "birch"))  # other classes: anew
    assert list(model.classes_) == ["alder", "birch"]


BAD = [
    ({"family": "gamma"}, "family='gamma'"),
    ({"algorithm": "incremental"}, "algorithm='incremental'"),
    ({"covariance_type": "round"}, "covariance_type='round'"),
    ({"n_components": 0}, "n_components=0"),
    ({"prior": "log"}, "prior='log'"),
    ({"prior": 0}, "prior=0"),
    ({"loss": "ncl"}, "loss='ncl'"),
    ({"n_jobs": 0}, "n_jobs=0"),
]


@pytest.mark.parametrize(("options", "message"), BAD, ids=[str(options) for options, _ in BAD])
def test_a_wrong_argument_is_named_and_the_fit_is_kept(options, message):
    X, y = data("gaussian")
    model = classifier("gaussian", prior=1.0).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match=message):
        model.set_params(**options).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_training_beats_em_on_digits():
    """One split; accuracy and log-loss on the test part."""
    X, y = load_digits(return_X_y=True)
    results = []
    for seed in range(1):
        A, B, a, b = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
        for loss in ("nll", "ncll"):
            model = MixtureClassifier(2, loss=loss, random_state=seed).fit(A, a)
            log_loss = -model.predict_log_proba(B)[np.arange(len(b)), b].mean()
            results.append((model.score(B, b), log_loss))
    em, trained = np.mean(results[::2], axis=0), np.mean(results[1::2], axis=0)
    assert trained[0] > em[0] + 0.01 and trained[1] < em[1]


def test_odd_rows_never_give_a_parameter_that_is_not_finite():
    X, y = data("gaussian", 60)
    odd = [np.ones((60, 3)), X * 1e8, X * 1e-8, X + 1e6, np.where(np.arange(3) == 1, 7.0, X)]
    for rows, loss, kind in itertools.product(odd, LOSSES, ("diag", "full")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = MixtureClassifier(3, loss=loss, covariance_type=kind, random_state=0, max_epochs=30, prior=1.0).fit(
                rows, y
            )
        assert model.moments_.is_finite() and np.isfinite(model.predict_proba(rows)).all()


@pytest.mark.parametrize("kind", COVARIANCES)
def test_weights_of_a_billion_leave_variances_above_rounding(kind):
    """A constant component has the prior's variance over its weight: less than second moments less squared means can hold."""
    X = np.concatenate([np.full((20, 2), 1e6), np.zeros((20, 2)), np.eye(2)[[0, 1] * 10]])
    y, weight = np.arange(60) % 2, np.full(60, 1e9)
    model = MixtureClassifier(2, loss="nll", covariance_type=kind, random_state=0)
    for _ in range(3):
        model.partial_fit(X, y, classes=[0, 1], sample_weight=weight)
        assert model.moments_.is_finite() and np.isfinite(model.predict_proba(X)).all()
    mixture = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X, sample_weight=1e9 * weight)
    assert mixture.moments_.is_finite() and np.isfinite(mixture.score_samples(X)).all()


# -- bounds ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "missing"), CASES)
def test_the_bound_is_tight_after_the_e_step_and_below_elsewhere(name, missing):
    X, weights = rows_for(name, missing)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = clone(ESTIMATORS[name]).set_params(max_iter=1, tol=0.0).fit(X, sample_weight=weights)
        later = clone(ESTIMATORS[name]).set_params(max_iter=4, tol=0.0).fit(X, sample_weight=weights)
    bound = Bound(first, X, weights)
    share = weights / weights.sum()
    np.testing.assert_allclose(bound.log_likelihood(), share @ first.score_samples(X), rtol=1e-12)
    assert abs(bound.gap(bound.posterior())) < 1e-10
    alpha = np.random.default_rng(0).dirichlet(np.ones(3), len(X))
    posterior = bound.posterior()
    divergence = share @ (alpha * np.log(alpha / np.maximum(posterior, 1e-300))).sum(axis=1)
    np.testing.assert_allclose(bound.gap(alpha), divergence, rtol=1e-6, atol=1e-9)
    gain = bound.auxiliary(later) - bound.auxiliary()
    assert bound.log_likelihood(later) - bound.log_likelihood() >= gain - 1e-10
    with pytest.raises(ValueError, match="alpha has shape"):
        bound.lower_bound(alpha[:3])


def test_the_lectures_examples(tmp_path):
    report = EXPERIMENTS["lecture-auxiliary"].run(Options(quick=True, folder=tmp_path, say=lambda text: None))
    found = {row.name: row.ours for row in report.rows}
    assert 0.7 < found["peak of the auxiliary function"] < 0.9
    assert 0.9 < found["peak of the log-likelihood"] < 1.1
    slopes = [value for name, value in found.items() if name.startswith("slope")]
    np.testing.assert_allclose(*slopes, rtol=1e-3)
    assert max(value for name, value in found.items() if "excess" in name) <= 1e-12
    report = EXPERIMENTS["lecture-strings"].run(Options(quick=True, folder=tmp_path, say=lambda text: None))
    assert report.rows[0].ours > report.rows[1].ours - 0.02


@pytest.mark.data
@pytest.mark.skipif(
    "SUFFICE_DATA" not in os.environ or "SUFFICE_FULL" not in os.environ, reason="the papers' data, minutes"
)
def test_the_experiment_on_five_data_sets():
    report = EXPERIMENTS["mixture-classifiers"].run(Options(seeds=1))
    found = {row.name: row.ours for row in report.rows}
    for name in ("letter", "digits"):
        assert found[f"{name}, ncll, accuracy"] > found[f"{name}, EM (nll), accuracy"]
        assert found[f"{name}, ncll, log-loss"] < found[f"{name}, EM (nll), log-loss"]


@pytest.mark.parametrize("most", [3, 120])
def test_em_keeps_to_max_epochs(most):
    X = np.random.default_rng(0).normal(size=(400, 2))
    model = MixtureClassifier(8, loss="nll", max_epochs=most)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, np.arange(400) % 2)
    assert 50 < model.n_iter_ <= 120 if most == 120 else model.n_iter_ == 3 and not model.converged_
