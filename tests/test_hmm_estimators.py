"""The hidden Markov models as people use them: inputs, answers, states that are known, weights, streams, files."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from chain_oracle import enumerated
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import suffice
from suffice.hmm import BernoulliHMM, CategoricalHMM, GaussianHMM, MixedHMM, PoissonHMM

A = np.array([[0.9, 0.1, 0.0], [0.0, 0.9, 0.1], [0.2, 0.0, 0.8]])
MEANS = np.array([[0.0, 0.0], [4.0, 1.0], [-4.0, 2.0]])


def planted(n_sequences=8, n_steps=60, seed=0):
    """(sequences, states) of a chain of three Gaussian states."""
    model = GaussianHMM.of([1.0, 0.0, 0.0], A, MEANS, np.ones((3, 2)))
    return model.sample(n_steps, n_sequences, random_state=seed)


def data_of(kind, generator):
    X, _ = planted(6, 30)
    if kind is PoissonHMM:
        return [generator.poisson(np.exp(np.clip(x / 3, -2, 2))).astype(float) for x in X]
    if kind is BernoulliHMM:
        return [(x > 0).astype(float) for x in X]
    if kind is CategoricalHMM:
        return [np.clip(np.round(x), -2, 2) for x in X]
    return X


MODELS = (GaussianHMM, PoissonHMM, BernoulliHMM, CategoricalHMM, MixedHMM)


def test_the_planted_chain_is_found():
    X, states = planted(20, 100)
    model = GaussianHMM(3, random_state=0, n_init=3).fit(X)
    order = [int(np.abs(model.means_ - mean).sum(axis=1).argmin()) for mean in MEANS]
    assert sorted(order) == [0, 1, 2]
    np.testing.assert_allclose(model.means_[order], MEANS, atol=0.2)
    np.testing.assert_allclose(model.transmat_[np.ix_(order, order)], A, atol=0.05)
    found = np.concatenate(model.predict(X))
    assert (np.argsort(order)[found] == np.concatenate(states)).mean() > 0.98


@pytest.mark.parametrize("kind", MODELS)
def test_answers_equal_enumeration(kind):
    X = data_of(kind, np.random.default_rng(0))
    model = kind(3, random_state=0, max_iter=5).set_params(tol=1e-2).fit(X)
    short = [X[0][:5].copy(), X[1][:1], X[2][:4].copy()]
    short[0][2], short[2][1, 0] = np.nan, np.nan
    chain, moments = model._stored_model, model.moments_
    scores_of = model.score_samples(short)
    proba, filtered, paths, steps = (
        model.predict_proba(short),
        model.filter(short),
        model.predict(short),
        model.score_steps(short),
    )
    for k, x in enumerate(short):
        rows = model._reader_.rows(x)
        emissions = chain.emissions
        scores = emissions.log_joint(moments.emissions, rows) - emissions.log_masses(moments.emissions)
        scores = scores + np.reshape(np.broadcast_to(emissions.log_base_measure(rows), len(rows)), (-1, 1))
        true = enumerated(scores, model.startprob_, model.transmat_)
        np.testing.assert_allclose(scores_of[k], true[0], rtol=1e-9)
        np.testing.assert_allclose(proba[k], true[1], atol=1e-9)
        np.testing.assert_allclose(filtered[k], true[3], atol=1e-9)
        np.testing.assert_array_equal(paths[k], true[4])
        np.testing.assert_allclose(steps[k].sum(), true[0], rtol=1e-9)


@pytest.mark.parametrize("kind", MODELS)
def test_every_answer_comes_in_the_shape_of_the_input(kind):
    X = data_of(kind, np.random.default_rng(0))
    X[1] = X[1][:12]
    model = kind(2, random_state=0, max_iter=3, tol=1e-1).fit(X)
    padded = np.full((len(X), 30, 2), np.nan)
    for k, x in enumerate(X):
        padded[k, : len(x)] = x
    flat, lengths = np.concatenate(X), [len(x) for x in X]
    for name in ("predict", "predict_proba", "filter", "score_steps"):
        answer = getattr(model, name)
        listed = answer(X)
        together = answer(flat, lengths=lengths)
        np.testing.assert_array_equal(np.concatenate(listed), together)
        in_padded = answer(padded)
        assert in_padded.shape[:2] == (len(X), 30)
        np.testing.assert_array_equal(in_padded[1, :12], listed[1])
        assert (in_padded[1, 12:] == -1).all() if name == "predict" else np.isnan(in_padded[1, 12:]).all()
    np.testing.assert_array_equal(model.score_samples(X), model.score_samples(padded))
    assert model.forecast(X, 4).shape == (len(X), 4, 2) and model.forecast(X[0], 4).shape == (4, 2)
    assert np.isfinite(model.bic(X)) and model.aic(X) < model.bic(X)
    assert np.isclose(model.score(X), model.score_samples(X).sum())
    logs, paths = model.decode(X)
    assert logs <= model.score(X) and len(paths) == len(X)


def test_frames_with_sequence_and_time_columns():
    X, _ = planted(4, 20)
    frame = pd.DataFrame(np.concatenate(X), columns=["a", "b"])
    frame.insert(0, "who", np.repeat(list("wxyz"), 20))
    frame["when"] = np.tile(np.arange(20), 4)
    model = GaussianHMM(3, sequence="who", time="when", random_state=0).fit(frame)
    plain = GaussianHMM(3, random_state=0).fit(X)
    np.testing.assert_array_equal(model.transmat_, plain.transmat_)
    shuffled = frame.sample(frac=1, random_state=0)
    np.testing.assert_array_equal(model.predict(shuffled), pd.Series(model.predict(frame), frame.index)[shuffled.index])
    shuffled.loc[3, "a"] = np.nan
    filled = model.impute(shuffled)
    assert list(filled.columns) == list(frame.columns) and not filled.isna().any().any()
    assert (filled["who"] == shuffled["who"]).all() and (filled["b"] == shuffled["b"]).all()


def test_observed_states_are_counted():
    X, states = planted(10, 50)
    model = GaussianHMM(3, prior=0).fit(X, states=states)
    assert model.n_iter_ <= 2
    pairs = np.zeros((3, 3))
    for path in states:
        np.add.at(pairs, (path[:-1], path[1:]), 1)
    np.testing.assert_allclose(model.transmat_, pairs / pairs.sum(axis=1, keepdims=True), atol=1e-12)
    flat, z = np.concatenate(X), np.concatenate(states)
    np.testing.assert_allclose(model.means_, [flat[z == k].mean(axis=0) for k in range(3)], rtol=1e-10)
    soft = [np.eye(3)[path] for path in states]
    np.testing.assert_allclose(GaussianHMM(3, prior=0).fit(X, states=soft).transmat_, model.transmat_, atol=1e-12)


def test_partly_observed_states_name_the_states():
    X, states = planted(10, 50)
    some = [np.where(np.arange(50) < 10, path, -1) for path in states]
    some[0] = states[0]
    model = GaussianHMM(3, random_state=0).fit(X, states=some)
    np.testing.assert_allclose(model.means_, MEANS, atol=0.4)
    assert (np.concatenate(model.predict(X)) == np.concatenate(states)).mean() > 0.95
    flat = np.concatenate(some)
    with_lengths = GaussianHMM(3, random_state=0).fit(np.concatenate(X), lengths=[50] * 10, states=flat)
    np.testing.assert_array_equal(with_lengths.means_, model.means_)


def test_a_weight_of_two_is_the_sequence_twice():
    X, _ = planted(6, 30)
    start = GaussianHMM(3, random_state=0, max_iter=1, tol=1e9).fit(X)
    models = []
    for data, weights in ((X, [2, 1, 0, 1, 1, 3]), ([*X[:2], *X[3:], X[0], X[5], X[5]], None)):
        model = clone(start).set_params(warm_start=True, max_iter=6, tol=0.0, prior=0)
        model.__dict__.update({k: v for k, v in vars(start).items() if k not in model.get_params()})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            models.append(model.fit(data, sample_weight=weights))
    np.testing.assert_allclose(models[0].means_, models[1].means_, atol=1e-8)
    np.testing.assert_allclose(models[0].transmat_, models[1].transmat_, atol=1e-10)


@pytest.mark.parametrize("topology", ["left-right", ("left-right", 1), "cyclic"])
def test_topologies_keep_their_zeros(topology):
    X, _ = planted(6, 40)
    model = GaussianHMM(3, topology=topology, random_state=0).fit(X)
    if topology != "cyclic":
        assert (np.tril(model.transmat_, -1) == 0).all() and model.startprob_.tolist() == [1, 0, 0]
    if topology == "left-right":
        assert model.transmat_[0, 2] == 0
        assert all((np.diff(path) >= 0).all() for path in model.predict(X))
    np.testing.assert_allclose(model.transmat_.sum(axis=1), 1)


def test_given_cells_stay():
    X, _ = planted(6, 40)
    cells = np.full((3, 3), np.nan)
    cells[0, 1], cells[1, 0] = 0.25, 0.0
    model = GaussianHMM(3, transitions=cells, start=[0.5, np.nan, np.nan], random_state=0).fit(X)
    assert model.transmat_[0, 1] == 0.25 and model.transmat_[1, 0] == 0 and model.startprob_[0] == 0.5


def test_ends_are_learned():
    generator = np.random.default_rng(0)
    X = [
        np.concatenate([generator.normal(size=(generator.integers(1, 9), 1)), 9 + generator.normal(size=(2, 1))])
        for _ in range(60)
    ]
    model = GaussianHMM(2, has_end=True, random_state=0).fit(X)
    high = int(model.means_[:, 0].argmax())
    assert 0.3 < model.endprob_[high] < 0.7 and model.endprob_[1 - high] < 0.05
    np.testing.assert_allclose(model.transmat_.sum(axis=1) + model.endprob_, 1)
    drawn, _ = model.sample(100, 20, random_state=0)
    assert np.mean([len(x) for x in drawn]) < 20


def test_missing_cells_are_filled_from_the_rest_of_the_sequence():
    X, _ = planted(10, 60)
    model = GaussianHMM(3, random_state=0).fit(X)
    holes = [x.copy() for x in X]
    for x in holes:
        x[::7] = np.nan
        x[3, 0] = np.nan
    filled, std = model.impute(holes, return_std=True)
    for x, hole, full, spread in zip(X, holes, filled, std, strict=True):
        gone = np.isnan(hole)
        assert np.isfinite(full).all() and (full[~gone] == x[~gone]).all() and (spread[~gone] == 0).all()
        assert (spread[gone] > 0).all()
    errors = [np.abs(f - x)[np.isnan(h)].mean() for x, h, f in zip(X, holes, filled, strict=True)]
    assert np.mean(errors) < 0.6 * np.mean([np.abs(x - np.concatenate(X).mean(axis=0)).mean() for x in X])
    fitted = GaussianHMM(3, covariance_type="full", random_state=0).fit(holes)
    assert np.isfinite(fitted.score(holes)) and np.isfinite(fitted.impute(holes)[0]).all()


def test_a_filter_goes_on_with_a_stream():
    X, _ = planted(1, 50)
    model = GaussianHMM(3, random_state=0).fit(X)
    whole, first = model.filter(X[0]), model.filter(X[0][:20])
    rest = model.filter(X[0][20:], state=first[-1])
    np.testing.assert_allclose(np.vstack([first, rest]), whole, atol=1e-10)


def test_forecasts_follow_the_chain():
    model = GaussianHMM.of([1, 0], [[0, 1], [1, 0]], [[0.0], [9.0]], [[1.0], [1.0]], topology="ergodic")
    np.testing.assert_allclose(model.forecast(np.array([[0.0], [9.0]]), 3).ravel(), [0, 9, 0], atol=1e-9)
    mean, std = model.forecast([np.array([[0.0]])], 1, return_std=True)
    assert mean.shape == (1, 1, 1) and np.isclose(std[0, 0, 0], 1.0)


def test_a_stream_comes_near_the_batch():
    X, _ = planted(400, 40)
    held, _ = planted(100, 40, seed=1)
    batch = GaussianHMM(3, random_state=0).fit(X)
    model = GaussianHMM(3, random_state=0)
    for first in range(0, 400, 50):
        model.partial_fit(X[first : first + 50])
    assert model.score(held) / 4000 > batch.score(held) / 4000 - 0.01
    online = GaussianHMM(3, algorithm="online", max_iter=2, random_state=0).fit(X)
    assert online.score(held) / 4000 > batch.score(held) / 4000 - 0.01


def test_one_online_pass_loses_less_than_a_thousandth_of_the_held_out_likelihood():
    X, _ = planted(1500, 30)
    held, _ = planted(300, 30, seed=1)
    stream = GaussianHMM(3, random_state=0)
    for first in range(0, 1500, 250):
        stream.partial_fit(X[first : first + 250])
    batch = GaussianHMM(3, random_state=0, tol=1e-6).fit(X)
    assert batch.score(held) - stream.score(held) < 1e-3 * abs(batch.score(held))


@pytest.mark.parametrize("kind", MODELS)
def test_files_keep_every_answer(kind, tmp_path):
    X = data_of(kind, np.random.default_rng(0))
    model = kind(2, random_state=0, max_iter=3, tol=1e-1).fit(X)
    suffice.save(model, tmp_path / "model.suffice")
    loaded = suffice.load(tmp_path / "model.suffice")
    np.testing.assert_array_equal(loaded.score_samples(X), model.score_samples(X))
    np.testing.assert_array_equal(np.concatenate(loaded.predict(X)), np.concatenate(model.predict(X)))
    np.testing.assert_array_equal(loaded.sample(5, random_state=1)[0], model.sample(5, random_state=1)[0])


def test_an_interrupted_fit_goes_on(tmp_path):
    X, _ = planted(6, 40, seed=3)
    parameters = {"random_state": 0, "tol": 0.0, "max_iter": 12, "prior": 1.0}
    warnings.simplefilter("ignore", ConvergenceWarning)
    whole = GaussianHMM(3, **parameters).fit(X)
    path = tmp_path / "half.checkpoint"
    GaussianHMM(3, checkpoint=path, checkpoint_minutes=0, **parameters).fit(X)
    resumed = GaussianHMM(3, resume=path, **parameters).fit(X)
    np.testing.assert_array_equal(resumed.means_, whole.means_)
    np.testing.assert_array_equal(resumed.transmat_, whole.transmat_)


def test_symbols_of_any_kind():
    model = CategoricalHMM(2, random_state=0).fit(["aab", "bba", "", "c"])
    assert model.categories_ == [["a", "b", "c"]] and model.emissionprob_.shape == (2, 3)
    with pytest.warns(UserWarning, match="not seen in training"):
        scores = model.score_samples(["a?b"])
    np.testing.assert_allclose(scores, model.score_samples([["a", None, "b"]]))
    assert model.sample(3, random_state=0)[0].dtype == object
    two = CategoricalHMM(2, random_state=0).fit([[("a", 1), ("b", 2)], [("a", 2)]])
    assert len(two.emissionprob_) == 2


def test_extremes_have_finite_answers():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(20_000, 1))
    X[5000] = 1e6
    for topology in ("ergodic", "left-right"):
        model = GaussianHMM(3, topology=topology, random_state=0, max_iter=5, tol=1e-1).fit(X)
        assert np.isfinite(model.score(X)) and np.isfinite(model.predict_proba(X)).all()
    short = [np.zeros((0, 1)), X[:1], np.full((4, 1), np.nan)]
    model = GaussianHMM(2, random_state=0).fit([*short, X[:50]])
    assert np.isfinite(model.score_samples(short)).all() and model.score_samples(short)[0] == 0
    np.testing.assert_allclose(model.score_samples(short)[2], 0.0, atol=1e-12)
    assert [len(path) for path in model.predict(short)] == [0, 1, 4]
    constant = GaussianHMM(3, random_state=0).fit(np.ones((30, 2)))
    assert np.isfinite(constant.score(np.ones((5, 2))))
    many = CategoricalHMM(100, random_state=0, max_iter=2, tol=1.0).fit(["abcab" * 20])
    assert np.isfinite(many.transmat_).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_states": 0}, "n_states=0"),
        ({"topology": "ring"}, "topology='ring'"),
        ({"transitions": np.eye(3)}, r"shape \(3, 3\); it must have \(2, 2\)"),
        ({"transitions": [[0.7, 0.7], [np.nan, np.nan]]}, "row 0 of transitions adds up to 1.4"),
        ({"start": [-1, 2]}, "start holds -1"),
        ({"algorithm": "magic"}, "algorithm='magic'"),
        ({"prior": -1}, "prior=-1"),
        ({"covariance_type": "round"}, "covariance_type='round'"),
    ],
)
def test_wrong_parameters_are_told(parameters, message):
    with pytest.raises(ValueError, match=message):
        GaussianHMM(**{"n_states": 2, **parameters}).fit(np.random.default_rng(0).normal(size=(10, 1)))


def test_wrong_data_are_told():
    X = np.zeros((4, 1))
    with pytest.raises(ValueError, match="states has the value 2; states are 0 to 1"):
        GaussianHMM(2).fit(X, states=[0, 1, 2, 0])
    with pytest.raises(ValueError, match="no steps of positive weight"):
        GaussianHMM(2).fit([np.zeros((0, 1))])
    with pytest.raises(ValueError, match="cannot occur in this chain"):
        GaussianHMM(2, transitions=np.eye(2), random_state=0).fit(X, states=[0, 1, 0, 1])
    with pytest.raises(ValueError, match="Negative values"):
        PoissonHMM(2).fit(X - 1)
