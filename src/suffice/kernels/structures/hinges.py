"""Missing cells of experts with bends: moments of f(z), z ~ N(m, v), and their derivatives (formulas: `suffice.structures.hinges`)."""

import math

import numpy as np

from ..compile import compiled, inlined

DENSITY = 0.3989422804014327  # 1 / sqrt(2 pi)
ROOT_HALF = 0.7071067811865476
LEAST = 1e-150  # of a deviation


@inlined
def bent_pieces(knots, first, last, slope, bends, mean, variance, pieces, height):
    """The pieces of one cell: rows alpha, beta, P, M1, M2 of `pieces`, and the density at every knot; returns how many pieces.

    knots[first:last] rise; `slope` is that below the first, and bends[first:last] are what every knot adds to it.
    """
    s = max(math.sqrt(variance), LEAST)
    alpha, beta = 0.0, slope
    below, edge, pull = 0.0, 0.0, 0.0  # Phi(t), phi(t), t phi(t) at the lower end
    n = last - first
    for i in range(n + 1):
        upper, upper_edge, upper_pull = 1.0, 0.0, 0.0
        if i < n:
            t = (knots[first + i] - mean) / s
            upper = 0.5 * math.erfc(-t * ROOT_HALF)
            upper_edge = math.exp(-0.5 * min(t * t, 1e4)) * DENSITY
            upper_pull = t * upper_edge
            height[i] = upper_edge / s
        share, by_edge, by_pull = upper - below, edge - upper_edge, pull - upper_pull
        pieces[0, i], pieces[1, i], pieces[2, i] = alpha, beta, share
        pieces[3, i] = mean * share + s * by_edge
        pieces[4, i] = mean * mean * share + 2 * mean * s * by_edge + s * s * (share + by_pull)
        below, edge, pull = upper, upper_edge, upper_pull
        if i < n:
            alpha -= bends[first + i] * knots[first + i]
            beta += bends[first + i]
    return n + 1


@compiled
def bent_moments(knots, ends, slope, mean, variance, centre, spread):
    """centre, spread (K, d): E f and Var f of every component and column; knots[ends[j]:ends[j + 1]] are those of column j."""
    K, d = mean.shape
    pieces, height = np.empty((5, len(knots) + 1)), np.empty(len(knots) + 1)
    for k in range(K):
        bends = slope[k, d:]
        for j in range(d):
            n = bent_pieces(knots, ends[j], ends[j + 1], slope[k, j], bends, mean[k, j], variance[k, j], pieces, height)
            total, square = 0.0, 0.0
            for i in range(n):
                alpha, beta, share, one, two = pieces[0, i], pieces[1, i], pieces[2, i], pieces[3, i], pieces[4, i]
                total += alpha * share + beta * one
                square += alpha * alpha * share + 2 * alpha * beta * one + beta * beta * two
            centre[k, j] = total
            spread[k, j] = max(square - total * total, 0.0)


@compiled
def bent_pulls(knots, ends, slope, mean, variance, d_mean, d_variance, d_slope, first, second):
    """Derivatives in the slopes, and statistics (minus derivatives in theta) of z and z^2, of those in E f and Var f."""
    K, d = mean.shape
    pieces, height = np.empty((5, len(knots) + 1)), np.empty(len(knots) + 1)
    for k in range(K):
        bends = slope[k, d:]
        for j in range(d):
            a, m, v = ends[j], mean[k, j], variance[k, j]
            n = bent_pieces(knots, a, ends[j + 1], slope[k, j], bends, m, v, pieces, height)
            centre, moved, rise, steep, by_rise = 0.0, 0.0, 0.0, 0.0, 0.0
            for i in range(n):
                alpha, beta, share, one, two = pieces[0, i], pieces[1, i], pieces[2, i], pieces[3, i], pieces[4, i]
                times = alpha * share + beta * one
                centre += times  # E f
                moved += alpha * one + beta * two  # E z f
                rise += beta * share  # E f'
                steep += beta * beta * share  # E f'^2
                by_rise += beta * times  # E f f'
            of_mean, of_variance = d_mean[k, j], 2 * d_variance[k, j]
            d_slope[k, j] = of_mean * m + of_variance * (moved - m * centre)
            above, above_one, above_times, above_moved = 0.0, 0.0, 0.0, 0.0
            turn, turn_by = 0.0, 0.0  # E f'', E f f'' less C E f''
            for i in range(n - 1, 0, -1):
                alpha, beta, share, one, two = pieces[0, i], pieces[1, i], pieces[2, i], pieces[3, i], pieces[4, i]
                above += share
                above_one += one
                above_times += alpha * share + beta * one
                above_moved += alpha * one + beta * two
                q, bend = knots[a + i - 1], bends[a + i - 1]
                lift = above_one - q * above  # E (z - q)+
                d_slope[k, d + a + i - 1] = of_mean * lift + of_variance * (
                    above_moved - q * above_times - lift * centre
                )
                turn += bend * height[i - 1]
                turn_by += bend * height[i - 1] * (alpha + beta * q - centre)
            own = -v * (of_mean * rise + of_variance * (by_rise - centre * rise))
            first[k, j] = own
            second[k, j] = 2 * m * own - v * v * (of_mean * turn + of_variance * (steep + turn_by))
