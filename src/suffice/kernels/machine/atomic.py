"""Counters that several threads read and change: loads, stores and additions that are whole and in order.

Everything a thread wrote before `store` or `add` is seen by a thread that later reads the new value by `load` or `add`.
"""

import threading

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

if getattr(numba.config, "DISABLE_JIT", False):
    LOCK = threading.Lock()

    def load(counters, index):
        return counters[index]

    def store(counters, index, value):
        counters[index] = value

    def add(counters, index, amount):
        with LOCK:
            before = int(counters[index])
            counters[index] = before + amount
        return before

else:

    def _place(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.gep(array.data, [arguments[1]])

    @intrinsic
    def load(typing_context, counters, index):
        """counters[index] of a contiguous array of int64."""

        def generate(context, builder, signature, arguments):
            return builder.load_atomic(_place(context, builder, signature, arguments), "acquire", 8)

        return types.int64(counters, types.intp), generate

    @intrinsic
    def store(typing_context, counters, index, value):
        """counters[index] = value."""

        def generate(context, builder, signature, arguments):
            builder.store_atomic(arguments[2], _place(context, builder, signature, arguments), "release", 8)
            return context.get_dummy_value()

        return types.void(counters, types.intp, types.int64), generate

    @intrinsic
    def add(typing_context, counters, index, amount):
        """counters[index] += amount; returns what was there before."""

        def generate(context, builder, signature, arguments):
            place = _place(context, builder, signature, arguments)
            return builder.atomic_rmw("add", place, builder.bitcast(arguments[2], ir.IntType(64)), "acq_rel")

        return types.int64(counters, types.intp, types.int64), generate
