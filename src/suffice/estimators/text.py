"""Text classification in one line: strings in, labels and probabilities out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.utils.validation import check_is_fitted

from ..reading.guards import all_or_nothing
from . import loaded_others
from .explaining import telling_columns
from .habits import Habits
from .kinds import Path, Seed
from .naive_bayes import MultinomialNB

__all__ = ["TextClassifier"]

WEIGHINGS = ("tfidf", "count", "binary")


class TextClassifier(Habits, ClassifierMixin, BaseEstimator):
    """A classifier of documents: tokenises, counts and weighs words, and trains a discriminative multinomial naive Bayes.

    Use it for raw strings when you want one object with sensible defaults. Nothing needs tuning: the prior is chosen on parts of
    the training documents, and probabilities are calibrated there. Use `MultinomialNB` when you have counts already.

    Parameters
    ----------
    loss : {"hinge", "ncll", "nll"} or Loss, default="hinge"
        The hinge is the default because it was the better or equal one on the training folds of the sets in docs/notes/text.md.
    weighing : {"tfidf", "count", "binary"}, default="tfidf"
        What a word's number is: sublinear tf-idf, how often it occurs, or whether it does.
    ngrams : tuple of two ints, default=(1, 1)
        Shortest and longest runs of words to count.
    min_documents : int or float, default=1
        Words in fewer documents (or a smaller share of them) are left out.
    max_words : int or None, default=None
        Keep only the most frequent words.
    lowercase : bool, default=True
    stop_words : {"english"}, list or None, default=None
    token_pattern : str, default=r"(?u)\\b\\w\\w+\\b"
        What a word is.
    prior : float or "auto", default="auto"
    algorithm : {"auto", "incremental", "stochastic", "batch", "paper"}, default="auto"
    max_epochs : int, default=100
    tol : float, default=1e-3
    class_weight : dict {label: weight}, "balanced" or None, default=None
        Factors on the weights of the documents; "balanced" gives every label the same total weight.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int or None, default=None
        Threads. The result does not depend on it.
    verbose : int, default=0
        Print a line a pass.
    checkpoint : path or None, default=None
        Where the fit writes where it stands, every `checkpoint_minutes`.
    checkpoint_minutes : float, default=3.0
    resume : path, True or None, default=None
        A checkpoint to go on from (True: `checkpoint`, if there is one yet): the result is that of a fit that never stopped.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    vocabulary_ : ndarray of words
    idf_ : ndarray or None
        What occurrences of every word are multiplied by under tf-idf.
    model_ : MultinomialNB
        The fitted model; its attributes say what was chosen.
    stopped_ : str
        Why its training ended.

    Examples
    --------
    >>> from suffice.text import TextClassifier
    >>> documents = ["a good film", "a fine good plot", "dull and bad", "a bad film, dull plot"] * 10
    >>> labels = ["up", "up", "down", "down"] * 10
    >>> TextClassifier(random_state=0).fit(documents, labels).predict(["a fine film"])
    array(['up'], dtype='<U4')
    """

    model_: Any
    classes_: Any
    vocabulary_: np.ndarray

    def __init__(
        self, *, loss: str = "hinge", weighing: str = "tfidf", ngrams: tuple[int, int] = (1, 1), min_documents: int = 1,
        max_words: int | None = None, lowercase: bool = True, stop_words: Any = None, token_pattern: str = r"(?u)\b\w\w+\b",
        prior: float | str = "auto", algorithm: str = "auto", max_epochs: int = 100, tol: float = 1e-3, class_weight: Any = None,
        random_state: Seed = None, n_jobs: int | None = None, verbose: int = 0, checkpoint: Path = None,
        checkpoint_minutes: float = 3.0, resume: Path | bool = None,
    ) -> None:  # fmt: skip
        self.loss = loss
        self.weighing = weighing
        self.ngrams = ngrams
        self.min_documents = min_documents
        self.max_words = max_words
        self.lowercase = lowercase
        self.stop_words = stop_words
        self.token_pattern = token_pattern
        self.prior = prior
        self.algorithm = algorithm
        self.max_epochs = max_epochs
        self.tol = tol
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.checkpoint_minutes = checkpoint_minutes
        self.resume = resume

    @all_or_nothing
    def fit(self, documents: Any, y: Any, sample_weight: ArrayLike | None = None) -> TextClassifier:
        """Learn from documents (an iterable of strings) and their labels."""
        documents = checked(documents)
        counter, weigher, rows = self._begun(documents)
        model = self._model().fit(rows, y, sample_weight)
        return self._keep(counter, weigher, model)

    @all_or_nothing
    def partial_fit(
        self, documents: Any, y: Any, classes: Any = None, sample_weight: ArrayLike | None = None
    ) -> TextClassifier:
        """Learn from one batch of a stream. The first one fixes the words (and how they are weighed); it needs all `classes`."""
        documents = checked(documents)
        if hasattr(self, "model_"):
            before = self.model_.class_weight
            try:
                self.model_.set_params(class_weight=self.class_weight)
                self.model_.partial_fit(self.rows_of(documents), y, classes, sample_weight)
            except BaseException:
                self.model_.class_weight = before  # a call that fails changes nothing
                raise
            return self
        counter, weigher, rows = self._begun(documents)
        model = self._model().partial_fit(rows, y, classes, sample_weight)
        return self._keep(counter, weigher, model)

    @property
    def stopped_(self) -> str:
        return self.model_.stopped_

    def _keep(self, counter: CountVectorizer, weigher: TfidfTransformer | None, model: MultinomialNB) -> TextClassifier:
        self.model_, self.classes_, self.vocabulary_ = model, model.classes_, counter.get_feature_names_out()
        self.idf_: np.ndarray | None = None if weigher is None else np.asarray(weigher.idf_)
        return self

    def _begun(self, documents: list[Any]) -> Any:
        """What counts the words of these documents, what weighs them, and the documents as rows."""
        if self.weighing not in WEIGHINGS:
            raise ValueError(f"weighing={self.weighing!r} is not one of {', '.join(map(repr, WEIGHINGS))}")
        counter = self._counting(min_df=self.min_documents, max_features=self.max_words)
        counts = counter.fit_transform(documents)
        if self.weighing != "tfidf":
            return counter, None, counts
        weigher = TfidfTransformer(sublinear_tf=True).fit(counts)
        return counter, weigher, weigher.transform(counts, copy=False)

    def _counting(self, **options: Any) -> CountVectorizer:
        return CountVectorizer(
            ngram_range=tuple(self.ngrams), lowercase=self.lowercase, stop_words=self.stop_words,
            token_pattern=self.token_pattern, binary=self.weighing == "binary", dtype=np.float64, **options,
        )  # fmt: skip

    def _model(self) -> MultinomialNB:
        return MultinomialNB(
            loss=self.loss, prior=self.prior, algorithm=self.algorithm, max_epochs=self.max_epochs, tol=self.tol,
            class_weight=self.class_weight, random_state=self.random_state, n_jobs=self.n_jobs, verbose=self.verbose,
            checkpoint=self.checkpoint, checkpoint_minutes=self.checkpoint_minutes, resume=self.resume,
        )  # fmt: skip

    def rows_of(self, documents: Any) -> sparse.csr_matrix:
        """The documents as the model reads them: weighed words."""
        check_is_fitted(self, "model_")
        counts = self._counting(vocabulary=list(self.vocabulary_)).transform(checked(documents))
        if self.idf_ is None:
            return counts
        weigher = TfidfTransformer(sublinear_tf=True)
        weigher.idf_ = self.idf_
        return weigher.transform(counts, copy=False)

    def predict(self, documents: Any) -> np.ndarray:
        """The most probable label of every document."""
        rows = self.rows_of(documents)
        return self.model_.predict(rows)

    def predict_proba(self, documents: Any) -> np.ndarray:
        """p(label | document), calibrated on held-out training documents."""
        return np.exp(self.predict_log_proba(documents))

    def predict_log_proba(self, documents: Any) -> np.ndarray:
        rows = self.rows_of(documents)
        return self.model_.predict_log_proba(rows)

    def decision_function(self, documents: Any) -> np.ndarray:
        """log p(words, label) of the model, before calibration."""
        rows = self.rows_of(documents)
        return self.model_.predict_joint_log_proba(rows)

    def explain(self, documents: Any, y: Any = None, top: int = 10) -> Any:
        """What every word adds to the log-odds of the predicted label against the rest.

        Parameters
        ----------
        documents : iterable of strings, or one string
        y : a label, or a label for each document, default=None
            Labels to explain in the place of the predicted ones.
        top : int, default=10
            Of one string: how many words.

        Returns
        -------
        Explanation, or of one string a list of (word, part): the words that spoke most, the first first.
        """
        is_one = isinstance(documents, str)
        rows = self.rows_of([documents] if is_one else documents)
        found = self.model_.explain(rows, y)
        found.names = self.vocabulary_.tolist()
        return found.of_row(0, top) if is_one else found

    def telling_words(self, n_words: int = 10) -> dict[Any, Any]:
        """{label: [(word, log-odds)]}: the words of an average weight that speak most for each label against the rest."""
        check_is_fitted(self, "model_")
        return telling_columns(self.model_, self.vocabulary_, n_words)

    def _check_loaded(self) -> None:
        loaded_others.check_text(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def checked(documents: Any) -> Any:
    """Documents as an iterable of strings, or an error that says what came instead."""
    if isinstance(documents, (str, bytes)):
        raise ValueError("documents is one string: give a list of strings, even for a single document")
    if getattr(documents, "ndim", 1) != 1:
        raise ValueError(
            f"documents has {documents.ndim} dimensions: give a flat list of strings, or use MultinomialNB for counts"
        )
    documents = list(documents)
    if not documents:
        raise ValueError("documents is empty: give at least one string")
    for i, document in enumerate(documents):
        if not isinstance(document, (str, bytes)):
            raise ValueError(
                f"documents[{i}] is a {type(document).__name__}, not a string: missing texts must be '' (empty)"
            )
    return documents
