"""Documents in blocks, as topic models without labels are given them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...files.pieces import Part
from ..scale import Scaled, is_scaled, refuse, scaled


def scaled_documents(estimator: Any, X: Any) -> Scaled | None:
    """The data in blocks, after a first pass over them; None where X is documents in memory."""
    if not is_scaled(X):
        return None
    if estimator.inference == "gibbs":
        refuse(estimator, X)
    found = scaled(estimator, X, labelled=False, cells="")
    if found is not None and found.sample.weights is not None:
        raise ValueError(f"{type(estimator).__name__} knows no weights of documents: leave them out")
    return found


@dataclass(frozen=True, eq=False)
class DocumentsOf:
    """Counts of a block's documents. `shell` is the estimator, with the columns it knows."""

    shell: Any

    def __call__(self, part: Part) -> Any:
        return self.shell._documents(part.X, reset=False)
