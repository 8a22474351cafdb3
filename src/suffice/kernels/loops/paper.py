"""Algorithm 1 of Masegosa (2014) as printed (with the corrections of docs/decisions.md): one step per row, raw sums, check step."""

import math

import numpy as np

from ..compile import compiled
from ..rows import pairs_row
from .incremental import HINGE, NCLL, softmax


@compiled
def loss_weights(scores, label, loss, scaled, posterior, weights):
    """Fill the signed weights of Table 1 (their Algorithms 4 and 7 scale the hinge's by 1 - p(y) and p(rival))."""
    softmax(scores, posterior)
    for k in range(len(scores)):
        weights[k] = -posterior[k] if loss == NCLL else 0.0
    if loss == HINGE:
        rival = -1
        for k in range(len(scores)):
            if k != label and (rival < 0 or scores[k] > scores[rival]):
                rival = k
        if scores[label] - scores[rival] < 1.0:
            weights[label] = 1.0 - posterior[label] if scaled else 1.0
            weights[rival] = -posterior[rival] if scaled else -1.0
    else:
        weights[label] += 1.0


@compiled
def gaussian_pass(X, y, order, rates, mass, first, second, loss, scaled):
    """Section 4.1: counts N, sums S, sums of squares V; Beta prior (nu 0, alpha 1), Normal-Gamma (nu 1, alpha 0 and 1)."""
    K, d = first.shape
    n = len(y)
    scores = np.empty(K)
    posterior = np.empty(K)
    weights = np.empty(K)
    fixed = 0
    for t in range(len(order)):
        row = X[order[t]]
        rate = rates[t]
        for k in range(K):
            score = math.log(mass[k])
            for j in range(d):
                mean = first[k, j] / mass[k]
                variance = second[k, j] / mass[k] - mean * mean
                score -= 0.5 * (math.log(variance) + (row[j] - mean) * (row[j] - mean) / variance)
            scores[k] = score
        loss_weights(scores, y[order[t]], loss, scaled, posterior, weights)
        pull = 1.0 if loss == 0 else 0.0
        for k in range(K):
            mass[k] += rate * (weights[k] - pull * mass[k] + 1.0 / n)
            if mass[k] < rate / n:
                mass[k] = rate / n
                fixed += 1
            keep = 1.0 - rate * (pull + 1.0 / n)
            for j in range(d):
                first[k, j] = keep * first[k, j] + rate * weights[k] * row[j]
                second[k, j] = keep * second[k, j] + rate * (weights[k] * row[j] * row[j] + 1.0 / n)
                least = first[k, j] * first[k, j] / mass[k] + rate / n
                if second[k, j] < least:
                    second[k, j] = least
                    fixed += 1
    return fixed


@compiled
def words_pass(rows, y, order, rates, mass, count, weight, gamma, alpha, loss, scaled):
    """Algorithms 2 to 4: counts are kept without the prior's growing part gamma, which is added where they are read."""
    n_words, K = count.shape
    n = len(y)
    scores = np.empty(K)
    posterior = np.empty(K)
    weights = np.empty(K)
    fixed = 0
    for t in range(len(order)):
        i = order[t]
        rate = rates[t]
        gamma += alpha * rate / n
        words, values = pairs_row(rows, i)
        length = 0.0
        for k in range(K):
            scores[k] = math.log(mass[k] + gamma)
        for position in range(len(words)):
            length += values[position]
            for k in range(K):
                scores[k] += values[position] * math.log(count[words[position], k] + gamma)
        for k in range(K):
            scores[k] -= length * math.log(weight[k] + gamma * n_words)
        loss_weights(scores, y[i], loss, scaled, posterior, weights)
        for k in range(K):
            if weights[k] != 0.0:
                mass[k] += rate * weights[k]
                if mass[k] < 0.0:
                    mass[k] = 0.0
                    fixed += 1
                for position in range(len(words)):
                    word = words[position]
                    old = count[word, k]
                    count[word, k] = max(old + rate * weights[k] * values[position], 0.0)
                    fixed += count[word, k] == 0.0
                    weight[k] += count[word, k] - old
    return gamma, fixed
