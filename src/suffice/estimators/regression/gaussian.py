"""One Gaussian of rows and target as a regressor: parameters only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from typing_extensions import override

from ...learners.watch import Watch
from ...structures.design import design_of
from ...structures.line import Line
from ..checks import check_jobs
from ..kinds import Path, Seed
from .base import Regressor, units_of


class GaussianRegressor(Regressor):
    """Linear regression as one joint Gaussian of rows and target: a ridge whose strength the rows decide, with missing cells.

    For a target that is linear in the columns (categories enter by indicators), few rows, or as the model to beat. On complete rows it
    is scikit-learn's BayesianRidge on standardised columns; cells and targets that are missing are completed by EM, in training and
    in prediction, through the correlations of the columns.

    Parameters
    ----------
    kinds : dict {column: kind}, list of kinds, one kind or "auto", default="auto"
        As in `MixtureRegressor`.
    random_state : int, RandomState instance or None, default=None
        Nothing is drawn; it is here so that estimators can be exchanged.
    n_jobs : int or None, default=None
        Threads of predictions.
    verbose : int, default=0
    checkpoint, checkpoint_minutes, resume
        As in all estimators; a fit takes a moment.

    Attributes
    ----------
    coef_ : ndarray of shape (n_coefficients,) or (n_targets, n_coefficients)
        Slopes in standard units of rows and target, columns in the order numbers, categories, counts.
    lambda_, noise_ : ndarray of shape (n_targets,)
        The strength of the prior, and the variance of the noise in units of the target's.
    n_features_in_, feature_names_in_, n_targets_

    Examples
    --------
    >>> from suffice.regression import GaussianRegressor
    >>> model = GaussianRegressor().fit([[0.0, 1], [1, float("nan")], [2, 0], [3, 2], [4, 1]], [0.1, 1.9, 4.2, 5.8, 8.1])
    >>> bool(abs(model.predict([[2.0, 1.0]])[0] - 4.0) < 0.3)
    True
    """

    def __init__(
        self,
        *,
        kinds: Any = "auto",
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        checkpoint: Path = None,
        checkpoint_minutes: float = 3.0,
        resume: Path | bool = None,
    ) -> None:
        self.kinds = kinds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.checkpoint_minutes = checkpoint_minutes
        self.resume = resume

    @override
    def _committee(
        self, rows: Any, y: Any, weights: np.ndarray, generator: np.random.Generator, watch: Watch, n_more: int = 0
    ) -> Any:
        gates = self._gates(n_more)
        seen = ~np.isnan(y)
        location, scale = units_of(y[seen], weights[seen])
        design = design_of(gates.families, gates.split(rows))
        line = Line.fitted(design, gates.cuts, rows, (y - location) / scale, weights)
        line = replace(line, location=location, scale=scale)
        text = f"a ridge of strength {line.strength:.3g}, by the evidence"
        return line, (text, [], np.nan)

    @override
    def _moved(self, committee: Line, rows: Any, y: Any, weights: np.ndarray) -> Line:
        return committee.updated(rows, (y - committee.location) / committee.scale, weights)

    @override
    def impute(self, X: Any, y: Any = None) -> Any:
        """X with its missing cells at their expectation given the row."""
        raise NotImplementedError("GaussianRegressor does not fill cells: use GaussianMixture(1) or MixtureRegressor")

    @property
    def coef_(self) -> np.ndarray:
        found = np.stack([line.slope for line in self.committees_])
        return found[0] if self.n_targets_ == 1 else found

    @property
    def lambda_(self) -> np.ndarray:
        return np.array([line.strength for line in self.committees_])

    @property
    def noise_(self) -> np.ndarray:
        return np.array([line.noise for line in self.committees_])

    @override
    def _check_parameters(self) -> None:
        check_jobs(self.n_jobs)
