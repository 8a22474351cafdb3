"""Taggers by enumeration: conditional likelihood, its gradient, and the hidden Markov model with the same posterior."""

from __future__ import annotations

import numpy as np
import pytest
from chain_oracle import enumerated
from tagger_cases import LENGTHS, S, cell_scores, conditional_loss, path_scores, rows_and_tags, some_weights, tag_steps

from suffice.kernels.structures import tag_patterns as loops
from suffice.learners.tag_problem import TagProblem
from suffice.structures.tag_patterns import patterns_of

WEIGHTS = np.array([1.0, 2.0, 1.0, 0.5, 0.0])


def some_known(n: int, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).random(n) < 0.6


@pytest.mark.parametrize("has_gaps", [False, True])
@pytest.mark.parametrize("all_known", [True, False])
def test_the_loss_is_that_of_all_paths(has_gaps, all_known):
    rows, tags = rows_and_tags(has_gaps=has_gaps)
    known = np.ones(len(tags), bool) if all_known else some_known(len(tags))
    steps = tag_steps(rows, tags, known, WEIGHTS)
    weights = some_weights(steps.tagging)
    expected = conditional_loss(steps.tagging, weights, rows, tags, known, WEIGHTS)
    assert steps.value_and_difference(weights)[0] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("has_gaps", [False, True])
@pytest.mark.parametrize("all_known", [True, False])
def test_the_gradient_is_that_of_finite_differences(has_gaps, all_known):
    rows, tags = rows_and_tags(has_gaps=has_gaps)
    known = np.ones(len(tags), bool) if all_known else some_known(len(tags))
    steps = tag_steps(rows, tags, known, WEIGHTS)
    problem = TagProblem.of(steps, 0.7, some_weights(steps.tagging, seed=5, size=0.1))
    vector = problem.coordinates.vector(some_weights(steps.tagging))
    _, gradient = problem.value_and_gradient(vector)
    step = 1e-5
    for j in range(len(vector)):
        move = step * (np.arange(len(vector)) == j)
        up, down = (problem.value_and_gradient(vector + sign * move)[0] for sign in (1, -1))
        assert gradient[j] == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("has_gaps", [False, True])
def test_the_hidden_markov_model_has_the_same_posterior(has_gaps):
    """To 1e-12, by enumeration; its rows add up to one, and a normalised density comes out."""
    rows, tags = rows_and_tags(has_gaps=has_gaps)
    tagging = tag_steps(rows, tags).tagging
    weights = some_weights(tagging, size=1.0)
    moments, chain = tagging.model(weights, 5.0, 4.0), tagging.chain
    start, A, end = chain.start_of(moments), chain.transitions_of(moments), chain.end_of(moments)
    np.testing.assert_allclose(A.sum(axis=1) + end, 1.0, atol=1e-12)
    assert moments.mass.sum() == pytest.approx(5.0 * 4.0, rel=1e-6)
    model = chain.emissions.log_joint(moments.emissions, rows) - chain.emissions.log_masses(moments.emissions)
    free, at = cell_scores(tagging, weights, rows), 0
    for length in LENGTHS[LENGTHS > 0]:
        own = slice(at, at + length)
        paths, scores = path_scores(weights, free[own])
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        expected = np.array([np.bincount(paths[:, t], shares, minlength=S) for t in range(length)])
        _, posterior, *_ = enumerated(model[own], start, A, end)
        np.testing.assert_allclose(posterior, expected, atol=1e-12)
        at += length


def test_weights_of_a_model_have_its_posterior():
    rows, tags = rows_and_tags()
    tagging = tag_steps(rows, tags).tagging
    moments = tagging.model(some_weights(tagging, size=1.0), 5.0, 4.0)
    there = tagging.weights_of(moments)
    again = tagging.model(there, 5.0, 4.0)
    for one, other in zip(moments.arrays(), again.arrays(), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-6)


def test_a_tag_without_variance_gets_one_and_keeps_the_posterior():
    rows, tags = rows_and_tags()
    tagging = tag_steps(rows, tags).tagging
    weights = some_weights(tagging)
    weights.columns[0].quadratic[1] += 3.0
    assert not tagging.in_domain(weights)
    chain, moments = tagging.chain, tagging.model(weights)
    assert chain.in_domain(moments)
    model = chain.emissions.log_joint(moments.emissions, rows[:3]) - chain.emissions.log_masses(moments.emissions)
    start, A, end = chain.start_of(moments), chain.transitions_of(moments), chain.end_of(moments)
    paths, scores = path_scores(weights, cell_scores(tagging, weights, rows[:3]))
    shares = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    expected = np.array([np.bincount(paths[:, t], shares, minlength=S) for t in range(3)])
    np.testing.assert_allclose(enumerated(model, start, A, end)[1], expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_patterns_are_the_plain_sums_over_cells(seed):
    """The compiled loops and the one-hot product; columns that depend on another one share its patterns."""
    generator, sizes = np.random.default_rng(seed), np.array([30, 5, 4, 2])
    X = np.column_stack([generator.integers(0, size, 200) for size in sizes]).astype(float)
    X[:, 1] = X[:, 0] % 5
    X[:, 2:][generator.random((200, 2)) < 0.1] = np.nan
    patterns = patterns_of(X, sizes)
    assert patterns.ids.shape[1] < 4
    table = generator.normal(size=(sizes.sum() + 4, S))
    offset = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    cells = np.where(np.isnan(X), sizes.sum() + np.arange(4), np.nan_to_num(X) + offset).astype(int)
    for rows in (np.arange(200), np.arange(50, 120)):
        some = patterns.some(rows)
        own, scores = np.empty((some.n_patterns, S)), np.empty((len(rows), S))
        loops.add_cells(some.bounds, some.cells, table, own)
        loops.add_patterns(some.ids, 0, own, scores)
        np.testing.assert_allclose(scores, table[cells[rows]].sum(axis=1), atol=1e-12)
        weights, sums, expected = generator.random((len(rows), S)), np.zeros(table.shape), np.zeros(table.shape)
        loops.spread_steps(some.ids, weights, own)
        loops.spread_patterns(some.bounds, some.cells, own, sums)
        for j in range(4):
            np.add.at(expected, cells[rows, j], weights)
        np.testing.assert_allclose(sums, expected, atol=1e-12)


def test_ranks_are_those_of_a_dictionary():
    values = np.random.default_rng(0).integers(0, 40, 300) * 2**40
    places, first = np.empty(300, np.int64), np.empty(300, np.int64)
    n = loops.rank(values, places, first)
    known = list(dict.fromkeys(values.tolist()))
    assert n == len(known)
    assert values[first[:n]].tolist() == known
    assert [known[place] for place in places] == values.tolist()
