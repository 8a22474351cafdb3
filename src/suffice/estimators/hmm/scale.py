"""Sequences in blocks: what a hidden Markov model is given in the place of them, and blocks as it reads them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import override

from ...files.pieces import Part
from ...learners.chain_blocks import SequenceBlock
from ...reading.guards import checked_weights
from ...reading.sequences import sequences_of
from ..scale import RowsOf, Scaled, is_scaled, refuse, scaled


def scaled_sequences(estimator: Any, X: Any, lengths: Any, states: Any, sample_weight: Any) -> Scaled | None:
    """The data in blocks, after a first pass over them; None where X is sequences in memory."""
    if not is_scaled(X):
        return None
    if estimator.algorithm not in ("em", "accelerated") or states is not None:
        refuse(estimator, X)
    found = scaled(estimator, X, None, sample_weight, labelled=False, sequences=(estimator.sequence,), lengths=lengths)
    if found is not None and found.sample.weights is not None and not isinstance(found.sample.X, list):
        raise ValueError(
            "weights are of sequences, and rows of a table have them for every step: leave the weights out"
        )
    return found


@dataclass(frozen=True, eq=False)
class SequencesOf(RowsOf):
    """Sequences of a block as a hidden Markov model reads them."""

    @override
    def __call__(self, part: Part) -> SequenceBlock:  # type: ignore[override]
        if not part.n_rows:
            return SequenceBlock(np.zeros((0, self.shell.n_features_in_)), np.zeros(1, dtype=np.int64), np.zeros(0))
        steps = sequences_of(part.X, None, self.shell.sequence, self.shell.time)
        weights = checked_weights(part.weights, np.zeros((steps.n_sequences, 1)))
        rows = self.shell._read(self.reader, steps, reset=False)
        return SequenceBlock(np.require(rows, float, ["C", "W", "O"]), steps.offsets, weights)
