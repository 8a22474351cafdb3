"""Naive Bayes classifiers: columns independent given the class, trained for the likelihood or for classification.

They are drop-in replacements of scikit-learn's: with `loss="nll"` they are the same models; with the default `loss="ncll"` the
same family of densities is fitted so that it classifies well.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from scipy import sparse

from .classifier import GenerativeClassifier
from .models.base import log_masses
from .models.categorical import Bernoulli, Categorical
from .models.complement import Complement
from .models.completion import any_missing
from .models.gaussian_diagonal import GaussianDiagonal, mean_and_variance
from .models.multinomial import Multinomial
from .models.poisson import Poisson, rates
from .models.rows import label_masses
from .models.words import ScaledRows, row_sizes
from .priors import interior

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB", "PoissonNB"]

PARAMETERS = """
    Parameters
    ----------
    loss : {"ncll", "hinge", "nll"}, default="ncll"
        What training minimises: the conditional likelihood of the labels (as logistic regression does), the hinge loss (as a
        support vector machine does), or the joint likelihood (plain naive Bayes).
    prior : float, "laplace", "log" or "auto", default="auto"
        Pseudo-counts: the regulariser. "auto" chooses on held-out parts of the training rows and keeps maximum likelihood where
        training for classification shows no gain; under "nll" it is the least that makes every estimate finite.
    algorithm : {"auto", "incremental", "stochastic", "batch", "paper"}, default="auto"
        "auto" is incremental where one number a row and class fits in memory, else stochastic. "paper" follows Masegosa (2014).
    step_size : float, schedule or None, default=None
        Only for stochastic learners. A number multiplies the first rate; a schedule comes from `suffice.step_sizes`.
    max_epochs : int, default=100
        Most passes over the data.
    tol : float, default=1e-3
        Training stops when the duality gap is below tol times the loss.
    average : bool, default=True
        Average the natural parameters of stochastic learners.
    class_prior : array-like of shape (n_classes,), default=None
        Class probabilities to put in place of the learned ones.
    class_weight : dict {label: weight}, "balanced" or None, default=None
        Factors on the weights of the rows; "balanced" gives every class the same total weight.
    unlabelled_weight : float or "auto", default="auto"
        What a row without a label counts, through its marginal likelihood (1: as much as a row under "nll"). "auto" takes the best
        of a few weights on held-out labelled rows, and 0 unless they gain.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        Print a line a pass.
    warm_start : bool, default=False
        Start from the last fit.
    n_jobs : int or None, default=None
        Threads that try out priors on the held-out parts side by side; None is one, -1 one for every core. It changes the time, not
        a bit of the result.
"""

ATTRIBUTES = """
    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_count_ : ndarray of shape (n_classes,)
        Weight of the training rows of each class.
    moments_, natural_ : records of arrays
        The model in its two coordinate systems.
    history_ : dict of lists
        Per pass: objective, the three losses and accuracy of the best state measured so far, duality gap, shortened steps, seconds.
        (Many rows of words are measured after every fourth pass and the last one.)
    n_iter_, converged_, stopped_ : passes made, whether the criterion was met, and why training stopped.
    temperature_, rivalry_, background_ : float
        How `predict_proba` is calibrated: factor on the scores, how much sharper the rivals of the best class are told apart, and share
        of the class frequencies (1, 1 and 0 unless held-out rows asked for more).
    unlabelled_weight_ : float
        What rows without a label counted.
    choice_ : the prior that was chosen, or why maximum likelihood was kept.
"""


def documented(cls):
    """Put the shared sections of the docstring where the class asks for them."""
    cls.__doc__ = cls.__doc__.replace("    PARAMETERS\n", PARAMETERS.strip("\n") + "\n").replace(
        "    ATTRIBUTES\n", ATTRIBUTES.strip("\n") + "\n"
    )
    return cls


@documented
class GaussianNB(GenerativeClassifier):
    """Gaussian naive Bayes: numeric columns, normal and independent given the class.

    Use it for tables of numbers. It does not depend on the units of the columns.

    PARAMETERS
    ATTRIBUTES
    theta_, var_ : ndarray of shape (n_classes, n_features)
        Means and variances.
    class_prior_ : ndarray of shape (n_classes,)

    References
    ----------
    A. Masegosa (2014). Stochastic discriminative EM. UAI.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from suffice import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> plain = cross_val_score(GaussianNB(loss="nll"), X, y).mean()
    >>> trained = cross_val_score(GaussianNB(random_state=0), X, y).mean()
    >>> bool(trained > plain + 0.01)
    True
    """

    def _model(self, X, n_outcomes, codes, weights):
        if self.algorithm == "paper":
            return GaussianDiagonal(n_outcomes, X.shape[1], np.zeros(X.shape[1]))
        return GaussianDiagonal.for_data(X, n_outcomes)

    def _expose(self, model, moments) -> None:
        mean, self.var_ = mean_and_variance(moments)
        self.theta_ = mean + model.location
        self.class_prior_ = moments.mass / moments.mass.sum()


LEAST_COUNT = 1e-100


class CountClassifier(GenerativeClassifier):
    """Shared by the classifiers of counts: no negative values.

    They take `sample_weight` but no `class_weight`: scikit-learn's check of that parameter feeds negative numbers.
    """

    class_weight = None

    def _check_rows(self, X, *, reset):
        values = X.data if sparse.issparse(X) else X
        if values.size and values.min() >= LEAST_COUNT:
            return X
        if (values < 0).any():
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__} as X: the smallest is {np.nanmin(values)}; "
                "it takes counts. Use GaussianNB for numbers of any sign"
            )
        if ((values > 0) & (values < LEAST_COUNT)).any():  # zero up to rounding
            X = X.copy()
            tiny = X.data if sparse.issparse(X) else X
            tiny[tiny < LEAST_COUNT] = 0.0
        return X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


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


@documented
class ComplementNB(MultinomialNB):
    """Complement naive Bayes: a class is described by the words of all other classes (Rennie and others, 2003).

    Use it for text whose classes differ much in size. With `loss="nll"` it is scikit-learn's (norm=False); under "ncll" and "hinge" its
    counts are fitted so that they classify well, as those of `MultinomialNB`. It is a classifier and no model of the rows: it neither
    samples nor scores them, and learns nothing from rows without a label (they are refused unless unlabelled_weight=0).
    `MultinomialNB` does.

    PARAMETERS
    count_power : {1, 0.5, 0.25, "auto"}, default="auto"
        Power that counts are raised to before all else, as in `MultinomialNB`.
    row_norm : float, None or "auto", default="auto"
        Euclidean length every row is scaled to, at training and prediction. None leaves rows alone; "auto" is 10, and None for "nll".

    ATTRIBUTES
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Weights of the words: minus log p(word | not the class), of the scaled rows.
    feature_count_ : ndarray of shape (n_classes, n_features)
        Counts of the words in each class, of the scaled rows (0 where there is one class only).
    class_log_prior_ : ndarray of shape (n_classes,)
        Of the training rows; it takes no part in the scores.
    row_norm_ : float or None
    unit_ : float
        What rows are divided by where they are not scaled to one length.

    Examples
    --------
    >>> from suffice import ComplementNB
    >>> X = [[2, 1, 0], [3, 0, 1], [0, 1, 4], [1, 0, 3]]
    >>> ComplementNB(loss="nll").fit(X, ["a", "a", "b", "b"]).predict([[5, 0, 1]])
    array(['a'], dtype='<U1')
    """

    _family = Complement

    def _check_parameters(self):
        if self.algorithm == "paper":
            raise ValueError(
                "algorithm='paper' fits a generative model, and ComplementNB is none: use MultinomialNB, or 'auto'"
            )
        if isinstance(self.prior, (int, float, np.number)) and self.prior == 0:
            raise ValueError(
                "prior=0 leaves words that only one class has without a count in the others: give a positive prior"
            )
        return super()._check_parameters()

    def _train(self, problem, plain, generator):
        self._refuse_unlabelled(problem.y)
        return super()._train(problem, plain, generator)

    def _learn_batch(self, problem, first):
        self._refuse_unlabelled(problem.y)
        fit, _ = super()._learn_batch(problem, first)
        count = label_masses(problem.y, problem.weights, problem.model.n_outcomes)
        return fit, count if first else self.class_count_ + count

    def _refuse_unlabelled(self, codes) -> None:
        unlabelled = int((codes < 0).sum())
        if unlabelled and self.unlabelled_weight != 0:
            raise ValueError(
                f"y has {unlabelled} rows without a label, and ComplementNB, which is no model of the rows, can learn nothing from "
                "them: leave them out (unlabelled_weight=0), or use MultinomialNB"
            )

    def _expose(self, model, moments) -> None:
        super()._expose(model, moments)
        self.feature_log_prob_ = -self.feature_log_prob_
        others = self._statistics.count.T
        self.feature_count_ = others.sum(axis=0) / max(len(others) - 1, 1) - others
        self.class_log_prior_ = np.log(self.class_count_ / self.class_count_.sum())

    @property
    def _no_density(self):
        raise AttributeError("ComplementNB is a classifier and no model of the rows: MultinomialNB has this method")

    sample = score_samples = impute = sample_missing = _no_density


@documented
class BernoulliNB(GenerativeClassifier):
    """Bernoulli naive Bayes: columns of yes and no, independent given the class.

    Use it for presence and absence. It counts absences, which MultinomialNB does not.

    PARAMETERS
    binarize : float or None, default=0.0
        Values above it are 1, others 0. None: X has only 0 and 1 already.

    ATTRIBUTES
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        log p(column is 1 | class).
    feature_count_ : ndarray of shape (n_classes, n_features)
    class_log_prior_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> from suffice import BernoulliNB
    >>> X = [[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]]
    >>> BernoulliNB(loss="nll").fit(X, [0, 0, 1, 1]).predict([[1, 1, 0]])
    array([0])
    """

    def __init__(
        self, *, loss="ncll", prior="auto", algorithm="auto", step_size=None, max_epochs=100, tol=1e-3, average=True,
        class_prior=None, class_weight=None, unlabelled_weight="auto",
        binarize=0.0, random_state=None, verbose=0, warm_start=False, n_jobs=None,
    ):  # fmt: skip
        super().__init__(
            loss=loss, prior=prior, algorithm=algorithm, step_size=step_size, max_epochs=max_epochs, tol=tol, average=average,
            class_prior=class_prior, class_weight=class_weight, unlabelled_weight=unlabelled_weight,
            random_state=random_state, verbose=verbose, warm_start=warm_start, n_jobs=n_jobs,
        )  # fmt: skip
        self.binarize = binarize

    def _check_rows(self, X, *, reset):
        is_sparse = sparse.issparse(X)
        if is_sparse:
            X = X.copy()
            X.sum_duplicates()
        values = X.data if is_sparse else X
        if self.binarize is None:
            wrong = ~((values == 0) | (values == 1) | np.isnan(values))
            if wrong.any():
                raise ValueError(
                    f"binarize=None but X has the value {values[wrong][0]}: give a threshold, or only 0 and 1"
                )
        elif is_sparse and self.binarize < 0:
            raise ValueError(f"binarize={self.binarize} is negative: on sparse X that would make every empty cell 1")
        else:
            values = np.where(np.isnan(values), np.nan, self.binarize < values)
        if not is_sparse:
            return values
        X.data = values
        X.eliminate_zeros()
        return X

    def _model(self, X, n_outcomes, codes, weights):
        return Bernoulli.for_data(X, n_outcomes)

    def _expose(self, model, moments) -> None:
        self.feature_log_prob_ = np.log(model.probabilities(moments))[1::2].T
        self.feature_count_ = self._statistics.count[1::2].T
        self.class_log_prior_ = np.log(moments.mass / moments.mass.sum())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on numbers cut in two, as scikit-learn says of its own
        return tags


@documented
class CategoricalNB(GenerativeClassifier):
    """Categorical naive Bayes: each column has a category, independent given the class.

    Categories are the distinct values of the training rows, whatever numbers they are. A category that was not seen in training is
    treated as missing at prediction, with a warning.

    PARAMETERS
    min_categories : int, array-like of shape (n_features,) or None, default=None
        Categories 0 .. min_categories - 1 exist in a column even where they do not occur in training.

    ATTRIBUTES
    categories_ : list of ndarrays
    n_categories_ : ndarray of shape (n_features,)
    feature_log_prob_ : list of ndarrays of shape (n_classes, n_categories of the column)
    category_count_ : list of ndarrays of shape (n_classes, n_categories of the column)
    class_log_prior_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> from suffice import CategoricalNB
    >>> X = [[0, 2], [0, 1], [1, 2], [1, 0]]
    >>> CategoricalNB(loss="nll").fit(X, ["a", "a", "b", "b"]).predict([[0, 1]])
    array(['a'], dtype='<U1')
    """

    def __init__(
        self, *, loss="ncll", prior="auto", algorithm="auto", step_size=None, max_epochs=100, tol=1e-3, average=True,
        class_prior=None, class_weight=None, unlabelled_weight="auto",
        min_categories=None, random_state=None, verbose=0, warm_start=False, n_jobs=None,
    ):  # fmt: skip
        super().__init__(
            loss=loss, prior=prior, algorithm=algorithm, step_size=step_size, max_epochs=max_epochs, tol=tol, average=average,
            class_prior=class_prior, class_weight=class_weight, unlabelled_weight=unlabelled_weight,
            random_state=random_state, verbose=verbose, warm_start=warm_start, n_jobs=n_jobs,
        )  # fmt: skip
        self.min_categories = min_categories

    def _check_rows(self, X, *, reset):
        X = X.toarray() if sparse.issparse(X) else X
        if reset:
            self.categories_ = self._find_categories(X)
            self.n_categories_ = np.array([len(values) for values in self.categories_], dtype=np.int64)
        codes = np.full(X.shape, np.nan)
        unseen = []
        for j, values in enumerate(self.categories_):
            place = np.minimum(np.searchsorted(values, X[:, j]), len(values) - 1)
            known = values[place] == X[:, j]
            codes[known, j] = place[known]
            if not (known | np.isnan(X[:, j])).all():
                unseen.append(j)
        if unseen:
            warnings.warn(
                f"columns {unseen[:10]} hold categories that were not seen in training; they are treated as missing",
                stacklevel=4,
            )
        return codes

    def _find_categories(self, X) -> list[np.ndarray]:
        found = [np.unique(column[~np.isnan(column)]) for column in X.T]
        if self.min_categories is not None:
            sizes = np.broadcast_to(np.asarray(self.min_categories), (X.shape[1],))
            if not np.issubdtype(sizes.dtype, np.integer) or (sizes < 0).any():
                raise ValueError(
                    f"min_categories={self.min_categories!r} must be whole numbers >= 0, one or one for each column"
                )
            found = [
                np.union1d(values, np.arange(size, dtype=float)) for values, size in zip(found, sizes, strict=True)
            ]
        return [values if len(values) else np.zeros(1) for values in found]

    def _model(self, X, n_outcomes, codes, weights):
        return Categorical(n_outcomes, X.shape[1], self.n_categories_)

    def _unscaled(self, X, model):
        return np.stack([values[X[:, j].astype(int)] for j, values in enumerate(self.categories_)], axis=1)

    def _expose(self, model, moments) -> None:
        cuts = model.offset[1:]
        self.feature_log_prob_ = [part.T for part in np.split(np.log(model.probabilities(moments)), cuts)]
        self.category_count_ = [part.T for part in np.split(self._statistics.count, cuts)]
        self.class_log_prior_ = np.log(moments.mass / moments.mass.sum())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags

    def _unscaled_std(self, std):
        return std


@documented
class PoissonNB(CountClassifier):
    """Poisson naive Bayes: counts in independent Poisson columns given the class.

    Use it for counts whose totals matter (MultinomialNB only looks at proportions).

    PARAMETERS
    unit : float, array-like of shape (n_features,) or "auto", default="auto"
        What one count is worth: a column is unit times a Poisson variable, so its variance is unit times its mean. "auto" is the
        pooled ratio of variance to mean within classes (scale-free, allows for overdispersion), and 1 for "nll".

    ATTRIBUTES
    rate_ : ndarray of shape (n_classes, n_features)
        Expected value of each column.
    unit_ : ndarray of shape (n_features,)
    class_log_prior_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> from suffice import PoissonNB
    >>> X = [[2, 1], [3, 0], [0, 4], [1, 3]]
    >>> PoissonNB(loss="nll").fit(X, ["a", "a", "b", "b"]).predict([[5, 0]])
    array(['a'], dtype='<U1')
    """

    def __init__(
        self, *, loss="ncll", prior="auto", algorithm="auto", step_size=None, max_epochs=100, tol=1e-3, average=True,
        class_prior=None, unlabelled_weight="auto",
        unit="auto", random_state=None, verbose=0, warm_start=False, n_jobs=None,
    ):  # fmt: skip
        super().__init__(
            loss=loss, prior=prior, algorithm=algorithm, step_size=step_size, max_epochs=max_epochs, tol=tol, average=average,
            class_prior=class_prior, unlabelled_weight=unlabelled_weight,
            random_state=random_state, verbose=verbose, warm_start=warm_start, n_jobs=n_jobs,
        )  # fmt: skip
        self.unit = unit

    def _model(self, X, n_outcomes, codes, weights):
        if not isinstance(self.unit, str):
            unit = np.broadcast_to(np.asarray(self.unit, dtype=float), (X.shape[1],)).copy()
            if not ((unit > 0) & np.isfinite(unit)).all():
                raise ValueError(f"unit={self.unit!r} must be positive: one number, or one for each column")
            self.unit_ = unit
        elif self.unit != "auto":
            raise ValueError(f"unit={self.unit!r} is neither a positive number, an array of them nor 'auto'")
        elif self.loss == "nll" or self.algorithm == "paper":
            self.unit_ = np.ones(X.shape[1])
        else:
            spread = GaussianDiagonal(n_outcomes, X.shape[1], np.zeros(X.shape[1])).statistics(X, codes, weights)
            _, variance = mean_and_variance(spread)
            total = spread.first.sum(axis=0)
            unit = (spread.weight * variance).sum(axis=0) / np.where(total > 0, total, 1.0)
            typical = np.median(unit[unit > 0]) if (unit > 0).any() else 1.0
            self.unit_ = np.where(unit > 1e-3 * typical, unit, typical)
        return Poisson.for_data(X, n_outcomes)

    def _scaled(self, X, model):
        return X @ sparse.diags(1.0 / self.unit_) if sparse.issparse(X) else X / self.unit_

    def _unscaled(self, X, model):
        return X * self.unit_

    def _expose(self, model, moments) -> None:
        self.rate_ = rates(moments) * self.unit_
        self.class_log_prior_ = np.log(moments.mass / moments.mass.sum())
