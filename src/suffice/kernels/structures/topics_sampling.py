"""Collapsed Gibbs sampling of topics given their words (the proportions integrated out), and what is estimated from it.

    p(z_t = z | the other topics, words) ~ prod_{j < n} (a + S_z + j) beta_z^n,     S_z = tokens of topic z besides t

where the token stands for n occurrences of a word: all of them if words share their topic (`share`, the simplification of Masegosa
2014 and of sLDA's code), else one. Words have whole counts here; what a word's statistics weigh (`values`) is another matter.

The start is on the fly: topics are drawn one after the other given those before. Statistics are averages of the probabilities above
and not of draws (Rao-Blackwell). Random numbers come from a seed and the document's content, so that neither the order of
documents nor threads matter.
"""

import math

import numpy as np

from ..compile import compiled

REVISED = 256  # earlier tokens drawn again before the next is predicted, at most
MULTIPLY, GOLDEN = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x9E3779B97F4A7C15)
AGAIN = np.uint64(0x94D049BB133111EB)
S30, S27, S31, S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


@compiled
def mixed(z):
    """splitmix64's finaliser."""
    z = (z ^ (z >> S30)) * MULTIPLY
    z = (z ^ (z >> S27)) * AGAIN
    return z ^ (z >> S31)


@compiled
def uniform(random):
    """The next number in [0, 1) of the stream whose state is random[0]."""
    random[0] += GOLDEN
    return (mixed(random[0]) >> S11) * (1.0 / 9007199254740992.0)


@compiled
def content_seed(seed, words, counts):
    """A stream of random numbers for a document, which depends on its words alone."""
    state = mixed(np.uint64(seed) + GOLDEN)
    for p in range(len(words)):
        state = mixed(state + np.uint64(words[p]) * GOLDEN + np.uint64(counts[p]))
    return state


@compiled
def fill_tokens(counts, share, position, size):
    """The tokens of a document: which word, and how many occurrences each stands for. Returns their number."""
    n = 0
    for p in range(len(counts)):
        if share:
            position[n] = p
            size[n] = counts[p]
            n += 1
        else:
            for _ in range(counts[p]):
                position[n] = p
                size[n] = 1
                n += 1
    return n


@compiled
def token_probabilities(beta, p, size, usage, concentration, probabilities):
    """Unnormalised probabilities of the token's topics; returns their sum."""
    total = 0.0
    for z in range(len(usage)):
        value = 1.0
        for j in range(size):
            value *= (concentration + usage[z] + j) * beta[p, z]
            if j & 7 == 7:  # many occurrences: compare with the largest instead of underflowing
                value = max(value, 1e-250)
        probabilities[z] = value
        total += value
    return total


@compiled
def many_probabilities(beta, p, size, usage, concentration, probabilities):
    """The same in logarithms, for a word that occurs often."""
    top = -np.inf
    for z in range(len(usage)):
        s = concentration + usage[z]
        probabilities[z] = math.lgamma(s + size) - math.lgamma(s) + size * math.log(max(beta[p, z], 1e-300))
        top = max(top, probabilities[z])
    total = 0.0
    for z in range(len(usage)):
        probabilities[z] = math.exp(probabilities[z] - top)
        total += probabilities[z]
    return total


@compiled
def conditional(beta, p, size, usage, concentration, probabilities):
    """Probabilities of the token's topics, up to their sum, which is returned."""
    if size <= 6:
        total = token_probabilities(beta, p, size, usage, concentration, probabilities)
        if total > 1e-250:
            return total
    return many_probabilities(beta, p, size, usage, concentration, probabilities)


@compiled
def drawn(probabilities, total, random):
    at = uniform(random) * total
    for z in range(len(probabilities) - 1):
        at -= probabilities[z]
        if at < 0.0:
            return z
    return len(probabilities) - 1


@compiled
def sample_topics(
    beta, position, size, n, concentration, n_burn, n_sweeps, random, topics, usage, probabilities, shares, mean_usage
):
    """Sweeps over one document's tokens under one class.

    shares[p, z] = mean probability that the word is of the topic, mean_usage[z] = mean of S_z, over sweeps after n_burn.
    """
    Z = len(usage)
    for z in range(Z):
        usage[z] = 0.0
        mean_usage[z] = 0.0
    for t in range(n):
        for z in range(Z):
            shares[position[t], z] = 0.0
    for t in range(n):  # on the fly
        total = conditional(beta, position[t], size[t], usage, concentration, probabilities)
        topics[t] = drawn(probabilities, total, random)
        usage[topics[t]] += size[t]
    for sweep in range(n_burn + n_sweeps):
        for t in range(n):
            usage[topics[t]] -= size[t]
            total = conditional(beta, position[t], size[t], usage, concentration, probabilities)
            if sweep >= n_burn:
                for z in range(Z):
                    part = probabilities[z] / total
                    shares[position[t], z] += part * size[t]
                    mean_usage[z] += part * size[t]
            topics[t] = drawn(probabilities, total, random)
            usage[topics[t]] += size[t]
    for z in range(Z):
        mean_usage[z] /= n_sweeps


@compiled
def plug_in(beta, values, mean_usage, length, concentration):
    """sum_w x_w log sum_z E[phi_z] beta_zw at the sampled mean proportions: biased, cheap, steady."""
    Z = len(mean_usage)
    score = 0.0
    for p in range(len(values)):
        total = 1e-300
        for z in range(Z):
            total += (concentration + mean_usage[z]) * beta[p, z]
        score += values[p] * math.log(total / (length + Z * concentration))
    return score


@compiled
def log_prediction(beta, p, size, usage, seen, concentration, probabilities):
    """log of the probability of the next token (all its occurrences), given the topics of those before."""
    Z = len(usage)
    if size <= 6:
        total = token_probabilities(beta, p, size, usage, concentration, probabilities)
        for j in range(size):
            total /= seen + j + Z * concentration
        if total > 1e-250:
            return math.log(total)
    top = -np.inf
    for z in range(Z):
        s = concentration + usage[z]
        probabilities[z] = math.lgamma(s + size) - math.lgamma(s) + size * math.log(max(beta[p, z], 1e-300))
        top = max(top, probabilities[z])
    total = 0.0
    for z in range(Z):
        total += math.exp(probabilities[z] - top)
    s = seen + Z * concentration
    return top + math.log(total) - math.lgamma(s + size) + math.lgamma(s)


@compiled
def left_to_right(beta, position, size, n, word_weights, concentration, n_particles, random, probabilities):
    """log p(words in this order), left to right (Wallach et al. 2009): each token predicted from resampled topics of those before.

    Particles are chosen again in proportion to their predictions after every token (systematically), which makes the product of the
    mean predictions unbiased for p(words) with any number of particles; without it, as printed, the estimate stays off however many
    there are. Of more than REVISED tokens before, so many are drawn again, in turn: that keeps it unbiased, and long documents cost
    their length and not its square. word_weights[p] is what an occurrence of the word counts (1 for plain documents).
    """
    Z = len(probabilities)
    topics = np.zeros((n_particles, n), np.int32)
    usage = np.zeros((n_particles, Z))
    predictions = np.empty(n_particles)
    children = np.empty(n_particles, np.int64)
    score = 0.0
    seen = 0.0
    turn = 0
    for t in range(n):
        top = -np.inf
        n_revised = min(t, REVISED)
        for r in range(n_particles):
            for j in range(n_revised):
                s = (turn + j) % t
                usage[r, topics[r, s]] -= size[s]
                total = conditional(beta, position[s], size[s], usage[r], concentration, probabilities)
                topics[r, s] = drawn(probabilities, total, random)
                usage[r, topics[r, s]] += size[s]
            predictions[r] = log_prediction(beta, position[t], size[t], usage[r], seen, concentration, probabilities)
            top = max(top, predictions[r])
        turn = (turn + n_revised) % max(t, 1)
        total_prediction = 0.0
        for r in range(n_particles):
            predictions[r] = math.exp(predictions[r] - top)
            total_prediction += predictions[r]
            children[r] = 0
        score += word_weights[position[t]] * (top + math.log(total_prediction / n_particles))
        start = uniform(random)
        reached = predictions[0]
        source = 0
        for r in range(n_particles):
            while reached < (start + r) * total_prediction / n_particles and source < n_particles - 1:
                source += 1
                reached += predictions[source]
            children[source] += 1
        source = 0
        for r in range(n_particles):  # who is chosen stays in its place; others are put where nobody was
            if children[r] == 0:
                while children[source] <= 1:
                    source += 1
                children[source] -= 1
                for s in range(t):
                    topics[r, s] = topics[source, s]
                for z in range(Z):
                    usage[r, z] = usage[source, z]
        for r in range(n_particles):
            total = conditional(beta, position[t], size[t], usage[r], concentration, probabilities)
            topics[r, t] = drawn(probabilities, total, random)
            usage[r, topics[r, t]] += size[t]
        seen += size[t]
    return score
