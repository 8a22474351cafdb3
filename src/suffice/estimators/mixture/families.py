"""The mixtures by family of their components; what they share is in `suffice.mixture.base`."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from ...choosing.components import merged_rows
from ...choosing.readings import ordered_columns
from ...families.bernoulli import Bernoulli
from ...families.categorical import Categorical
from ...families.multinomial import Multinomial
from ...families.poisson import Poisson
from ...reading.ordered import Ordered
from ...reading.tables import Codes, Counts, Flags
from ...reading.words import Words
from ...structures.joint import Joint
from ...structures.words import BernoulliWords
from ...structures.words import Words as WordStructure
from ..families import mixed_structure, shown_columns
from ..kinds import Path, Seed
from .base import Mixture
from .cells import cell_scores
from .sections import documented

FEWEST_ROWS = 50  # different ones of a table whose cells say whether few whole numbers are in order


@documented
class BernoulliMixture(Mixture):
    """A mixture of Bernoulli rows: columns of yes and no, independent given the component (latent class analysis).

    PARAMETERS
    binarize : float or None, default=None
        Values above it are 1, others 0. None: X has only 0 and 1 already.

    ATTRIBUTES
    probabilities_ : ndarray of shape (n_components, n_features)
        Of a 1 in each column.

    Examples
    --------
    >>> from suffice.mixture import BernoulliMixture
    >>> X = [[1, 1, 0, 0], [1, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]]
    >>> labels = BernoulliMixture(2, random_state=0).fit_predict(X)
    >>> bool(labels[0] == labels[1] == labels[4] != labels[2])
    True
    """

    def __init__(
        self, n_components: int | str = 1, *, binarize: float | None = None, tol: float = 1e-3, max_iter: int = 100, n_init: int = 1,
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
        self.binarize = binarize

    @override
    def _reader(self) -> Any:
        return Flags(self.binarize)

    @override
    def _structure(self, reader: Any, rows: Any, n_outcomes: int, weights: np.ndarray) -> Any:
        return BernoulliWords.of(Bernoulli.for_data(rows, n_outcomes))

    @override
    def _expose(self, model: Any, moments: Any) -> None:
        self.probabilities_: Any = model.family.probabilities(moments.columns[0])[1::2].T.copy()

    @override
    def _n_parameters(self) -> int:
        return self.probabilities_.size + len(self.probabilities_) - 1


@documented
class CategoricalMixture(Mixture):
    """A mixture of rows of categories, independent given the component; strings of fixed length over an alphabet.

    Categories are the distinct values of the training rows. A category that was not seen in training is missing at prediction, with a
    warning.

    PARAMETERS
    min_categories : int, array-like of shape (n_features,) or None, default=None
        Categories 0 .. min_categories - 1 exist in a column even where they do not occur in training.

    ATTRIBUTES
    categories_ : list of ndarrays
    probabilities_ : list of ndarrays of shape (n_components, n_categories of the column)

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.mixture import CategoricalMixture
    >>> strings = ["abba", "abbb", "cabc", "cacc", "abba", "cabc"]
    >>> X = np.array([[ord(letter) for letter in string] for string in strings])
    >>> labels = CategoricalMixture(2, random_state=0).fit_predict(X)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    def __init__(
        self, n_components: int | str = 1, *, min_categories: Any = None, tol: float = 1e-3, max_iter: int = 100, n_init: int = 1,
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
        self.min_categories = min_categories

    @override
    def _reader(self) -> Any:
        return Codes(self.min_categories)

    @override
    def _structure(self, reader: Any, rows: Any, n_outcomes: int, weights: np.ndarray) -> Any:
        return Joint.of(Categorical(n_outcomes, rows.shape[1], reader.n_categories))

    @override
    def _expose(self, model: Any, moments: Any) -> None:
        self.categories_: Any = self._reader_.categories
        shares = model.family.probabilities(moments.columns[0])
        self.probabilities_: list[Any] = [part.T.copy() for part in model.family.columns_of(shares)]

    @override
    def _n_parameters(self) -> int:
        return self.n_components_ * sum(part.shape[1] - 1 for part in self.probabilities_) + self.n_components_ - 1


@documented
class MultinomialMixture(Mixture):
    """A mixture of multinomials: rows of counts of words, drawn independently given the component. Sparse rows stay sparse.

    PARAMETERS
    ATTRIBUTES
    probabilities_ : ndarray of shape (n_components, n_features)
        Of the words.

    Examples
    --------
    >>> from suffice.mixture import MultinomialMixture
    >>> X = [[9, 1, 0], [8, 0, 1], [0, 2, 9], [1, 1, 7]]
    >>> labels = MultinomialMixture(2, random_state=0).fit_predict(X)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    @override
    def _reader(self) -> Any:
        return Words(type(self).__name__)

    @override
    def _structure(self, reader: Any, rows: Any, n_outcomes: int, weights: np.ndarray) -> Any:
        return WordStructure.of(Multinomial.for_data(rows, n_outcomes, weights))

    @override
    def _expose(self, model: Any, moments: Any) -> None:
        count = model.counts_of(moments)
        self.probabilities_: Any = (count / count.sum(axis=0)).T.copy()

    @override
    def _n_parameters(self) -> int:
        K, d = self.probabilities_.shape
        return K * (d - 1) + K - 1


@documented
class PoissonMixture(Mixture):
    """A mixture of rows of counts in independent Poisson columns.

    PARAMETERS
    ATTRIBUTES
    rates_ : ndarray of shape (n_components, n_features)

    Examples
    --------
    >>> from suffice.mixture import PoissonMixture
    >>> labels = PoissonMixture(2, random_state=0).fit_predict([[9, 1], [8, 0], [0, 2], [1, 1]])
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    @override
    def _reader(self) -> Any:
        return Counts(type(self).__name__)

    @override
    def _structure(self, reader: Any, rows: Any, n_outcomes: int, weights: np.ndarray) -> Any:
        return Joint.of(Poisson.for_data(rows, n_outcomes))

    @override
    def _expose(self, model: Any, moments: Any) -> None:
        self.rates_: Any = model.family.rates(moments.columns[0])

    @override
    def _n_parameters(self) -> int:
        return self.rates_.size + len(self.rates_) - 1


@documented
class MixedMixture(Mixture):
    """A mixture for one table with columns of several kinds: numbers, categories, yes and no, counts.

    By default for what a table says of itself: any column given the others (`conditional`, `predict_column`), missing cells
    (`impute`, `sample_missing`), cells that do not fit their rows (`score_cells`). How many components say most of held-out cells
    is found by the fit, which pools those of several mixtures.

    PARAMETERS
    kinds : dict {column: kind}, list of kinds, one kind or "auto", default="auto"
        "gaussian", "categorical", "bernoulli" or "count", as in `suffice.MixedNB`, or "ordinal": few whole numbers in order, levels of
        a number that is Gaussian in every component. By default few whole numbers are "ordinal" or "categorical", as says more of
        held-out cells (where n_components="auto").

    ATTRIBUTES
    kinds_ : dict {column: kind}
    means_, variances_ : dict {column: ndarray of shape (n_components,)}
        Of the Gaussian columns.
    probabilities_ : dict {column: ndarray of shape (n_components, n_categories)}
    rates_ : dict {column: ndarray of shape (n_components,)}
    categories_ : dict {column: list of categories}

    Examples
    --------
    >>> import pandas as pd
    >>> from suffice.mixture import MixedMixture
    >>> X = pd.DataFrame({"height": [1.9, 1.6, None, 1.61, 1.88, 1.6], "hair": ["long", "short", "short", None, "long", "short"]})
    >>> labels = MixedMixture(2, random_state=0).fit_predict(X)
    >>> bool(labels[0] == labels[4] != labels[1])
    True
    >>> model = MixedMixture(2, random_state=0).fit(X)
    >>> model.predict_column(X[:2], "hair").tolist()
    ['long', 'short']
    """

    kinds_: Any
    categories_: Any
    means_: dict[Any, Any]
    variances_: dict[Any, Any]
    probabilities_: dict[Any, Any]
    rates_: dict[Any, Any]

    def __init__(
        self, n_components: int | str = "auto", *, kinds: Any = "auto", tol: float = 1e-3, max_iter: int = 100, n_init: int = 1,
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
        self.kinds = kinds

    @override
    def _reader(self) -> Any:
        return Ordered(self.kinds)

    @override
    def _structure(self, reader: Any, rows: Any, n_outcomes: int, weights: np.ndarray) -> Any:
        return mixed_structure(reader, rows, n_outcomes)

    @override
    def _settled(self, reader: Any, rows: Any, weights: np.ndarray, generator: Any, watch: Any, engine: Any) -> Any:
        """Few whole numbers become levels in order where these say more of hidden cells (`choosing.readings`)."""
        names = reader.orderable()
        X, own_weights = merged_rows(rows, weights)
        if not names or len(X) < FEWEST_ROWS:
            return rows

        def score(is_ordered, held_out, size, child):
            own = reader.in_order(names) if is_ordered else reader
            fitted, judged, without = (
                reader.rows_in_order(part, names) if is_ordered else part
                for part in (held_out.fitted, held_out.judged, held_out.without)
            )
            nothing = np.full(len(fitted), -1)
            found = self._one(own, fitted, held_out.weights, nothing, size, child, None, watch, engine)
            return cell_scores(found, own, judged, without, held_out.judged_weights, engine)

        places = [reader.columns.index(name) for name in names]
        names = ordered_columns(X, own_weights, names, places, generator.spawn(1)[0], score)
        rows, settled = reader.rows_in_order(rows, names), reader.in_order(names)
        reader.kinds, reader.order = settled.kinds, settled.order
        return rows

    @override
    def _expose(self, model: Any, moments: Any) -> None:
        reader = self._reader_
        self.kinds_, self.categories_ = reader.kinds, reader.categories
        self.means_, self.variances_, self.probabilities_, self.rates_ = shown_columns(reader, model, moments)

    @override
    def _n_parameters(self) -> int:
        each = 2 * len(self.means_) + len(self.rates_) + sum(part.shape[1] - 1 for part in self.probabilities_.values())
        return self.n_components_ * each + self.n_components_ - 1
