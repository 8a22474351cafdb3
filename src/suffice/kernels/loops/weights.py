"""The signed weights of a loss for many rows at once. The readable twin is `suffice.losses.Loss.weights`."""

from ..compile import compiled
from .incremental import HINGE, NCLL, softmax


@compiled
def weigh_rows(scores, y, sample_weight, loss, margin, weights):
    """weights[i, k] = sample_weight[i] * w_ik; rows without a label take the posterior."""
    n, K = scores.shape
    for i in range(n):
        own = weights[i]
        label = y[i]
        if label < 0 or loss == NCLL:
            softmax(scores[i], own)
            if label >= 0:
                for k in range(K):
                    own[k] = -own[k]
                own[label] += 1.0
        else:
            for k in range(K):
                own[k] = 0.0
            if loss != HINGE:
                own[label] = 1.0
            else:
                rival = -1
                for k in range(K):
                    if k != label and (rival < 0 or scores[i, k] > scores[i, rival]):
                        rival = k
                if rival >= 0 and scores[i, label] - scores[i, rival] < margin:
                    own[label] = 1.0
                    own[rival] = -1.0
        for k in range(K):
            own[k] *= sample_weight[i]
