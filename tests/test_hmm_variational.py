"""Variational Bayes of hidden Markov chains: the bound is that of enumeration, is tight where it can be, and never falls."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from chain_oracle import enumerated
from scipy.special import gammaln
from test_hmm_em import KINDS, TOPOLOGIES, problem_of

import suffice
from suffice.hmm import CategoricalHMM, GaussianHMM
from suffice.learners.chain_em import VariationalChainProblem, start_statistics
from suffice.learners.variational import VariationalEM
from suffice.structures.chain_posterior import ChainConjugate


def variational(kind, topology="ergodic", lengths=(5, 4, 0, 6, 1, 5), missing=False, has_end=False):
    problem, _ = problem_of(kind, topology, lengths, missing, has_end=has_end)
    rows = problem.rows
    statistics = start_statistics(rows, "random" if "left" not in str(topology) else "parts", np.random.default_rng(0))
    prior = ChainConjugate.of(rows.chain, rows.form, statistics, 1.0)
    return VariationalChainProblem(rows, prior), prior.posterior(statistics)


@pytest.mark.parametrize("topology", TOPOLOGIES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_never_falls(kind, topology):
    for missing in (False, True):
        problem, start = variational(kind, topology, (30, 10, 0, 45, 1, 20), missing, has_end=topology == "cyclic")
        state = VariationalEM().init(problem, start, np.random.default_rng(0))
        objectives = [state.measure.objective]
        for _ in range(20):
            state = VariationalEM().step(problem, state)
            objectives.append(state.measure.objective)
        assert np.isfinite(objectives).all()
        assert (np.diff(objectives) <= 1e-9 * np.abs(objectives[:-1]) + 1e-9).all(), np.diff(objectives).max()


@pytest.mark.parametrize("kind", ["diag", "full", "categorical", "poisson"])
def test_the_e_step_is_enumeration_with_expected_logarithms(kind):
    problem, q = variational(kind, "cyclic", has_end=True)
    parameters, rows = problem.prior.parameters(q), problem.rows
    scores = rows.scores(parameters, slice(0, int(rows.offsets[-1])))
    parts = zip(rows.weights, rows.offsets[:-1], rows.offsets[1:], strict=True)
    wanted = sum(
        w * enumerated(scores[a:b], parameters.start, parameters.A, parameters.end)[0] for w, a, b in parts if b > a
    )
    np.testing.assert_allclose(problem.expected(q).log_likelihood, wanted, rtol=1e-10)


def log_evidence_of_counts(counts, prior):
    """log of a Dirichlet-multinomial of sequences: counts and prior are rows."""
    found = (
        gammaln(prior.sum(-1)) - gammaln((prior + counts).sum(-1)) + (gammaln(prior + counts) - gammaln(prior)).sum(-1)
    )
    return float(np.sum(found))


def evidence(X, path, S, prior_start, prior_rows, prior_cells):
    start, rows, cells = np.zeros(S), np.zeros((S, S)), np.zeros((S, len(prior_cells)))
    start[path[0]] += 1
    np.add.at(rows, (path[:-1], path[1:]), 1)
    np.add.at(cells, (path, X), 1)
    return (
        log_evidence_of_counts(start, np.full(S, prior_start)) + log_evidence_of_counts(rows, np.full((S, S), prior_rows))
        + log_evidence_of_counts(cells, np.tile(prior_cells, (S, 1)))
    )  # fmt: skip


def test_the_bound_is_the_evidence_where_states_are_known_and_below_it_where_not():
    S, X = 2, np.array([0, 1, 2, 2, 0, 1])
    known = np.array([0, 0, 1, 1, 0, 1])
    table = X.astype(float)[:, None]
    seen = CategoricalHMM(S, algorithm="variational", random_state=0, tol=1e-12).fit(table, states=known)
    cells = np.asarray(seen._stored_model.emissions.family.conjugate(seen.moments_.emissions.columns[0]).hyper[0])
    assert len(cells) == 3
    hidden = CategoricalHMM(S, algorithm="variational", random_state=0, tol=1e-12, max_iter=1000, n_init=5).fit(table)
    hyper = {}
    for name, model in (("seen", seen), ("hidden", hidden)):
        q = model.posterior_
        hyper[name] = q.columns[0][0].sum() / S - len(X) / S  # pseudo-counts of a state
        assert np.isclose(q.start.sum(), 2.0) and np.isclose(q.leaving.sum(), S + len(X) - 1)
    own = seen.posterior_.columns[0][0] - np.stack([np.bincount(X[known == k], minlength=3) for k in range(S)], axis=1)
    wanted = evidence(X, known, S, 0.5, 0.5, own[:, 0])
    np.testing.assert_allclose(seen.lower_bound_ * len(X), wanted, rtol=1e-10)
    # the prior of the emissions follows the first labelling, so it is taken from the fit
    weak = hidden.posterior_.columns[0][0].sum(axis=1) - np.bincount(X, minlength=3)
    paths = itertools.product(range(S), repeat=len(X))
    total = np.logaddexp.reduce([evidence(X, np.array(path), S, 0.5, 0.5, weak / S) for path in paths])
    assert hidden.lower_bound_ * len(X) <= total + 1e-9
    assert hidden.lower_bound_ * len(X) > total - 3.0  # two labellings (log 2) and what mean field loses


def test_states_that_are_not_needed_empty_and_the_file_keeps_the_posterior(tmp_path):
    true = GaussianHMM.of([0.5, 0.5], [[0.95, 0.05], [0.1, 0.9]], [[0.0], [5.0]], [[1.0], [1.0]])
    X, _ = true.sample(100, 30, random_state=0)
    model = GaussianHMM(6, algorithm="variational", random_state=0, max_iter=1000).fit(X)
    steps = np.bincount(np.concatenate(model.predict(X)), minlength=6)
    assert (steps > 30).sum() == 2 and (np.diff(model.lower_bounds_) >= -1e-9).all()
    two = GaussianHMM(2, algorithm="variational", random_state=0).fit(X)
    np.testing.assert_allclose(np.sort(two.means_[:, 0]), [0, 5], atol=0.15)
    assert abs(two.score(X) - GaussianHMM(2, random_state=0).fit(X).score(X)) < 5
    suffice.save(two, tmp_path / "two.suffice")
    loaded = suffice.load(tmp_path / "two.suffice")
    np.testing.assert_array_equal(loaded.score_samples(X), two.score_samples(X))
    with pytest.raises(ValueError, match="has only fit"):
        two.partial_fit(X)
    with pytest.raises(ValueError, match="needs a prior above 0"):
        GaussianHMM(2, algorithm="variational", prior=0).fit(X)
