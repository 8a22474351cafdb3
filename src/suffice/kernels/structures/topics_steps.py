"""Adding the proposed steps of a block of documents to a topic model, part of the words by part of the words, and taking back what does
not fit (see `topics_incremental`). A step is an array of cells, whatever their topic and class: counts are words by cells.
"""

import numpy as np

from ..compile import compiled

KEEP = 0.5  # the least share of a cell that one document leaves, when its turn comes
STAYS = -1  # in place of a step's place: the document changes nothing


@compiled
def sum_cells(step, gain):
    """gain[c] = sum over words of the step."""
    for c in range(len(gain)):
        gain[c] = 0.0
    for p in range(len(step)):
        for c in range(len(gain)):
            gain[c] += step[p, c]


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
