"""Forward-backward, filter and best paths equal the enumeration of all paths, and do not depend on how sequences are laid out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from chain_oracle import enumerated

from suffice.kernels.machine.fused import exponential
from suffice.kernels.structures.chain import BLOCK, FILTER, LANES, SCORE, SMOOTH, run_lanes
from suffice.kernels.structures.chain_logs import best_paths, smooth_lane
from suffice.kernels.structures.chain_paths import best_in_lanes, room_for_back
from suffice.structures.chain import forward_backward
from suffice.structures.chain_plan import AGREES, gap, path_gap, planned
from suffice.structures.chain_source import source_of_scores


def run(mode, offsets, scores, start, A, end=None, weights=None, burn=None):
    """(log-likelihoods, start, transitions, end, posteriors, steps, gap) of all sequences."""
    N, S = len(offsets) - 1, len(start)
    weights = np.ones(N) if weights is None else weights
    shards = planned(offsets, burn)
    loglik, begun, xi, ended = np.zeros(N), np.zeros(S), np.zeros((S, S)), np.zeros(S)
    posterior, steps, all_seams = np.zeros(scores.shape), np.zeros(len(scores)), []
    for shard in shards:
        own, seams = np.zeros(len(shard.base)), np.zeros((len(shard.base), 4, S))
        rows = slice(shard.start, shard.stop)
        closes = shard.closes if end is not None else np.zeros(len(own), bool)
        run_lanes(
            mode, shard.base, shard.length, shard.first, shard.last, shard.fresh, closes, weights[shard.sequence],
            scores[rows], True, start, A, np.ones(S) if end is None else end, A.min() < 1e-250, own, begun, xi, ended,
            posterior[rows], steps[rows], seams,
        )  # fmt: skip
        np.add.at(loglik, shard.sequence, own)
        all_seams.append(seams)
    return loglik, begun, xi, ended, posterior, steps, gap(shards, all_seams) if shards else 0.0


def chain(generator, S, zeros=False, ends=False):
    start, A = generator.dirichlet(np.ones(S)), generator.dirichlet(np.ones(S), size=S)
    end = None
    if zeros:
        A = np.triu(A)
        A /= A.sum(axis=1, keepdims=True)
        start = np.eye(S)[0]
    if ends:
        end = generator.random(S) * 0.5
        A = A * (1 - end)[:, None]
    return start, np.ascontiguousarray(A), end


LENGTHS = [0, 1, 2, 5, 3, 0, 1, 4, 6, 2]


@pytest.mark.parametrize("scale", [1.0, 50.0, 2000.0])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("S", [1, 2, 3, 5])
def test_equal_to_enumeration(S, ends, zeros, scale):
    generator = np.random.default_rng(S)
    start, A, end = chain(generator, S, zeros, ends)
    lengths = np.minimum(LENGTHS, 4 if S == 5 else 6)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    scores = scale * generator.normal(size=(offsets[-1], S))
    scores[offsets[3] : offsets[3] + 2] = 0.0  # missing steps
    weights = generator.random(len(lengths)) + 0.5
    loglik, begun, xi, ended, posterior, _, _ = run(SMOOTH, offsets, scores, start, A, end, weights)
    alone, *_ = run(FILTER if zeros else SCORE, offsets, scores, start, A, end)
    _, _, _, _, filtered, steps, _ = run(FILTER, offsets, scores, start, A, end)
    path, best = np.zeros(offsets[-1], np.int64), np.zeros(len(lengths))
    with np.errstate(divide="ignore"):
        logs = np.log(start), np.log(A), np.zeros(S) if end is None else np.log(end)
    best_paths(offsets[:-1], lengths, scores, *logs, path, best)
    sums = [np.zeros(S), np.zeros((S, S)), np.zeros(S)]
    for k in range(len(lengths)):
        own = slice(offsets[k], offsets[k + 1])
        true = enumerated(scores[own], start, A, end)
        np.testing.assert_allclose(loglik[k], true[0], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(alone[k], true[0], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(posterior[own], weights[k] * true[1], atol=1e-10)
        np.testing.assert_allclose(filtered[own], true[3], atol=1e-10)
        np.testing.assert_allclose(best[k], true[5], rtol=1e-10, atol=1e-10)
        if lengths[k]:
            sums[0] += weights[k] * true[1][0]
            sums[1] += weights[k] * true[2]
            sums[2] += weights[k] * true[1][-1] * (end is not None)
            if end is None:
                np.testing.assert_allclose(steps[own].sum(), true[0], rtol=1e-10, atol=1e-10)
    for found, wanted in zip((begun, xi, ended), sums, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-10)


def test_twin_is_equal_to_the_compiled_loops():
    generator = np.random.default_rng(1)
    start, A, end = chain(generator, 4, ends=True)
    scores = 3 * generator.normal(size=(300, 4))
    loglik, begun, xi, ended, posterior, _, _ = run(SMOOTH, np.array([0, 300]), scores, start, A, end)
    twin = forward_backward(scores, start, A, end)
    for found, wanted in zip((loglik[0], begun, xi, ended, posterior), twin, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)


def test_all_missing_sequences_have_likelihood_one():
    generator = np.random.default_rng(2)
    start, A, _ = chain(generator, 3)
    loglik, begun, *_ = run(SMOOTH, np.array([0, 7, 7, 8]), np.zeros((8, 3)), start, A)
    np.testing.assert_allclose(loglik, 0.0, atol=1e-12)
    np.testing.assert_allclose(begun, 2 * start, atol=1e-12)


def test_known_states_are_scores_of_minus_infinity():
    generator = np.random.default_rng(3)
    start, A, _ = chain(generator, 3)
    scores = generator.normal(size=(6, 3))
    path = np.array([0, 2, 1, 1, 0, 2])
    clamped = np.where(np.eye(3, dtype=bool)[path], scores, -np.inf)
    loglik, _, xi, _, posterior, _, _ = run(SMOOTH, np.array([0, 6]), clamped, start, A)
    np.testing.assert_array_equal(posterior > 0, np.eye(3, dtype=bool)[path])
    np.testing.assert_allclose(posterior, np.eye(3)[path], rtol=1e-14)
    wanted = np.log(start[0]) + scores[np.arange(6), path].sum() + np.log(A[path[:-1], path[1:]]).sum()
    np.testing.assert_allclose(loglik, wanted, rtol=1e-12)
    np.testing.assert_allclose(xi.sum(), 5)


def test_a_sequence_that_cannot_occur_has_likelihood_zero_and_no_statistics():
    A = np.array([[0.0, 1.0], [1.0, 0.0]])
    scores = np.zeros((6, 2))
    scores[[0, 1], 1] = -np.inf  # twice state 0 in a row
    loglik, begun, xi, _, posterior, _, _ = run(SMOOTH, np.array([0, 3, 6]), scores, np.array([0.5, 0.5]), A)
    assert loglik[0] == -np.inf and loglik[1] == 0.0
    assert (posterior[:3] == 0).all() and np.isfinite(posterior).all() and np.isfinite(xi).all()
    np.testing.assert_allclose(begun, 0.5)


def test_many_sequences_over_several_blocks_equal_the_twin():
    generator = np.random.default_rng(4)
    start, A, _ = chain(generator, 3)
    lengths = generator.integers(0, 3 * BLOCK, size=2 * LANES + 5)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    scores = 4 * generator.normal(size=(offsets[-1], 3))
    loglik, _, xi, _, posterior, _, _ = run(SMOOTH, offsets, scores, start, A)
    total = np.zeros((3, 3))
    for k in range(len(lengths)):
        own = slice(offsets[k], offsets[k + 1])
        twin = forward_backward(scores[own], start, A)
        np.testing.assert_allclose(loglik[k], twin[0], rtol=1e-10)
        np.testing.assert_allclose(posterior[own], twin[4], atol=1e-10)
        total += twin[2]
    np.testing.assert_allclose(xi, total, rtol=1e-10)


@pytest.mark.parametrize("S", [3, 20])
def test_pieces_of_a_long_sequence_equal_the_whole(S):
    generator = np.random.default_rng(5)
    start, A, _ = chain(generator, S)
    offsets = np.array([0, 30_000, 30_100])
    scores = 2 * generator.normal(size=(offsets[-1], S))
    cut, whole = (run(SMOOTH, offsets, scores, start, A, burn=burn) for burn in (256, None))
    assert len(planned(offsets)[0].base) > 2 and cut[-1] <= AGREES
    for found, wanted in zip(cut[:5], whole[:5], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10)


def test_pieces_that_do_not_forget_are_seen():
    A = np.array([[0.0, 1.0], [1.0, 0.0]])
    scores = np.zeros((30_000, 2))
    scores[0] = [0.0, -5.0]
    *_, found = run(SMOOTH, np.array([0, 30_000]), scores, np.array([0.5, 0.5]), A, burn=256)
    assert found > AGREES


def test_an_outlier_without_zeros_in_the_transitions_stays_fast_and_exact():
    generator = np.random.default_rng(6)
    start, A, _ = chain(generator, 3)
    scores = generator.normal(size=(5, 3))
    scores[2] = [-1e12, -2e12, -1.5e12]
    loglik, *_, posterior, _, _ = run(SMOOTH, np.array([0, 5]), scores, start, A)
    top = scores.max(axis=1, keepdims=True)  # sums of numbers of 1e12 would lose digits
    true = enumerated(scores - top, start, A)
    np.testing.assert_allclose(loglik[0], true[0] + top.sum(), rtol=1e-12)
    np.testing.assert_allclose(posterior, true[1], atol=1e-10)


def path_of(offsets, scores, start, A, end=None, burn=None, room=None):
    """(log p(x, path), path, gap) by lanes; with little room, in several blocks."""
    N, S = len(offsets) - 1, len(start)
    with np.errstate(divide="ignore"):
        logs = np.log(start), np.log(A), np.zeros(S) if end is None else np.log(end)
    path, best, parts, shards = np.zeros(len(scores), np.int64), np.zeros(N), [], planned(offsets, burn)
    for shard in shards:
        n, rows = len(shard.base), slice(shard.start, shard.stop)
        own, seams, states = np.zeros(n), np.zeros((n, 2, S)), np.zeros((n, 2), np.int64)
        closes = shard.closes if end is not None else np.zeros(n, bool)
        best_in_lanes(
            source_of_scores(scores[rows]), shard.base, shard.length, shard.first, shard.last, shard.fresh, closes, *logs,
            room_for_back(shard.length, S)[:room], path[rows], own, seams, states,
        )  # fmt: skip
        np.add.at(best, shard.sequence, own)
        parts.append((seams, states))
    return best, path, path_gap(shards, [part[0] for part in parts], [part[1] for part in parts])


@pytest.mark.parametrize("room", [None, 2 * 64 * LANES * 8])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("S", [1, 3, 5, 8])
def test_paths_in_lanes_equal_the_twin(S, zeros, room):
    generator = np.random.default_rng(S)
    start, A, end = chain(generator, S, zeros, ends=True)
    lengths = generator.integers(0, 3 * BLOCK, size=LANES + 9)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    scores = 2 * generator.normal(size=(offsets[-1], S))
    scores[generator.random(len(scores)) < 0.1] = 0.0
    found, path, _ = path_of(offsets, scores, start, A, end, room=room)
    wanted, best = np.zeros(len(scores), np.int64), np.zeros(len(lengths))
    with np.errstate(divide="ignore"):
        best_paths(offsets[:-1], lengths, scores, np.log(start), np.log(A), np.log(end), wanted, best)
        scored = [score_along(path[a:b], scores[a:b], start, A, end) for a, b in itertools.pairwise(offsets)]
    # paths of the same probability to rounding (steps without evidence) may differ, few do
    assert np.mean(path == wanted) > 0.99
    np.testing.assert_allclose(scored, best, rtol=1e-10)
    np.testing.assert_allclose(found, best, rtol=1e-10)


def test_exponentials_in_lanes_are_exact_to_two_units_in_the_last_place():
    x = -np.concatenate([np.linspace(0, 40, 20_001), np.geomspace(1e-300, 699, 20_001), [0.0]])
    found = np.array([exponential(value) for value in x])
    np.testing.assert_allclose(found, np.exp(x), rtol=2.0**-51)
    assert exponential(0.0) == 1.0 and 0 < exponential(-1e300) < 1e-303


def score_along(path, scores, start, A, end):
    if not len(path):
        return 0.0
    moves = np.log(A[path[:-1], path[1:]]).sum()
    return np.log(start[path[0]]) + moves + np.log(end[path[-1]]) + scores[np.arange(len(path)), path].sum()


def test_pieces_of_a_long_path_equal_the_whole_or_say_that_they_do_not():
    generator = np.random.default_rng(7)
    start, A, _ = chain(generator, 4)
    offsets = np.array([0, 30_000, 30_100])
    scores = 2 * generator.normal(size=(offsets[-1], 4))
    cut, whole = (path_of(offsets, scores, start, A, burn=burn) for burn in (64, None))
    assert len(planned(offsets, 64)[0].base) > 2 and cut[2] <= AGREES
    np.testing.assert_array_equal(cut[1], whole[1])
    np.testing.assert_allclose(cut[0], whole[0], rtol=1e-12)
    scores[:] = 0.0
    scores[0, 0] = 5.0
    assert path_of(offsets[:2], scores[:30_000], np.ones(2) / 2, np.eye(2)[::-1].copy(), burn=64)[2] > AGREES


def test_logarithms_over_several_blocks_equal_the_twin():
    generator = np.random.default_rng(8)
    start, A, end = chain(generator, 3, zeros=True, ends=True)
    scores = generator.normal(size=(1300, 3))
    scores[600] = [-3000.0, 0.0, -3000.0]
    posterior, seams = np.zeros(scores.shape), np.zeros((4, 3))
    sums = [np.zeros(3), np.zeros((3, 3)), np.zeros(3)]
    lane = (0, len(scores), 0, len(scores), True, True, 1.0)
    loglik = smooth_lane(lane, scores, start, A, end, *sums, posterior, seams)
    twin = forward_backward(scores, start, A, end)
    for found, wanted in zip((loglik, *sums, posterior), twin, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10)
