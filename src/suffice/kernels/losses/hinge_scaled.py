"""The hinge of Algorithms 4 and 7 of Masegosa (2014): its weights times 1 - p(label) and p(rival). No gradient, so no dual."""

from ..compile import compiled
from ..machine.softmax import softmax
from .hinge import best_rival


@compiled
def weigh(scores, label, settings, weights):
    softmax(scores, weights)
    rival = best_rival(scores, label)
    up = 1.0 - weights[label]
    down = weights[rival] if rival >= 0 else 0.0
    for k in range(len(scores)):
        weights[k] = 0.0
    if rival < 0:
        return 0.0
    hinge = settings[0] - scores[label] + scores[rival]
    if scores[label] - scores[rival] < settings[0]:
        weights[label] = up
        weights[rival] = -down
    return hinge if hinge > 0.0 else 0.0
