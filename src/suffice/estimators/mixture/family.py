"""A mixture of any family."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from ..checks import check_one_of
from ..families import FAMILIES
from ..kinds import Path, Seed
from .base import Mixture
from .sections import documented


@documented
class FamilyMixture(Mixture):
    """A mixture of a family by its name: one of the library, or one of your own (`suffice.register_family`).

    PARAMETERS
    family : str, default="gaussian"
        A name of `suffice.estimators.families.FAMILIES`.

    ATTRIBUTES

    Examples
    --------
    >>> from suffice import FamilyMixture
    >>> labels = FamilyMixture(2, family="poisson", random_state=0).fit_predict([[9, 1], [8, 0], [0, 2], [1, 1]])
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    # what families of the library ask for
    covariance_type: str = "full"
    binarize: float | None = None
    min_categories: Any = None
    kinds: Any = "auto"
    loss: str = "nll"

    def __init__(
        self, n_components: int | str = 1, *, family: Any = "gaussian", tol: float = 1e-3, max_iter: int = 100, n_init: int = 1,
        init_params: str = "kmeans", prior: float | str = "auto", algorithm: str = "em", batch_size: int | None = None,
        weight_concentration_prior: float | None = None, n_jobs: int | None = None, random_state: Seed = None,
        warm_start: bool = False, verbose: int = 0, checkpoint: Path = None, checkpoint_minutes: float = 3.0,
        resume: Path | bool = None, n_members: int | str = "auto",
    ) -> None:  # fmt: skip
        super().__init__(
            n_components, tol=tol, max_iter=max_iter, n_init=n_init, init_params=init_params, prior=prior, algorithm=algorithm,
            batch_size=batch_size, weight_concentration_prior=weight_concentration_prior, n_jobs=n_jobs,
            random_state=random_state, warm_start=warm_start, verbose=verbose,
            checkpoint=checkpoint, checkpoint_minutes=checkpoint_minutes, resume=resume, n_members=n_members,
        )  # fmt: skip
        self.family = family

    @override
    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_one_of("family", self.family, FAMILIES)

    @override
    def _reader(self) -> Any:
        return FAMILIES.get(self.family, FAMILIES["gaussian"]).reader(self)  # an unknown one is refused by `fit`

    @override
    def _structure(self, reader: Any, rows: Any, n_outcomes: int, weights: np.ndarray) -> Any:
        return FAMILIES[self.family].structure(self, reader, rows, n_outcomes, weights)

    @override
    def _expose(self, model: Any, moments: Any) -> None:
        """Nothing beside `weights_` and `moments_`."""

    @override
    def _n_parameters(self) -> int:
        return len(self._stored_model.chart(self.moments_).vector(self.moments_)) - 1
