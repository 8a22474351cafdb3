"""Plain latent Dirichlet allocation with many topics: inference, and Gibbs sweeps given the topics. Inner loops run over the topics.

beta[word, topic] are probabilities of words; count[word, topic] gathers statistics. The mathematics is in `suffice.structures.topics`.
"""

import math

import numpy as np

from ..compile import compiled
from ..machine.sums import dot
from .topics import MAP, digamma
from .topics_sampling import GOLDEN, content_seed, mixed, uniform


@compiled
def infer_documents(rows, first, last, beta, concentration, inference, n_steps, tolerance, warm, shapes, count, gather):
    """Fixed points of documents first .. last; with `gather` their expected statistics are added to count. Returns the bound.

    The bound (or the joint log-probability, of "map") is summed over the documents, each at its last shape.
    """
    indptr, indices, data = rows
    Z = beta.shape[1]
    theta = np.empty(Z)
    fresh = np.empty(Z)
    bound = 0.0
    for i in range(first, last):
        words = indices[indptr[i] : indptr[i + 1]]
        values = data[indptr[i] : indptr[i + 1]]
        shape = shapes[i]
        length = values.sum()
        total = length + Z * concentration
        if not warm:
            for z in range(Z):
                shape[z] = concentration + length / Z
        for step in range(n_steps + 1):
            least = digamma(total)
            for z in range(Z):
                theta[z] = shape[z] / total if inference == MAP else math.exp(digamma(shape[z]) - least)
                fresh[z] = 0.0
            is_last = step == n_steps
            for p in range(len(words)):
                row = beta[words[p]]
                norm = 1e-300 + dot(theta, row)
                factor = values[p] / norm
                if is_last:
                    bound += values[p] * math.log(norm)
                    if gather:
                        target = count[words[p]]
                        for z in range(Z):
                            target[z] += factor * theta[z] * row[z]
                else:
                    for z in range(Z):
                        fresh[z] += factor * row[z]
            if is_last:
                break
            change = 0.0
            for z in range(Z):
                value = concentration + theta[z] * fresh[z]
                change += abs(value - shape[z])
                shape[z] = value
            if change <= tolerance * total and step < n_steps - 1:
                # one more sweep over the words, at the shape found, for the statistics
                least = digamma(total)
                for z in range(Z):
                    theta[z] = shape[z] / total if inference == MAP else math.exp(digamma(shape[z]) - least)
                for p in range(len(words)):
                    row = beta[words[p]]
                    norm = 1e-300 + dot(theta, row)
                    bound += values[p] * math.log(norm)
                    if gather:
                        factor = values[p] / norm
                        target = count[words[p]]
                        for z in range(Z):
                            target[z] += factor * theta[z] * row[z]
                break
        if inference == MAP:
            for z in range(Z):
                bound += concentration * math.log(Z * shape[z] / total)
        else:
            bound += math.lgamma(Z * concentration) - Z * math.lgamma(concentration) - math.lgamma(total)
            least = digamma(total)
            for z in range(Z):
                bound += math.lgamma(shape[z]) + (concentration - shape[z]) * (digamma(shape[z]) - least)
    return bound


@compiled
def fill_token_words(indptr, indices, counts, words, starts, ids):
    """One word a token, document after document; starts[i] is where document i begins, ids[i] a number of its content."""
    n = 0
    for i in range(len(indptr) - 1):
        starts[i] = n
        ids[i] = content_seed(0, indices[indptr[i] : indptr[i + 1]], counts[indptr[i] : indptr[i + 1]])
        for p in range(indptr[i], indptr[i + 1]):
            for _ in range(counts[p]):
                words[n] = indices[p]
                n += 1
    starts[len(indptr) - 1] = n


@compiled
def sweep_documents(
    starts, words, first, last, beta, totals, concentration, seed, ids, is_start, topics, usage, count, gather
):
    """One Gibbs sweep over the tokens of documents first .. last at fixed beta (float32); proportions are integrated out.

    A token's topic has probability (a + usage_z) beta_wz given the document's other tokens. The part of usage_z is only over topics
    that the document has (a list that is kept up to date), and the part of a is a fixed distribution of the word whose sum
    totals[w] = sum_z beta_wz is known: it is scanned only when it is drawn. With is_start topics are drawn on the fly; with `gather`
    the drawn topics are counted. Random numbers are a function of the seed and ids[i].
    """
    Z = beta.shape[1]
    amount = np.empty(Z + 1, np.float32)  # usage of the document's topics, as they stand in the list
    active = np.empty(Z + 1, np.int32)
    part = np.empty(Z + 1, np.float32)
    place = np.full(Z, -1, np.int32)  # where a topic stands in the list
    random = np.empty(1, np.uint64)
    a = np.float32(concentration)
    one = np.float32(1.0)
    for i in range(first, last):
        random[0] = mixed(ids[i] + np.uint64(seed) * GOLDEN)
        n = 0
        for z in range(Z):
            place[z] = -1
            if not is_start and usage[i, z] > 0.0:
                active[n] = z
                amount[n] = usage[i, z]
                place[z] = n
                n += 1
        for t in range(starts[i], starts[i + 1]):
            word = words[t]
            row = beta[word]
            if not is_start:
                j = place[topics[t]]
                amount[j] -= one
                if amount[j] < 0.5:
                    n -= 1
                    place[topics[t]] = -1
                    if j != n:
                        active[j] = active[n]
                        amount[j] = amount[n]
                        place[active[j]] = j
            for j in range(n):
                part[j] = amount[j] * row[active[j]]
            total = np.float32(0.0)
            for j in range(n):
                total += part[j]
            at = np.float32(uniform(random)) * (total + a * totals[word])
            if at < total:
                j = 0
                while j < n - 1 and at >= part[j]:
                    at -= part[j]
                    j += 1
                new = active[j]
            else:
                at = (at - total) / a
                new = 0
                while new < Z - 1 and at >= row[new]:
                    at -= row[new]
                    new += 1
                j = place[new]
                if j < 0:
                    j = n
                    active[n] = new
                    amount[n] = 0.0
                    place[new] = n
                    n += 1
            amount[j] += one
            topics[t] = new
            if gather:
                count[word, new] += one
        for z in range(Z):
            usage[i, z] = 0.0
        for j in range(n):
            usage[i, active[j]] = amount[j]


@compiled
def predicted_log_probability(rows, beta, proportions, sums):
    """sums[i] = sum_w x_iw log sum_z proportions_iz beta_wz: the words that were held out."""
    indptr, indices, data = rows
    Z = beta.shape[1]
    for i in range(len(indptr) - 1):
        sums[i] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total = 1e-300
            row = beta[indices[p]]
            for z in range(Z):
                total += proportions[i, z] * row[z]
            sums[i] += data[p] * math.log(total)
