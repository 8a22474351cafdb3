"""Kernels of a table with Gaussian, categorical and Poisson columns side by side. The mathematics is in `suffice.families.mixed`.

state = (cuts[2], gaussian's state, categorical's state, poisson's state); a row holds the columns in that order, cut at `cuts`.
Every part keeps the masses of the outcomes for itself and moves them alike, so what concerns them is counted three times: twice too
often, which each kernel takes back. scratch = (gaussian's, categorical's, poisson's, part[K]).
"""

import math

import numpy as np

from ..compile import compiled
from . import categorical, gaussian_diagonal, poisson

gaussian_scratch, gaussian_score = gaussian_diagonal.scratch_for, gaussian_diagonal.score
gaussian_slope, gaussian_curve = gaussian_diagonal.slope, gaussian_diagonal.curve
gaussian_reach, gaussian_move = gaussian_diagonal.reach, gaussian_diagonal.move
categorical_scratch, categorical_score = categorical.scratch_for, categorical.score
categorical_slope, categorical_curve = categorical.slope, categorical.curve
categorical_reach, categorical_move = categorical.reach, categorical.move
poisson_scratch, poisson_score = poisson.scratch_for, poisson.score
poisson_slope, poisson_curve = poisson.slope, poisson.curve
poisson_reach, poisson_move = poisson.reach, poisson.move


@compiled
def scratch_for(state):
    cuts, numbers, categories, counts = state
    part = np.empty(len(numbers[0]))
    return gaussian_scratch(numbers), categorical_scratch(categories), poisson_scratch(counts), part


@compiled
def score(state, row, scores, scratch):
    cuts, numbers, categories, counts = state
    a, b = cuts[0], cuts[1]
    part = scratch[3]
    mass, log_total = numbers[0], math.log(numbers[1][0])
    gaussian_score(numbers, row[:a], scores, scratch[0])
    for k in range(len(scores)):
        scores[k] -= 2.0 * (math.log(mass[k]) - log_total)
    categorical_score(categories, row[a:b], part, scratch[1])
    for k in range(len(scores)):
        scores[k] += part[k]
    poisson_score(counts, row[b:], part, scratch[2])
    for k in range(len(scores)):
        scores[k] += part[k]


@compiled
def slope(state, row, k, scratch):
    cuts, numbers, categories, counts = state
    a, b = cuts[0], cuts[1]
    rise = gaussian_slope(numbers, row[:a], k, scratch[0]) + categorical_slope(categories, row[a:b], k, scratch[1])
    return rise + poisson_slope(counts, row[b:], k, scratch[2]) - 2.0 / numbers[0][k]


@compiled
def curve(state, row, scores, delta, rate, moved, scratch):
    cuts, numbers, categories, counts = state
    a, b = cuts[0], cuts[1]
    part = scratch[3]
    gaussian_curve(numbers, row[:a], scores, delta, rate, part, scratch[0])
    categorical_curve(categories, row[a:b], part, delta, rate, moved, scratch[1])
    poisson_curve(counts, row[b:], moved, delta, rate, part, scratch[2])
    for k in range(len(scores)):
        moved[k] = part[k]
        if delta[k] != 0.0:
            moved[k] -= 2.0 * math.log(1.0 + rate * delta[k] / numbers[0][k])


@compiled
def reach(state, row, delta, scratch):
    cuts, numbers, categories, counts = state
    a, b = cuts[0], cuts[1]
    limit = gaussian_reach(numbers, row[:a], delta, scratch[0])
    limit = min(limit, categorical_reach(categories, row[a:b], delta, scratch[1]))
    return min(limit, poisson_reach(counts, row[b:], delta, scratch[2]))


@compiled
def move(state, row, delta, scratch):
    cuts, numbers, categories, counts = state
    a, b = cuts[0], cuts[1]
    gaussian_move(numbers, row[:a], delta, scratch[0])
    categorical_move(categories, row[a:b], delta, scratch[1])
    poisson_move(counts, row[b:], delta, scratch[2])
