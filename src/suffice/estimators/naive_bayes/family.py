"""Columns of any family."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from ..checks import check_one_of
from ..classifier import GenerativeClassifier
from ..families import FAMILIES
from ..kinds import Path, Seed
from ..sections import documented


@documented
class FamilyNB(GenerativeClassifier):
    """Naive Bayes of a family by its name: one of the library, or one of your own (`suffice.register_family`).

    Use it for columns that none of the other classifiers has: waiting times, directions, proportions.

    PARAMETERS
    family : str, default="gaussian"
        A name of `suffice.estimators.families.FAMILIES`.

    ATTRIBUTES
    class_log_prior_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> from suffice import FamilyNB
    >>> FamilyNB(family="poisson", loss="nll").fit([[2, 1], [3, 0], [0, 4], [1, 3]], ["a", "a", "b", "b"]).predict([[5, 0]])
    array(['a'], dtype='<U1')
    """

    # what families of the library ask for
    covariance_type: str = "diag"
    binarize: float | None = 0.0
    min_categories: Any = None
    kinds: Any = "auto"

    def __init__(
        self, family: Any = "gaussian", *, loss: str = "ncll", prior: float | str = "auto", algorithm: str = "auto",
        step_size: float | None = None, max_epochs: int = 100, tol: float = 1e-3, average: bool = True, class_prior: Any = None,
        class_weight: Any = None, unlabelled_weight: float | str = "auto", unlabelled: Any = "auto", random_state: Seed = None,
        verbose: int = 0, warm_start: bool = False, n_jobs: int | None = None, checkpoint: Path = None,
        checkpoint_minutes: float = 3.0, resume: Path | bool = None,
    ) -> None:  # fmt: skip
        super().__init__(
            loss=loss, prior=prior, algorithm=algorithm, step_size=step_size, max_epochs=max_epochs, tol=tol, average=average,
            class_prior=class_prior, class_weight=class_weight, unlabelled_weight=unlabelled_weight, unlabelled=unlabelled,
            random_state=random_state, verbose=verbose, warm_start=warm_start, n_jobs=n_jobs,
            checkpoint=checkpoint, checkpoint_minutes=checkpoint_minutes, resume=resume,
        )  # fmt: skip
        self.family = family

    @override
    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_one_of("family", self.family, [name for name in FAMILIES if name != "multinomial"])

    @override
    def _reader(self) -> Any:
        return FAMILIES.get(self.family, FAMILIES["gaussian"]).reader(self)  # an unknown one is refused by `fit`

    @override
    def _structure(self, reader: Any, rows: Any, n_outcomes: int, weights: np.ndarray) -> Any:
        return FAMILIES[self.family].structure(self, reader, rows, n_outcomes, weights)

    @override
    def _expose(self, model: Any, moments: Any) -> None:
        self.class_log_prior_: Any = np.log(moments.mass / moments.mass.sum())
