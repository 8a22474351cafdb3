r"""A margin between the right path of tags and the best wrong one: the wrong path, and steps of the dual.

    F = sum_i weight_i max over paths p of value_i(p) + strength / 2 |w - centre|^2
    value_i(p) = [p is wrong] + score_i(p) - score_i(right)

Every sequence has multipliers alpha >= 0 of some of its paths (slot 0: the right one) that add up to its weight, and

    w = centre + 1 / strength sum_i sum_p alpha_ip (s_i(right) - s_i(p))
    F - min F <= sum_i [ weight_i max_p value_i(p) - sum_p alpha_ip value_i(p) ]

A step moves multipliers from the path with the lowest value to the one with the highest, as far as the dual rises (pairwise
Frank-Wolfe; Balamurugan et al. 2011), so all it needs are the steps where the two paths differ.

`steps` = (cells (n, m): places in the table, -1: missing;  numbers (n, p))
`model` = (start, transitions, end, table (C, S), slopes (p, S))
"""

import numpy as np

from ..compile import compiled

FEWEST = 1e-12  # value by which a path must be better


@compiled
def score_steps(steps, model, first, n, scores):
    """scores[t, k] of the steps first .. first + n."""
    cells, numbers = steps
    _, _, _, table, slopes = model
    S = scores.shape[1]
    for t in range(n):
        for k in range(S):
            scores[t, k] = 0.0
        for j in range(cells.shape[1]):
            c = cells[first + t, j]
            if c >= 0:
                for k in range(S):
                    scores[t, k] += table[c, k]
        for j in range(numbers.shape[1]):
            x = numbers[first + t, j]
            for k in range(S):
                scores[t, k] += x * slopes[j, k]


@compiled
def score_path(scores, model, path, n):
    start, transitions, end = model[0], model[1], model[2]
    total = start[path[0]] + end[path[n - 1]]
    for t in range(n):
        total += scores[t, path[t]]
        if t > 0:
            total += transitions[path[t - 1], path[t]]
    return total


@compiled
def best_wrong(scores, model, right, n, best, back, path):
    """The score of the best path that differs from `right` somewhere, which is left in `path`; -infinity if there is none.

    best[t, j] is that of the wrong paths so far that end in j; back[t, j] is the tag before, -1: right so far.
    """
    start, transitions, end = model[0], model[1], model[2]
    S = scores.shape[1]
    good = start[right[0]] + scores[0, right[0]]
    for j in range(S):
        best[0, j] = start[j] + scores[0, j] if j != right[0] else -np.inf
        back[0, j] = -1
    for t in range(1, n):
        for j in range(S):
            best[t, j] = good + transitions[right[t - 1], j] if j != right[t] else -np.inf
            back[t, j] = -1
        for i in range(S):
            before = best[t - 1, i]
            for j in range(S):
                found = before + transitions[i, j]
                if found > best[t, j]:
                    best[t, j], back[t, j] = found, i
        for j in range(S):
            best[t, j] += scores[t, j]
        good += transitions[right[t - 1], right[t]] + scores[t, right[t]]
    total, last = -np.inf, -1
    for j in range(S):
        if best[n - 1, j] + end[j] > total:
            total, last = best[n - 1, j] + end[j], j
    if last < 0:
        return total
    for t in range(n):
        path[t] = right[t]
    t = n - 1
    path[t] = last
    while t > 0 and back[t, path[t]] >= 0:
        path[t - 1] = back[t, path[t]]
        t -= 1
    return total


@compiled
def measure_margins(steps, model, offsets, weights, right, alpha, paths, losses, rivals):
    """losses[i] = max(0, 1 + best wrong - right) of every sequence, rivals (n,) the best wrong paths; the sum that bounds F - min F."""
    longest = 1
    for i in range(len(weights)):
        longest = max(longest, offsets[i + 1] - offsets[i])
    S = model[0].shape[0]
    scores, best, back = np.empty((longest, S)), np.empty((longest, S)), np.empty((longest, S), np.int16)
    gap = 0.0
    for i in range(len(weights)):
        a, n = offsets[i], offsets[i + 1] - offsets[i]
        losses[i] = 0.0
        if n == 0 or weights[i] == 0.0:
            continue
        score_steps(steps, model, a, n, scores)
        own = score_path(scores, model, right[a : a + n], n)
        losses[i] = max(0.0, 1.0 + best_wrong(scores, model, right[a : a + n], n, best, back, rivals[a : a + n]) - own)
        gap += weights[i] * losses[i]
        for r in range(1, alpha.shape[1]):
            if alpha[i, r] > 0.0:
                gap -= alpha[i, r] * (1.0 + score_path(scores, model, paths[r, a : a + n], n) - own)
    return gap


@compiled
def exchange(weights, one, two, factor):
    """weights[one] += factor, weights[two] -= factor; the change of their squared norm."""
    before = weights[one] * weights[one] + weights[two] * weights[two]
    weights[one] += factor
    weights[two] -= factor
    return weights[one] * weights[one] + weights[two] * weights[two] - before


@compiled
def add_difference(steps, model, first, n, path, other, factor):
    """model += factor (s(path) - s(other)); the change of its squared norm."""
    cells, numbers = steps
    start, transitions, end, table, slopes = model
    change = 0.0
    for t in range(n):
        one, two = path[t], other[t]
        if t > 0 and (path[t - 1] != other[t - 1] or one != two):
            flat = transitions.reshape(-1)
            S = transitions.shape[1]
            change += exchange(flat, path[t - 1] * S + one, other[t - 1] * S + two, factor)
        if one == two:
            continue
        if t == 0:
            change += exchange(start, one, two, factor)
        if t == n - 1:
            change += exchange(end, one, two, factor)
        for j in range(cells.shape[1]):
            c = cells[first + t, j]
            if c >= 0:
                change += exchange(table[c], one, two, factor)
        for j in range(numbers.shape[1]):
            change += exchange(slopes[j], one, two, factor * numbers[first + t, j])
    return change


@compiled
def climb(order, steps, model, work, offsets, weights, right, strength, is_full, alpha, paths):
    """A step for every sequence in this order; `is_full`: towards the best of all paths, else of those that have a slot.

    `work` is a model of zeros, and is one again afterwards. The number of steps made.
    """
    longest, n_slots, n_steps = 1, alpha.shape[1], 0
    for i in range(len(weights)):
        longest = max(longest, offsets[i + 1] - offsets[i])
    S = model[0].shape[0]
    scores, best, back = np.empty((longest, S)), np.empty((longest, S)), np.empty((longest, S), np.int16)
    path, values = np.empty(longest, np.int16), np.empty(n_slots)
    for i in order:
        a, n = offsets[i], offsets[i + 1] - offsets[i]
        if n == 0 or weights[i] == 0.0 or (not is_full and alpha[i, 0] == weights[i]):
            continue
        score_steps(steps, model, a, n, scores)
        own = score_path(scores, model, right[a : a + n], n)
        low, high, empty = -1, 0, -1
        values[0] = 0.0
        for r in range(n_slots):
            if r > 0 and alpha[i, r] == 0.0:
                empty = r
                continue
            if r > 0:
                values[r] = 1.0 + score_path(scores, model, paths[r, a : a + n], n) - own
            if alpha[i, r] > 0.0 and (low < 0 or values[r] < values[low]):
                low = r
            high = r if values[r] > values[high] else high
        top = values[high]
        if is_full:
            found = 1.0 + best_wrong(scores, model, right[a : a + n], n, best, back, path) - own
            if found > top + FEWEST:
                if empty < 0:  # the path of the smallest multiplier gives its slot, if it gives all
                    low = 1
                    for r in range(2, n_slots):
                        low = r if alpha[i, r] < alpha[i, low] else low
                high, top = empty, found
        if not top > values[low] + FEWEST:
            continue
        if high >= 0:
            target = paths[high, a : a + n]
            if is_full and high == empty:
                for t in range(n):
                    target[t] = path[t]
        else:
            target = path[:n]
        norm = add_difference(steps, work, a, n, target, paths[low, a : a + n], 1.0)
        add_difference(steps, work, a, n, target, paths[low, a : a + n], -1.0)
        step = min(alpha[i, low], (top - values[low]) * strength / norm) if norm > 0.0 else alpha[i, low]
        if high < 0 and step < alpha[i, low]:
            continue
        add_difference(steps, model, a, n, target, paths[low, a : a + n], -step / strength)
        alpha[i, low] -= step
        if high < 0:
            high = low
            for t in range(n):
                paths[low, a + t] = path[t]
        alpha[i, high] += step
        n_steps += 1
    return n_steps
