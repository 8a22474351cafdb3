"""Joint likelihood: a labelled row's weights are one-hot, whatever the scores. The readable twin is `suffice.losses.nll`."""

from ..compile import inlined


@inlined
def weigh(scores, label, settings, weights):
    for k in range(len(scores)):
        weights[k] = 0.0
    weights[label] = 1.0
    return -scores[label]


@inlined
def value(scores, norm, label, settings, scratch):
    return -scores[label]


@inlined
def select(scores, own, label, settings, tolerance, posterior, active, moves):
    """Multipliers are one-hot from the start: nothing moves."""
    return 0, 0.0, 0.0, 0.0


@inlined
def rise(moved, delta, own, weight, label, settings, rate):
    return 0.0
