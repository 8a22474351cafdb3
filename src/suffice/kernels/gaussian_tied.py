"""Kernels of Gaussians that share one covariance. The mathematics is in `suffice.models.gaussian_tied`.

state = (mass[K], total[1], weight[K], mean[K, d], covariance[d, d], precision[d, d], constant[K])
constant[k] = log mass/total - 1/2 log |2 pi covariance|;  with u_k = mean_k - row,
scratch = (projected[K, d] = precision @ u_k, gram[K, K] = u' precision u, its copy, order[K])

Adding delta_k of a row to class k (with sum delta = 0) changes the covariance by sum_k g_k u_k u_k' with
g_k = weight_k delta_k / (weight_k' sum weight): a few updates of rank one, gains first so that every stage is positive definite.
"""

import math

import numpy as np

from .compile import compiled


@compiled
def scratch_for(state):
    K, d = state[3].shape
    return np.empty((K, d)), np.empty((K, K)), np.empty((K, K)), np.empty(K, np.int64)


@compiled
def score(state, row, scores, scratch):
    mass, total, weight, mean, covariance, precision, constant = state
    projected, gram, copy, order = scratch
    for k in range(len(mass)):
        distance = 0.0
        for a in range(len(row)):
            inner = 0.0
            for b in range(len(row)):
                inner += precision[a, b] * (mean[k, b] - row[b])
            projected[k, a] = inner
            distance += inner * (mean[k, a] - row[a])
        gram[k, k] = max(distance, 0.0)
        scores[k] = constant[k] - 0.5 * gram[k, k]


@compiled
def slope(state, row, k, scratch):
    mass, total, weight, mean, covariance, precision, constant = state
    q = scratch[1][k, k]
    return 1.0 / mass[k] + q / weight[k] + 0.5 * q * q / np.sum(weight)


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
def curve(state, row, scores, delta, rate, moved, scratch):
    mass, total, weight, mean, covariance, precision, constant = state
    projected, gram, copy, order = scratch
    K = len(mass)
    whole = np.sum(weight)
    copy[:] = gram
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
        moved[k] = scores[k] + math.log(1.0 + step / mass[k]) - 0.5 * (change + log_ratio)


@compiled
def reach(state, row, delta, scratch):
    """A rate that surely stays inside: no mass halves, and the losses take less than the covariance has."""
    mass, total, weight, mean, covariance, precision, constant = state
    projected, gram, copy, order = scratch
    limit = np.inf
    loss = 0.0
    for k in range(len(mass)):
        for l in range(k):
            inner = 0.0
            for a in range(len(row)):
                inner += projected[k, a] * (mean[l, a] - row[a])
            gram[k, l] = inner
            gram[l, k] = inner
        if delta[k] < 0.0:
            limit = min(limit, 0.5 * min(mass[k], weight[k]) / -delta[k])
            loss -= delta[k] * gram[k, k]
    if loss > 0.0:
        limit = min(limit, 0.5 * np.sum(weight) / loss)
    return limit


@compiled
def move(state, row, delta, scratch):
    mass, total, weight, mean, covariance, precision, constant = state
    projected, gram, copy, order = scratch
    K, d = mean.shape
    whole = np.sum(weight)
    log_ratio = 0.0
    image = projected[0]  # scratch is free again: the next row fills it anew
    for position in range(gains_first(delta, order)):
        k = order[position]
        step = delta[k]
        g = weight[k] * step / ((weight[k] + step) * whole)
        q = 0.0
        for a in range(d):
            inner = 0.0
            for b in range(d):
                inner += precision[a, b] * (mean[k, b] - row[b])
            image[a] = inner
            q += inner * (mean[k, a] - row[a])
        spread = 1.0 + g * q
        log_ratio += math.log(spread)
        for a in range(d):
            pull = g / spread * image[a]
            left = g * (mean[k, a] - row[a])
            for b in range(d):
                precision[a, b] -= pull * image[b]
                covariance[a, b] += left * (mean[k, b] - row[b])
    for k in range(K):
        step = delta[k]
        if step != 0.0:
            share = step / (weight[k] + step)
            for a in range(d):
                mean[k, a] += share * (row[a] - mean[k, a])
            weight[k] += step
            constant[k] += math.log(1.0 + step / mass[k])
            mass[k] += step
        constant[k] -= 0.5 * log_ratio
