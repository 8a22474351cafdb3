"""A topic model for every class, trained to tell the classes apart: `LDAClassifier`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...choosing.priors import FLAT_OUTCOMES, Setting, mean_squared_row
from ...choosing.selection import Choice, best_background, best_temperature, shares
from ...choosing.unlabelled import rows_of
from ...engines.threads import n_threads
from ...learners.driver import Fit, Problem, Stop, run
from ...learners.incremental import Warm
from ...learners.topics.gibbs import OnlineGibbs
from ...learners.topics.passes import EM, IncrementalTopics
from ...learners.watch import Watch
from ...reading.documents import counts_of, merged, scaled_to, telling_words
from ...structures.topics import ESTIMATORS, INFERENCES, Topics
from ..classifier import GenerativeClassifier

STRENGTHS = {"ncll": 0.03, "hinge": 1.0}  # pseudo-count of a word in a class, in units of the mean squared row
GIBBS_STRENGTHS = {"ncll": 0.05, "hinge": 1.0}  # steps are larger and noisier
PSEUDO_COUNT = 0.1  # of a word in a topic, under the likelihood
STREAM_PASSES = 3  # over a batch of a stream
STREAM_RATE = 0.5  # of steps with sampled topics, in all batches but the first
MIN_HELD_OUT = 50  # documents a class and more, for a calibration on held-out ones


class LDAClassifier(GenerativeClassifier):
    """Latent Dirichlet allocation with its own topics for every class, trained for classification.

    A document of a class mixes that class's `n_topics` topics in proportions of its own. Use it where classes are themselves mixtures
    (a newsgroup has its threads, a kind of web page its layouts) and you want to see of what: it classifies as well as the best linear
    machines, and `top_words` shows the topics of every class. Rows are scaled to one length by default, as for MultinomialNB.

    Parameters
    ----------
    n_topics : int, default=2
        Topics of each class.
    loss : {"ncll", "hinge", "nll"}, default="ncll"
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
        Passes with the likelihood before the discriminative ones: they find the topics. "auto" is 15, and 5 for "gibbs".
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
    unlabelled_weight : float or "auto", default="auto"
        What a document without a label counts, through its marginal likelihood. "auto" decides on held-out labelled documents.
    n_jobs : int or None, default=None
        Threads (-1: one for every core). They do not change the result.
    random_state : int, RandomState instance or None, default=None
        Topics start from a random split of the words; documents are visited in random order.
    verbose : int, default=0
        Print a line a pass.

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

    algorithm, step_size, average, class_weight, warm_start = "auto", None, True, None, False

    def __init__(
        self, n_topics=2, *, loss="ncll", inference="map", prior="auto", concentration="auto", row_norm="auto",
        nll_passes="auto", max_epochs="auto", tol=1e-3, share_word_topic=True, n_sweeps="auto", train_likelihood="plug-in",
        likelihood="plug-in", class_prior=None, unlabelled_weight="auto", n_jobs=None, random_state=None, verbose=0,
    ):  # fmt: skip
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
        self.unlabelled_weight = unlabelled_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -- rows ---------------------------------------------------------------------------------------------------------

    def _row_options(self):
        return {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": "allow-nan"}

    def _check_rows(self, X, *, reset):
        if reset:
            self.row_norm_ = self._row_norm()
        return counts_of(X, type(self).__name__)

    def _scaled(self, X, model):
        if self.row_norm_ is None or self.inference == "gibbs":  # sampling needs whole counts: the model scales
            return X
        return scaled_to(X, self.row_norm_)

    def _informative(self, X, codes, weights, loss):
        return merged(X, codes, weights)

    def _row_norm(self) -> float | None:
        return (None if self.loss == "nll" else 10.0) if self.row_norm == "auto" else self.row_norm

    def _model(self, X, n_outcomes, codes, weights):
        rows = self._scaled(X, None)
        length = float(weights @ np.asarray(rows.sum(axis=1)).ravel()) / max(float(weights.sum()), 1e-300)
        a = 1.0 / self.n_topics if self.concentration == "auto" else float(self.concentration)
        sampling = {}
        if self.inference == "gibbs":
            sampling = {
                "likelihood": self.train_likelihood, "share": bool(self.share_word_topic), "n_sweeps": self._sweeps(),
                "row_norm": self.row_norm_, "seed": check_seed(self.random_state),
            }  # fmt: skip
        return Topics(
            n_outcomes, X.shape[1], int(self.n_topics), a, self.inference, max(length, 1e-300), n_threads(self.n_jobs),
            **sampling,
        )  # fmt: skip

    # -- training -----------------------------------------------------------------------------------------------------

    def _train_labelled(self, problem: Problem, plain: Problem, generator) -> tuple[Problem, Fit, Choice]:
        self._statistics = statistics = problem.model.statistics(problem.X, problem.y, problem.weights)
        if not problem.loss.is_discriminative or problem.model.n_outcomes == 1:
            problem = replace(
                problem, loss=replace(problem.loss, name="nll"), prior=self._likelihood_prior(problem.model, statistics)
            )
            return (
                problem,
                self._solve(self._learner(problem), problem, None, generator),
                Choice(None, reason="likelihood"),
            )
        choice = Choice(Setting(self._strength(problem.loss)), reason="fixed strength")
        if problem.loss.name == "hinge" or self.inference == "gibbs":
            choice = self._calibrated(problem, choice, generator)
        problem = replace(problem, prior=self._prior_of(problem, statistics, choice))
        return problem, self._solve(self._learner(problem), problem, None, generator), choice

    def _likelihood_prior(self, model, statistics):
        amount = PSEUDO_COUNT if self.prior == "auto" else float(self.prior)
        prior = model.pseudo_counts(statistics, max(amount, 1e-12))
        return replace(prior, mass=np.full(model.n_outcomes, 1e-9))

    def _prior_of(self, problem: Problem, statistics, choice: Choice):
        """The same pseudo-count for every word and topic, a flat prior of the classes."""
        model: Any = problem.model
        if not problem.loss.is_discriminative:
            return self._likelihood_prior(model, statistics)
        if self.prior == "auto":
            rows = problem.X if model.row_norm is None else scaled_to(problem.X, model.row_norm)
            row = mean_squared_row(rows, problem.weights)
            amount = self._strength(problem.loss) * row / model.n_topics
        else:
            amount = float(self.prior)
        prior = model.pseudo_counts(statistics, max(amount, 1e-12))
        return replace(prior, mass=np.full(model.n_outcomes, FLAT_OUTCOMES))

    def _strength(self, loss) -> float:
        return (GIBBS_STRENGTHS if self.inference == "gibbs" else STRENGTHS)[loss.name]

    def _learner(self, problem: Problem):
        model: Any = problem.model
        if self.inference == "gibbs":
            n_first = 5 if self.nll_passes == "auto" else int(self.nll_passes)
            return OnlineGibbs(n_first, self._passes())
        if not problem.loss.is_discriminative:
            return EM()
        return IncrementalTopics(min(1e-3, self.tol), n_jobs=model.n_jobs)

    def _solve(self, learner, problem: Problem, start, generator, warm=None) -> Fit:
        """EM from a random split of the labelled documents' words; then, for a discriminative loss, its own passes."""
        model: Any = problem.model
        statistics = model.statistics(problem.X, problem.y, problem.weights)
        prior = self._likelihood_prior(model, statistics)
        if problem.loss.is_discriminative:
            prior = replace(prior, count=np.full_like(prior.count, PSEUDO_COUNT))
        start = model.random_split(statistics, generator) + prior
        options: Any = {"tol": self.tol, "watch": Watch(self._reporter()), "max_epochs": self._passes()}
        if self.inference == "gibbs":
            fit = run(learner, problem, start, generator, keep_best=False, **options)
            return fit
        if not problem.loss.is_discriminative:
            return run(learner, problem, start, generator, **options)
        labelled = rows_of(problem, np.flatnonzero(problem.y >= 0)) if (problem.y < 0).any() else problem
        likelihood = replace(labelled, loss=replace(problem.loss, name="nll"), prior=prior)
        found = run(
            EM(watch=False),
            likelihood,
            start,
            generator,
            max_epochs=15 if self.nll_passes == "auto" else int(self.nll_passes),
        )
        return run(learner, problem, found.moments, generator, warm=None if warm is None else Warm(warm), **options)

    def _passes(self) -> int:
        if self.max_epochs != "auto":
            return int(self.max_epochs)
        if self.inference != "gibbs":
            return 30
        return 8 if self.loss == "nll" else 18

    def _sweeps(self) -> int:
        if self.n_sweeps != "auto":
            return int(self.n_sweeps)
        return 5 if self.loss == "nll" else 3

    def _keep(self, model, fit, choice) -> None:
        """Prediction may take another estimator of the likelihood, and more sweeps, than training."""
        super()._keep(model.judging(self.likelihood), fit, choice)

    def _calibrated(self, problem: Problem, choice: Choice, generator) -> Choice:
        """Temperature and background from a fit on four fifths, where the rest is large enough to tell."""
        counts = np.bincount(problem.y, minlength=problem.model.n_outcomes)
        part = np.empty(len(problem.y), dtype=np.int64)
        order = generator.permutation(len(part))
        part[order[np.argsort(problem.y[order], kind="stable")]] = np.arange(len(part)) % 5
        held, train = np.flatnonzero(part == 0), np.flatnonzero(part > 0)
        if len(held) < MIN_HELD_OUT or np.bincount(problem.y[train], minlength=len(counts)).min() == 0:
            return choice
        fold = rows_of(problem, train)
        fold = replace(fold, prior=self._prior_of(fold, fold.model.statistics(fold.X, fold.y, fold.weights), choice))
        fit = self._solve(replace(self._learner(fold), watch=False), fold, None, generator)
        judge: Any = problem.model
        scores = judge.judging(self.likelihood).scores(fit.moments, problem.X[held])
        y, weights = problem.y[held], problem.weights[held] / problem.weights[held].sum()
        temperature = best_temperature(scores, y, weights)
        background, temperature = best_background(scores, y, weights, temperature, shares(counts), free=True)
        return replace(choice, temperature=temperature, background=background)

    # -- streams ------------------------------------------------------------------------------------------------------

    def _seen_statistics(self, problem: Problem, before):
        """Of all documents so far: of the labelled ones; under the likelihood with topics (and missing labels) as the model so far sees
        them."""
        batch = self._batch_statistics(problem, before is None)
        return batch if before is None else before + batch

    def _batch_statistics(self, problem: Problem, first: bool):
        model = problem.model
        if (problem.loss.is_discriminative and model.n_outcomes > 1) or self.inference == "gibbs":
            return model.statistics(problem.X, problem.y, problem.weights)
        prior = self._likelihood_prior(model, model.statistics(problem.X, problem.y, problem.weights))
        problem = replace(problem, loss=replace(problem.loss, name="nll"), prior=prior)
        if first:
            return self._solve(EM(watch=False), problem, None, np.random.default_rng(0)).moments - prior
        state = EM(watch=False).init(problem, self.moments_, None)
        return EM(n_steps=50, watch=False).step(problem, state).moments - prior

    def _stream(self, problem: Problem, statistics, first: bool):
        """A batch's documents are fitted with all earlier ones (through the moments) as their prior."""
        model = problem.model
        if self.inference == "gibbs":
            return self._gibbs_stream(problem, statistics, first)
        if not problem.loss.is_discriminative or model.n_outcomes == 1:
            moments = statistics + self._likelihood_prior(model, statistics)
            return Fit(moments, n_iter=1).ended(Stop.ONE_PASS), None, 0
        generator = np.random.default_rng(check_seed(self.random_state) + (0 if first else self._n_steps))
        learner = replace(self._learner(problem), watch=False)
        if first:
            choice = Choice(Setting(self._strength(problem.loss)))
            problem = replace(problem, prior=self._prior_of(problem, statistics, choice))
            fit = self._solve(learner, problem, None, generator)
        else:
            nothing = np.zeros((len(problem.y), model.n_outcomes))
            problem = replace(problem, prior=self.moments_)
            fit = run(learner, problem, self.moments_, generator, max_epochs=STREAM_PASSES, warm=Warm(nothing))
        n_steps = (0 if first else self._n_steps) + len(problem.y)
        return Fit(fit.moments, n_iter=1).ended(Stop.ONE_PASS), None, n_steps

    def _gibbs_stream(self, problem: Problem, statistics, first: bool):
        """One online pass over the batch from the model so far; the first batch gets all its passes."""
        generator = np.random.default_rng(check_seed(self.random_state) + (0 if first else self._n_steps))
        learner = replace(self._learner(problem), watch=False)
        if first:
            likelihood = replace(problem, prior=self._prior_of(problem, statistics, Choice(Setting(1.0))))
            fit = self._solve(learner, likelihood, None, generator)
        else:
            learner = replace(learner, nll_passes=0, n_passes=1, average=False, rate=STREAM_RATE)
            judge: Any = problem.model
            trained = replace(judge, likelihood=self.train_likelihood, n_sweeps=self._sweeps(), n_burn=0, n_chains=1)
            problem = replace(problem, model=trained, prior=self.moments_)
            fit = run(learner, problem, self.moments_, generator, max_epochs=1)
        n_steps = (0 if first else self._n_steps) + len(problem.y)
        return Fit(fit.moments, n_iter=1).ended(Stop.ONE_PASS), None, n_steps

    # -- what was learned ---------------------------------------------------------------------------------------------

    def _expose(self, model, moments) -> None:
        self.topics_ = np.ascontiguousarray((moments.count / moments.weight).transpose(2, 1, 0))
        self.class_log_prior_ = np.log(moments.mass / moments.mass.sum())

    def top_words(self, vocabulary=None, n_words: int = 10) -> dict:
        """The most telling words of every class's topics: {class: [words of topic 1, words of topic 2, ...]}.

        A word counts by how often the topic uses it, times how much more often than all topics do in the mean (its logarithm).
        """
        return {
            label: telling_words(self.topics_.reshape(-1, self.n_features_in_), vocabulary, n_words)[
                k * self.n_topics : (k + 1) * self.n_topics
            ]
            for k, label in enumerate(self.classes_)
        }

    # -- checks -------------------------------------------------------------------------------------------------------

    def _check_parameters(self):
        passes, self.max_epochs = self.max_epochs, 30 if self.max_epochs == "auto" else self.max_epochs
        try:
            loss = super()._check_parameters()
        finally:
            self.max_epochs = passes
        if self.inference not in INFERENCES:
            raise ValueError(f"inference={self.inference!r} is not one of {', '.join(map(repr, INFERENCES))}")
        for name in ("likelihood", "train_likelihood"):
            allowed = ESTIMATORS if name == "likelihood" else ESTIMATORS[:2]
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}={getattr(self, name)!r} is not one of {', '.join(map(repr, allowed))}")
        for name, least in (("n_topics", 1), ("nll_passes", 1), ("n_sweeps", 1)):
            value = getattr(self, name)
            if name != "n_topics" and value == "auto":
                continue
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise ValueError(f"{name}={value!r} is not a whole number of at least {least}")
        if isinstance(self.prior, str) and self.prior != "auto":
            raise ValueError(f"prior={self.prior!r} is neither a number of pseudo-counts nor 'auto'")
        for name, none in (("concentration", False), ("row_norm", True)):
            value = getattr(self, name)
            number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and 0 < value < np.inf
            if not (number or value == "auto" or (none and value is None)):
                raise ValueError(f"{name}={value!r} is neither a positive number{', None' if none else ''} nor 'auto'")
        if self.n_jobs is not None and (not isinstance(self.n_jobs, (int, np.integer)) or self.n_jobs == 0):
            raise ValueError(f"n_jobs={self.n_jobs!r} is neither None nor a number of threads (-1: all cores)")
        return loss

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True  # as MultinomialNB's: two columns of blobs are no counts of words
        return tags


def check_seed(random_state) -> int:
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))
