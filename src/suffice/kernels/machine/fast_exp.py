"""The exponential of many numbers at once, in vector lanes.

exp(x) = 2^n exp(r) with n = round(x / log 2) and |r| <= log 2 / 2: a polynomial of degree 13 for exp(r) (error below 1e-16), and the
bits of n moved into the exponent. numba has no vectorised library of its own; this is three plain loops that LLVM turns into lanes.
"""

import numpy as np

from ..compile import compiled

LOWEST = -700.0  # exp of it is 1e-304: what is below counts as that
LOG2_E = 1.4426950408889634
HIGH, LOW = 0.693147180369123816490, 1.90821492927058770002e-10  # log 2 in two parts
SHIFT = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to a whole number, whose bits are then the lowest


@compiled
def exponentials(x, powers):
    """x <- exp(x) for x <= 0, in place; `powers` is scratch of the same length."""
    bits = powers.view(np.int64)
    for j in range(len(x)):
        value = max(x[j], LOWEST)
        shifted = value * LOG2_E + SHIFT
        powers[j] = shifted
        n = shifted - SHIFT
        r = (value - n * HIGH) - n * LOW
        p = 1.6059043836821613e-10
        p = p * r + 2.08767569878681e-09
        p = p * r + 2.505210838544172e-08
        p = p * r + 2.755731922398589e-07
        p = p * r + 2.7557319223985893e-06
        p = p * r + 2.48015873015873e-05
        p = p * r + 0.0001984126984126984
        p = p * r + 0.001388888888888889
        p = p * r + 0.008333333333333333
        p = p * r + 0.041666666666666664
        p = p * r + 0.16666666666666666
        p = p * r + 0.5
        p = p * r + 1.0
        x[j] = p * r + 1.0
    for j in range(len(x)):
        bits[j] = (bits[j] << 52) + (1023 << 52)
    for j in range(len(x)):
        x[j] = x[j] * powers[j]
