"""A hint to the processor that a row of a table will be read soon. It never faults, and does nothing where numba is switched off."""

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LINE = 64  # bytes of a cache line

if getattr(numba.config, "DISABLE_JIT", False):

    def prefetch(table, offset):
        pass

else:

    @intrinsic
    def prefetch(typing_context, table, offset):
        """Fetch the cache line at the byte `offset` of the array's data."""

        def generate(context, builder, signature, arguments):
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            byte = ir.IntType(8).as_pointer()
            place = builder.gep(builder.bitcast(array.data, byte), [arguments[1]])
            word = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
            function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            builder.call(function, [place, word(0), word(3), word(1)])  # read, keep in all levels, data
            return context.get_dummy_value()

        return types.void(table, offset), generate
