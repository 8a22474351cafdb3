"""Incremental (dual) passes for topic models: every document's contribution is stored and replaced.

    count_wzk = prior + sum_i weight_i G_i,wzk,     sum_z G_i,wzk = A_ik x_iw,     mass_k = prior + sum_i weight_i A_ik

with the multipliers A of `kernels.loops.incremental`. A document first infers its topics under every class (r_wzk), and with d the
change of A that the loss wants (for all it knows of the other documents) moves along

    D_wzk = (A_k + d_k) x_w r_wzk - G_wzk,      d score_k / d rate = d_k / mass_k + sum_wz x_w r_wzk D_wzk / count_wzk

Documents of a block see the model before the block (`propose_document`, on threads). Then threads add their steps, each for a part of
the words, in the order of the documents; steps of which a cell would lose more than 1 - KEEP are taken back and then made one by one,
shortened (`topics_steps`). A cell has the same additions in the same order whoever makes them, so threads change nothing.

The loss is known by the kernels of its dual (`select`, `direct`, `search`: see `suffice.kernels.losses`).
"""

import numpy as np

from ..compile import ForLoss, compiled
from ..loops.incremental import BOUNDARY
from ..machine.atomic import add, load, store
from ..machine.softmax import softmax
from ..words.passes import DOWNWARDS
from .topics import evaluate, gather, longest, settle
from .topics_steps import STAYS, add_part, end_block, sum_cells


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
def document_slopes(values, local, norms, theta, own, mass, stored, weight, scores, slopes, refreshed, factor):
    """slopes <- d score / d multiplier; refreshed <- scores with the document's topics as they are now."""
    Z, K = theta.shape
    for k in range(K):
        slopes[k] = 1.0 / mass[k]
        refreshed[k] = scores[k]
    for p in range(len(values)):
        for k in range(K):
            factor[k] = values[p] / norms[p, k]
        for z in range(Z):
            for k in range(K):
                slope = factor[k] * theta[z, k]  # x r / count
                part = slope * local[p, z, k]
                slopes[k] += slope * part
                refreshed[k] += weight * slope * (own[k] * part - stored[p, z, k])


@compiled
def scratch(most, Z, K):
    """What one thread writes on while it works at a document of at most `most` words."""
    return (
        np.empty((most, Z, K)), np.empty((most, K)), np.empty((Z, K)), np.empty((Z, K)), np.empty((Z, K)), np.empty((Z, K)),
        np.empty(K), np.empty(K), np.empty(K), np.empty(K), np.empty(K), np.empty(K), np.empty(K), np.empty(K),
        np.empty((3, K)), np.empty(K, np.int64),
    )  # fmt: skip


def propose(words, values, label, document_weight, own, mine, shape, state, options, step, move, room):
    """(largest wanted change, whether the step had to be shortened) of a document at the model as it is.

    The change is that of a multiplier or of what is stored. Where it is below the tolerance nothing is done. Else `move` is the change
    of the multipliers, what is stored has been changed already, and `step` is by how much.
    """
    mass, total_mass, count, weight = state
    settings, tolerance, concentration, inference, n_steps, accuracy = options
    (
        local, norms, theta, fresh, second, third,
        norm, scores, posterior, delta, change, logs, slopes, moves, pairs, active,
    ) = room  # fmt: skip
    Z, K = weight.shape
    length = values.sum()
    gather(words, count, local)
    settle(
        values, local, weight, length, concentration, inference, n_steps, accuracy,
        shape, theta, fresh, norm, second, third,
    )  # fmt: skip
    for k in range(K):
        scores[k] = np.log(mass[k] / total_mass[0])
    evaluate(values, local, length, concentration, inference, shape, theta, norms, scores)
    n = 0
    largest = 0.0
    level = 0.0
    if label < 0:  # no label: the marginal likelihood, whatever the loss of the labelled documents
        softmax(scores, posterior)
        for k in range(K):
            delta[k] = posterior[k] - own[k]
            largest = max(largest, abs(delta[k]))
    else:
        n, level, largest, _ = select(scores, own, label, settings, tolerance, posterior, active, moves)
        if NEEDS_SLOPES and n > 0:
            document_slopes(values, local, norms, theta, own, mass, mine, document_weight, scores, logs, change, norm)
            for j in range(n):
                slopes[j] = logs[active[j]]
            largest = direct(change, slopes, own, active, n, document_weight, settings, pairs, moves)
        for k in range(K):
            delta[k] = 0.0
        for j in range(n):
            delta[active[j]] = moves[j]
    if largest < tolerance:
        largest = max(largest, staleness(values, local, norms, theta, own, mine, length, tolerance))
    if largest < tolerance:
        return largest, False
    taken = document_direction(values, local, norms, theta, own, mass, mine, delta, step, change, norm)
    rate = 1.0
    shortened = taken * document_weight > BOUNDARY
    if shortened:
        rate = BOUNDARY / (taken * document_weight)
    if n > 0:
        for j in range(n):
            along = change[active[j]] * document_weight
            along *= DOWNWARDS if along < 0.0 else 1.0
            slopes[j] = along / moves[j]
        rate = search(scores, level, posterior, active, n, slopes, moves, rate, logs)
    for k in range(K):
        move[k] = rate * delta[k]
    for p in range(len(words)):
        for z in range(Z):
            for k in range(K):
                before = mine[p, z, k]
                mine[p, z, k] = before + rate * step[p, z, k]
                step[p, z, k] = np.float64(mine[p, z, k]) - np.float64(before)
    return largest, shortened


propose_document = ForLoss(propose)


def work(
    rows, y, weights, order, ends, size, multipliers, stored, shapes, state, options, proposals, wanted, starts, counters,
    patience,
):  # fmt: skip
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
            places[b] = place if wanted[i] >= options[1] and wanted[i] > 0.0 else STAYS
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


work_on_pass = ForLoss(work, propose_document=propose_document)
