"""Algorithm 1 of Masegosa (2014) as printed (with the corrections of docs/decisions.md): one step per row, raw sums, check step."""

import math

import numpy as np

from ..compile import ForLoss
from ..rows import pairs_row


def gaussian_loop(X, y, order, rates, mass, first, second, pull, settings):
    """Section 4.1: counts N, sums S, sums of squares V; Beta prior (nu 0, alpha 1), Normal-Gamma (nu 1, alpha 0 and 1).

    Returns how often a check step mended a number. `pull` is 1 for the likelihood, 0 for losses that tell outcomes apart.
    """
    K, d = first.shape
    n = len(y)
    scores = np.empty(K)
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
        weigh(scores, y[order[t]], settings, weights)
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


def words_loop(rows, y, order, rates, mass, count, weight, gamma, alpha, settings):
    """Algorithms 2 to 4: counts are kept without the prior's growing part gamma, which is added where they are read."""
    n_words, K = count.shape
    n = len(y)
    scores = np.empty(K)
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
        weigh(scores, y[i], settings, weights)
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


gaussian_pass = ForLoss(gaussian_loop)
words_pass = ForLoss(words_loop)
