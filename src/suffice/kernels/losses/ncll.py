"""Conditional likelihood, log sum_k exp(score_k) - score_label. The readable twin is `suffice.losses.ncll`.

With a = onehot - r, a distribution, the dual of a row is its entropy: D(r) = -sum_k a_k log a_k. It rises along d while

    sum_k d_k (log a_k - score_k) > 0,        the direction is d = onehot - p - r

and its gap is the divergence KL(a || p).
"""

import math

from ..compile import compiled, inlined
from ..machine.softmax import softmax

FLOOR = 1e-300
SMALL = 0.03  # entries of a direction below this share of its largest are left for a later pass


@inlined
def weigh(scores, label, settings, weights):
    """w = onehot - p."""
    norm = softmax(scores, weights)
    for k in range(len(scores)):
        weights[k] = -weights[k]
    weights[label] += 1.0
    return norm - scores[label]


@inlined
def value(scores, norm, label, settings, scratch):
    return norm - scores[label]


@inlined
def weigh_largest(scores, label, settings, least, weights):
    """Unnormalised: weights = w times the sum of exp, which is returned."""
    K = len(scores)
    top = scores[0]
    for k in range(1, K):
        top = max(top, scores[k])
    own = math.exp(scores[label] - top)
    cut = math.log(least) - 1.0 if least > 0.0 else -700.0
    others = 0.0
    for k in range(K):
        weights[k] = 0.0
        if k != label and scores[k] - top > cut:
            weights[k] = -math.exp(scores[k] - top)
            others -= weights[k]
    norm = own + others
    if others <= least * norm:
        return 0.0
    for k in range(K):
        if -weights[k] <= least * norm:
            weights[k] = 0.0
    weights[label] = others
    return norm


# -- the dual ------------------------------------------------------------------------------------------------------------


@inlined
def conditional_direction(posterior, own, label, delta, tolerance):
    """The largest entry of delta = onehot - posterior - own, whose small entries are then left for later, its sum kept at zero."""
    largest = 0.0
    rival = 0.0
    for k in range(len(delta)):
        delta[k] = (1.0 if k == label else 0.0) - posterior[k] - own[k]
        largest = max(largest, abs(delta[k]))
        if k != label:
            rival = max(rival, abs(delta[k]))
    # a flat posterior of many outcomes has only small ones
    small = max(0.1 * tolerance, min(SMALL * largest, 0.5 * rival))
    kept = 0.0
    for k in range(len(delta)):
        if k != label:
            if abs(delta[k]) < small:
                delta[k] = 0.0
            kept += delta[k]
    delta[label] = -kept
    return largest


@inlined
def select(scores, own, label, settings, tolerance, posterior, active, moves):
    norm = softmax(scores, posterior)
    largest = conditional_direction(posterior, own, label, moves, tolerance)
    n = 0
    for k in range(len(scores)):
        if moves[k] != 0.0:
            active[n] = k
            moves[n] = moves[k]
            n += 1
    return n, norm, largest, 0.3 * tolerance - largest


@inlined
def rise(moved, delta, own, weight, label, settings, rate):
    total = 0.0
    for k in range(len(delta)):
        if delta[k] != 0.0:
            direction = delta[k] / weight
            share = (1.0 if k == label else 0.0) - own[k] - rate * direction
            total += direction * (math.log(max(share, FLOOR)) - moved[k])
    return total


@inlined
def gap(scores, norm, own, label, settings):
    """KL(onehot - r || p)."""
    total = 0.0
    for k in range(len(scores)):
        share = (1.0 if k == label else 0.0) - own[k]
        if share > 0.0:
            total += share * (math.log(share) - scores[k] + norm)
    return total, 0.0


# -- steps where scores follow their slopes ------------------------------------------------------------------------------


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
        slope = first / norm - start + (rate - 1.0) * squared
        if slope > 0.0:
            high = rate
        else:
            low = rate
            if trial == 0:
                break
        if abs(slope) < 0.05 * squared:
            break
        steepness = squared + second / norm - (first / norm) * (cross / norm)
        rate = rate - slope / steepness if steepness > 0.0 else low
        if rate <= low or rate >= high:
            rate = 0.5 * (low + high)
    return rate


@inlined
def search(scores, norm, posterior, active, n, slopes, moves, highest, logs):
    rest = 1.0
    for j in range(n):
        logs[j] = scores[active[j]] - norm
        rest -= posterior[active[j]]
    return conditional_rate(logs, max(rest, 0.0), slopes, moves, n, highest)


@compiled
def logistic_step(margin, slope, own, wanted):
    """The step t from `own` towards `wanted` with own + t = 1 / (1 + exp(margin + slope t)), by safeguarded Newton."""
    low = min(0.0, wanted)
    high = max(0.0, wanted)
    step = wanted / (1.0 + 0.25 * slope)
    for _ in range(12):
        share = 1.0 / (1.0 + math.exp(margin + slope * step))
        excess = own + step - share
        if excess > 0.0:
            high = step
        else:
            low = step
        if abs(excess) < 0.05 * abs(wanted):
            break
        step -= excess / (1.0 + slope * share * (1.0 - share))
        if step <= low or step >= high:
            step = 0.5 * (low + high)
    return step


@inlined
def binary_step(lead, own, slope, steeper, settings, tolerance):
    wanted = 1.0 / (1.0 + math.exp(lead)) - own
    step = logistic_step(lead, steeper, own, wanted) if abs(wanted) >= tolerance else 0.0
    return step, abs(wanted), 0.3 * tolerance - abs(wanted)
