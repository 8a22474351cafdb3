r"""Several mixtures as one: an even mixture of M mixtures of the same families is a mixture whose components are those of all.

    1/M sum_m p_m(x) = sum_m sum_z (pi_mz / M) p_m(x | z)

So members that were fitted to the same rows from different starts need no structure of their own: the pooled mixture scores, fills,
draws and is stored as any other. Given a row's cells it weighs the members by how well they explain them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..families.base import Family
from .base import Moments
from .joint import Joint


def can_pool(model: Joint) -> bool:
    """Whether every component has parameters of its own."""
    return not any(getattr(family, "is_tied", False) for family in model.families)


def pooled_members(model: Joint, members: list[Moments]) -> tuple[Joint, Moments]:
    """The structure and the moments of the mixture of all components of the members, each of the families of `model`."""
    if len(members) == 1:
        return model, members[0]
    parts = zip(model.families, *(member.columns for member in members), strict=True)
    columns = tuple(_stacked(family, records) for family, *records in parts)
    mass = np.concatenate([member.mass for member in members])
    return model.with_outcomes(len(mass)), Moments(mass, columns) * (1.0 / len(members))


def _stacked(family: Family, records: list[Any]) -> Any:
    axis = -1 if family.outcome_axis else 0
    arrays = zip(*(record.arrays() for record in records), strict=True)
    return type(records[0])(*(np.concatenate(each, axis=axis) for each in arrays))
