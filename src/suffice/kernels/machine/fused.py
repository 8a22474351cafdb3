"""a * b + c with one rounding, and the exponential made of it.

LLVM turns loops over `fma` into vector lanes, and since the rounding is said in the source, every version of a loop gives the same bits
(leave to contract would not: which of two products is fused would be the compiler's choice). A machine without the instruction
multiplies and adds.
"""

from typing import Any

import numba
import numpy as np

from ..compile import compiled
from .fast_exp import HIGH, LOG2_E, LOW, LOWEST, SHIFT


def has_fma() -> bool:
    """Whether this machine has the instruction."""
    if getattr(numba.config, "DISABLE_JIT", False):
        return False
    import llvmlite.binding as llvm

    try:
        features = dict(llvm.get_host_cpu_features())
    except RuntimeError:
        return False
    return bool(features.get("fma") or features.get("neon") or features.get("fp-armv8"))


if has_fma():
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic
    def fused(typing_context, a, b, c):
        def generate(context, builder, signature, arguments):
            return builder.fma(*arguments)

        return types.float64(types.float64, types.float64, types.float64), generate

else:

    @compiled
    def fused(a, b, c):
        return a * b + c


fma: Any = fused

if getattr(numba.config, "DISABLE_JIT", False):

    def two_to(shifted):
        return np.ldexp(1.0, int(shifted - SHIFT))

else:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic
    def two_to(typing_context, shifted):
        """2 ** (shifted - SHIFT): the lowest bits of `shifted` are the whole number."""

        def generate(context, builder, signature, arguments):
            whole = ir.IntType(64)
            bits = builder.bitcast(arguments[0], whole)
            power = builder.add(builder.shl(bits, ir.Constant(whole, 52)), ir.Constant(whole, 1023 << 52))
            return builder.bitcast(power, ir.DoubleType())

        return types.float64(types.float64), generate


@compiled
def exponential(x):
    """exp(x) for x <= 0, as `fast_exp` makes it; the polynomial is the one of degree 11 that is best on the whole range (1.6e-17)."""
    value = max(x, LOWEST)
    shifted = fma(value, LOG2_E, SHIFT)
    n = shifted - SHIFT
    r = fma(-n, LOW, fma(-n, HIGH, value))
    p = fma(2.5100392723228943e-08, r, 2.762008840760609e-07)
    p = fma(p, r, 2.755726843647086e-06)
    p = fma(p, r, 2.4801521295911377e-05)
    p = fma(p, r, 0.00019841269863078338)
    p = fma(p, r, 0.0013888888917213905)
    p = fma(p, r, 0.008333333333330053)
    p = fma(p, r, 0.04166666666662413)
    p = fma(p, r, 0.16666666666666669)
    p = fma(p, r, 0.5000000000000001)
    p = fma(p, r, 1.0)
    return fma(p, r, 1.0) * two_to(shifted)
