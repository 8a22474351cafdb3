"""Four numbers at a time in a vector register, for loops that the compiler does not vectorise by itself.

`load` and `store` move them from and to a contiguous array of float64, `spread` repeats one, the others compute lane by lane. Where
numba is switched off they are arrays of NumPy.
"""

import numba
import numpy as np

WIDTH = 4

if getattr(numba.config, "DISABLE_JIT", False):

    def load(array, place):
        return array.reshape(-1)[place : place + WIDTH].copy()

    def store(array, place, lanes):
        array.reshape(-1)[place : place + WIDTH] = lanes

    def spread(x):
        return np.full(WIDTH, x)

    def add(a, b):
        return a + b

    def times(a, b):
        return a * b

    def over(a, b):
        return a / b

    def larger(a, b):
        return np.maximum(a, b)

else:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic, models, register_model

    class Lanes(types.Type):
        def __init__(self):
            super().__init__(name="Lanes")

    LANES = Lanes()
    VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)

    @register_model(Lanes)
    class LanesModel(models.PrimitiveModel):
        def __init__(self, manager, kind):
            super().__init__(manager, kind, VECTOR)

    def _place(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.bitcast(builder.gep(array.data, [arguments[1]]), VECTOR.as_pointer())

    @intrinsic
    def load(typing_context, array, place):
        """Four numbers from the `place`-th on, in the order of memory."""

        def generate(context, builder, signature, arguments):
            found = builder.load(_place(context, builder, signature, arguments))
            found.align = 8
            return found

        return LANES(array, types.intp), generate

    @intrinsic
    def store(typing_context, array, place, lanes):
        def generate(context, builder, signature, arguments):
            builder.store(arguments[2], _place(context, builder, signature, arguments), align=8)
            return context.get_dummy_value()

        return types.void(array, types.intp, LANES), generate

    @intrinsic
    def spread(typing_context, x):
        def generate(context, builder, signature, arguments):
            one = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), arguments[0], ir.IntType(32)(0))
            mask = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
            return builder.shuffle_vector(one, ir.Constant(VECTOR, ir.Undefined), mask)

        return LANES(types.float64), generate

    @intrinsic
    def add(typing_context, a, b):
        return LANES(LANES, LANES), lambda context, builder, signature, arguments: builder.fadd(*arguments)

    @intrinsic
    def times(typing_context, a, b):
        return LANES(LANES, LANES), lambda context, builder, signature, arguments: builder.fmul(*arguments)

    @intrinsic
    def over(typing_context, a, b):
        return LANES(LANES, LANES), lambda context, builder, signature, arguments: builder.fdiv(*arguments)

    @intrinsic
    def larger(typing_context, a, b):
        def generate(context, builder, signature, arguments):
            is_larger = builder.fcmp_ordered(">", *arguments)
            return builder.select(is_larger, *arguments)

        return LANES(LANES, LANES), generate
