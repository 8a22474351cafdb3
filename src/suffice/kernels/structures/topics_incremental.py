"""Incremental (dual) passes for topic models: every document's contribution is stored and replaced.

    count_wzk = prior + sum_i weight_i G_i,wzk,     sum_z G_i,wzk = A_ik x_iw,     mass_k = prior + sum_i weight_i A_ik

with the multipliers A of `kernels.loops.incremental`. A document first infers its topics under every class (r_wzk), and with d the
change of A that the loss wants (for all it knows of the other documents) moves along

    D_wzk = (A_k + d_k) x_w r_wzk - G_wzk,      d score_k / d rate = d_k / mass_k + sum_wz x_w r_wzk D_wzk / count_wzk

Documents of a block see the model before the block (`propose_document`, on threads). Then threads add their steps (`add_part`), each
for a part of the words, in the order of the documents; steps of which a cell would lose more than 1 - KEEP are taken back and then made
one by one, shortened (`end_block`). A cell has the same additions in the same order whoever makes them, so threads change nothing.
"""

import numpy as np

from ..compile import compiled
from ..loops.incremental import BOUNDARY, HINGE, NLL, conditional_direction, softmax
from ..machine.atomic import add, load, store
from ..words.passes import DOWNWARDS, conditional_rate, pairwise_steps
from .topics import evaluate, gather, longest, settle

KEEP = 0.5  # the least share of a cell that one document leaves, when its turn comes
STAYS = -1  # in place of a step's place: the document changes nothing


@compiled
def document_direction(values, local, norms, theta, own, mass, stored, delta, step, change, factor):
    """Fill step = D and change = d score / d rate for classes with delta != 0; return the largest share of a cell it takes."""
    n, Z, K = step.shape[0], step.shape[1], step.shape[2]
    for k in range(K):
        change[k] = delta[k] / mass[k]
    for p in range(n):
        for k in range(K):
            factor[k] = values[p] / norms[p, k]
        for z in range(Z):
            for k in range(K):
                slope = factor[k] * theta[z, k]  # x r / count
                want = (own[k] + delta[k]) * slope * local[p, z, k] - stored[p, z, k]
                want = want if delta[k] != 0.0 or own[k] != 0.0 else 0.0
                step[p, z, k] = want
                change[k] += slope * want
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
    values, local, norms, theta, own, mass, stored, label, margin, weight, scores, delta, slopes, wanted, packed, factor
):
    """Wanted change of the multipliers under the hinge (see `words.hinge_pass`), topics refreshed first; returns its largest entry."""
    Z, K = theta.shape
    moves, active, own_active, slope_active = packed
    for k in range(K):
        slopes[k] = 1.0 / mass[k]
        wanted[k] = scores[k]
        delta[k] = 0.0
    for p in range(len(values)):
        for k in range(K):
            factor[k] = values[p] / norms[p, k]
        for z in range(Z):
            for k in range(K):
                slope = factor[k] * theta[z, k]  # x r / count
                part = slope * local[p, z, k]
                slopes[k] += slope * part
                wanted[k] += weight * slope * (own[k] * part - stored[p, z, k])
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
def sum_cells(step, gain):
    """gain[c] = sum over words of the step."""
    for c in range(len(gain)):
        gain[c] = 0.0
    for p in range(len(step)):
        for c in range(len(gain)):
            gain[c] += step[p, c]


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
            values, local, norms, theta, own, mass, mine, label, margin, document_weight, scores, delta, slopes, change, packed,
            norm,
        )  # fmt: skip
    else:
        largest = conditional_direction(posterior, own, label, delta, tolerance)
    if largest < tolerance:
        largest = max(largest, staleness(values, local, norms, theta, own, mine, length, tolerance))
    if largest < tolerance:
        return largest, False
    taken = document_direction(values, local, norms, theta, own, mass, mine, delta, step, change, norm)
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
def add_cells(words, first, last, factor, steps, place, count):
    """Add factor * step (which begins at `place`) for words first .. last.

    Returns the least that is left of a cell after 1 / (1 - KEEP) times as much.
    """
    least = 0.0
    for p in range(first, last):
        w, s = words[p], place + p - first
        for c in range(count.shape[1]):
            cell = factor * steps[s, c]
            least = min(least, count[w, c] + cell / (1.0 - KEEP))
            count[w, c] += cell
    return least


@compiled
def add_masses(factor, move, gain, state):
    """Add factor * move to the masses, factor * gain to the weights of the topics. Returns the least that is left of a mass, too."""
    mass, total_mass, count, weight = state
    least = 0.0
    for k in range(len(mass)):
        least = min(least, mass[k] + factor * move[k] / (1.0 - KEEP))
        mass[k] += factor * move[k]
        total_mass[0] += factor * move[k]
    for c in range(len(weight)):
        weight[c] += factor * gain[c]
    return least


@compiled
def add_all(words, first, last, factor, proposals, b, state):
    """Add factor times all of document b's step. Returns the least that is left of a cell or mass."""
    steps, moves, gains, places, failed = proposals
    least = add_cells(words, first, last, factor, steps, places[b], state[2])
    return min(least, add_masses(factor, moves[b], gains[b], state))


@compiled
def take_step(words, first, last, document_weight, stored, proposals, b, state):
    """Add a proposed step to the model, shortened if others in the block left too little for it; returns whether it was."""
    steps, moves, gains, places, failed = proposals
    mass, total_mass, count, weight = state
    if add_all(words, first, last, document_weight, proposals, b, state) >= 0.0:
        return False
    add_all(words, first, last, -document_weight, proposals, b, state)
    move, step, mine = moves[b], steps[places[b] : places[b] + last - first], stored[first:last]
    taken = 0.0
    for k in range(len(mass)):
        taken = max(taken, -move[k] / mass[k])
    for p in range(len(step)):
        for c in range(len(weight)):
            taken = max(taken, -step[p, c] / count[words[first + p], c])
    rate = (1.0 - KEEP) / (taken * document_weight)
    for k in range(len(mass)):
        move[k] *= rate
    for p in range(len(step)):
        for c in range(len(weight)):
            before = np.float64(mine[p, c]) - step[p, c]
            mine[p, c] = before + rate * step[p, c]
            step[p, c] = np.float64(mine[p, c]) - before
    sum_cells(step, gains[b])
    add_all(words, first, last, document_weight, proposals, b, state)
    return True


@compiled
def add_part(words, weights, documents, starts, part, proposals, count):
    """The steps of a block's documents for one part of the words; those that leave too little of a cell have failed."""
    steps, moves, gains, places, failed = proposals
    for b in range(len(documents)):
        i = documents[b]
        first, last = starts[i, part], starts[i, part + 1]
        place = places[b] + first - starts[i, 0]
        if places[b] != STAYS and add_cells(words, first, last, weights[i], steps, place, count) < 0.0:
            failed[b] = True


@compiled
def end_block(words, weights, documents, starts, multipliers, stored, proposals, state):
    """Masses and multipliers after all parts. Returns how many steps were shortened.

    Steps that failed are taken back and then made one by one, as far as they can be; where others took what they had added, all are.
    """
    steps, moves, gains, places, failed = proposals
    least = 0.0
    n_shortened = 0
    for b in range(len(documents)):
        if places[b] != STAYS:
            failed[b] |= add_masses(weights[documents[b]], moves[b], gains[b], state) < 0.0
    for b in range(len(documents)):
        if failed[b]:
            i = documents[b]
            least = min(least, add_all(words, starts[i, 0], starts[i, -1], -weights[i], proposals, b, state))
    for b in range(len(documents)):
        if least < 0.0 and places[b] != STAYS and not failed[b]:
            i = documents[b]
            add_all(words, starts[i, 0], starts[i, -1], -weights[i], proposals, b, state)
            failed[b] = True
    for b in range(len(documents)):
        i = documents[b]
        if failed[b]:
            n_shortened += take_step(words, starts[i, 0], starts[i, -1], weights[i], stored, proposals, b, state)
        if places[b] != STAYS:
            for k in range(moves.shape[1]):
                multipliers[i, k] += moves[b, k]
    return n_shortened


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
    proposals,
    wanted,
    starts,
    counters,
    patience,
):
    """One thread's share of a pass over the documents `order`, in blocks of `size`; any number of threads may call it at once.

    ends[j] is the number of non-zeros before document j of the order. A thread takes the next document of the block that nobody has
    taken; when all are finished, the next part of the words (starts[i, j] to starts[i, j + 1] are document i's non-zeros of part j)
    and adds all documents' steps there; whoever finishes the last part ends the block. wanted[i] becomes the change that document i
    wanted. counters[8 b : 8 b + 4] are of block b: documents taken and finished, parts taken and finished; the last two rows the
    number of the block (TURN) and of steps shortened. Returns whether the pass is at its end; else this thread has waited for long.
    """
    indptr, indices, data = rows
    steps, moves, gains, places, failed = proposals
    mass, total_mass, count, weight = state
    Z, K = weight.shape
    # steps are taken cell by cell, whatever its topic and class
    flat = mass, total_mass, count.reshape(len(count), Z * K), weight.reshape(Z * K)
    flat_steps, flat_stored = steps.reshape(len(steps), Z * K), stored.reshape(len(stored), Z * K)
    flat_proposals = flat_steps, moves, gains, places, failed
    room = scratch(longest(indptr), Z, K)
    n_blocks, n_parts = (len(order) + size - 1) // size, starts.shape[1] - 1
    turn, n_shortened = 8 * n_blocks, 8 * n_blocks + 8
    waited = 0
    while True:
        block = load(counters, turn)
        if block >= n_blocks:
            return True
        at = 8 * block
        documents = order[block * size : (block + 1) * size]
        n = len(documents)
        if load(counters, at) < n:
            b = add(counters, at, 1)
            if b >= n:
                continue
            waited = 0
            i = documents[b]
            first, last = indptr[i], indptr[i + 1]
            place = ends[block * size + b] - ends[block * size]
            wanted[i], shortened = propose_document(
                indices[first:last], data[first:last], y[i], weights[i], multipliers[i], stored[first:last], shapes[i], state,
                options, steps[place : place + last - first], moves[b], room,
            )  # fmt: skip
            places[b] = place if wanted[i] >= options[2] and wanted[i] > 0.0 else STAYS
            failed[b] = False
            if places[b] != STAYS:
                sum_cells(flat_steps[place : place + last - first], gains[b])
            if shortened:
                add(counters, n_shortened, 1)
            add(counters, at + 1, 1)
        elif load(counters, at + 1) == n and load(counters, at + 2) < n_parts:
            part = add(counters, at + 2, 1)
            if part >= n_parts:
                continue
            waited = 0
            add_part(indices, weights, documents, starts, part, flat_proposals, flat[2])
            if add(counters, at + 3, 1) == n_parts - 1:
                found = end_block(indices, weights, documents, starts, multipliers, flat_stored, flat_proposals, flat)
                add(counters, n_shortened, found)
                store(counters, turn, block + 1)
        else:
            waited += 1
            if waited > patience:
                return False


@compiled
def fill_contributions(rows, first, last, multipliers, state, options, shapes, stored):
    """stored[w, z, k] = A_k x_w r_wzk at the given shapes (`options` as in `propose_document`)."""
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
                    gain[indices[p], z, k] += max(part, 0.0)
                    loss[indices[p], z, k] -= min(part, 0.0)
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            w = indices[p]
            for z in range(prior.shape[1]):
                for k in range(prior.shape[2]):
                    room = gain[w, z, k] + (1.0 - least) * prior[w, z, k]
                    if stored[p, z, k] < 0.0 and loss[w, z, k] > room:
                        stored[p, z, k] *= room / loss[w, z, k]
