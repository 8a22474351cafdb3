"""The estimator: scikit-learn's contract, every learner, uses, bad input."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice.evaluation import annealed_importance_sampling, exact, importance_weighted_bound, variational_bound
from suffice.sbn import SigmoidBeliefNetwork

SMALL = {"hidden": (6,), "max_iter": 40, "batch_size": 100, "random_state": 0}


@parametrize_with_checks([SigmoidBeliefNetwork(hidden=(5,), max_iter=3, n_temperatures=10)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def bars(n_rows=500, seed=0):
    """4 x 4 pictures of columns that are on or off, with noise."""
    rng = np.random.default_rng(seed)
    columns = rng.random((n_rows, 1, 4)) < 0.3
    X = np.broadcast_to(columns, (n_rows, 4, 4)).reshape(n_rows, 16)
    return (X ^ (rng.random(X.shape) < 0.02)).astype(float)


def independent_fit(X):
    """Mean log-likelihood of independent pixels: what any learner of structure must beat."""
    p = X.mean(0).clip(0.01, 0.99)
    return float((X * np.log(p) + (1 - X) * np.log(1 - p)).sum(1).mean())


@pytest.mark.parametrize("learner", ["mcem", "rec-mcem", "sgd", "gibbs", "vb", "nvil"])
def test_every_learner_finds_structure(learner):
    X = bars()
    options = {"learning_rate": 0.02, "max_iter": 300} if learner in ("rec-mcem", "nvil") else {}
    if learner == "sgd":
        options = {"learning_rate": 5.0, "max_iter": 100}
    model = SigmoidBeliefNetwork(**SMALL | {"activity": 0.1} | options, learner=learner).fit(X)
    value = exact(model, X[:200]).mean
    assert value > independent_fit(X) + 1
    assert model.network_.is_finite()


@pytest.mark.parametrize("m_step", ["kron", "pg"])
@pytest.mark.parametrize("hidden", [(6,), (5, 4), (5, 3, 2)])
def test_any_number_of_layers_with_both_m_steps(hidden, m_step):
    model = SigmoidBeliefNetwork(**SMALL | {"hidden": hidden, "m_step": m_step, "max_iter": 50}).fit(bars())
    assert [w.shape for w in model.weights_] == list(zip(hidden, (16, *hidden[:-1]), strict=True))
    assert [len(b) for b in model.biases_] == [16, *hidden[:-1]]
    assert exact(model, bars()[:200]).mean > independent_fit(bars()) + 1


def test_nvil_with_plain_gradients_as_in_the_paper():
    options = SMALL | {"activity": 0.1, "learning_rate": 0.02, "max_iter": 300, "step": 1.0, "m_step": "sgd"}
    model = SigmoidBeliefNetwork(**options, learner="nvil").fit(bars())
    assert exact(model, bars()[:200]).mean > independent_fit(bars()) + 1
    with pytest.raises(ValueError, match='m_step="sgd" goes with learner="nvil"'):
        SigmoidBeliefNetwork(**options).fit(bars())


def test_batch_polya_gamma_em_with_inner_updates_and_many_samples():
    model = SigmoidBeliefNetwork(
        **SMALL | {"batch_size": None, "rate": "power"}, m_step="pg", n_samples=5, inner_updates=2
    )
    assert exact(model.fit(bars()), bars()[:100]).mean > independent_fit(bars()) + 1


@pytest.mark.parametrize("m_step", ["kron", "pg"])
def test_laplace_prior_makes_weights_small(m_step):
    fits = [SigmoidBeliefNetwork(**SMALL, m_step=m_step, penalty=p).fit(bars()).weights_[0] for p in (0.0, 400.0)]
    share = [np.mean(np.abs(w) > 1e-3) for w in fits]
    assert share[1] < share[0] and np.abs(fits[1]).sum() < 0.7 * np.abs(fits[0]).sum()


def test_threads_do_not_change_the_result():
    X = bars(1200)
    fits = [SigmoidBeliefNetwork(**SMALL | {"batch_size": 1000, "max_iter": 5}, n_jobs=n).fit(X) for n in (1, 2)]
    np.testing.assert_array_equal(fits[0].weights_[0], fits[1].weights_[0])


def test_bounds_are_ordered_and_below_the_exact_value():
    X = bars()
    model = SigmoidBeliefNetwork(**SMALL).fit(X)
    truth = exact(model, X[:200])
    bound = variational_bound(model, X[:200])
    weighted = importance_weighted_bound(model, X[:200], n_samples=100)
    annealed = annealed_importance_sampling(model, X[:200], n_temperatures=300, n_chains=10)
    assert bound.mean < weighted.mean < truth.mean + 0.02
    assert abs(annealed.mean - truth.mean) < 0.05
    assert annealed.standard_error > 0 and annealed.details["chain_error"] < 0.1
    assert "annealed" in annealed.estimator and len(annealed.per_sample) == 200


def test_missing_cells_are_completed():
    X = bars()
    holes = X.copy()
    holes[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    model = SigmoidBeliefNetwork(**SMALL | {"max_iter": 80}).fit(holes)
    found = model.impute(holes)
    gaps = np.isnan(holes)
    assert np.array_equal(found[~gaps], X[~gaps])
    assert np.mean((found[gaps] > 0.5) == X[gaps]) > 0.9


def test_samples_given_a_label():
    X, y = bars(), np.where(bars()[:, 0] > 0.5, "on", "off")
    model = SigmoidBeliefNetwork(**SMALL | {"max_iter": 80}, with_labels=True).fit(X, y)
    on, off = (model.sample(300, label=label, random_state=0)[:, 0:16:4].mean() for label in ("on", "off"))
    assert on > 0.8 and off < 0.2
    assert model.sample(3).shape == (3, 16)
    with pytest.raises(ValueError, match="is not one of"):
        model.sample(1, label="maybe")


@pytest.mark.parametrize("learner", ["mcem", "rec-mcem", "vb", "nvil", "sgd"])
def test_counts(learner):
    rng = np.random.default_rng(0)
    topics = np.repeat(np.eye(3), 4, axis=1) * 4 + 0.1
    X = rng.poisson(topics[rng.integers(0, 3, 400)]).astype(float)
    model = SigmoidBeliefNetwork((4,), data="count", dispersion=1.0, learner=learner, max_iter=60, batch_size=100,
                                 activity=0.1, random_state=0).fit(X)  # fmt: skip
    assert model.network_.is_finite()
    words = [f"w{i}" for i in range(12)]
    if learner == "mcem":
        assert set(model.nearest_words("w0", words, 3)) == {"w1", "w2", "w3"}
        assert model.sample(5).shape == (5, 12)
    assert np.isfinite(model.score_samples(X[:5])).all()


def test_bad_input_says_what_where_and_what_to_try():
    with pytest.raises(ValueError, match=r"X\[0, 1\] = 0.5 is no|X\[0, 1\] = 0.5; counts"):
        SigmoidBeliefNetwork((2,), data="count").fit([[1.0, 0.5], [0.0, 2.0]])
    with pytest.raises(ValueError, match=r"X\[0, 1\] = 0.5 is neither 0 nor 1; set binarize"):
        SigmoidBeliefNetwork((2,), binarize=None).fit([[1.0, 0.5], [0.0, 1.0]])
    with pytest.raises(ValueError, match="one a layer"):
        SigmoidBeliefNetwork((0,)).fit([[1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match='"gibbs" draws'):
        SigmoidBeliefNetwork((2,), data="count", learner="gibbs").fit([[1.0, 2.0], [0.0, 1.0]])


def test_interruption_keeps_a_usable_model():
    def stop(line):
        if line["pass"] == 5:
            raise KeyboardInterrupt

    model = SigmoidBeliefNetwork(**SMALL, callback=stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(bars())
    assert model.stopped_.startswith("interrupted") and model.network_.is_finite()
    assert exact(model, bars()[:50]).mean > -16


def test_importing_the_package_does_not_import_numba():
    import subprocess
    import sys

    code = "import sys, suffice, suffice.sbn, suffice.evaluation; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_sparse_counts_stay_sparse_and_give_the_same_network():
    counts = np.random.default_rng(0).poisson(0.4, (60, 7)).astype(float)
    model = SigmoidBeliefNetwork((3,), data="count", max_iter=2, batch_size=20, random_state=0)
    dense, thin = clone(model).fit(counts), clone(model).fit(csr_matrix(counts))
    np.testing.assert_array_equal(dense.weights_[0], thin.weights_[0])
    np.testing.assert_array_equal(dense.transform(counts), thin.transform(csr_matrix(counts)))
    for wrong, message in ((-1.0, "Negative values"), (0.5, "no counts"), (np.inf, "infinity")):
        with pytest.raises(ValueError, match=message):
            clone(model).fit(csr_matrix(np.where(counts == 2, wrong, counts)))
