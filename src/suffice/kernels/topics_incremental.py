"""Incremental (dual) passes for topic models: every document's contribution is stored and replaced.

    count_wzk = prior + sum_i weight_i G_i,wzk,     sum_z G_i,wzk = A_ik x_iw,     mass_k = prior + sum_i weight_i A_ik

with the multipliers A of `suffice.kernels.incremental`. A document first infers its topics under every class (r_wzk), and with d the
change of A that the loss wants (for all it knows of the other documents) moves along

    D_wzk = (A_k + d_k) x_w r_wzk - G_wzk,      d score_k / d rate = d_k / mass_k + sum_wz x_w r_wzk D_wzk / count_wzk

Documents of a block see the model before the block (`propose_block`, on threads); then their steps are taken one after the other
(`take_block`), each shortened where a cell would lose more than KEEP. So neither threads nor their number change the result.
"""

import numpy as np

from .compile import compiled
from .incremental import BOUNDARY, HINGE, NLL, conditional_direction, softmax
from .topics import evaluate, gather, longest, settle
from .words import DOWNWARDS, conditional_rate, pairwise_steps

KEEP = 0.5  # the least share of a cell that one document leaves, when its turn comes


@compiled
def document_direction(values, local, norms, theta, own, mass, stored, delta, step, change):
    """Fill step = D and change = d score / d rate for classes with delta != 0; return the largest share of a cell it takes."""
    n, Z, K = step.shape[0], step.shape[1], step.shape[2]
    for k in range(K):
        change[k] = delta[k] / mass[k]
    for p in range(n):
        for z in range(Z):
            for k in range(K):
                part = values[p] * theta[z, k] * local[p, z, k] / norms[p, k]
                want = (own[k] + delta[k]) * part - stored[p, z, k]
                want = want if delta[k] != 0.0 or own[k] != 0.0 else 0.0
                step[p, z, k] = want
                change[k] += part * want / local[p, z, k]
    taken = 0.0
    for k in range(K):
        taken = max(taken, -delta[k] / mass[k])
    for p in range(n):
        for z in range(Z):
            for k in range(K):
                taken = max(taken, -step[p, z, k] / local[p, z, k])
    return taken


@compiled
def staleness(values, local, norms, theta, own, stored, length, tolerance):
    """How far the stored contributions are from what the topics are now, as a change of multipliers; 0 if they hardly count."""
    Z, K = theta.shape
    worst = 0.0
    for k in range(K):
        if abs(own[k]) > tolerance:
            total = 0.0
            for p in range(len(values)):
                for z in range(Z):
                    part = values[p] * theta[z, k] * local[p, z, k] / norms[p, k]
                    total += abs(own[k] * part - stored[p, z, k])
            worst = max(worst, 0.5 * total / length)
    return worst


@compiled
def hinge_document(
    values, local, norms, theta, own, mass, stored, label, margin, weight, scores, delta, slopes, wanted, packed
):
    """Wanted change of the multipliers under the hinge (see `words.hinge_pass`), topics refreshed first; returns its largest entry."""
    Z, K = theta.shape
    moves, active, own_active, slope_active = packed
    for k in range(K):
        slopes[k] = 1.0 / mass[k]
        wanted[k] = scores[k]
        delta[k] = 0.0
    for p in range(len(values)):
        for z in range(Z):
            for k in range(K):
                part = values[p] * theta[z, k] * local[p, z, k] / norms[p, k]
                slopes[k] += part * part / local[p, z, k]
                wanted[k] += weight * part * (own[k] * part - stored[p, z, k]) / local[p, z, k]
    rival = -1
    for k in range(K):
        if k != label and (rival < 0 or scores[k] > scores[rival]):
            rival = k
    active[0] = label
    n = 1
    for k in range(K):
        if k != label and (k == rival or own[k] < -1e-12):
            active[n] = k
            n += 1
    if n == 2 and scores[label] - scores[rival] >= margin and own[rival] >= -1e-12:
        return 0.0
    for j in range(n):
        moves[j] = wanted[active[j]]
        own_active[j] = own[active[j]]
        slope_active[j] = slopes[active[j]] * weight
    largest = pairwise_steps(moves, slope_active, own_active, margin, wanted, n)
    for j in range(n):
        delta[active[j]] = wanted[j]
    return largest


@compiled
def propose_block(
    rows, y, weights, block, places, first, last, multipliers, stored, shapes, state, options, steps, moves, changes
):
    """Steps of the documents block[first:last], at the model as it is: steps[places[b] ...] = rate D, moves[b] = rate d.

    changes[b] is the largest wanted change of a multiplier (or of what is stored); no step is made where it is below the tolerance.
    """
    indptr, indices, data = rows
    mass, total_mass, count, weight = state
    loss, margin, tolerance, concentration, inference, n_steps, accuracy = options
    Z, K = weight.shape
    most = longest(indptr)
    local = np.empty((most, Z, K))
    norms = np.empty((most, K))
    theta = np.empty((Z, K))
    fresh = np.empty((Z, K))
    second = np.empty((Z, K))
    third = np.empty((Z, K))
    norm = np.empty(K)
    scores = np.empty(K)
    posterior = np.empty(K)
    delta = np.empty(K)
    change = np.empty(K)
    logs = np.empty(K)
    slopes = np.empty(K)
    active_delta = np.empty(K)
    packed = (np.empty(K), np.empty(K, np.int64), np.empty(K), np.empty(K))
    n_shortened = 0
    for b in range(first, last):
        i = block[b]
        label = y[i]
        words = indices[indptr[i] : indptr[i + 1]]
        values = data[indptr[i] : indptr[i + 1]]
        own = multipliers[i]
        mine = stored[indptr[i] : indptr[i + 1]]
        step = steps[places[b] : places[b] + len(words)]
        moves[b, :] = 0.0
        changes[b] = 0.0
        if label >= 0 and loss == NLL:
            continue
        length = values.sum()
        gather(words, count, local)
        settle(
            values, local, weight, length, concentration, inference, n_steps, accuracy,
            shapes[i], theta, fresh, norm, second, third,
        )  # fmt: skip
        for k in range(K):
            scores[k] = np.log(mass[k] / total_mass[0])
        evaluate(values, local, length, concentration, inference, shapes[i], theta, norms, scores)
        largest = 0.0
        lognorm = softmax(scores, posterior)
        if label < 0:  # no label: the marginal likelihood, whatever the loss of the labelled documents
            for k in range(K):
                delta[k] = posterior[k] - own[k]
                largest = max(largest, abs(delta[k]))
        elif loss == HINGE:
            largest = hinge_document(
                values, local, norms, theta, own, mass, mine, label, margin, weights[i], scores, delta, slopes, change, packed
            )  # fmt: skip
        else:
            largest = conditional_direction(posterior, own, label, delta, tolerance)
        if largest < tolerance:
            largest = max(largest, staleness(values, local, norms, theta, own, mine, length, tolerance))
        changes[b] = largest
        if largest < tolerance:
            continue
        taken = document_direction(values, local, norms, theta, own, mass, mine, delta, step, change)
        rate = 1.0
        if taken * weights[i] > BOUNDARY:
            rate = BOUNDARY / (taken * weights[i])
            n_shortened += 1
        if label >= 0 and loss != HINGE:
            n = 0
            rest = 1.0
            for k in range(K):
                if delta[k] != 0.0:
                    along = change[k] * weights[i]
                    along *= DOWNWARDS if along < 0.0 else 1.0
                    active_delta[n] = delta[k]
                    slopes[n] = along / delta[k]
                    logs[n] = scores[k] - lognorm
                    rest -= posterior[k]
                    n += 1
            if n > 0:
                rate = conditional_rate(logs, max(rest, 0.0), slopes, active_delta, n, rate)
        for k in range(K):
            moves[b, k] = rate * delta[k]
        for p in range(len(words)):
            for z in range(Z):
                for k in range(K):
                    step[p, z, k] *= rate
    return n_shortened


@compiled
def takes_too_much(words, factor, step, move, mass, count):
    """Whether a cell or mass would lose more than its share: without a division, as it is asked of every step in turn."""
    Z, K = count.shape[1], count.shape[2]
    least = 0.0
    for k in range(K):
        least = min(least, mass[k] + factor * move[k])
    for p in range(len(words)):
        for z in range(Z):
            for k in range(K):
                least = min(least, count[words[p], z, k] + factor * step[p, z, k])
    return least < 0.0


@compiled
def take_block(rows, weights, block, places, multipliers, stored, state, steps, moves, changes, tolerance):
    """Take the proposed steps in order. Returns how many had to be shortened because of others in the block."""
    indptr, indices, data = rows
    mass, total_mass, count, weight = state
    Z, K = weight.shape
    n_shortened = 0
    for b in range(len(block)):
        if changes[b] < tolerance or changes[b] == 0.0:
            continue
        i = block[b]
        words = indices[indptr[i] : indptr[i + 1]]
        mine = stored[indptr[i] : indptr[i + 1]]
        step = steps[places[b] : places[b] + len(words)]
        rate = 1.0
        if takes_too_much(words, weights[i] / (1.0 - KEEP), step, moves[b], mass, count):
            taken = 0.0
            for k in range(K):
                taken = max(taken, -moves[b, k] / mass[k])
            for p in range(len(words)):
                for z in range(Z):
                    for k in range(K):
                        taken = max(taken, -step[p, z, k] / count[words[p], z, k])
            rate = (1.0 - KEEP) / (taken * weights[i])
            n_shortened += 1
        for k in range(K):
            multipliers[i, k] += rate * moves[b, k]
            mass[k] += weights[i] * rate * moves[b, k]
            total_mass[0] += weights[i] * rate * moves[b, k]
        for p in range(len(words)):
            for z in range(Z):
                for k in range(K):
                    before = mine[p, z, k]
                    mine[p, z, k] = before + rate * step[p, z, k]
                    cell = weights[i] * (np.float64(mine[p, z, k]) - np.float64(before))
                    count[words[p], z, k] += cell
                    weight[z, k] += cell
    return n_shortened


@compiled
def serial_pass(
    rows, y, weights, order, size, multipliers, stored, shapes, state, options, steps, moves, changes, places, wanted
):
    """A whole pass, block after block; wanted[i] becomes the change each document wanted. Returns steps shortened."""
    indptr = rows[0]
    n_shortened = 0
    for start in range(0, len(order), size):
        block = order[start : start + size]
        place = 0
        for b in range(len(block)):
            places[b] = place
            place += indptr[block[b] + 1] - indptr[block[b]]
        n_shortened += propose_block(
            rows, y, weights, block, places, 0, len(block), multipliers, stored, shapes, state, options, steps, moves, changes
        )  # fmt: skip
        n_shortened += take_block(
            rows, weights, block, places, multipliers, stored, state, steps, moves, changes, options[2]
        )
        for b in range(len(block)):
            wanted[block[b]] = changes[b]
    return n_shortened


@compiled
def fill_contributions(rows, first, last, multipliers, state, options, shapes, stored):
    """stored[w, z, k] = A_k x_w r_wzk at the given shapes (`options` as in `propose_block`)."""
    indptr, indices, data = rows
    mass, total_mass, count, weight = state
    loss, margin, tolerance, concentration, inference, n_steps, accuracy = options
    Z, K = weight.shape
    most = longest(indptr)
    local = np.empty((most, Z, K))
    norms = np.empty((most, K))
    theta = np.empty((Z, K))
    fresh = np.empty((Z, K))
    second = np.empty((Z, K))
    third = np.empty((Z, K))
    norm = np.empty(K)
    scores = np.zeros(K)
    for i in range(first, last):
        words = indices[indptr[i] : indptr[i + 1]]
        values = data[indptr[i] : indptr[i + 1]]
        length = values.sum()
        gather(words, count, local)
        settle(
            values, local, weight, length, concentration, inference, n_steps, accuracy,
            shapes[i], theta, fresh, norm, second, third,
        )  # fmt: skip
        evaluate(values, local, length, concentration, inference, shapes[i], theta, norms, scores)
        for p in range(len(words)):
            for z in range(Z):
                for k in range(K):
                    part = values[p] * theta[z, k] * local[p, z, k] / norms[p, k]
                    stored[indptr[i] + p, z, k] = multipliers[i, k] * part


@compiled
def add_contributions(rows, weights, stored, count):
    """count[w] += sum_i weight_i stored_i,w."""
    indptr, indices, data = rows
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            for z in range(count.shape[1]):
                for k in range(count.shape[2]):
                    count[indices[p], z, k] += weights[i] * stored[p, z, k]


@compiled
def make_room(rows, weights, stored, prior, least):
    """Shrink negative contributions cell by cell, until what is left of the prior with them is its share `least`."""
    indptr, indices, data = rows
    gain = np.zeros_like(prior)
    loss = np.zeros_like(prior)
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            for z in range(prior.shape[1]):
                for k in range(prior.shape[2]):
                    part = weights[i] * stored[p, z, k]
                    if part > 0.0:
                        gain[indices[p], z, k] += part
                    else:
                        loss[indices[p], z, k] -= part
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            w = indices[p]
            for z in range(prior.shape[1]):
                for k in range(prior.shape[2]):
                    room = gain[w, z, k] + (1.0 - least) * prior[w, z, k]
                    if stored[p, z, k] < 0.0 and loss[w, z, k] > room:
                        stored[p, z, k] *= room / loss[w, z, k]
