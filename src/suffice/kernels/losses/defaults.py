"""What a loss that brings only `weigh` does without: kernels made of that one."""

OPTIONAL = ("value", "weigh_largest", "direct", "search", "gap", "NEEDS_SLOPES")

NEEDS_SLOPES = False


def value(scores, norm, label, settings, scratch):
    return weigh(scores, label, settings, scratch)


def weigh_largest(scores, label, settings, least, weights):
    weigh(scores, label, settings, weights)
    kept = 0.0
    for k in range(len(weights)):
        if abs(weights[k]) <= least:
            weights[k] = 0.0
        else:
            kept = 1.0
    return kept


def direct(scores, slopes, own, active, n, weight, settings, room, moves):
    return 0.0


def search(scores, norm, posterior, active, n, slopes, moves, highest, logs):
    return highest


def gap(scores, norm, own, label, settings):
    return 0.0, 0.0
