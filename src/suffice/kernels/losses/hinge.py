"""Hinge, max(0, margin - score_label + score_rival), its corner rounded by `softness` g. The readable twin is `suffice.losses.hinge`.

    dual of a row    D(r) = margin r_label - g/2 |r|^2,        r_label = -sum of the others in [0, 1],  r_k <= 0 for the others

It rises along d while margin d_label - sum_k d_k (score_k + g r_k) > 0. The direction is that of a few exact steps between pairs of
outcomes on the quadratic model of the row (Crammer and Singer 2001), in which scores follow their slopes.
"""

import math

from ..compile import compiled, inlined

REST = 0.3  # a row whose margin is exceeded by so much may be left out of the next passes
ZERO = 1e-12  # a multiplier this small is none
NEEDS_SLOPES = True


@compiled
def best_rival(scores, label):
    """The outcome with the highest score besides the label; -1 if there is none."""
    rival = -1
    for k in range(len(scores)):
        if k != label and (rival < 0 or scores[k] > scores[rival]):
            rival = k
    return rival


@inlined
def weigh(scores, label, settings, weights):
    """w = onehot of the label - onehot of the best rival, while the margin is not met."""
    for k in range(len(scores)):
        weights[k] = 0.0
    rival = best_rival(scores, label)
    if rival < 0:
        return 0.0
    hinge = settings[0] - scores[label] + scores[rival]
    if scores[label] - scores[rival] < settings[0]:
        weights[label] = 1.0
        weights[rival] = -1.0
    return hinge if hinge > 0.0 else 0.0


@inlined
def value(scores, norm, label, settings, scratch):
    rival = -math.inf
    for k in range(len(scores)):
        if k != label:
            rival = max(rival, scores[k])
    return max(0.0, settings[0] - scores[label] + rival)


# -- the dual ------------------------------------------------------------------------------------------------------------


@inlined
def select(scores, own, label, settings, tolerance, posterior, active, moves):
    """The label, the best rival, and every outcome that has a multiplier."""
    margin, softness = settings[0], settings[1]
    rival = -1
    highest = -math.inf
    for k in range(len(scores)):
        soft = scores[k] + softness * own[k]
        if k != label and (rival < 0 or soft > highest):
            rival = k
            highest = soft
    active[0] = label
    n = 1
    for k in range(len(scores)):
        if k != label and (k == rival or own[k] < -ZERO):
            active[n] = k
            n += 1
    lead = scores[label] - scores[rival]
    if n == 2 and lead >= margin and own[rival] >= -ZERO:
        return 0, 0.0, 0.0, lead - margin - REST
    return n, 0.0, 0.0, 0.0


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
            if own[j] + delta[j] < -ZERO and (lowest < 0 or scores[j] < scores[lowest]):
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


@inlined
def direct(scores, slopes, own, active, n, weight, settings, room, moves):
    margin, softness = settings[0], settings[1]
    soft, stiff, held = room[0], room[1], room[2]
    for j in range(n):
        held[j] = own[active[j]]
        soft[j] = scores[active[j]] + softness * held[j]
        stiff[j] = slopes[j] * weight + softness
    return pairwise_steps(soft, stiff, held, margin, moves, n)


@inlined
def rise(moved, delta, own, weight, label, settings, rate):
    margin, softness = settings[0], settings[1]
    total = 0.0
    for k in range(len(delta)):
        if delta[k] != 0.0:
            direction = delta[k] / weight
            soft = softness * (own[k] + rate * direction)
            total += direction * ((margin if k == label else 0.0) - moved[k] - soft)
    return total


@inlined
def gap(scores, norm, own, label, settings):
    """h+ - <b, h>; the softened loss is the hinge of the scores that a row's own feature has added to, and what that costs."""
    margin, softness = settings[0], settings[1]
    lead = scores[label] + softness * own[label]
    total = 0.0
    soft = 0.0
    hard = 0.0
    cost = own[label] ** 2
    for k in range(len(scores)):
        if k != label:
            excess = margin - lead + scores[k] + softness * own[k]
            soft = max(soft, excess)
            hard = max(hard, margin - scores[label] + scores[k])
            total += own[k] * excess
            cost += own[k] ** 2
    return total + soft, soft + 0.5 * softness * cost - hard if softness > 0.0 else 0.0


@inlined
def binary_step(lead, own, slope, steeper, settings, tolerance):
    margin, softness = settings[0], settings[1]
    if lead >= margin and own < ZERO:
        return 0.0, 0.0, lead - margin - REST
    step = (margin - lead - 2.0 * softness * own) / (slope + 2.0 * softness)
    step = min(max(step, -own), 1.0 - own)
    return step, abs(step), lead - margin - REST if own < ZERO else 0.0
