"""Steps and coefficients as the compiled loops of chains take them (`suffice.kernels.structures.chain_kinds`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.structures.chain_kinds import KINDS, SCORES

NOTHING = np.zeros((0, 0))


def own(array: np.ndarray) -> np.ndarray:
    """As it is, or a copy: contiguous and writeable, since loops are compiled anew for every other kind of array."""
    return np.require(array, dtype=float, requirements=["C", "A", "W"])


def source_of(form: Any, coefficients: tuple, rows: slice, evidence: np.ndarray | None) -> tuple | None:
    """The source of some rows; None where the form has no compiled loops (several families, missing cells of correlated columns)."""
    found = form.kernel()
    if found is None or found[0] not in KINDS:
        return None
    (kind, X, extra), (constant, theta) = found, coefficients
    centres = NOTHING
    if kind in ("products", "differences"):
        theta, centres = theta
        centres = centres if kind == "products" else centres.T
    if kind != "categories":
        theta = theta.T
    location = np.zeros(X.shape[1]) if len(extra) == 0 else own(extra)
    return (
        KINDS[kind], own(X[rows]), location, own(theta),
        own(centres), own(constant), NOTHING if evidence is None else own(evidence[rows]),
        evidence is not None or not np.isfinite(constant).all(),
    )  # fmt: skip


def source_of_scores(scores: np.ndarray) -> tuple:
    """The source of rows whose scores (rows, S) are there."""
    S = scores.shape[1]
    return SCORES, scores, np.zeros(S), NOTHING, NOTHING, np.zeros(S), NOTHING, True
