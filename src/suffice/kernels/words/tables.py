"""Tables of words by outcomes as a whole: sums over rows, logarithms, checks and the scores of many rows."""

import math

import numpy as np

from ..compile import compiled
from ..machine.fast_log import fast_log
from ..rows import pairs_row
from .passes import score_one


@compiled
def fill_state(given, count, weight, log_count):
    """count = given, its sums over words and its logarithms, in one reading."""
    weight[:] = 0.0
    for i in range(given.shape[0]):
        for k in range(given.shape[1]):
            count[i, k] = given[i, k]
            weight[k] += given[i, k]
            log_count[i, k] = fast_log(given[i, k])


@compiled
def pull_counts(count, prior, share, log_count, weight):
    """Counts a share of the way towards the prior, with their logarithms and their sums over words; most cells are there already."""
    weight[:] = 0.0
    for i in range(count.shape[0]):
        for k in range(count.shape[1]):
            if count[i, k] != prior[i, k]:
                count[i, k] += share * (prior[i, k] - count[i, k])
                log_count[i, k] = fast_log(count[i, k])
            weight[k] += count[i, k]


@compiled
def keeps_share(count, prior, share):
    """Whether every count is finite and at least this share of its prior."""
    for i in range(count.shape[0]):
        n_below = 0
        for k in range(count.shape[1]):
            n_below += not (count[i, k] >= share * prior[i, k] and count[i, k] < np.inf)
        if n_below > 0:
            return False
    return True


@compiled
def all_positive(count):
    """Whether every count is finite and above zero."""
    for i in range(count.shape[0]):
        n_outside = 0
        for k in range(count.shape[1]):
            n_outside += not 0.0 < count[i, k] < np.inf
        if n_outside > 0:
            return False
    return True


@compiled
def weighed_logs(count, log_count, log_weight):
    """sum_wk count_wk log q_kw."""
    total = 0.0
    for i in range(count.shape[0]):
        for k in range(count.shape[1]):
            total += count[i, k] * (log_count[i, k] - log_weight[k])
    return total


@compiled
def informations(count, usual, doubt, told):
    """told[w] = sum_k p_k log(p_k / usual_k), where p are the shares of the outcomes in count[w] and `doubt` usual words."""
    shares, ratios = np.empty(len(usual)), np.empty(len(usual))
    for w in range(len(count)):
        total = doubt
        for k in range(len(usual)):
            total += count[w, k]
        for k in range(len(usual)):
            shares[k] = (count[w, k] + doubt * usual[k]) / total
            ratios[k] = fast_log(shares[k] / usual[k])
        told[w] = 0.0
        for k in range(len(usual)):
            if shares[k] > 0.0:
                told[w] += shares[k] * ratios[k]


@compiled
def add_labelled(rows, y, weights, count):
    """count[w, k] += sum of weight_i x_iw over the rows of label k."""
    for i in range(len(y)):
        if y[i] >= 0:
            words, values = pairs_row(rows, i)
            for p in range(len(words)):
                count[words[p], y[i]] += weights[i] * values[p]


@compiled
def score_rows(rows, which, state, scores):
    """scores[j, k] = log p(x_i, k) of the rows i = which[j]."""
    mass, total = state[0], state[1]
    log_total = math.log(total[0])
    for j in range(len(which)):
        _, values = pairs_row(rows, which[j])
        score_one(rows, which, j, values, state, scores[j])
        for k in range(len(mass)):
            scores[j, k] -= log_total
