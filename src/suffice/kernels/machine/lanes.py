"""Some numbers at a time in vector registers, for loops that the compiler does not vectorise by itself.

`load` and `store` move WIDTH of them from and to a contiguous array of float64, `spread` repeats one, the others compute lane by lane.
`of_width` makes `load` and `spread` for another power of two, in as many registers as the machine needs for them. Where numba is
switched off lanes are arrays of NumPy.
"""

import numba
import numpy as np

WIDTH = 4

if getattr(numba.config, "DISABLE_JIT", False):

    def of_width(width):
        def load(array, place):
            return array.reshape(-1)[place : place + width].copy()

        def spread(x):
            return np.full(width, x)

        return load, spread

    def store(array, place, lanes):
        array.reshape(-1)[place : place + len(lanes)] = lanes

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
        def __init__(self, width):
            super().__init__(name=f"Lanes({width})")
            self.width = width

    @register_model(Lanes)
    class LanesModel(models.PrimitiveModel):
        def __init__(self, manager, kind):
            super().__init__(manager, kind, ir.VectorType(ir.DoubleType(), kind.width))

    def _place(context, builder, signature, arguments, lanes):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        vector = context.get_value_type(lanes)
        return builder.bitcast(builder.gep(array.data, [arguments[1]]), vector.as_pointer())

    def of_width(width):
        """(load, spread) of lanes of `width` numbers."""
        lanes = Lanes(width)

        @intrinsic
        def load(typing_context, array, place):
            """As many numbers from the `place`-th on, in the order of memory."""

            def generate(context, builder, signature, arguments):
                found = builder.load(_place(context, builder, signature, arguments, lanes))
                found.align = 8
                return found

            return lanes(array, types.intp), generate

        @intrinsic
        def spread(typing_context, x):
            def generate(context, builder, signature, arguments):
                vector = context.get_value_type(lanes)
                one = builder.insert_element(ir.Constant(vector, ir.Undefined), arguments[0], ir.IntType(32)(0))
                mask = ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width)
                return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), mask)

            return lanes(types.float64), generate

        return load, spread

    @intrinsic
    def store(typing_context, array, place, lanes):
        def generate(context, builder, signature, arguments):
            builder.store(arguments[2], _place(context, builder, signature, arguments, signature.args[2]), align=8)
            return context.get_dummy_value()

        return types.void(array, types.intp, lanes), generate

    @intrinsic
    def add(typing_context, a, b):
        return a(a, a), lambda context, builder, signature, arguments: builder.fadd(*arguments)

    @intrinsic
    def times(typing_context, a, b):
        return a(a, a), lambda context, builder, signature, arguments: builder.fmul(*arguments)

    @intrinsic
    def over(typing_context, a, b):
        return a(a, a), lambda context, builder, signature, arguments: builder.fdiv(*arguments)

    @intrinsic
    def larger(typing_context, a, b):
        def generate(context, builder, signature, arguments):
            is_larger = builder.fcmp_ordered(">", *arguments)
            return builder.select(is_larger, *arguments)

        return a(a, a), generate


load, spread = of_width(WIDTH)
