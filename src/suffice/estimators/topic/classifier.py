"""A topic model for every class, trained to tell the classes apart: `LDAClassifier`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from typing_extensions import override

from ...choosing.recipes.topics import Topics as Recipe
from ...engines.threads import n_threads
from ...reading.documents import Documents, merged, telling_words
from ...structures.topics import ESTIMATORS, INFERENCES, Topics
from ..checks import check_one_of, check_positive, check_training, check_whole
from ..classifier import GenerativeClassifier
from ..kinds import Path, Seed


class LDAClassifier(GenerativeClassifier):
    """Latent Dirichlet allocation with its own topics for every class, trained for classification.

    A document of a class mixes that class's `n_topics` topics in proportions of its own. Use it where classes are themselves mixtures
    (a newsgroup has its threads, a kind of web page its layouts) and you want to see of what: it classifies as well as the best linear
    machines, and `top_words` shows the topics of every class. Rows are scaled to one length by default, as for MultinomialNB.

    Parameters
    ----------
    n_topics : int, default=2
        Topics of each class.
    loss : {"ncll", "hinge", "nll"} or Loss, default="ncll"
        What training minimises: the conditional likelihood of the labels, the hinge loss, or the joint likelihood (plain LDA, a model
        a class).
    inference : {"map", "variational", "gibbs"}, default="map"
        How a document's proportions are found: their most probable value, or the bound of Blei et al. (2003), which both give exact
        gradients; or topics sampled by collapsed Gibbs, trained online by the algorithm of Masegosa (2014).
    prior : float or "auto", default="auto"
        Pseudo-counts of every word in every topic: the regulariser. "auto" is .03 (ncll; .05 for "gibbs") or 1 (hinge) squared rows
        a class, and .1 under "nll".
    concentration : float or "auto", default="auto"
        Of the proportions' Dirichlet prior; "auto" is 1 / n_topics.
    row_norm : float, None or "auto", default="auto"
        Euclidean length every document is scaled to. None leaves counts alone; "auto" is 10, and None for "nll".
    nll_passes : int or "auto", default="auto"
        Passes with the likelihood before the discriminative ones: they find the topics. "auto" is 6, and 5 for "gibbs".
    max_epochs : int or "auto", default="auto"
        Most passes over the data; "auto" is 30. For "gibbs" the number of passes; "auto" is 18, and 8 for "nll".
    share_word_topic : bool, default=True
        Only for "gibbs": all occurrences of a word in a document share a topic (as in the paper), else each has its own.
    n_sweeps : int or "auto", default="auto"
        Only for "gibbs": sweeps over a document, in training. "auto" is 3, and 5 for "nll".
    train_likelihood, likelihood : {"plug-in", "left-to-right", "variational"}, default="plug-in"
        Only for "gibbs": the estimator of log p(document | class) in training (not "variational") and in prediction.
    tol : float, default=1e-3
        Training stops when documents want to change by less than twice this, in the mean.
    class_prior : array-like of shape (n_classes,), default=None
        Class probabilities to put in place of the learned ones.
    class_weight : dict {label: weight}, "balanced" or None, default=None
        Factors on the weights of the documents; "balanced" gives every class the same total weight.
    unlabelled_weight : float or "auto", default="auto"
        What a document without a label counts, through its marginal likelihood. "auto" decides on held-out labelled documents.
    unlabelled : a label, None or "auto", default="auto"
        The label that stands for "no label"; None: there is none. "auto" is -1 beside at least two labels >= 0, with a warning.
    n_jobs : int or None, default=None
        Threads (-1: one for every core). They do not change the result.
    random_state : int, RandomState instance or None, default=None
        Topics start from a random split of the words; documents are visited in random order.
    verbose : int, default=0
        Print a line a pass.
    checkpoint : path or None, default=None
        Where the fit writes where it stands, every `checkpoint_minutes`.
    checkpoint_minutes : float, default=3.0
    resume : path, True or None, default=None
        A checkpoint to go on from (True: `checkpoint`, if there is one yet): the result is that of a fit that never stopped.

    Attributes
    ----------
    classes_, class_count_ : ndarrays of shape (n_classes,)
    topics_ : ndarray of shape (n_classes, n_topics, n_features)
        p(word | topic, class), of the scaled rows.
    class_log_prior_ : ndarray of shape (n_classes,)
    moments_, natural_ : records of arrays
    history_ : dict of lists, one value a discriminative pass
    n_iter_, converged_, stopped_ : passes made, whether the criterion was met, and why training stopped.
    temperature_, background_ : float
        Factor on the scores and share of the class frequencies in `predict_proba` (found on held-out documents under the hinge).

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.topic import LDAClassifier
    >>> rng = np.random.default_rng(0)
    >>> topics = rng.dirichlet(np.full(30, 0.1), 4)
    >>> y = np.repeat(["bird", "fish"], 60)
    >>> phi = rng.dirichlet([1, 1], 120)
    >>> X = np.array([rng.multinomial(40, p @ topics[2 * (k == "fish"):][:2]) for p, k in zip(phi, y)])
    >>> model = LDAClassifier(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.topics_.shape
    (True, (2, 2, 30))

    References
    ----------
    Blei, Ng and Jordan (2003), Latent Dirichlet allocation; Masegosa (2014), Stochastic discriminative EM, section 4.2.
    """

    algorithm, step_size, average, warm_start = "auto", None, True, False

    def __init__(
        self, n_topics: int = 2, *, loss: str = "ncll", inference: str = "map", prior: float | str = "auto",
        concentration: float | str = "auto", row_norm: Any = "auto", nll_passes: int | str = "auto",
        max_epochs: int | str = "auto", tol: float = 1e-3, share_word_topic: bool = True, n_sweeps: int | str = "auto",
        train_likelihood: str = "plug-in", likelihood: str = "plug-in", class_prior: Any = None, class_weight: Any = None,
        unlabelled_weight: float | str = "auto", unlabelled: Any = "auto", n_jobs: int | None = None, random_state: Seed = None,
        verbose: int = 0, checkpoint: Path = None, checkpoint_minutes: float = 3.0, resume: Path | bool = None,
    ) -> None:  # fmt: skip
        self.n_topics = n_topics
        self.loss = loss
        self.inference = inference
        self.prior = prior
        self.concentration = concentration
        self.row_norm = row_norm
        self.nll_passes = nll_passes
        self.max_epochs = max_epochs
        self.tol = tol
        self.share_word_topic = share_word_topic
        self.n_sweeps = n_sweeps
        self.train_likelihood = train_likelihood
        self.likelihood = likelihood
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.unlabelled_weight = unlabelled_weight
        self.unlabelled = unlabelled
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.checkpoint_minutes = checkpoint_minutes
        self.resume = resume

    @override
    def _check_parameters(self) -> None:
        check_training(self, ("auto",), ("auto",))
        check_one_of("inference", self.inference, INFERENCES)
        if self.inference != "gibbs" and not self._loss().has_dual:
            raise ValueError(
                f"inference={self.inference!r} needs the dual of the loss, and loss={self._loss().name!r} has none: "
                "use inference='gibbs'"
            )
        check_one_of("likelihood", self.likelihood, ESTIMATORS)
        check_one_of("train_likelihood", self.train_likelihood, ESTIMATORS[:2])
        check_whole("n_topics", self.n_topics)
        check_whole("nll_passes", self.nll_passes, auto=True)
        check_whole("n_sweeps", self.n_sweeps, auto=True)
        check_positive("concentration", self.concentration, auto=True)
        check_positive("row_norm", self.row_norm, none=True, auto=True)

    def _row_norm(self) -> float | None:
        return (10.0 if self._tells_classes_apart() else None) if self.row_norm == "auto" else self.row_norm

    @override
    def _reader(self) -> Any:
        """Sampling needs whole counts: then the structure scales."""
        return Documents(type(self).__name__, None if self.inference == "gibbs" else self._row_norm())

    @override
    def _structure(self, reader: Any, rows: Any, n_outcomes: int, weights: np.ndarray) -> Any:
        length = float(weights @ np.asarray(rows.sum(axis=1)).ravel()) / max(float(weights.sum()), 1e-300)
        a = 1.0 / self.n_topics if self.concentration == "auto" else float(self.concentration)
        sampling: dict[str, Any] = {}
        if self.inference == "gibbs":
            sampling = {
                "likelihood": self.train_likelihood, "share": bool(self.share_word_topic), "n_sweeps": self._sweeps(),
                "row_norm": self._row_norm(), "seed": self._seed(),
            }  # fmt: skip
        return Topics(
            n_outcomes, rows.shape[1], int(self.n_topics), a, self.inference, max(length, 1e-300), n_threads(self.n_jobs),
            **sampling,
        )  # fmt: skip

    @override
    def _recipe(self, reader: Any, structure: Any = None) -> Any:
        options = replace(self._options(), max_epochs=self._passes())
        passes = 5 if self.inference == "gibbs" else 6
        passes = passes if self.nll_passes == "auto" else int(self.nll_passes)
        return Recipe(options, self.inference, passes, self.likelihood, self._seed() if structure is not None else 0)

    @override
    def _rows_that_count(self, rows: Any, codes: np.ndarray, weights: np.ndarray, loss: Any) -> Any:
        return merged(rows, codes, weights)

    def _passes(self) -> int:
        if self.max_epochs != "auto":
            return int(self.max_epochs)
        if self.inference != "gibbs":
            return 30
        return 18 if self._tells_classes_apart() else 8

    def _sweeps(self) -> int:
        if self.n_sweeps != "auto":
            return int(self.n_sweeps)
        return 3 if self._tells_classes_apart() else 5

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    @override
    def _expose(self, model: Any, moments: Any) -> None:
        self.row_norm_: float | None = self._row_norm()
        self.topics_ = np.ascontiguousarray((moments.count / moments.weight).transpose(2, 1, 0))
        self.class_log_prior_: Any = np.log(moments.mass / moments.mass.sum())

    def top_words(self, vocabulary: Any = None, n_words: int = 10) -> dict[Any, Any]:
        """The most telling words of every class's topics: {class: [words of topic 1, words of topic 2, ...]}.

        A word counts by how often the topic uses it, times how much more often than all topics do in the mean (its logarithm).
        """
        return {
            label: telling_words(self.topics_.reshape(-1, self.n_features_in_), vocabulary, n_words)[
                k * self.topics_.shape[1] : (k + 1) * self.topics_.shape[1]
            ]
            for k, label in enumerate(self.classes_)
        }

    @override
    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # as MultinomialNB's: two columns of blobs are no counts of words
        return tags
