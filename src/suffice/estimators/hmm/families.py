"""The hidden Markov models by family of their emissions; what they share is in `base`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from ...families.bernoulli import Bernoulli
from ...families.categorical import Categorical
from ...families.poisson import Poisson
from ...reading.mixed import Mixed
from ...reading.ordered import Ordered
from ...reading.tables import Counts, Flags, Numbers
from ...structures.base import Moments
from ...structures.chain import Chain, ChainMoments, topology_cells
from ...structures.joint import Joint
from ..checks import check_one_of
from ..families import COVARIANCES
from ..kinds import Path, Seed
from ..naive_bayes.mixed import mixed_structure, shown_columns
from .base import HMM
from .sections import documented


def given_chain(model: Any, startprob: Any, transmat: Any, family: Any, *parameters: Any) -> Any:
    """`model` with given parameters, as if it had been fitted; `parameters` are those of the family."""
    start, A = np.array(startprob, dtype=float), np.array(transmat, dtype=float)
    S = len(start)
    if A.shape != (S, S) or not np.isclose(start.sum(), 1) or not np.allclose(A.sum(axis=1), 1) or (A < 0).any():
        raise ValueError(
            f"startprob and transmat have the shapes {start.shape} and {A.shape}; they must be probabilities of {S} states"
        )
    model._check_parameters()
    mass = np.ones(S)
    emissions = Moments(mass, (family.from_parameters(family.weight_of(mass), *parameters),))
    chain = Chain(Joint.of(family), *topology_cells(model.topology, S))
    moments = ChainMoments(start, A, np.zeros(S), emissions)
    if not chain.in_domain(moments):
        raise ValueError("the emissions' parameters are not finite, or variances are not positive")
    model._stored_model, model.moments_, model.n_features_in_ = chain, moments, family.n_features
    model._reader_, model.n_iter_, model.converged_ = model._reader(), 0, True
    model._finish()
    return model


@documented
class GaussianHMM(HMM):
    """A hidden Markov model of numbers: in every state the columns of a step are Gaussian.

    Use it for sequences that go through phases: regimes, gestures, machine states. Missing cells and steps are latent.

    PARAMETERS
    covariance_type : {"diag", "full", "tied", "spherical"}, default="diag"

    ATTRIBUTES
    means_ : ndarray of shape (n_states, n_features)
    covars_ : ndarray of shape (n_states, n_features), (n_states, n_features, n_features), (n_features, n_features) or (n_states,)

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.hmm import GaussianHMM
    >>> X = np.array([0.1, -0.2, np.nan, 0.1, 5.1, 4.8, 5.0, 5.2, 0.0, 0.1])[:, None]
    >>> model = GaussianHMM(2, random_state=0).fit(X)
    >>> np.sort(model.means_[:, 0]).round()
    array([0., 5.])
    >>> path = model.predict(X)
    >>> bool(path[0] == path[2] == path[-1] != path[5])
    True
    """

    def __init__(
        self, n_states: int = 1, *, covariance_type: str = "diag", topology: str = "ergodic", transitions: Any = None,
        start: Any = None, has_end: bool = False, tol: float = 1e-4, max_iter: int = 100, n_init: int = 1,
        init_params: str = "auto", prior: float | str = "auto", algorithm: str = "em", batch_size: int | None = None,
        sequence: Any = None, time: Any = None, n_jobs: int | None = None, random_state: Seed = None, warm_start: bool = False,
        verbose: int = 0, checkpoint: Path = None, checkpoint_minutes: float = 3.0, resume: Path | bool = None,
        n_mixtures: Any = 1, ties: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            n_states, topology=topology, transitions=transitions, start=start, has_end=has_end, tol=tol, max_iter=max_iter,
            n_init=n_init, init_params=init_params, prior=prior, algorithm=algorithm, batch_size=batch_size,
            sequence=sequence, time=time, n_jobs=n_jobs, random_state=random_state, warm_start=warm_start, verbose=verbose,
            checkpoint=checkpoint, checkpoint_minutes=checkpoint_minutes, resume=resume, n_mixtures=n_mixtures, ties=ties,
        )  # fmt: skip
        self.covariance_type = covariance_type

    @classmethod
    def of(cls, startprob: Any, transmat: Any, means: ArrayLike, covars: ArrayLike, **parameters: Any) -> GaussianHMM:
        """A model with given parameters, as if it had been fitted; `covars` in the shape of `covars_`."""
        means, covars = np.array(means, dtype=float), np.array(covars, dtype=float)
        model = cls(len(means), **parameters)
        model._check_parameters()
        if model.covariance_type == "spherical":
            covars = np.repeat(covars[:, None], means.shape[1], axis=1)
        family = COVARIANCES[model.covariance_type](*means.shape, np.zeros(means.shape[1]))
        return given_chain(model, startprob, transmat, family, means, covars)

    @override
    def _reader(self) -> Any:
        return Numbers()

    @override
    def _emissions(self, reader: Any, rows: Any) -> Any:
        return Joint.of(COVARIANCES[self.covariance_type].for_data(rows, self._n_outcomes()))

    @override
    def _expose(self, chain: Any, moments: Any) -> None:
        family = chain.emissions.family
        mean, covariance = family.parameters(moments.emissions.columns[0])
        self.means_: Any = chain.by_state(mean + family.location)
        covariance = covariance.mean(axis=1) if self.covariance_type == "spherical" else covariance
        self.covars_: Any = covariance if self.covariance_type == "tied" else chain.by_state(covariance)

    @override
    def _n_emission_parameters(self) -> int:
        n, d = self._stored_model.emissions.n_outcomes, self.means_.shape[-1]
        spread = {"full": n * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": n * d, "spherical": n}
        return n * d + spread[self.covariance_type]

    @override
    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_one_of("covariance_type", self.covariance_type, COVARIANCES)


@documented
class CategoricalHMM(HMM):
    """A hidden Markov model of symbols: strings, words, codes; one column or several (independent given the state).

    A symbol that was not seen in training counts as missing, with a warning.

    PARAMETERS
    ATTRIBUTES
    categories_ : list of lists: the symbols of every column
    emissionprob_ : ndarray of shape (n_states, n_symbols), a list of them where there are several columns

    Examples
    --------
    >>> from suffice.hmm import CategoricalHMM
    >>> model = CategoricalHMM(2, random_state=0, prior=0.1, n_init=5).fit(["aabbaab", "abbbaaa", "ccdcddc", "dcdc"])
    >>> model.categories_
    [['a', 'b', 'c', 'd']]
    >>> [len(path) for path in model.predict(["abab", "c"])]
    [4, 1]
    """

    _default_start = "random"

    @override
    def _reader(self) -> Any:
        return Mixed("categorical")

    @override
    def _emissions(self, reader: Any, rows: Any) -> Any:
        return Joint.of(Categorical(self._n_outcomes(), rows.shape[1], reader.n_categories))

    @override
    def _expose(self, chain: Any, moments: Any) -> None:
        family, reader = chain.emissions.family, self._reader_
        blocks = [
            chain.by_state(block.T.copy())
            for block in family.columns_of(family.probabilities(moments.emissions.columns[0]))
        ]
        self.emissionprob_: Any = blocks[0] if len(blocks) == 1 else blocks
        self.categories_: list[Any] = [reader.categories.get(name, []) for name in reader.columns]

    @override
    def _n_emission_parameters(self) -> int:
        emissions = self._stored_model.emissions
        return int((emissions.family.n_categories - 1).sum()) * emissions.n_outcomes


@documented
class PoissonHMM(HMM):
    """A hidden Markov model of counts: in every state a column is Poisson.

    PARAMETERS
    ATTRIBUTES
    lambdas_ : ndarray of shape (n_states, n_features)
        Expected counts.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.hmm import PoissonHMM
    >>> counts = np.array([0, 1, 0, 0, 9, 8, 11, 10, 0, 1, 0])[:, None]
    >>> PoissonHMM(2, random_state=0).fit(counts).predict(counts)[[0, 5]].tolist() in ([0, 1], [1, 0])
    True
    """

    @override
    def _reader(self) -> Any:
        return Counts(type(self).__name__)

    @override
    def _emissions(self, reader: Any, rows: Any) -> Any:
        return Joint.of(Poisson.for_data(rows, self._n_outcomes()))

    @override
    def _expose(self, chain: Any, moments: Any) -> None:
        self.lambdas_: Any = chain.by_state(chain.emissions.family.rates(moments.emissions.columns[0]))

    @override
    def _n_emission_parameters(self) -> int:
        return self.n_features_in_ * self._stored_model.emissions.n_outcomes


@documented
class BernoulliHMM(HMM):
    """A hidden Markov model of columns of yes and no, independent given the state.

    PARAMETERS
    binarize : float or None, default=0.0
        Values above it are 1; None: there are only 0 and 1.

    ATTRIBUTES
    probabilities_ : ndarray of shape (n_states, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.hmm import BernoulliHMM
    >>> X = np.array([[0, 0], [0, 0], [1, 1], [1, 1], [1, 1], [0, 0]])
    >>> BernoulliHMM(2, random_state=0).fit(X).probabilities_.shape
    (2, 2)
    """

    _default_start = "random"

    def __init__(
        self, n_states: int = 1, *, binarize: float | None = 0.0, topology: str = "ergodic", transitions: Any = None,
        start: Any = None, has_end: bool = False, tol: float = 1e-4, max_iter: int = 100, n_init: int = 1,
        init_params: str = "auto", prior: float | str = "auto", algorithm: str = "em", batch_size: int | None = None,
        sequence: Any = None, time: Any = None, n_jobs: int | None = None, random_state: Seed = None, warm_start: bool = False,
        verbose: int = 0, checkpoint: Path = None, checkpoint_minutes: float = 3.0, resume: Path | bool = None,
        n_mixtures: Any = 1, ties: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            n_states, topology=topology, transitions=transitions, start=start, has_end=has_end, tol=tol, max_iter=max_iter,
            n_init=n_init, init_params=init_params, prior=prior, algorithm=algorithm, batch_size=batch_size,
            sequence=sequence, time=time, n_jobs=n_jobs, random_state=random_state, warm_start=warm_start, verbose=verbose,
            checkpoint=checkpoint, checkpoint_minutes=checkpoint_minutes, resume=resume, n_mixtures=n_mixtures, ties=ties,
        )  # fmt: skip
        self.binarize = binarize

    @override
    def _reader(self) -> Any:
        return Flags(self.binarize)

    @override
    def _emissions(self, reader: Any, rows: Any) -> Any:
        return Joint.of(Bernoulli.for_data(rows, self._n_outcomes()))

    @override
    def _expose(self, chain: Any, moments: Any) -> None:
        on = chain.emissions.family.probabilities(moments.emissions.columns[0])[1::2].T.copy()
        self.probabilities_: Any = chain.by_state(on)

    @override
    def _n_emission_parameters(self) -> int:
        return self.n_features_in_ * self._stored_model.emissions.n_outcomes


@documented
class MixedHMM(HMM):
    """A hidden Markov model of steps with columns of several kinds: numbers, categories, counts.

    PARAMETERS
    kinds : dict {column: kind}, list of kinds, one kind or "auto", default="auto"
        "gaussian", "categorical", "bernoulli" (two values) or "count" (Poisson); as in `MixedNB`.

    ATTRIBUTES
    kinds_, columns_, categories_ : kinds and names of the columns, and the categories by column
    means_, variances_, probabilities_, rates_ : dict {column: ndarray of shape (n_states, ...)}

    Examples
    --------
    >>> import pandas as pd
    >>> from suffice.hmm import MixedHMM
    >>> frame = pd.DataFrame({"day": [1, 1, 1, 2, 2], "t": [0, 1, 2, 0, 1], "x": [0.1, 5.0, None, 0.2, 5.1], "sky": list("sccsc")})
    >>> MixedHMM(2, sequence="day", time="t", random_state=0).fit(frame).predict(frame).shape
    (5,)
    """

    columns_: Any
    kinds_: Any
    categories_: Any
    means_: dict[Any, Any]
    variances_: dict[Any, Any]
    probabilities_: dict[Any, Any]
    rates_: dict[Any, Any]

    def __init__(
        self, n_states: int = 1, kinds: Any = "auto", *, topology: str = "ergodic", transitions: Any = None, start: Any = None,
        has_end: bool = False, tol: float = 1e-4, max_iter: int = 100, n_init: int = 1, init_params: str = "auto",
        prior: float | str = "auto", algorithm: str = "em", batch_size: int | None = None, sequence: Any = None, time: Any = None,
        n_jobs: int | None = None, random_state: Seed = None, warm_start: bool = False, verbose: int = 0, checkpoint: Path = None,
        checkpoint_minutes: float = 3.0, resume: Path | bool = None, n_mixtures: Any = 1, ties: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            n_states, topology=topology, transitions=transitions, start=start, has_end=has_end, tol=tol, max_iter=max_iter,
            n_init=n_init, init_params=init_params, prior=prior, algorithm=algorithm, batch_size=batch_size,
            sequence=sequence, time=time, n_jobs=n_jobs, random_state=random_state, warm_start=warm_start, verbose=verbose,
            checkpoint=checkpoint, checkpoint_minutes=checkpoint_minutes, resume=resume, n_mixtures=n_mixtures, ties=ties,
        )  # fmt: skip
        self.kinds = kinds

    @override
    def _reader(self) -> Any:
        return Ordered(self.kinds)

    @override
    def _emissions(self, reader: Any, rows: Any) -> Any:
        return mixed_structure(reader, rows, self._n_outcomes())

    @override
    def _expose(self, chain: Any, moments: Any) -> None:
        reader = self._reader_
        self.columns_, self.kinds_, self.categories_ = reader.columns, reader.kinds, reader.categories
        shown = shown_columns(reader, chain.emissions, moments.emissions)
        found = [{name: chain.by_state(np.asarray(own)) for name, own in part.items()} for part in shown]
        self.means_, self.variances_, self.probabilities_, self.rates_ = found

    @override
    def _n_emission_parameters(self) -> int:
        cells = sum(part.shape[-1] - 1 for part in self.probabilities_.values())
        return self._stored_model.emissions.n_outcomes * (cells + 2 * len(self.means_) + len(self.rates_))
