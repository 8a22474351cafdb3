"""Incremental (dual) passes over sparse counts, made for speed. The readable twin is `suffice.kernels.loops.incremental`.

Both maximise the same dual, one row at a time. The twin evaluates the row's exact curve at every trial of its line search; here
the curve is replaced by its slope at zero, so a search costs a number per active outcome instead of a logarithm per word and outcome.

    score_k = log mass_k + sum_w x_w log count_wk - |x| log weight_k,        slope_k = 1/mass_k + sum_w x_w^2 / count_wk

Logarithms are stored and refreshed only in the cells that a step touched; only outcomes that move are touched. A step takes no cell
more than BOUNDARY of the way to zero.

state = (mass[K], total[1], count[W, K], weight[K], log_count[W, K], log_weight[K], log_mass[K]) as in `kernels.families.multinomial`;
rows are the `pairs` of `suffice.kernels.rows`. Every pass returns (rows moved, steps shortened, mean over rows of the largest wanted
change) and fills `slack`: above zero the row is so far from moving that the learner may leave it out of the next passes.

The loops know a family only by `score_one`, `slope_and_shares` and `move_outcomes`; another family binds its own (`bind`).
"""

import math

import numpy as np

from ..compile import bound, compiled
from ..loops.incremental import BOUNDARY, conditional_direction, softmax
from ..machine.fast_log import fast_log
from ..machine.prefetch import LINE, prefetch
from ..rows import pairs_row

DOWNWARDS = 1.3  # log is steeper downwards than its slope says
FLOOR = 1e-12
AHEAD = 12  # words from now that are fetched from memory
LARGE = 2**18  # cells of a table that no near cache holds: fetching ahead pays
WORDS = 1.0  # what a step adds of its row's words; complements take them off
REST = 0.3  # a row whose margin is exceeded by so much may be left out of the next passes


@compiled
def score_row(words, values, log_count, log_weight, log_mass, scores):
    """Fill the scores of one row; return its length |x|."""
    K = len(scores)
    length = 0.0
    for k in range(K):
        scores[k] = log_mass[k]
    n_fours = len(words) & ~3
    for p in range(0, n_fours, 4):
        a, b, c, d = words[p], words[p + 1], words[p + 2], words[p + 3]
        u, v, w, x = values[p], values[p + 1], values[p + 2], values[p + 3]
        length += (u + v) + (w + x)
        for k in range(K):
            scores[k] += (u * log_count[a, k] + v * log_count[b, k]) + (w * log_count[c, k] + x * log_count[d, k])
    for p in range(n_fours, len(words)):
        length += values[p]
        for k in range(K):
            scores[k] += values[p] * log_count[words[p], k]
    for k in range(K):
        scores[k] -= length * log_weight[k]
    return length


@compiled
def score_row_ahead(rows, i, values, following, log_count, log_weight, log_mass, scores):
    """`score_row`, while the rows of the table that will be read AHEAD words from now are on their way."""
    indptr, indices, data, _, _, _ = rows
    K = len(scores)
    width = K * 8
    first, last = np.int64(indptr[i]), np.int64(indptr[i + 1])
    soon = np.int64(indptr[following])
    soon_last = np.int64(indptr[following + 1]) - 1
    for place in range(soon, soon_last + 1, 8):
        prefetch(indices, place * 4)
        prefetch(data, place * 8)
    length = 0.0
    for k in range(K):
        scores[k] = 0.0
    fours = first + ((last - first) & ~3)
    for p in range(first, fours, 4):
        for q in range(p + AHEAD, p + AHEAD + 4):
            place = q if q < last else max(min(soon + q - last, soon_last), first)
            offset = np.int64(indices[place]) * width
            for line in range(0, width, LINE):
                prefetch(log_count, offset + line)
        a, b, c, d = indices[p], indices[p + 1], indices[p + 2], indices[p + 3]
        at = p - first
        u, v, w, x = values[at], values[at + 1], values[at + 2], values[at + 3]
        length += (u + v) + (w + x)
        for k in range(K):
            scores[k] += (u * log_count[a, k] + v * log_count[b, k]) + (w * log_count[c, k] + x * log_count[d, k])
    for p in range(fours, last):
        length += values[p - first]
        for k in range(K):
            scores[k] += values[p - first] * log_count[indices[p], k]
    for k in range(K):
        scores[k] += log_mass[k] - length * log_weight[k]
    return length


@compiled
def score_one(rows, i, values, following, state, scores):
    """Fill the scores of row i (up to a constant) before row `following`; return its length |x|. `values` are those of its words."""
    mass, total, count, weight, log_count, log_weight, log_mass = state
    if log_count.size > LARGE:
        return score_row_ahead(rows, i, values, following, log_count, log_weight, log_mass, scores)
    indptr, indices, _, _, _, _ = rows
    return score_row(indices[indptr[i] : indptr[i + 1]], values, log_count, log_weight, log_mass, scores)


@compiled
def slope_and_shares(words, values, state, k):
    """slope_k, and the largest share of a moment that a step of -1 and one of 1 would take."""
    mass, count = state[0], state[2]
    slope = 1.0 / mass[k]
    share = slope
    for p in range(len(words)):
        part = values[p] / count[words[p], k]
        slope += values[p] * part
        share = max(share, part)
    return slope, share, 0.0


def moved(words, values, state, k, step, length, buffer):
    """Add step * s(x, k) to the moments (WORDS times that of words) and refresh the logarithms of the cells it touched."""
    mass, total, count, weight, log_count, log_weight, log_mass = state
    mass[k] = max(mass[k] + step, FLOOR)
    log_mass[k] = math.log(mass[k])
    step *= WORDS
    weight[k] = max(weight[k] + step * length, FLOOR)
    log_weight[k] = math.log(weight[k])
    n = len(words)
    for p in range(n):
        cell = max(count[words[p], k] + step * values[p], FLOOR)
        count[words[p], k] = cell
        buffer[p] = cell
    for p in range(n):
        buffer[p] = fast_log(buffer[p])
    for p in range(n):
        log_count[words[p], k] = buffer[p]


move_outcome = bound(moved, "multinomial")


def moved_outcomes(words, values, state, active, delta, n, scale, length, buffer):
    """The steps of one row: scale * delta for each of the active outcomes."""
    for j in range(n):
        if delta[j] != 0.0:
            move_outcome(words, values, state, active[j], scale * delta[j], length, buffer)


@compiled
def conditional_rate(log_posterior, rest, slopes, delta, n, highest):
    """The root of sum_k delta_k (p_k(rate) - p_k(0)) + (rate - 1) |delta|^2 in (0, highest], where p follows the slopes."""
    squared = 0.0
    start = 0.0
    for j in range(n):
        squared += delta[j] * delta[j]
        start += math.exp(log_posterior[j]) * delta[j]
    low = 0.0
    high = highest
    rate = highest
    log_rest = math.log(rest) if rest > 0.0 else -math.inf
    for trial in range(12):
        top = log_rest
        for j in range(n):
            top = max(top, log_posterior[j] + rate * slopes[j] * delta[j])
        norm = rest * math.exp(-top) if rest > 0.0 else 0.0
        first = 0.0
        second = 0.0
        cross = 0.0
        for j in range(n):
            e = math.exp(log_posterior[j] + rate * slopes[j] * delta[j] - top)
            norm += e
            first += e * delta[j]
            cross += e * slopes[j] * delta[j]
            second += e * slopes[j] * delta[j] * delta[j]
        rise = first / norm - start + (rate - 1.0) * squared
        if rise > 0.0:
            high = rate
        else:
            low = rate
            if trial == 0:
                break
        if abs(rise) < 0.05 * squared:
            break
        steepness = squared + second / norm - (first / norm) * (cross / norm)
        rate = rate - rise / steepness if steepness > 0.0 else low
        if rate <= low or rate >= high:
            rate = 0.5 * (low + high)
    return rate


def ncll_loop(rows, y, weights, order, multipliers, state, tolerance, slack):
    K = multipliers.shape[1]
    scores = np.empty(K)
    posterior = np.empty(K)
    delta = np.empty(K)
    moves = np.empty(K)
    slopes = np.empty(K)
    logs = np.empty(K)
    active = np.empty(K, np.int64)
    buffer = np.empty(len(rows[4]))
    n_moved = 0
    n_shortened = 0
    change = 0.0
    for t in range(len(order)):
        i = order[t]
        if weights[i] <= 0.0:
            continue
        following = order[min(t + 1, len(order) - 1)]
        words, values = pairs_row(rows, i)
        length = score_one(rows, i, values, following, state, scores)
        norm = softmax(scores, posterior)
        largest = conditional_direction(posterior, multipliers[i], y[i], delta, tolerance)
        change += weights[i] * largest
        slack[i] = 0.3 * tolerance - largest
        if largest < tolerance:
            continue
        n = 0
        rest = 1.0
        highest = 1.0
        for k in range(K):
            if delta[k] != 0.0:
                slope, down, up = slope_and_shares(words, values, state, k)
                share = down if delta[k] < 0.0 else up
                if share > 0.0:
                    slope *= DOWNWARDS
                    highest = min(highest, BOUNDARY / (abs(delta[k]) * share * weights[i]))
                active[n] = k
                moves[n] = delta[k]
                slopes[n] = slope * weights[i]
                logs[n] = scores[k] - norm
                rest -= posterior[k]
                n += 1
        rate = conditional_rate(logs, max(rest, 0.0), slopes, moves, n, highest)
        n_shortened += rate == highest and highest < 1.0
        for j in range(n):
            multipliers[i, active[j]] += rate * moves[j]
        move_outcomes(words, values, state, active, moves, n, weights[i] * rate, length, buffer)
        n_moved += 1
    return n_moved, n_shortened, change / max(weights.sum(), 1e-300)


@compiled
def pairwise_steps(scores, slopes, own, margin, delta, n):
    """Three rounds of exact pairwise steps on the quadratic model of a row's block; entry 0 is the label. Returns the largest."""
    for j in range(n):
        delta[j] = 0.0
    for _ in range(3):
        best = -1
        lowest = -1
        for j in range(1, n):  # label against rival
            step = (margin - scores[0] + scores[j]) / (slopes[0] + slopes[j])
            step = min(max(step, own[j] + delta[j]), 1.0 - own[0] - delta[0])
            delta[0] += step
            delta[j] -= step
            scores[0] += slopes[0] * step
            scores[j] -= slopes[j] * step
        if n == 2:
            break
        for j in range(1, n):
            if best < 0 or scores[j] > scores[best]:
                best = j
            if own[j] + delta[j] < -1e-12 and (lowest < 0 or scores[j] < scores[lowest]):
                lowest = j
        if lowest >= 0 and lowest != best:  # rival against rival: needed when the label's multiplier is at one
            step = min(
                (scores[best] - scores[lowest]) / (slopes[best] + slopes[lowest]), -(own[lowest] + delta[lowest])
            )
            if step > 0.0:
                delta[best] -= step
                delta[lowest] += step
                scores[best] -= slopes[best] * step
                scores[lowest] += slopes[lowest] * step
    largest = 0.0
    for j in range(n):
        largest = max(largest, abs(delta[j]))
    return largest


def hinge_loop(rows, y, weights, order, multipliers, state, margin, softness, tolerance, slack):
    K = multipliers.shape[1]
    scores = np.empty(K)
    delta = np.empty(K)
    slopes = np.empty(K)
    downs = np.empty(K)
    ups = np.empty(K)
    wanted = np.empty(K)
    own = np.empty(K)
    active = np.empty(K, np.int64)
    buffer = np.empty(len(rows[4]))
    n_moved = 0
    n_shortened = 0
    change = 0.0
    for t in range(len(order)):
        i = order[t]
        if weights[i] <= 0.0:
            continue
        following = order[min(t + 1, len(order) - 1)]
        label = y[i]
        words, values = pairs_row(rows, i)
        length = score_one(rows, i, values, following, state, scores)
        rival = -1
        highest = -math.inf
        for k in range(K):
            soft = scores[k] + softness * multipliers[i, k]
            if k != label and soft > highest:
                rival = k
                highest = soft
        active[0] = label
        n = 1
        for k in range(K):
            if k != label and (k == rival or multipliers[i, k] < -1e-12):
                active[n] = k
                n += 1
        slack[i] = 0.0
        if n == 2 and scores[label] - scores[rival] >= margin and multipliers[i, rival] >= -1e-12:
            slack[i] = scores[label] - scores[rival] - margin - REST
            continue
        for j in range(n):
            slope, downs[j], ups[j] = slope_and_shares(words, values, state, active[j])
            own[j] = multipliers[i, active[j]]
            slopes[j] = slope * weights[i] + softness
            wanted[j] = scores[active[j]] + softness * own[j]
        largest = pairwise_steps(wanted, slopes, own, margin, delta, n)
        change += weights[i] * largest
        if largest < tolerance:
            continue
        rate = 1.0
        for j in range(n):
            share = downs[j] if delta[j] < 0.0 else ups[j]
            if abs(delta[j]) * share > 0.0:
                rate = min(rate, BOUNDARY / (abs(delta[j]) * share * weights[i]))
        n_shortened += rate < 1.0
        for j in range(n):
            multipliers[i, active[j]] += rate * delta[j]
        move_outcomes(words, values, state, active, delta, n, weights[i] * rate, length, buffer)
        n_moved += 1
    return n_moved, n_shortened, change / max(weights.sum(), 1e-300)


def bind(name, **kernels) -> dict:
    """The two passes over the words of another family: by its `move_outcomes`, or its `move_outcome` one by one."""
    if "move_outcomes" not in kernels:
        kernels["move_outcomes"] = bound(moved_outcomes, name, **kernels)
    return {loop.__name__: bound(loop, name, **kernels) for loop in (ncll_loop, hinge_loop)}


ncll_pass, hinge_pass = bind("multinomial").values()
