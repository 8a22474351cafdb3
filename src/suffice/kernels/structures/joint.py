"""Kernels of a joint distribution of an outcome and its columns: any families' kernels, and the masses of the outcomes.

A family's kernels work in place on its own state, which knows what was added to each of K outcomes:

    scratch_for(state)                                what `score` leaves for the others
    score(state, row, scores, scratch)                scores[k] += log p(row | k)
    slope(state, row, k, scratch)                     d score_k / d delta_k at zero, where delta_k of the row is added to outcome k
    reach(state, row, delta, scratch)                 the largest rate at which rate * delta stays inside the domain
    curve(state, row, delta, rate, moved, scratch)    moved[k] += how a step of rate * delta changes the score
    move(state, row, delta, scratch)                  adds delta[k] of the row to outcome k

`pair` puts two families side by side: its state is (cut, state, state), and a row is cut there. The state of a joint is

    ((mass[K], total[2], log_mass[K]), state of the families)              total = (sum of the masses, its logarithm)

and the loops (`kernels.loops.incremental`) add what the masses say: log pi_k to a score, 1 / mass_k to a slope, log(1 + step / mass_k)
to a curve. A wrapper around the families' kernels would be nicer to read and costs as much as a short row, because numba counts
the references to every array that is passed on.
"""

from functools import reduce
from importlib import import_module
from typing import Any, NamedTuple

from ..compile import bound, name_of

NAMES = ("scratch_for", "score", "slope", "reach", "curve", "move")

own_scratch_for: Any = None  # filled in by `pair`
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
    return Kernels(name, tuple(bound(loop, name, **kernels) for loop in loops))


def families(modules: tuple[str, ...]) -> Kernels:
    """The kernels of families side by side, whose own are in these modules; their states nest to the right."""
    *others, last = (kernels_of(module) for module in modules)
    return reduce(lambda right, left: pair(left, right), reversed(others), last)
