"""What documents have contributed to a topic model, stored word by word: filled, added up, and shrunk where it asks for too much."""

import numpy as np

from ..compile import compiled
from .topics import evaluate, gather, longest, settle


@compiled
def fill_contributions(rows, first, last, multipliers, state, options, shapes, stored):
    """stored[w, z, k] = A_k x_w r_wzk at the given shapes (`options` as in `topics_incremental.propose`)."""
    indptr, indices, data = rows
    mass, total_mass, count, weight = state
    settings, tolerance, concentration, inference, n_steps, accuracy = options
    Z, K = weight.shape
    most = longest(indptr)
    local = np.empty((most, Z, K))
    norms = np.empty((most, K))
    theta = np.empty((Z, K))
    fresh = np.empty((Z, K))
    second = np.empty((Z, K))
    third = np.empty((Z, K))
    norm = np.empty(K)
    scores = np.zeros(K)
    for i in range(first, last):
        words = indices[indptr[i] : indptr[i + 1]]
        values = data[indptr[i] : indptr[i + 1]]
        length = values.sum()
        gather(words, count, local)
        settle(
            values, local, weight, length, concentration, inference, n_steps, accuracy,
            shapes[i], theta, fresh, norm, second, third,
        )  # fmt: skip
        evaluate(values, local, length, concentration, inference, shapes[i], theta, norms, scores)
        for p in range(len(words)):
            for z in range(Z):
                for k in range(K):
                    part = values[p] * theta[z, k] * local[p, z, k] / norms[p, k]
                    stored[indptr[i] + p, z, k] = multipliers[i, k] * part


@compiled
def add_contributions(rows, weights, stored, count):
    """count[w] += sum_i weight_i stored_i,w."""
    indptr, indices, data = rows
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            for z in range(count.shape[1]):
                for k in range(count.shape[2]):
                    count[indices[p], z, k] += weights[i] * stored[p, z, k]


@compiled
def make_room(rows, weights, stored, prior, least):
    """Shrink negative contributions cell by cell, until what is left of the prior with them is its share `least`."""
    indptr, indices, data = rows
    gain = np.zeros_like(prior)
    loss = np.zeros_like(prior)
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            for z in range(prior.shape[1]):
                for k in range(prior.shape[2]):
                    part = weights[i] * stored[p, z, k]
                    gain[indices[p], z, k] += max(part, 0.0)
                    loss[indices[p], z, k] -= min(part, 0.0)
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            w = indices[p]
            for z in range(prior.shape[1]):
                for k in range(prior.shape[2]):
                    room = gain[w, z, k] + (1.0 - least) * prior[w, z, k]
                    if stored[p, z, k] < 0.0 and loss[w, z, k] > room:
                        stored[p, z, k] *= room / loss[w, z, k]
