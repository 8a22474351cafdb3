"""Incremental (dual) passes for topic models: every document's contribution is stored and replaced.

    count_wzk = prior + sum_i weight_i G_i,wzk,     sum_z G_i,wzk = A_ik x_iw,     mass_k = prior + sum_i weight_i A_ik

with the multipliers A of `suffice.kernels.incremental`. A document first infers its topics under every class (r_wzk), and with d the
change of A that the loss wants (for all it knows of the other documents) moves along

    D_wzk = (A_k + d_k) x_w r_wzk - G_wzk,      d score_k / d rate = d_k / mass_k + sum_wz x_w r_wzk D_wzk / count_wzk

Documents of a block see the model before the block (`propose_document`, on threads); then their steps are taken one after the other
(`take_step`), each shortened where a cell would lose more than KEEP. So neither threads nor their number change the result.
"""

import numpy as np

from .atomic import add, load, store
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
def scratch(most, Z, K):
    """What one thread writes on while it works at a document of at most `most` words."""
    return (
        np.empty((most, Z, K)), np.empty((most, K)), np.empty((Z, K)), np.empty((Z, K)), np.empty((Z, K)), np.empty((Z, K)),
        np.empty(K), np.empty(K), np.empty(K), np.empty(K), np.empty(K), np.empty(K), np.empty(K), np.empty(K),
        (np.empty(K), np.empty(K, np.int64), np.empty(K), np.empty(K)),
    )  # fmt: skip


@compiled
def propose_document(
    words, values, label, document_weight, own, mine, shape, state, options, step, move, room
):  # fmt: skip
    """The document's step at the model as it is. Returns the largest wanted change and whether the step had to be shortened.

    The change is that of a multiplier or of what is stored. Where it is below the tolerance nothing is done. Else `move` is the change
    of the multipliers, what is stored has been changed already, and `step` is by how much.
    """
    mass, total_mass, count, weight = state
    loss, margin, tolerance, concentration, inference, n_steps, accuracy = options
    (
        local,
        norms,
        theta,
        fresh,
        second,
        third,
        norm,
        scores,
        posterior,
        delta,
        change,
        logs,
        slopes,
        active_delta,
        packed,
    ) = room
    Z, K = weight.shape
    if label >= 0 and loss == NLL:
        return 0.0, False
    length = values.sum()
    gather(words, count, local)
    settle(
        values, local, weight, length, concentration, inference, n_steps, accuracy,
        shape, theta, fresh, norm, second, third,
    )  # fmt: skip
    for k in range(K):
        scores[k] = np.log(mass[k] / total_mass[0])
    evaluate(values, local, length, concentration, inference, shape, theta, norms, scores)
    largest = 0.0
    lognorm = softmax(scores, posterior)
    if label < 0:  # no label: the marginal likelihood, whatever the loss of the labelled documents
        for k in range(K):
            delta[k] = posterior[k] - own[k]
            largest = max(largest, abs(delta[k]))
    elif loss == HINGE:
        largest = hinge_document(
            values, local, norms, theta, own, mass, mine, label, margin, document_weight, scores, delta, slopes, change, packed
        )  # fmt: skip
    else:
        largest = conditional_direction(posterior, own, label, delta, tolerance)
    if largest < tolerance:
        largest = max(largest, staleness(values, local, norms, theta, own, mine, length, tolerance))
    if largest < tolerance:
        return largest, False
    taken = document_direction(values, local, norms, theta, own, mass, mine, delta, step, change)
    rate = 1.0
    shortened = taken * document_weight > BOUNDARY
    if shortened:
        rate = BOUNDARY / (taken * document_weight)
    if label >= 0 and loss != HINGE:
        n = 0
        rest = 1.0
        for k in range(K):
            if delta[k] != 0.0:
                along = change[k] * document_weight
                along *= DOWNWARDS if along < 0.0 else 1.0
                active_delta[n] = delta[k]
                slopes[n] = along / delta[k]
                logs[n] = scores[k] - lognorm
                rest -= posterior[k]
                n += 1
        if n > 0:
            rate = conditional_rate(logs, max(rest, 0.0), slopes, active_delta, n, rate)
    for k in range(K):
        move[k] = rate * delta[k]
    for p in range(len(words)):
        for z in range(Z):
            for k in range(K):
                before = mine[p, z, k]
                mine[p, z, k] = before + rate * step[p, z, k]
                step[p, z, k] = np.float64(mine[p, z, k]) - np.float64(before)
    return largest, shortened


@compiled
def add_cells(words, factor, step, count, weight):
    """Add factor * step to the model. Returns the least that is left of a cell after 1 / (1 - KEEP) times as much."""
    Z, K = weight.shape
    least = 0.0
    for p in range(len(words)):
        for z in range(Z):
            for k in range(K):
                cell = factor * step[p, z, k]
                least = min(least, count[words[p], z, k] + cell / (1.0 - KEEP))
                count[words[p], z, k] += cell
                weight[z, k] += cell
    return least


@compiled
def take_step(words, document_weight, own, mine, state, step, move):
    """Add a proposed step to the model; returns whether it had to be shortened because of others in the block."""
    mass, total_mass, count, weight = state
    Z, K = weight.shape
    least = add_cells(words, document_weight, step, count, weight)
    for k in range(K):
        least = min(least, mass[k] + document_weight * move[k] / (1.0 - KEEP))
    shortened = least < 0.0
    if shortened:
        add_cells(words, -document_weight, step, count, weight)
        taken = 0.0
        for k in range(K):
            taken = max(taken, -move[k] / mass[k])
        for p in range(len(words)):
            for z in range(Z):
                for k in range(K):
                    taken = max(taken, -step[p, z, k] / count[words[p], z, k])
        rate = (1.0 - KEEP) / (taken * document_weight)
        for k in range(K):
            move[k] *= rate
        for p in range(len(words)):
            for z in range(Z):
                for k in range(K):
                    before = np.float64(mine[p, z, k]) - step[p, z, k]
                    mine[p, z, k] = before + rate * step[p, z, k]
                    step[p, z, k] = np.float64(mine[p, z, k]) - before
        add_cells(words, document_weight, step, count, weight)
    for k in range(K):
        own[k] += move[k]
        mass[k] += document_weight * move[k]
        total_mass[0] += document_weight * move[k]
    return shortened


@compiled
def work_on_pass(
    rows,
    y,
    weights,
    order,
    ends,
    size,
    multipliers,
    stored,
    shapes,
    state,
    options,
    steps,
    moves,
    wanted,
    counters,
    patience,
):
    """One thread's share of a pass over the documents `order`, in blocks of `size`; any number of threads may call it at once.

    ends[j] is the number of non-zeros before document j of the order. A thread takes the next document of the block that nobody has
    taken, and whoever finishes the block's last one takes the steps, while the others wait. wanted[i] becomes the change that document
    i wanted. counters[8 b], counters[8 b + 1] are the documents of block b that were taken and finished; the last two rows the number
    of the block (TURN) and of steps shortened. Returns whether the pass is at its end; else this thread has waited for long.
    """
    indptr, indices, data = rows
    Z, K = state[3].shape
    room = scratch(longest(indptr), Z, K)
    n_blocks = (len(order) + size - 1) // size
    turn, n_shortened = 8 * n_blocks, 8 * n_blocks + 8
    waited = 0
    while True:
        block = load(counters, turn)
        if block >= n_blocks:
            return True
        start = block * size
        n = min(size, len(order) - start)
        if load(counters, 8 * block) >= n:
            waited += 1
            if waited > patience:
                return False
            continue
        b = add(counters, 8 * block, 1)
        if b >= n:
            continue
        waited = 0
        i = order[start + b]
        first, last = indptr[i], indptr[i + 1]
        place = ends[start + b] - ends[start]
        wanted[i], shortened = propose_document(
            indices[first:last], data[first:last], y[i], weights[i], multipliers[i], stored[first:last], shapes[i], state,
            options, steps[place : place + last - first], moves[b], room,
        )  # fmt: skip
        if shortened:
            add(counters, n_shortened, 1)
        if add(counters, 8 * block + 1, 1) < n - 1:
            continue
        for b in range(n):  # all are there: their steps, in order
            i = order[start + b]
            if wanted[i] < options[2] or wanted[i] == 0.0:
                continue
            first, last = indptr[i], indptr[i + 1]
            place = ends[start + b] - ends[start]
            if take_step(
                indices[first:last], weights[i], multipliers[i], stored[first:last], state,
                steps[place : place + last - first], moves[b],
            ):  # fmt: skip
                add(counters, n_shortened, 1)
        store(counters, turn, block + 1)


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
