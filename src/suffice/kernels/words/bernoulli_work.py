"""The state of passes over sparse rows of Bernoulli columns, and how it is kept: a step costs the words of a row, not all columns.

With M_k the weight of a block (the same for every column where no cell is missing), a_wk its on-count, b = M - a its off-count,

    log p(x, k) = log mass_k + sum_{w in x} (log a_wk - log b_wk) + sum_w (log b_wk - log M_k)

A step of an outcome adds to M and to the a of the row's words; the off-counts of all other words follow, so they are not stored. Most
words are alike: let c_k be an on-count as most words have it (next to nothing, or the pseudo-count of a flat prior), R = M - c, and

    q = (a - c) / R,        log b = log R + log(1 - q) = log R - P(q),        P(q) = sum_r c_r q^r on [LOW, HIGH]

so that the sum over all words needs only the power sums of a - c, which change where a does. Cells half out of the range of P are
`members`: their off-counts are stored, and what P misses of them, -log(1 - q) - P(q), is part of their stored logarithm. The members
of an outcome are refreshed at every step of it.

The state is a `Work`. As in `kernels.families.categorical` the on-count of word w is cell 2w + 1 and its off-count 2w. Between passes
all of them and their logarithms hold; within a pass off-counts of members only, and log_cells[2w + 1, k] = log a_wk (+ what P misses).
"""

import math
from typing import NamedTuple

import numpy as np

from ..compile import compiled
from ..machine.fast_log import fast_log

LOW, HIGH = -0.2, 0.4  # in between P is exact to 1.2e-6 of log(1 - q)
FALL = 0.6  # it takes R to fall to this share of itself until a cell that is no member leaves the range
DEGREE = 7


def ratio_to_fit(q):
    return -np.log1p(-q) / q


C1, C2, C3, C4, C5, C6, C7 = COEFFICIENTS = tuple(  # an interpolation at Chebyshev's points, none of which is zero
    float(c)
    for c in np.polynomial.Chebyshev.interpolate(ratio_to_fit, DEGREE - 1, domain=[LOW, HIGH])
    .convert(kind=np.polynomial.Polynomial)
    .coef
)
KEEP = 0.5  # a step leaves every cell this share of itself,
MOST = 0.25  # and takes no more than this share of R
LEAST = 1e-200
MEMBER, IN_ROW = 1, 2
SAMPLE = 1000  # about so many words say what most words are like
SPARE = 256  # members of an outcome may double and be so many more before they are looked over


class Work(NamedTuple):
    """What a pass updates. W words, K outcomes."""

    mass: np.ndarray  # [K]
    total: np.ndarray  # [1]
    cells: np.ndarray  # [2W, K]: counts
    weight: np.ndarray  # [K]: M
    log_cells: np.ndarray  # [2W, K]
    centre: np.ndarray  # [K]: c
    log_mass: np.ndarray  # [K]
    room: np.ndarray  # [K]: R
    inverse: np.ndarray  # [K]: 1 / R
    log_room: np.ndarray  # [K]: log R
    background: np.ndarray  # [K]: sum_w log b - log M
    bend: np.ndarray  # [K]: sum_w 1 / b - 1 / M
    lowest: np.ndarray  # [K]: the least off-count of a member
    scale: np.ndarray  # [K]: 1 / R when the members were looked over
    peak: np.ndarray  # [K]: the largest R since
    powers: np.ndarray  # [K, DEGREE]: sum_w (scale (a - c))^r
    members: np.ndarray  # [K, W]
    n_members: np.ndarray  # [2, K]: now, and when they were looked over
    is_member: np.ndarray  # [W, K]
    marks: np.ndarray  # [W]: whether a word is in the row, while that is asked
    scratch: np.ndarray  # [4, W]


def work_of(state: tuple) -> Work:
    """The state of a pass from that of the model (`suffice.families.categorical`), whose arrays it shares."""
    mass, total, count, weight, log_count, _, log_mass, _ = state
    W, K = weight.shape
    centre = np.median(count[1 : 2 * W : 2 * (1 + W // SAMPLE)], axis=0)
    room, inverse, log_room, background, bend, lowest, scale, peak = np.empty((8, K))
    powers, members, n_members = np.empty((K, DEGREE)), np.empty((K, W), np.int32), np.zeros((2, K), np.int64)
    work = Work(
        mass, total, count, weight[0].copy(), log_count, centre, log_mass, room, inverse, log_room, background, bend, lowest,
        scale, peak, powers, members, n_members, np.zeros((W, K), np.uint8), np.zeros(W, np.bool_), np.empty((4, W)),
    )  # fmt: skip
    begin(work)
    return work


@compiled
def polynomial(q):
    return q * (C1 + q * (C2 + q * (C3 + q * (C4 + q * (C5 + q * (C6 + q * C7))))))


@compiled
def odds(q):
    """q P'(q): q / (1 - q) within the range."""
    return q * (
        C1 + q * (2 * C2 + q * (3 * C3 + q * (4 * C4 + q * (5 * C5 + q * (6 * C6 + q * (7 * C7))))))
    )  # fmt: skip


@compiled
def is_common(q):
    return q > FALL * HIGH or q < FALL * LOW


@compiled
def change_on(state, k, w, old, new):
    """Set an on-count, and the power sums with it."""
    state.cells[2 * w + 1, k] = new
    state.scratch[0, 0], state.scratch[1, 0] = old, new
    shift_powers(state, k, 1)


@compiled
def shift_powers(state, k, n):
    """The power sums after n on-counts changed from scratch[0] to scratch[1]."""
    old, new, one, other = state.scratch[0], state.scratch[1], state.scratch[2], state.scratch[3]
    for p in range(n):
        old[p] = (old[p] - state.centre[k]) * state.scale[k]
        new[p] = (new[p] - state.centre[k]) * state.scale[k]
        one[p], other[p] = old[p], new[p]
    for r in range(DEGREE):
        change = 0.0
        for p in range(n):
            change += other[p] - one[p]
            one[p] *= old[p]
            other[p] *= new[p]
        state.powers[k, r] += change


@compiled
def refresh(state, k):
    """All that depends on M_k: sums over all words, and the logarithms of the members."""
    state.log_room[k] = math.log(state.room[k])
    inverse = 1.0 / state.room[k]
    state.inverse[k] = inverse
    ratio = inverse / state.scale[k]
    power = 1.0
    logs, slopes = 0.0, 0.0
    for r in range(DEGREE):
        power *= ratio
        logs += COEFFICIENTS[r] * state.powers[k, r] * power
        slopes += (r + 1) * COEFFICIENTS[r] * state.powers[k, r] * power
    on_counts, off_counts, n = state.scratch[0], state.scratch[1], state.n_members[0, k]
    least = np.inf
    for j in range(n):
        w = state.members[k, j]
        on_counts[j], off_counts[j] = state.cells[2 * w + 1, k], state.cells[2 * w, k]
    for j in range(n):
        q, off = (on_counts[j] - state.centre[k]) * inverse, off_counts[j] * inverse
        least = min(least, off_counts[j])
        slopes += 1.0 / off - 1.0 - odds(q)
        missed = -fast_log(off) - polynomial(q)
        logs += missed
        on_counts[j] = fast_log(on_counts[j]) + missed
    for j in range(n):
        state.log_cells[2 * state.members[k, j] + 1, k] = on_counts[j]
    n_words, share = len(state.is_member), state.centre[k] / state.weight[k]
    state.background[k] = n_words * math.log1p(-share) - logs
    state.bend[k] = (slopes + n_words * share) * inverse  # 1 / R - 1 / M is share / R
    state.lowest[k] = least


@compiled
def settle(state, k, is_fresh):
    """Look over all words of an outcome: who is a member, and the power sums. `is_fresh`: its off-counts hold."""
    centre, room = state.centre[k], state.weight[k] - state.centre[k]
    state.room[k], state.scale[k], state.peak[k] = room, 1.0 / room, room
    sums = np.zeros(DEGREE)
    n = 0
    for w in range(len(state.is_member)):
        on = state.cells[2 * w + 1, k]
        q = (on - centre) * state.scale[k]
        power = 1.0
        for r in range(DEGREE):
            power *= q
            sums[r] += power
        if is_common(q):
            if not is_fresh and not state.is_member[w, k]:
                state.cells[2 * w, k] = max(room - (on - centre), LEAST)
            state.is_member[w, k] = MEMBER
            state.members[k, n] = w
            n += 1
        elif state.is_member[w, k]:
            state.is_member[w, k] = 0
            state.log_cells[2 * w + 1, k] = math.log(on)
    state.powers[k] = sums
    state.n_members[:, k] = n
    refresh(state, k)


@compiled
def begin(state):
    for k in range(len(state.mass)):
        settle(state, k, True)


@compiled
def same_in_all(weight):
    """Whether every column's block weighs the same."""
    for w in range(len(weight)):
        for k in range(weight.shape[1]):
            if not abs(weight[w, k] - weight[0, k]) <= 1e-9 * weight[0, k]:
                return False
    return True


@compiled
def finish(state, weight, log_weight):
    """After a pass: all cells, all logarithms."""
    level, log_level = state.weight, np.log(state.weight)
    for w in range(len(state.is_member)):
        n_members = 0
        for k in range(len(level)):
            n_members += state.is_member[w, k]
        if n_members == 0:
            for k in range(len(level)):
                state.cells[2 * w, k] = level[k] - state.cells[2 * w + 1, k]
        else:
            for k in range(len(level)):
                if not state.is_member[w, k]:
                    state.cells[2 * w, k] = level[k] - state.cells[2 * w + 1, k]
        for k in range(len(level)):
            state.log_cells[2 * w, k] = fast_log(state.cells[2 * w, k])
            state.log_cells[2 * w + 1, k] = fast_log(state.cells[2 * w + 1, k])
        for k in range(len(level)):
            weight[w, k], log_weight[w, k] = level[k], log_level[k]
