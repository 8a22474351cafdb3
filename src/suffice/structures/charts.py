r"""Unconstrained coordinates of a joint: logit pi, and the charts of its families (see `suffice.families.charts`).

`gradient(vector, statistics)` is the gradient of <theta, statistics> (`log_likelihood`, theta normalised), linear in the statistics:
with the signed statistics of a loss it is minus the loss's gradient, with pseudo-statistics that of the log prior.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..families.charts import clipped_exp
from .base import Moments, log_shares


def softmax(logits: np.ndarray) -> np.ndarray:
    shares = clipped_exp(logits - logits.max())
    return shares / shares.sum()


class JointChart:
    """Coordinates around some moments, which set the units."""

    def __init__(self, model, moments: Moments):
        self.model = model
        pairs = list(zip(model.families, moments.columns, strict=True))
        self.parts = [family.chart_for(own)(family, own) for family, own in pairs]
        blocks = [part.blocks(own) for part, (_, own) in zip(self.parts, pairs, strict=True)]
        self.ends = np.cumsum([0, *(len(own) for own in blocks)])
        self.shapes = [np.shape(moments.mass), *(np.shape(block) for own in blocks for block in own)]
        self.cuts = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]

    def _split(self, vector: np.ndarray) -> tuple[np.ndarray, list[list[np.ndarray]]]:
        """Logits of the masses, and the blocks of every family."""
        logits, *blocks = (
            part.reshape(shape) for part, shape in zip(np.split(vector, self.cuts), self.shapes, strict=True)
        )
        return logits, [blocks[first:last] for first, last in pairwise(self.ends)]

    def vector(self, moments: Moments) -> np.ndarray:
        blocks = [block for part, own in zip(self.parts, moments.columns, strict=True) for block in part.blocks(own)]
        return np.concatenate([np.ravel(block) for block in [log_shares(moments.mass, moments.mass.sum()), *blocks]])

    def moments(self, vector: np.ndarray) -> Moments:
        """Moments of total mass one."""
        logits, blocks = self._split(vector)
        mass = softmax(logits)
        return Moments(mass, tuple(part.record(own, mass) for part, own in zip(self.parts, blocks, strict=True)))

    def coefficients(self, vector: np.ndarray, form) -> tuple:
        """What the scores of a `forms.JointForm` need."""
        logits, blocks = self._split(vector)
        mass, parts = softmax(logits), zip(self.parts, blocks, form.parts, strict=True)
        return form.with_masses(np.log(mass), [part.coefficients(own, mass, own_form) for part, own, own_form in parts])

    def log_likelihood(self, vector: np.ndarray, statistics: Moments) -> float:
        """<theta, statistics>."""
        logits, blocks = self._split(vector)
        mass, parts = softmax(logits), zip(self.parts, blocks, statistics.columns, strict=True)
        return float(statistics.mass @ np.log(mass)) + sum(part.log_likelihood(own, mass, s) for part, own, s in parts)

    def gradient(self, vector: np.ndarray, statistics: Moments) -> np.ndarray:
        logits, blocks = self._split(vector)
        slopes = [statistics.mass - softmax(logits) * statistics.mass.sum()]
        for part, own, given in zip(self.parts, blocks, statistics.columns, strict=True):
            slopes += part.slopes(own, given)
        return np.concatenate([np.ravel(slope) for slope in slopes])
