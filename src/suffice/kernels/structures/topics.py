"""Documents of class-conditional topic models: inference of the proportions, scores, statistics. Twin: `suffice.structures.topics`.

Arrays have topics before classes, count[word, topic, class], so that inner loops run over the classes of one topic.
state = (mass[K], total[1], count[W, Z, K], weight[Z, K] = sum over words); rows = (indptr, indices, data).
shape[z, k] = concentration + expected counts of topic z in the document, were it of class k: what inference finds.
"""

import math

import numpy as np

from ..compile import compiled
from ..machine.fast_log import fast_log

MAP, VARIATIONAL = 0, 1
TINY = 1e-300


@compiled
def digamma(x):
    """The derivative of log Gamma for x > 0: recurrence up to 6, then the asymptotic series (error below 1e-11)."""
    value = 0.0
    while x < 6.0:
        value -= 1.0 / x
        x += 1.0
    inverse = 1.0 / (x * x)
    series = inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse * (1 / 240 - inverse / 132))))
    return value + math.log(x) - 0.5 / x - series


@compiled
def gather(words, count, local):
    """The document's own rows of the table, next to each other."""
    Z, K = count.shape[1], count.shape[2]
    for p in range(len(words)):
        for z in range(Z):
            for k in range(K):
                local[p, z, k] = count[words[p], z, k]


@compiled
def spread_shape(length, concentration, shape):
    """The start of inference: a document that is of every topic alike."""
    Z, K = shape.shape
    for z in range(Z):
        for k in range(K):
            shape[z, k] = concentration + length / Z


@compiled
def fill_theta(shape, weight, total, inference, theta):
    """theta[z, k] = share of the topic (its mean, or the exponential of its expected logarithm) / weight of the topic."""
    Z, K = shape.shape
    if inference == VARIATIONAL:
        least = digamma(total)
        for z in range(Z):
            for k in range(K):
                theta[z, k] = math.exp(digamma(shape[z, k]) - least) / weight[z, k]
    else:
        for z in range(Z):
            for k in range(K):
                theta[z, k] = shape[z, k] / (total * weight[z, k])


@compiled
def improve(values, local, weight, length, concentration, inference, shape, theta, fresh, norm):
    """One step of the fixed point: `fresh` is the next shape. The likelihood (or bound) never falls from one to the next."""
    Z, K = shape.shape
    fill_theta(shape, weight, length + Z * concentration, inference, theta)
    for z in range(Z):
        for k in range(K):
            fresh[z, k] = 0.0
    for p in range(len(values)):
        for k in range(K):
            norm[k] = TINY
        for z in range(Z):
            for k in range(K):
                norm[k] += theta[z, k] * local[p, z, k]
        for k in range(K):
            norm[k] = values[p] / norm[k]
        for z in range(Z):
            for k in range(K):
                fresh[z, k] += norm[k] * local[p, z, k]
    for z in range(Z):
        for k in range(K):
            fresh[z, k] = concentration + theta[z, k] * fresh[z, k]


@compiled
def infer(values, local, weight, length, concentration, inference, n_steps, tolerance, shape, theta, fresh, norm):
    """Steps of the fixed point of `shape` from where it is; `theta` is then that of the last shape."""
    Z, K = shape.shape
    total = length + Z * concentration
    for _ in range(n_steps):
        improve(values, local, weight, length, concentration, inference, shape, theta, fresh, norm)
        change = 0.0
        for z in range(Z):
            for k in range(K):
                change = max(change, abs(fresh[z, k] - shape[z, k]))
                shape[z, k] = fresh[z, k]
        if change <= tolerance * total:
            break
    fill_theta(shape, weight, total, inference, theta)


@compiled
def settle(
    values,
    local,
    weight,
    length,
    concentration,
    inference,
    n_steps,
    tolerance,
    shape,
    theta,
    fresh,
    norm,
    second,
    third,
):
    """`infer` with extrapolation: two steps, then as far along them as they bend (SQUAREM, Varadhan and Roland 2008).

    Each class is extrapolated by itself; where a topic would get less than nothing, the second step is taken.
    """
    Z, K = shape.shape
    total = length + Z * concentration
    for _ in range(n_steps):
        improve(values, local, weight, length, concentration, inference, shape, theta, fresh, norm)
        change = 0.0
        for z in range(Z):
            for k in range(K):
                second[z, k] = fresh[z, k]
                change = max(change, abs(fresh[z, k] - shape[z, k]))
        if change <= tolerance * total:
            for z in range(Z):
                for k in range(K):
                    shape[z, k] = second[z, k]
            break
        improve(values, local, weight, length, concentration, inference, second, theta, third, norm)
        for k in range(K):
            along = 0.0
            bend = 0.0
            for z in range(Z):
                first = second[z, k] - shape[z, k]
                turn = third[z, k] - second[z, k] - first
                along += first * first
                bend += turn * turn
            rate = min(max(math.sqrt(along / max(bend, TINY)), 1.0), 100.0)
            inside = True
            for z in range(Z):
                first = second[z, k] - shape[z, k]
                turn = third[z, k] - second[z, k] - first
                fresh[z, k] = shape[z, k] + 2.0 * rate * first + rate * rate * turn
                inside = inside and fresh[z, k] > concentration
            for z in range(Z):
                shape[z, k] = fresh[z, k] if inside else third[z, k]
    fill_theta(shape, weight, total, inference, theta)


@compiled
def evaluate(values, local, length, concentration, inference, shape, theta, norms, scores):
    """scores[k] += log-likelihood of the document (bound) at the given shape; norms[p, k] = sum_z theta_zk count_zk."""
    Z, K = shape.shape
    for p in range(len(values)):
        for k in range(K):
            norms[p, k] = TINY
        for z in range(Z):
            for k in range(K):
                norms[p, k] += theta[z, k] * local[p, z, k]
        for k in range(K):
            scores[k] += values[p] * fast_log(norms[p, k])
    total = length + Z * concentration
    if inference == VARIATIONAL:
        constant = math.lgamma(Z * concentration) - Z * math.lgamma(concentration) - math.lgamma(total)
        least = digamma(total)
        for k in range(K):
            scores[k] += constant
            for z in range(Z):
                expected = digamma(shape[z, k]) - least
                scores[k] += math.lgamma(shape[z, k]) + (concentration - shape[z, k]) * expected
    else:
        for k in range(K):
            for z in range(Z):
                scores[k] += concentration * math.log(Z * shape[z, k] / total)


@compiled
def longest(indptr):
    """The number of non-zeros of the longest row."""
    most = 1
    for i in range(len(indptr) - 1):
        most = max(most, indptr[i + 1] - indptr[i])
    return most


@compiled
def score_documents(rows, first, last, state, concentration, inference, n_steps, tolerance, warm, shapes, scores):
    """scores[i, k] = log p(x_i, k) of documents first .. last; `shapes` are where inference starts (if warm) and ends."""
    indptr, indices, data = rows
    mass, total_mass, count, weight = state
    Z, K = weight.shape
    most = longest(indptr)
    local = np.empty((most, Z, K))
    norms = np.empty((most, K))
    theta = np.empty((Z, K))
    fresh = np.empty((Z, K))
    second = np.empty((Z, K))
    third = np.empty((Z, K))
    norm = np.empty(K)
    for i in range(first, last):
        words = indices[indptr[i] : indptr[i + 1]]
        values = data[indptr[i] : indptr[i + 1]]
        length = values.sum()
        gather(words, count, local)
        if not warm:
            spread_shape(length, concentration, shapes[i])
        settle(
            values, local, weight, length, concentration, inference, n_steps, tolerance,
            shapes[i], theta, fresh, norm, second, third,
        )  # fmt: skip
        for k in range(K):
            scores[i, k] = math.log(mass[k] / total_mass[0])
        evaluate(values, local, length, concentration, inference, shapes[i], theta, norms, scores[i])


@compiled
def add_statistics(
    rows, first, last, responsibilities, state, concentration, inference, n_steps, tolerance, warm, shapes, count
):  # fmt: skip
    """count[w, z, k] += sum_i responsibilities_ik x_iw p(topic z | word w, class k); only classes that have one are inferred."""
    indptr, indices, data = rows
    mass, total_mass, own, weight = state
    Z, K = weight.shape
    most = longest(indptr)
    local = np.empty((most, Z, 1))
    theta = np.empty((Z, 1))
    fresh = np.empty((Z, 1))
    shape = np.empty((Z, 1))
    part = np.empty((Z, 1))
    norm = np.empty(1)
    for i in range(first, last):
        words = indices[indptr[i] : indptr[i + 1]]
        values = data[indptr[i] : indptr[i + 1]]
        length = values.sum()
        for k in range(K):
            if responsibilities[i, k] == 0.0:
                continue
            for z in range(Z):
                part[z, 0] = weight[z, k]
                shape[z, 0] = shapes[i, z, k]
                for p in range(len(words)):
                    local[p, z, 0] = own[words[p], z, k]
            if not warm:
                spread_shape(length, concentration, shape)
            infer(values, local, part, length, concentration, inference, n_steps, tolerance, shape, theta, fresh, norm)
            for z in range(Z):
                shapes[i, z, k] = shape[z, 0]
            for p in range(len(words)):
                norm[0] = TINY
                for z in range(Z):
                    norm[0] += theta[z, 0] * local[p, z, 0]
                factor = responsibilities[i, k] * values[p] / norm[0]
                for z in range(Z):
                    count[words[p], z, k] += factor * theta[z, 0] * local[p, z, 0]
