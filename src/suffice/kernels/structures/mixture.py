"""Compiled loops of mixtures: posteriors of outcomes, weights of the losses with latent components, rows as statistics.

Outcomes come in groups of `width` neighbours: the components of a mixture are one group, or each its own; those of a classifier are
grouped by class. A row's label names its group (-1: none).
"""

import math

import numpy as np

from ..compile import ForLoss, compiled, summing
from ..machine.fast_exp import LOWEST, exponentials
from ..machine.softmax import softmax


@compiled
def posteriors(scores, constant, labels, width, weights, norms, scratch, mass):
    """scores + constant <- weight times the posterior of the outcomes (within the label's group), in place.

    norms <- log-likelihoods of the rows; mass += sums over the rows. Returns the weighted sum of the norms. `scratch` has as many cells
    as `scores`.
    """
    n, J = scores.shape
    for i in range(n):
        first, last = 0, J
        if labels[i] >= 0:
            first, last = labels[i] * width, (labels[i] + 1) * width
        top = -np.inf
        for j in range(first, last):
            scores[i, j] += constant[j]
            top = max(top, scores[i, j])
        norms[i] = top
        if top == -np.inf:
            top = 0.0
        if last - first == J:
            for j in range(J):
                scores[i, j] -= top
        else:
            for j in range(J):
                scores[i, j] = scores[i, j] - top if first <= j < last else 2 * LOWEST
    exponentials(scores.reshape(n * J), scratch)
    total = 0.0
    for i in range(n):
        first, last = 0, J
        if labels[i] >= 0:
            first, last = labels[i] * width, (labels[i] + 1) * width
        whole = 0.0
        for j in range(first, last):
            whole += scores[i, j]
        factor = weights[i] / whole
        for j in range(first):
            scores[i, j] = 0.0
        for j in range(last, J):
            scores[i, j] = 0.0
        for j in range(J):
            scores[i, j] *= factor
            mass[j] += scores[i, j]
        norms[i] += math.log(whole)
        total += weights[i] * norms[i]
    return total


@compiled
def group_scores(scores, width, result):
    """result[i, c] = log sum of exp over the outcomes of group c."""
    n, J = scores.shape
    for i in range(n):
        for c in range(J // width):
            top = -np.inf
            for j in range(c * width, (c + 1) * width):
                top = max(top, scores[i, j])
            if top == -np.inf:
                result[i, c] = top
                continue
            whole = 0.0
            for j in range(c * width, (c + 1) * width):
                whole += math.exp(scores[i, j] - top)
            result[i, c] = top + math.log(whole)


def weigh_in_groups(scores, constant, y, weights, width, settings, groups, scratch):
    """The sum of a loss over groups; scores + constant <- signed weights of the outcomes (Masegosa 2014, Table 2), in place.

    A row without a label takes its marginal likelihood. groups <- log p(x, group). A group's outcomes share its weight by their
    posterior: w_j = w_group p(j | group).
    """
    n, J = scores.shape
    n_groups = J // width
    for i in range(n):
        for c in range(n_groups):
            top = -np.inf
            for j in range(c * width, (c + 1) * width):
                scores[i, j] += constant[j]
                top = max(top, scores[i, j])
            groups[i, c] = top
            if top == -np.inf:
                top = 0.0
            for j in range(c * width, (c + 1) * width):
                scores[i, j] -= top
    exponentials(scores.reshape(n * J), scratch)
    total = 0.0
    shares = np.empty(n_groups)
    for i in range(n):
        for c in range(n_groups):
            whole = 0.0
            for j in range(c * width, (c + 1) * width):
                whole += scores[i, j]
            for j in range(c * width, (c + 1) * width):
                scores[i, j] /= whole
            groups[i, c] += math.log(whole)
        if y[i] < 0:
            total -= weights[i] * softmax(groups[i], shares)
        else:
            total += weights[i] * weigh(groups[i], y[i], settings, shares)
        for c in range(n_groups):
            share = weights[i] * shares[c]
            for j in range(c * width, (c + 1) * width):
                scores[i, j] *= share
    return total


weigh_groups = ForLoss(weigh_in_groups)


@compiled
def squares(X, first_row, n, location, phi):
    """phi[i] = (z, z^2) with z = x - location."""
    d = X.shape[1]
    for i in range(n):
        for j in range(d):
            z = X[first_row + i, j] - location[j]
            phi[i, j] = z
            phi[i, d + j] = z * z


@compiled
def seen_squares(X, first_row, n, location, phi):
    """phi[i] = (1, z, z^2) of observed cells, (0, 0, 0) of missing ones."""
    d = X.shape[1]
    for i in range(n):
        for j in range(d):
            z = X[first_row + i, j] - location[j]
            seen = z == z
            phi[i, j] = 1.0 if seen else 0.0
            phi[i, d + j] = z if seen else 0.0
            phi[i, 2 * d + j] = z * z if seen else 0.0


@compiled
def seen_values(X, first_row, n, phi):
    """phi[i] = (1, x) of observed cells, (0, 0) of missing ones."""
    d = X.shape[1]
    for i in range(n):
        for j in range(d):
            x = X[first_row + i, j]
            seen = x == x
            phi[i, j] = 1.0 if seen else 0.0
            phi[i, d + j] = x if seen else 0.0


@compiled
def products(X, first_row, n, location, phi):
    """phi[i] = (z, the upper triangle of z z')."""
    d = X.shape[1]
    for i in range(n):
        row = phi[i]
        for j in range(d):
            row[j] = X[first_row + i, j] - location[j]
        place = d
        for a in range(d):
            z = row[a]
            for b in range(a, d):
                row[place] = z * row[b]
                place += 1


@summing
def whitened_scores(whitened, centres, scores):
    """scores[i, k] = -1/2 |whitened[i, k] - centres[k]|^2, whitened rows of all outcomes side by side."""
    n, K = scores.shape
    d = centres.shape[1]
    for i in range(n):
        for k in range(K):
            distance = 0.0
            base = k * d
            for j in range(d):
                difference = whitened[i, base + j] - centres[k, j]
                distance += difference * difference
            scores[i, k] = -0.5 * distance


@compiled
def category_scores(X, first_row, n, offset, logits, scores):
    """scores[i] = the sum of the logits of the row's categories (cells by outcomes); a missing cell adds nothing."""
    d, K = X.shape[1], scores.shape[1]
    for i in range(n):
        for k in range(K):
            scores[i, k] = 0.0
        for j in range(d):
            x = X[first_row + i, j]
            if x == x:
                cell = offset[j] + int(x)
                for k in range(K):
                    scores[i, k] += logits[cell, k]


@compiled
def category_sums(X, first_row, n, offset, weights, count):
    d, K = X.shape[1], weights.shape[1]
    for i in range(n):
        for j in range(d):
            x = X[first_row + i, j]
            if x == x:
                cell = offset[j] + int(x)
                for k in range(K):
                    count[cell, k] += weights[i, k]


@compiled
def sparse_scores(indptr, indices, data, first_row, n, logits, scores):
    """scores[i] = sum of x_w logits[w]; stored NaN add nothing."""
    K = scores.shape[1]
    for i in range(n):
        for k in range(K):
            scores[i, k] = 0.0
        for position in range(indptr[first_row + i], indptr[first_row + i + 1]):
            word, x = indices[position], data[position]
            for k in range(K):
                scores[i, k] += x * logits[word, k]


@compiled
def sparse_sums(indptr, indices, data, first_row, n, weights, count):
    K = weights.shape[1]
    for i in range(n):
        for position in range(indptr[first_row + i], indptr[first_row + i + 1]):
            word, x = indices[position], data[position]
            for k in range(K):
                count[word, k] += x * weights[i, k]
