"""The signed weights of a loss for many rows at once. The readable twin is `suffice.losses.Loss.weights`."""

from ..compile import ForLoss
from ..machine.softmax import softmax


def weigh_each(scores, y, sample_weight, settings, weights):
    """weights[i, k] <- sample_weight[i] * w_ik; rows without a label take the posterior."""
    n, K = scores.shape
    for i in range(n):
        own = weights[i]
        if y[i] < 0:
            softmax(scores[i], own)
        else:
            weigh(scores[i], y[i], settings, own)
        for k in range(K):
            own[k] *= sample_weight[i]


weigh_rows = ForLoss(weigh_each)
