"""The families of a joint that have columns.

A table has places for numbers, categories and counts, and most tables leave some of them empty. A minimiser that evaluates its
objective a thousand times need not look at those; with one family left a pass over the rows is one compiled call.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from .base import Moments
from .joint import Joint


@dataclass(frozen=True)
class Occupied:
    whole: Joint

    @cached_property
    def model(self) -> Joint:
        """The joint without its empty families; its rows are the same ones."""
        own = tuple(family for family in self.whole.families if family.n_features)
        return replace(self.whole, families=own) if own else self.whole

    def of(self, moments: Moments) -> Moments:
        """The moments of the families that have columns."""
        parts = zip(self.whole.families, moments.columns, strict=True)
        return replace(moments, columns=tuple(own for family, own in parts if family.n_features) or moments.columns)

    def beside(self, moments: Moments, others: Moments) -> Moments:
        """These moments in their places, and what `others` has for the empty families."""
        own = iter(moments.columns)
        parts = list(zip(self.whole.families, others.columns, strict=True))
        if not any(family.n_features for family, _ in parts):
            return moments
        return replace(moments, columns=tuple(next(own) if family.n_features else empty for family, empty in parts))
