"""Sums and products over a row, in vector lanes (see `summing`)."""

from ..compile import summing


@summing
def sum_of(x):
    total = 0.0
    for j in range(len(x)):
        total += x[j]
    return total


@summing
def product_of(x, first, last):
    """x[first] ... x[last - 1]."""
    product = 1.0
    for j in range(first, last):
        product *= x[j]
    return product


@summing
def dot(x, y):
    total = 0.0
    for j in range(len(x)):
        total += x[j] * y[j]
    return total


@summing
def dot_difference(x, y, z):
    """<x, y - z>."""
    total = 0.0
    for j in range(len(x)):
        total += x[j] * (y[j] - z[j])
    return total
