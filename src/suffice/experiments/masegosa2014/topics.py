"""What Figures 4 and 9 share: LDA classifiers with two topics a class, watched pass by pass, and supervised LDA beside them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import logsumexp

from ...estimators.topic import LDAClassifier
from ...learners.driver import Problem
from ...learners.topics.gibbs import OnlineGibbs
from ...losses import loss_named
from ...reading.documents import counts_of
from .words import load

LOSSES = {"nll": "NLL-LDA", "ncll": "NCLL-LDA", "hinge": "Hinge-LDA"}
COLORS = {"nll": "k", "ncll": "r", "hinge": "b"}
PSEUDO_COUNTS = {"ncll": 5.0, "hinge": 50.0}  # of a word in a topic; rows have Euclidean length 10
NOTE = (
    "Topics are sampled (inference='gibbs', the paper's Algorithms 5 to 7 corrected as docs/notes/topic.md says: rows scaled to one "
    "length, five passes of the likelihood first, Table 2's pull towards the prior, plug-in likelihoods); the curves are of the last "
    "state of a pass, not averaged; smaller steps and a stronger prior than the estimator's."
)
STAND_IN = (
    "Supervised LDA of the paper (Chang's sLDA, 50 topics) is not obtainable; in its place: logistic regression on the proportions of "
    "50 topics of our LatentDirichletAllocation, and tomotopy's sLDA with one binary response a class where it is installed."
)


@dataclass
class Trace:
    accuracy: list[float] = field(default_factory=list)  # of the test documents
    ncll: list[float] = field(default_factory=list)  # means over the training documents
    hinge: list[float] = field(default_factory=list)
    perplexity: list[float] = field(default_factory=list)


def trace(name: str, loss: str, seed: int, n_passes: int, *, measure: bool = False) -> Trace:
    """One initialisation; losses and perplexity of the training documents only with `measure`."""
    split = load(name)
    X, X_test = counts_of(split.X, name), counts_of(split.X_test, name)
    prior = PSEUDO_COUNTS.get(loss, "auto")
    estimator = LDAClassifier(loss=loss, inference="gibbs", prior=prior, row_norm=10.0, n_sweeps=5, random_state=seed)
    estimator._check_parameters()
    estimator.row_norm_ = 10.0
    weights = np.ones(len(split.y))
    model = estimator._model(X, split.n_classes, split.y, weights)
    statistics = model.statistics(X, split.y, weights)
    problem = Problem(model, X, split.y, weights, loss_named(loss), None)
    problem = replace(problem, prior=estimator._prior_of(problem, statistics, None))
    learner = OnlineGibbs(n_passes=n_passes, average=False, watch=False, rate=0.5, decay=6.0, start=0.1)
    state = learner.init(problem, problem.prior, np.random.default_rng(seed))
    judge = replace(model.judging(), n_chains=5)  # enough for a curve: four times as fast
    values = Trace()
    for _ in range(n_passes):
        state = learner.step(problem, state)
        values.accuracy.append(float((judge.scores(state.moments, X_test).argmax(axis=1) == split.y_test).mean()))
        if measure:
            scores = judge.scores(state.moments, X)
            own, rivals = scores[np.arange(len(weights)), split.y], scores.copy()
            rivals[np.arange(len(weights)), split.y] = -np.inf
            total = logsumexp(scores, axis=1)
            values.ncll.append(float((total - own).mean()))
            values.hinge.append(float(np.maximum(0.0, 1.0 + rivals.max(axis=1) - own).mean()))
            values.perplexity.append(float(np.exp(-total.sum() / model.sampling_rows(X)[0][2].sum())))
    return values
