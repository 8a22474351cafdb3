"""Passes over words of the complement-style multinomial (`families.complement`): those of `kernels.words.passes` with a sign.

The readable twin is `suffice.kernels.families.complement`.
"""

from ..compile import bound, compiled, inlined
from . import passes as own
from . import stochastic as stochastic


@inlined
def score_one(rows, order, t, values, state, scores):
    length = own.score_one(rows, order, t, values, state, scores)
    log_mass = state[6]
    for k in range(len(scores)):
        scores[k] = 2.0 * log_mass[k] - scores[k]
    return length


@compiled
def slope_and_shares(words, values, state, k):
    slope, share, _ = own.slope_and_shares(words, values, state, k)
    return slope, 1.0 / state[0][k], share


move_outcome = bound(own.moved, "complement", WORDS=-1.0)
step_outcome = bound(stochastic.stepped, "complement", WORDS=-1.0)
dual_pass = own.bind("complement", score_one=score_one, slope_and_shares=slope_and_shares, move_outcome=move_outcome)
stochastic_pass = stochastic.bind("complement", score_one=score_one, step_outcome=step_outcome)
