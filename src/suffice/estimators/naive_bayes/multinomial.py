"""Counts of words, drawn independently given the class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from ...choosing.priors import interior
from ...families.base import log_masses
from ...families.completion import any_missing
from ...families.multinomial import Multinomial
from ...families.words import ScaledRows, row_sizes
from .counts import CountClassifier
from .sections import documented


@documented
class MultinomialNB(CountClassifier):
    """Multinomial naive Bayes: counts of words (or weights such as tf-idf), drawn independently given the class.

    Use it for text and other sparse counts. Under "ncll" and "hinge" rows are scaled to one length by default, because words of a
    document are not independent and a long document would count too often.

    PARAMETERS
    count_power : {1, 0.5, 0.25, "auto"}, default="auto"
        Power that counts are raised to before all else, at training and prediction (densities and samples are of such rows): words
        come in bursts, and the second occurrence says less than the first. "auto" is 1, unless held-out rows gain by a smaller one
        when `prior="auto"` is chosen.
    row_norm : float, None or "auto", default="auto"
        Euclidean length every row is scaled to, at training and prediction. None leaves rows alone; "auto" is 10, and None for
        "nll" and for `algorithm="paper"`.

    ATTRIBUTES
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        log p(word | class), of the scaled rows.
    feature_count_ : ndarray of shape (n_classes, n_features)
    class_log_prior_ : ndarray of shape (n_classes,)
    count_power_ : float
    row_norm_ : float or None
    unit_ : float
        What rows are divided by where they are not scaled to one length.

    Examples
    --------
    >>> from suffice import MultinomialNB
    >>> X = [[2, 1, 0], [3, 0, 1], [0, 1, 4], [1, 0, 3]]
    >>> MultinomialNB(loss="nll").fit(X, ["a", "a", "b", "b"]).predict([[5, 0, 1]])
    array(['a'], dtype='<U1')
    """

    _family: type[Multinomial] = Multinomial
    _softness = (
        1.0  # on held-out training documents it gains accuracy and log-loss (docs/text.md), and it converges faster
    )

    def __init__(
        self, *, loss="ncll", prior="auto", algorithm="auto", step_size=None, max_epochs=100, tol=1e-3, average=True,
        class_prior=None, unlabelled_weight="auto",
        count_power="auto", row_norm="auto", random_state=None, verbose=0, warm_start=False, n_jobs=None,
    ):  # fmt: skip
        super().__init__(
            loss=loss, prior=prior, algorithm=algorithm, step_size=step_size, max_epochs=max_epochs, tol=tol, average=average,
            class_prior=class_prior, unlabelled_weight=unlabelled_weight,
            random_state=random_state, verbose=verbose, warm_start=warm_start, n_jobs=n_jobs,
        )  # fmt: skip
        self.count_power = count_power
        self.row_norm = row_norm

    def _check_rows(self, X, *, reset):
        if any_missing(X):
            raise ValueError(
                f"X has missing counts (NaN), and {type(self).__name__} takes none: the length of a row with missing words is unknown. "
                "Use PoissonNB, whose columns are independent, or write 0 for words that do not occur"
            )
        if reset:
            self.count_power_, self.row_norm_, self.unit_ = self._count_power(), self._row_norm(), 1.0
        return sparse.csr_matrix(super()._check_rows(X, reset=reset))

    def _scaled(self, X, model):
        return self._read(X, getattr(self, "count_power_", 1.0))  # files of before have no power

    def _read(self, X, power: float):
        """Counts to this power, in our units or scaled to one length."""
        if self.row_norm_ is None and power == self.unit_ == 1.0:
            return X
        rows = in_units(X, self.unit_, power)
        if self.row_norm_ is None:
            return rows
        norms = np.sqrt(row_sizes(rows)[1])
        return replace(rows, factors=np.where(norms > 0, self.row_norm_ / np.where(norms > 0, norms, 1.0), 0.0))

    @property
    def _max_roots(self):
        return 2 if self.count_power == "auto" else 0

    def _rows_as(self, problem, setting, *, keep=False):
        if not setting.roots:
            return problem
        power = 0.5**setting.roots
        if keep:
            self.count_power_ = power
        counts = problem.X.counts if isinstance(problem.X, ScaledRows) else problem.X
        rows = self._read(counts, power)
        return replace(problem, X=rows, model=self._model_of(rows, problem.model.n_outcomes, problem.weights))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.classifier_tags.poor_score = True  # as scikit-learn's: two columns of blobs are no counts of words
        return tags

    def _plain(self, problem, *, keep=True):
        """Rows as they are, in units of the smallest count (1 for counts), so that the units of X do not matter."""
        if self.row_norm != "auto":
            return super()._plain(problem)
        power = self._count_power()
        unit = row_sizes(in_units(problem.X, 1.0, power))[2]
        unit = unit if np.isfinite(unit) else 1.0
        if keep:
            self.count_power_, self.row_norm_, self.unit_ = power, None, unit
        X = problem.X if unit == power == 1.0 else in_units(problem.X, unit, power)
        return replace(problem, X=X, model=self._family.for_data(X, problem.model.n_outcomes, problem.weights))

    def _plain_scores(self, problem):
        """As of rows in units of the smallest count, without making them: words speak 1 / unit times as loud."""
        if self.row_norm != "auto" or self._count_power() != 1.0:
            return super()._plain_scores(problem)
        X, model = problem.X, self._family.for_data(problem.X, problem.model.n_outcomes, problem.weights)

        def scores(weights, which):
            moments = interior(model, model.statistics(X, problem.y, weights))
            logs = log_masses(moments)
            return logs + (model.scores(moments, X, which=which) - logs) / model.unit

        return scores

    def _count_power(self) -> float:
        if self.count_power == "auto":
            return 1.0
        if self.count_power in (1.0, 0.5, 0.25):
            return float(self.count_power)
        raise ValueError(f"count_power={self.count_power!r} is not one of 1, 0.5, 0.25 and 'auto'")

    def _row_norm(self) -> float | None:
        if self.row_norm == "auto":
            return None if self.loss == "nll" or self.algorithm == "paper" else 10.0
        if self.row_norm is None or (isinstance(self.row_norm, (int, float)) and 0 < self.row_norm < np.inf):
            return self.row_norm
        raise ValueError(f"row_norm={self.row_norm!r} is neither a positive number, None nor 'auto'")

    def _model(self, X, n_outcomes, codes, weights):
        return self._model_of(self._scaled(X, None), n_outcomes, weights)

    def _model_of(self, rows, n_outcomes, weights):
        model = self._family.for_data(rows, n_outcomes, weights)
        return model if self.row_norm_ is None else replace(model, unit=1.0)

    def _expose(self, model, moments) -> None:
        self.feature_log_prob_ = self.natural_.logit.T
        self.feature_count_ = self._statistics.count.T
        self.class_log_prior_ = np.log(moments.mass / moments.mass.sum())


def in_units(X, unit: float, power: float = 1.0) -> ScaledRows:
    """The counts to a power (1, 1/2, 1/4), divided by the unit."""
    return ScaledRows(X, np.full(X.shape[0], 1.0 / unit), round(-np.log2(power)))
