"""Passes over sparse rows of Bernoulli columns: scores, slopes and steps of one row. The mathematics is in `bernoulli_work`."""

import math

import numpy as np

from ..compile import compiled
from ..machine.fast_log import fast_log
from ..machine.prefetch import LINE, prefetch
from .bernoulli_work import (
    FALL,
    HIGH,
    IN_ROW,
    KEEP,
    LEAST,
    MEMBER,
    MOST,
    SPARE,
    change_on,
    is_common,
    polynomial,
    refresh,
    settle,
    shift_powers,
)
from .passes import LARGE
from .passes import bind as bind_passes
from .stochastic import bind as bind_stochastic

AHEAD = 12  # words from now that are fetched from memory


@compiled
def score_one(rows, order, t, values, state, scores):
    """Fill the scores of row order[t] (up to a constant); return its number of words."""
    i, following = order[t], order[min(t + 1, len(order) - 1)]
    indptr, indices, _, _, _, _ = rows
    K = len(scores)
    width = K * 8
    first, last = np.int64(indptr[i]), np.int64(indptr[i + 1])
    soon, soon_last = np.int64(indptr[following]), np.int64(indptr[following + 1]) - 1
    is_large = state.cells.size > LARGE
    for k in range(K):
        scores[k] = 0.0
    pairs = first + ((last - first) & ~1)
    for p in range(first, pairs, 2):
        if is_large:
            for q in range(p + AHEAD, p + AHEAD + 2):
                place = q if q < last else max(min(soon + q - last, soon_last), first)
                offset = (2 * np.int64(indices[place]) + 1) * width
                for line in range(0, width, LINE):
                    prefetch(state.log_cells, offset + line)
                    prefetch(state.cells, offset + line)
        a, b = 2 * np.int64(indices[p]) + 1, 2 * np.int64(indices[p + 1]) + 1
        for k in range(K):
            u = (state.cells[a, k] - state.centre[k]) * state.inverse[k]
            v = (state.cells[b, k] - state.centre[k]) * state.inverse[k]
            scores[k] += (state.log_cells[a, k] + polynomial(u)) + (state.log_cells[b, k] + polynomial(v))
    if pairs < last:
        a = 2 * np.int64(indices[pairs]) + 1
        for k in range(K):
            scores[k] += state.log_cells[a, k] + polynomial((state.cells[a, k] - state.centre[k]) * state.inverse[k])
    for k in range(K):
        scores[k] += state.log_mass[k] + state.background[k] - (last - first) * state.log_room[k]
    return float(last - first)


@compiled
def slope_and_shares(words, values, state, k):
    """What a step of 1 adds to the score of its row, and the largest share of a cell that a step of -1 and one of 1 would take."""
    on, off = state.scratch[0], state.scratch[1]
    for p in range(len(words)):
        w = words[p]
        on[p] = state.cells[2 * w + 1, k]
        off[p] = state.cells[2 * w, k] if state.is_member[w, k] else state.weight[k] - on[p]
    slope = 1.0 / state.mass[k] + state.bend[k]
    least = min(state.mass[k], (1.0 - HIGH) * state.room[k])
    for p in range(len(words)):
        slope += 1.0 / on[p] - 1.0 / off[p]
        least = min(least, on[p])
    if state.lowest[k] < least:  # a member has fewer off than any of the row's words has on
        marks = state.marks
        for p in range(len(words)):
            marks[words[p]] = True
        for j in range(state.n_members[0, k]):
            w = state.members[k, j]
            if not marks[w]:
                least = min(least, state.cells[2 * w, k])
        for p in range(len(words)):
            marks[words[p]] = False
    return max(slope, 1.0 / state.mass[k]), 1.0 / least, 0.0


@compiled
def move_outcome(words, values, state, k, step, length, buffer):
    """Add step * s(x, k), every cell keeping its share; returns how many were kept from falling further."""
    step = max(step, -MOST * state.room[k])
    state.weight[k] += step
    state.room[k] += step
    room, centre = state.room[k], state.centre[k]
    state.mass[k] = max(state.mass[k] + step, KEEP * state.mass[k])
    state.log_mass[k] = math.log(state.mass[k])
    n, n_kept = len(words), 0
    old, new = state.scratch[0], state.scratch[1]
    for p in range(n):
        old[p] = state.cells[2 * words[p] + 1, k]
    for p in range(n):
        new[p] = max(old[p] + step, KEEP * old[p], LEAST)
        buffer[p] = fast_log(new[p])
    for p in range(n):
        w = words[p]
        state.cells[2 * w + 1, k] = new[p]
        state.log_cells[2 * w + 1, k] = buffer[p]
        kept = new[p] - old[p] - step if old[p] + step < new[p] else 0.0
        n_kept += kept > 0.0
        if state.is_member[w, k]:
            state.cells[2 * w, k] = max(state.cells[2 * w, k] - kept, LEAST)
            state.is_member[w, k] = IN_ROW
        elif is_common((new[p] - centre) / room):
            state.is_member[w, k] = IN_ROW
            state.members[k, state.n_members[0, k]] = w
            state.n_members[0, k] += 1
            state.cells[2 * w, k] = max(room - (new[p] - centre), LEAST)
    shift_powers(state, k, n)
    for j in range(state.n_members[0, k]):
        w = state.members[k, j]
        if state.is_member[w, k] == IN_ROW:
            state.is_member[w, k] = MEMBER
            continue
        old = state.cells[2 * w, k]
        least = max(KEEP * old, LEAST)
        kept = least - (old + step)
        state.cells[2 * w, k] = least if kept > 0.0 else old + step
        if kept > 0.0:
            on = state.cells[2 * w + 1, k]
            change_on(state, k, w, on, max(on - kept, LEAST))
            n_kept += 1
    state.peak[k] = max(state.peak[k], room)
    if room < FALL * state.peak[k] or state.n_members[0, k] > 2 * state.n_members[1, k] + SPARE:
        settle(state, k, False)
    else:
        refresh(state, k)
    return n_kept


@compiled
def step_outcome(words, values, state, k, step, buffer):
    return move_outcome(words, values, state, k, step, 0.0, buffer)


dual_pass = bind_passes("bernoulli", score_one=score_one, slope_and_shares=slope_and_shares, move_outcome=move_outcome)
stochastic_pass = bind_stochastic("bernoulli", score_one=score_one, step_outcome=step_outcome)
