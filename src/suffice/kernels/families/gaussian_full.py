"""Kernels of the Gaussian with a full covariance per class. The mathematics is in `suffice.families.gaussian_full`.

state = (weight[K], mean[K, d], covariance[K, d, d], precision[K, d, d], constant[K])
scratch = (q[K], projected[K, d]): the squared Mahalanobis distance and precision @ (row - mean)

One row changes a covariance by a matrix of rank one, so the score along a step is a function of q alone.
"""

import math

import numpy as np

from ..compile import compiled
from ..machine.sums import dot_difference


@compiled
def scratch_for(state):
    return np.empty(len(state[0])), np.empty(state[1].shape)


@compiled
def score(state, row, scores, scratch):
    weight, mean, covariance, precision, constant = state
    q, projected = scratch
    for k in range(len(weight)):
        distance = 0.0
        for a in range(len(row)):
            inner = dot_difference(precision[k, a], row, mean[k])
            projected[k, a] = inner
            distance += inner * (row[a] - mean[k, a])
        q[k] = max(distance, 0.0)
        scores[k] += constant[k] - 0.5 * q[k]


@compiled
def slope(state, row, k, scratch):
    weight, mean, covariance, precision, constant = state
    q = scratch[0][k]
    return 0.5 * (len(row) + q * q) / weight[k]


@compiled
def curve(state, row, delta, rate, moved, scratch):
    weight, mean, covariance, precision, constant = state
    for k in range(len(weight)):
        if delta[k] == 0.0:
            continue
        step = rate * delta[k]
        q = scratch[0][k]
        old = weight[k]
        new = old + step
        spread = new + step * q
        log_ratio = len(row) * math.log(old / new) + math.log(spread / new)  # log |V'| / |V|
        moved[k] -= 0.5 * (old * q / spread - q + log_ratio)


@compiled
def reach(state, row, delta, scratch):
    weight, mean, covariance, precision, constant = state
    limit = np.inf
    for k in range(len(weight)):
        if delta[k] < 0.0:
            limit = min(limit, weight[k] / (1.0 + scratch[0][k]) / -delta[k])
    return limit


@compiled
def move(state, row, delta, scratch):
    weight, mean, covariance, precision, constant = state
    q, projected = scratch
    d = len(row)
    for k in range(len(weight)):
        step = delta[k]
        if step == 0.0:
            continue
        old = weight[k]
        new = old + step
        share = step / new
        shrink, grow = old / new, new / old
        spread = 1.0 + share * q[k]
        for a in range(d):
            left = share * (row[a] - mean[k, a])
            pull = share / spread * projected[k, a]
            for b in range(d):
                covariance[k, a, b] = shrink * (covariance[k, a, b] + left * (row[b] - mean[k, b]))
                precision[k, a, b] = (precision[k, a, b] - pull * projected[k, b]) * grow
        for a in range(d):
            mean[k, a] += share * (row[a] - mean[k, a])
        weight[k] = new
        constant[k] -= 0.5 * (d * math.log(shrink) + math.log(spread))
