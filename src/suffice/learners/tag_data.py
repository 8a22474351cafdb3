"""Sequences with tags, as training takes them: parts of them, and the model by counting or EM."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..engines.threads import Engine
from ..structures.chain import ChainPrior
from ..structures.tag_weights import Tagging
from .chain_em import ChainProblem
from .chain_steps import ChainSteps
from .driver import run
from .em import BatchEM
from .state import Fit, Stop
from .tag_problem import TagSteps, counted, patterns_in
from .watch import Watch


@dataclass(eq=False)
class TagData:
    tagging: Tagging
    rows: np.ndarray  # (n, D)
    offsets: np.ndarray
    weights: np.ndarray  # (N,), of the sequences
    labels: np.ndarray  # (n,): codes of the tags, -1 where not known
    engine: Engine
    form: Any = None

    def __post_init__(self) -> None:
        self.form = self.tagging.form(self.rows) if self.form is None else self.form

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    @cached_property
    def n_known(self) -> np.ndarray:
        """(N,) array: tags that are known."""
        sequence = np.repeat(np.arange(len(self.weights)), self.lengths)
        return np.bincount(sequence[self.labels >= 0], minlength=len(self.weights))

    @property
    def is_labelled(self) -> np.ndarray:
        """(N,) array: whether a sequence counts and has some tag."""
        return (self.n_known > 0) & (self.weights > 0)

    @property
    def is_unlabelled(self) -> np.ndarray:
        return (self.n_known == 0) & (self.weights > 0) & (self.lengths > 0)

    @property
    def has_gaps(self) -> bool:
        """Whether tags are missing in a sequence that has some."""
        return bool((self.is_labelled & (self.n_known < self.lengths)).any())

    @property
    def mean_length(self) -> float:
        own = self.weights * (self.lengths > 0)
        return float(own @ self.lengths) / max(float(own.sum()), 1e-300)

    def part(self, sequences: np.ndarray) -> TagData:
        """Of some of the sequences."""
        lengths = self.lengths[sequences]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        steps = np.repeat(self.offsets[sequences] - offsets[:-1], lengths) + np.arange(offsets[-1])
        patterns = patterns_in(self.form)
        rows = np.ascontiguousarray(self.rows[steps])
        form = self.tagging.form(rows, None if patterns is None else patterns.some(steps))
        return TagData(
            self.tagging, rows, offsets, self.weights[sequences], self.labels[steps], self.engine, form
        )  # fmt: skip

    def with_labels(self, labels: np.ndarray) -> TagData:
        return replace(self, labels=labels)

    def steps(self) -> TagSteps:
        return TagSteps.of(
            self.tagging, self.rows, self.offsets, self.weights, self.labels, self.engine, self.form
        )  # fmt: skip

    def plain_steps(self, weights: np.ndarray | None = None, *, is_clamped: bool = False) -> ChainSteps:
        """The sequences as an E-step takes them; clamped: paths go through the known tags only."""
        evidence = None
        if is_clamped:
            wrong = (self.labels[:, None] >= 0) & (self.labels[:, None] != np.arange(self.tagging.n_tags))
            evidence = np.where(wrong, -np.inf, 0.0)
        weights = np.ones(len(self.weights)) if weights is None else weights
        return ChainSteps(self.tagging.chain, self.form, self.offsets, weights, evidence, self.engine)


def likelihood_fit(
    data: TagData, amount: float, unlabelled: float, generator, watch: Watch, max_iter: int = 50, tol: float = 1e-4
) -> tuple[Fit, ChainPrior]:
    """Counting with `amount` pseudo-steps a tag; EM where tags are missing or sequences without tags count `unlabelled` each."""
    counts = counted(data.form, data.offsets, data.labels, data.weights)
    prior = ChainPrior.of(data.tagging.chain, counts, amount)
    start = prior.posterior(counts)
    weights = data.weights * np.where(data.is_labelled, 1.0, unlabelled)
    if not data.has_gaps and not (weights[data.is_unlabelled] > 0).any():
        return Fit(start).ended(Stop.CLOSED_FORM), prior
    problem = ChainProblem(data.plain_steps(weights, is_clamped=True), prior, reseeds=False)
    return run(BatchEM(), problem, start, generator, max_epochs=max_iter, tol=tol, watch=watch), prior
