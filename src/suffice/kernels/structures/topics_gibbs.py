"""What sampled topics are for: scores of documents, and the online passes of Algorithms 5 to 7 of Masegosa (2014).

Topics are sampled by `topics_sampling`. The loss is known by its `weigh` (`suffice.kernels.losses`).
"""

import math

import numpy as np

from ..compile import ForLoss, compiled
from ..machine.softmax import softmax
from .topics_sampling import content_seed, fill_tokens, left_to_right, plug_in, sample_topics

PLUG_IN, LEFT_TO_RIGHT = 0, 1
BOUNDARY = 0.25  # the largest share of a cell that one step takes
KEEP = 0.1  # the least share of the deviation from the prior that one step leaves
SMALL = 1e-100
LEAST = 1e-6  # share of the prior's count that is always left


@compiled
def most_tokens(indptr, counts, share):
    """Words and tokens of the largest document; where occurrences share a topic, a word is one token."""
    words = 1
    tokens = 1
    for i in range(len(indptr) - 1):
        total = 0
        for p in range(indptr[i], indptr[i + 1]):
            total += 1 if share else counts[p]
        words = max(words, indptr[i + 1] - indptr[i])
        tokens = max(tokens, total)
    return words, tokens


@compiled
def score_sampled(
    rows,
    counts,
    first,
    last,
    state,
    concentration,
    estimator,
    share,
    n_chains,
    n_burn,
    n_sweeps,
    seed,
    scores,
    proportions,
):
    """scores[i, k] = log p(x_i, k) by sampling; proportions[i, :, k] = E[phi], over chains that start anew.

    A chain may stay where it started: all words of a document in one topic, or in another.
    """
    indptr, indices, data = rows
    mass, total_mass, count, weight = state
    Z, K = weight.shape
    words_most, tokens_most = most_tokens(indptr, counts, share)
    beta = np.empty((words_most, Z))
    shares = np.empty((words_most, Z))
    word_weights = np.empty(words_most)
    position = np.empty(tokens_most, np.int64)
    size = np.empty(tokens_most, np.int64)
    topics = np.empty(tokens_most, np.int64)
    usage = np.empty(Z)
    mean_usage = np.empty(Z)
    all_usage = np.empty(Z)
    probabilities = np.empty(Z)
    random = np.empty(1, np.uint64)
    for i in range(first, last):
        words = indices[indptr[i] : indptr[i + 1]]
        values = data[indptr[i] : indptr[i + 1]]
        own = counts[indptr[i] : indptr[i + 1]]
        n = fill_tokens(own, share, position, size)
        length = own.sum()
        for p in range(len(words)):
            word_weights[p] = values[p] / own[p]
        for k in range(K):
            random[0] = content_seed(seed, words, own)
            for p in range(len(words)):
                for z in range(Z):
                    beta[p, z] = count[words[p], z, k] / weight[z, k]
            scores[i, k] = math.log(mass[k] / total_mass[0])
            if estimator == LEFT_TO_RIGHT:
                scores[i, k] += left_to_right(
                    beta, position, size, n, word_weights, concentration, n_sweeps, random, probabilities
                )  # fmt: skip
            else:
                for z in range(Z):
                    all_usage[z] = 0.0
                for _ in range(n_chains):
                    sample_topics(
                        beta, position, size, n, concentration, n_burn, n_sweeps, random, topics, usage, probabilities,
                        shares, mean_usage,
                    )  # fmt: skip
                    for z in range(Z):
                        all_usage[z] += mean_usage[z] / n_chains
                scores[i, k] += plug_in(beta, values, all_usage, length, concentration)
                for z in range(Z):
                    proportions[i, z, k] = (concentration + all_usage[z]) / (length + Z * concentration)


@compiled
def shortest(words, state, own, scale, rate, signed, shares):
    """How much of a step is made, so that no class and no cell of the table loses more than BOUNDARY of what it has."""
    mass, total_mass, count, weight = state
    prior_mass, prior_count = own
    Z, K = weight.shape
    taken = 0.0
    for k in range(K):
        if signed[k] < 0.0:
            taken = max(taken, -rate * signed[k] / (prior_mass + scale * mass[k]))
            for p in range(len(words)):
                for z in range(Z):
                    cell = prior_count + scale * count[words[p], z, k]
                    taken = max(taken, -rate * signed[k] * shares[k, p, z] / cell)
    return BOUNDARY / taken if taken > BOUNDARY else 1.0


def online(
    rows, counts, y, weights, order, rates, state, own, scale, pull, concentration, estimator, share, n_sweeps, label_only,
    settings, seed,
):  # fmt: skip
    """Algorithms 5 to 7 (corrected as docs/notes/topic.md says): one step a document.

    The model is own + scale * state, own = (mass, count) of the prior: a step's pull towards the prior is a factor on `scale`.
    Returns the scale, and how many steps were shortened. A document of weight 2 moves the model twice as far. `label_only`: the
    weights of a labelled document depend on no other class, whose topics need not be sampled.
    """
    indptr, indices, data = rows
    mass, total_mass, count, weight = state
    prior_mass, prior_count = own
    n_words = count.shape[0]
    Z, K = weight.shape
    all_weights = weights.sum()
    words_most, tokens_most = most_tokens(indptr, counts, share)
    beta = np.empty((words_most, Z))
    shares = np.empty((K, words_most, Z))
    word_weights = np.empty(words_most)
    position = np.empty(tokens_most, np.int64)
    size = np.empty(tokens_most, np.int64)
    topics = np.empty(tokens_most, np.int64)
    usage = np.empty(Z)
    mean_usage = np.empty(Z)
    probabilities = np.empty(Z)
    scores = np.empty(K)
    signed = np.empty(K)
    random = np.empty(1, np.uint64)
    n_shortened = 0
    for t in range(len(order)):
        i = order[t]
        rate = rates[t] * weights[i]
        label = y[i]
        words = indices[indptr[i] : indptr[i + 1]]
        values = data[indptr[i] : indptr[i + 1]]
        whole = counts[indptr[i] : indptr[i + 1]]
        n = fill_tokens(whole, share, position, size)
        length = whole.sum()
        for p in range(len(words)):
            word_weights[p] = values[p] / whole[p]
        for k in range(K):
            scores[k] = math.log(prior_mass + scale * mass[k])
            if label_only and label >= 0 and k != label:
                continue
            random[0] = content_seed(seed + t, words, whole)
            for z in range(Z):
                total = prior_count * n_words + scale * weight[z, k]
                for p in range(len(words)):
                    beta[p, z] = (prior_count + scale * count[words[p], z, k]) / total
            sample_topics(
                beta, position, size, n, concentration, 0, n_sweeps, random, topics, usage, probabilities, shares[k], mean_usage
            )  # fmt: skip
            for p in range(len(words)):
                for z in range(Z):
                    shares[k, p, z] *= values[p] / (whole[p] * n_sweeps)
            if estimator == LEFT_TO_RIGHT:
                scores[k] += left_to_right(
                    beta, position, size, n, word_weights, concentration, n_sweeps, random, probabilities
                )  # fmt: skip
            else:
                scores[k] += plug_in(beta, values, mean_usage, length, concentration)
        if label < 0:
            softmax(scores, signed)
        else:
            weigh(scores, label, settings, signed)
        scale *= max(1.0 - pull * rate / all_weights, KEEP)
        if scale < SMALL:
            for k in range(K):
                mass[k] *= scale
                for z in range(Z):
                    weight[z, k] *= scale
                    for w in range(n_words):
                        count[w, z, k] *= scale
            scale = 1.0
        part = shortest(words, state, own, scale, rate, signed, shares)
        n_shortened += part < 1.0
        for k in range(K):
            step = part * rate * signed[k] / scale
            if step == 0.0:
                continue
            mass[k] += step
            for p in range(len(words)):
                for z in range(Z):
                    before = count[words[p], z, k]
                    after = max(before + step * shares[k, p, z], (LEAST - 1.0) * prior_count / scale)
                    count[words[p], z, k] = after
                    weight[z, k] += after - before
    return scale, n_shortened


online_pass = ForLoss(online)
