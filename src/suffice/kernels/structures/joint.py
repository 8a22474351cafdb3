"""Kernels of a joint distribution of an outcome and its columns: any family's kernels and the masses of the outcomes.

A family's kernels work in place on its own state of what was added to each of K outcomes:

    scratch_for(state)                                what `score` leaves for the others
    score(state, row, scores, scratch)                scores[k] += log p(row | k)
    slope(state, row, k, scratch)                     d score_k / d delta_k at zero, where delta_k of the row is added to outcome k
    reach(state, row, delta, scratch)                 the largest rate at which rate * delta stays inside the domain
    curve(state, row, delta, rate, moved, scratch)    moved[k] += how a step of rate * delta changes the score
    move(state, row, delta, scratch)                  adds delta[k] of the row to outcome k

`pair` puts two families side by side: its state is (cut, state, state), and a row is cut there. `joint` adds the masses:

    state = ((mass[K], total[2], log_mass[K]), state of the family);  total = (sum of the masses, its logarithm): steps add up to zero
"""

import math
from functools import reduce
from importlib import import_module
from typing import Any, NamedTuple

from ..compile import bound, name_of

BORROWING = {
    "_nrt": False
}  # they make no arrays: counting the references of a state they only pass on would cost as much as a row
NAMES = ("scratch_for", "score", "slope", "reach", "curve", "move")

own_scratch_for: Any = None  # filled in by `joint` and `pair`
own_score: Any = None
own_slope: Any = None
own_reach: Any = None
own_curve: Any = None
own_move: Any = None
other_scratch_for: Any = None
other_score: Any = None
other_slope: Any = None
other_reach: Any = None
other_curve: Any = None
other_move: Any = None


class Kernels(NamedTuple):
    """Six compiled functions, and a name that no others have."""

    name: str
    functions: tuple

    def called(self, prefix: str) -> dict:
        """The functions by their names with a prefix: what `bound` takes."""
        return {f"{prefix}{name}": function for name, function in zip(NAMES, self.functions, strict=True)}


def kernels_of(module: str) -> Kernels:
    """The kernels of a family, by the module that has them."""
    found = import_module(module)
    return Kernels(name_of(module), tuple(getattr(found, kernel) for kernel in NAMES))


# -- two families side by side -----------------------------------------------------------------------------------------


def pair_scratch_for(state):
    return own_scratch_for(state[1]), other_scratch_for(state[2])


def pair_score(state, row, scores, scratch):
    own_score(state[1], row[: state[0]], scores, scratch[0])
    other_score(state[2], row[state[0] :], scores, scratch[1])


def pair_slope(state, row, k, scratch):
    cut = state[0]
    return own_slope(state[1], row[:cut], k, scratch[0]) + other_slope(state[2], row[cut:], k, scratch[1])


def pair_reach(state, row, delta, scratch):
    cut = state[0]
    return min(own_reach(state[1], row[:cut], delta, scratch[0]), other_reach(state[2], row[cut:], delta, scratch[1]))


def pair_curve(state, row, delta, rate, moved, scratch):
    own_curve(state[1], row[: state[0]], delta, rate, moved, scratch[0])
    other_curve(state[2], row[state[0] :], delta, rate, moved, scratch[1])


def pair_move(state, row, delta, scratch):
    own_move(state[1], row[: state[0]], delta, scratch[0])
    other_move(state[2], row[state[0] :], delta, scratch[1])


def pair(one: Kernels, other: Kernels) -> Kernels:
    name, kernels = f"{one.name}_and_{other.name}", one.called("own_") | other.called("other_")
    loops = pair_scratch_for, pair_score, pair_slope, pair_reach, pair_curve, pair_move
    return Kernels(name, tuple(bound(loop, name, BORROWING, **kernels) for loop in loops))


# -- and the masses of the outcomes ------------------------------------------------------------------------------------
# (masses and the families' state are two arguments: taking the one out of the other would cost as much as a short row)


def joint_score(masses, own, row, scores, scratch):
    """scores[k] = log p(row, k)."""
    total, log_mass = masses[1][1], masses[2]
    for k in range(len(scores)):
        scores[k] = log_mass[k] - total
    own_score(own, row, scores, scratch)


def joint_slope(masses, own, row, k, scratch):
    return 1.0 / masses[0][k] + own_slope(own, row, k, scratch)


def joint_reach(masses, own, row, delta, scratch):
    mass = masses[0]
    limit = own_reach(own, row, delta, scratch)
    for k in range(len(delta)):
        if delta[k] < 0.0:
            limit = min(limit, mass[k] / -delta[k])
    return limit


def joint_curve(masses, own, row, scores, delta, rate, moved, scratch):
    """moved[k] = the score after a step of rate * delta."""
    mass = masses[0]
    for k in range(len(delta)):
        moved[k] = scores[k]
        if delta[k] != 0.0:
            moved[k] += math.log(1.0 + rate * delta[k] / mass[k])
    own_curve(own, row, delta, rate, moved, scratch)


def joint_move(masses, own, row, delta, scratch):
    mass, log_mass = masses[0], masses[2]
    for k in range(len(delta)):
        if delta[k] != 0.0:
            mass[k] += delta[k]
            log_mass[k] = math.log(mass[k])
    own_move(own, row, delta, scratch)


def joint(modules: tuple[str, ...]) -> Kernels:
    """The kernels of a joint distribution whose families have theirs in these modules; states of families nest to the right."""
    families = [kernels_of(module) for module in modules]
    own = reduce(lambda right, left: pair(left, right), families[-2::-1], families[-1])
    name, kernels = f"joint_{own.name}", own.called("own_")
    loops = joint_score, joint_slope, joint_reach, joint_curve, joint_move
    return Kernels(name, (own.functions[0], *(bound(loop, name, BORROWING, **kernels) for loop in loops)))
