"""Kernels of Gaussians that share one covariance. The mathematics is in `suffice.families.gaussian_tied`.

state = (weight[K], mean[K, d], covariance[d, d], precision[d, d], constant[K],
         linear[K, d] = precision @ mean, square[K] = mean' precision mean, location[d])        means relative to the location
constant[k] = -1/2 log |2 pi covariance|;  with z = row - location and u_k = mean_k - z,
scratch = (z[d], precision @ z [d], linear @ z [K], gram[K, K] = u' precision u, its copy, order[K], z' precision z [1])

Adding delta_k of a row to class k (with sum delta = 0) changes the covariance by sum_k g_k u_k u_k' with
g_k = weight_k delta_k / (weight_k' sum weight): a few updates of rank one, gains first so that every stage is positive definite.
"""

import math

import numpy as np

from ..compile import compiled
from ..machine.sums import dot, dot_difference


@compiled
def scratch_for(state):
    K, d = state[1].shape
    return np.empty(d), np.empty(d), np.empty(K), np.empty((K, K)), np.empty((K, K)), np.empty(K, np.int64), np.empty(1)


@compiled
def score(state, row, scores, scratch):
    weight, mean, covariance, precision, constant, linear, square, location = state
    z, image, along, gram, copy, order, length = scratch
    d = len(row)
    for a in range(d):
        z[a] = row[a] - location[a]
    reach_ = 0.0
    for a in range(d):
        inner = dot(precision[a], z)
        image[a] = inner
        reach_ += inner * z[a]
    length[0] = reach_
    for k in range(len(weight)):
        inner = dot(linear[k], z)
        along[k] = inner
        gram[k, k] = max(reach_ - 2.0 * inner + square[k], 0.0)
        scores[k] += constant[k] - 0.5 * gram[k, k]


@compiled
def slope(state, row, k, scratch):
    weight = state[0]
    q = scratch[3][k, k]
    return q / weight[k] + 0.5 * q * q / np.sum(weight)


@compiled
def gains_first(delta, order):
    """The classes that move, those that gain before those that lose; returns how many."""
    count = 0
    for k in range(len(delta)):
        if delta[k] > 0.0:
            order[count] = k
            count += 1
    for k in range(len(delta)):
        if delta[k] < 0.0:
            order[count] = k
            count += 1
    return count


@compiled
def curve(state, row, delta, rate, moved, scratch):
    weight = state[0]
    gram, copy, order = scratch[3], scratch[4], scratch[5]
    K = len(weight)
    whole = np.sum(weight)
    for k in range(K):
        for other in range(K):
            copy[k, other] = gram[k, other]
    log_ratio = 0.0
    for position in range(gains_first(delta, order)):
        k = order[position]
        step = rate * delta[k]
        g = weight[k] * step / ((weight[k] + step) * whole)
        spread = 1.0 + g * copy[k, k]
        log_ratio += math.log(spread)
        for a in range(K):
            if a != k:
                pull = g / spread * copy[a, k]
                for b in range(K):
                    if b != k:
                        copy[a, b] -= pull * copy[k, b]
        for a in range(K):
            if a != k:
                copy[a, k] /= spread
                copy[k, a] = copy[a, k]
        copy[k, k] /= spread
    for k in range(K):
        step = rate * delta[k]
        shrink = weight[k] / (weight[k] + step)
        change = shrink * shrink * copy[k, k] - gram[k, k]
        moved[k] -= 0.5 * (change + log_ratio)


@compiled
def reach(state, row, delta, scratch):
    """A rate that surely stays inside: no weight halves, and the losses take less than the covariance has."""
    weight, mean, covariance, precision, constant, linear, square, location = state
    z, image, along, gram, copy, order, length = scratch
    limit = np.inf
    loss = 0.0
    for k in range(len(weight)):
        for other in range(k):
            inner = dot(linear[k], mean[other])
            gram[k, other] = inner - along[k] - along[other] + length[0]
            gram[other, k] = gram[k, other]
        if delta[k] < 0.0:
            limit = min(limit, 0.5 * weight[k] / -delta[k])
            loss -= delta[k] * gram[k, k]
    if loss > 0.0:
        limit = min(limit, 0.5 * np.sum(weight) / loss)
    return limit


@compiled
def move(state, row, delta, scratch):
    weight, mean, covariance, precision, constant, linear, square, location = state
    z, image, along, gram, copy, order, length = scratch
    K, d = mean.shape
    whole = np.sum(weight)
    log_ratio = 0.0
    n_moving = gains_first(delta, order)
    for position in range(n_moving):
        k = order[position]
        step = delta[k]
        g = weight[k] * step / ((weight[k] + step) * whole)
        q = 0.0
        for a in range(d):
            inner = dot_difference(precision[a], mean[k], z)
            image[a] = inner
            q += inner * (mean[k, a] - z[a])
        spread = 1.0 + g * q
        log_ratio += math.log(spread)
        for a in range(d):
            pull = g / spread * image[a]
            left = g * (mean[k, a] - z[a])
            for b in range(d):
                precision[a, b] -= pull * image[b]
                covariance[a, b] += left * (mean[k, b] - z[b])
        for other in range(K):
            shadow = dot(image, mean[other])
            square[other] -= g / spread * shadow * shadow
            for a in range(d):
                linear[other, a] -= g / spread * shadow * image[a]
    for position in range(n_moving):
        k = order[position]
        share = delta[k] / (weight[k] + delta[k])
        for a in range(d):
            mean[k, a] += share * (z[a] - mean[k, a])
        weight[k] += delta[k]
        square[k] = 0.0
        for a in range(d):
            inner = dot(precision[a], mean[k])
            linear[k, a] = inner
            square[k] += inner * mean[k, a]
    for k in range(K):
        constant[k] -= 0.5 * log_ratio
