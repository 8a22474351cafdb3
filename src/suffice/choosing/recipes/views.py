"""Rows of a choice as a setting reads them, and what folds train on and hold out of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...learners.linear.conditional import Conditional
from ...learners.linear.design import Design
from ...learners.linear.sums import ClassSums, FoldSums
from ...learners.problem import Problem
from .base import Fold


@dataclass
class Reading:
    """Rows of a choice as some settings read them."""

    problem: Problem
    design: Design
    reader: Any


@dataclass
class View:
    """Folds that are fitted in one search: their sums, and the rows that they hold out, fold after fold."""

    reading: Reading
    sums: ClassSums
    scored: Design  # the rows held out are among these
    places: np.ndarray  # of the rows held out, there
    numbers: np.ndarray  # of their folds
    y: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, reading: Reading, folds: list[Fold], rows: np.ndarray, problem: Problem, own: float) -> View:
        """Of the folds of a problem; the reading's rows are the problem's `rows`."""
        y, weights, n_classes = problem.y[rows], problem.weights[rows], problem.model.n_outcomes
        held_out = [np.searchsorted(rows, fold.held_out) for fold in folds]
        places, scored = np.concatenate(held_out), reading.design
        labels = y[places], weights[places]
        if len(folds) == 1:
            train = np.flatnonzero(folds[0].problem.weights[rows] > 0)
            trained, scored = reading.design.split(train, places, y, weights, own)
            sums: ClassSums = ClassSums(trained, y[train], weights[train], n_classes)
            places = np.arange(len(places))
        else:
            sums = FoldSums(
                reading.design, y, np.stack([fold.problem.weights[rows] for fold in folds], axis=1), n_classes
            )
        numbers = np.repeat(np.arange(len(folds)), [len(each) for each in held_out])
        return cls(reading, sums, scored, places, numbers, *labels)

    def goal(self, strength: float, share: float, is_tied: bool) -> Conditional:
        return Conditional.of(self.sums.design, self.sums, strength, share, is_tied)

    def scores(self, goal: Conditional, T: list[np.ndarray]) -> np.ndarray:
        """(n, K) array: scores of the rows held out."""
        found = goal.scores(T, self.scored)
        return found.reshape(len(found), self.sums.n_problems, -1)[self.places, self.numbers]
