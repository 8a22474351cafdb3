"""What the text figures share: the paper's algorithm watched pass by pass, the lines it is compared with, and the pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from ... import datasets
from ...families.multinomial import Multinomial
from ...learners.driver import Problem
from ...learners.paper import Paper
from ...learners.step_sizes import InverseTime
from ...losses import loss_named
from ...structures.words import Words
from .. import Options

DECAY = 1e-5  # the paper's lambda
MARKERS = {"20ng": "o", "cade": "^", "r52": "x", "r8": "s", "imdb": "o"}
PRIORS = {"P1": lambda n_words: 1.0, "P2": np.log}
NOTE_CADE = (
    "Cade is not obtainable here (suffice.datasets.load('cade') says where to get it): the figure has 20ng and r52."
)


@dataclass(frozen=True)
class Split:
    """A data set with labels as numbers."""

    name: str
    X: object
    y: np.ndarray
    X_test: object
    y_test: np.ndarray

    @property
    def n_classes(self) -> int:
        return int(self.y.max()) + 1


def load(name: str) -> Split:
    data = datasets.load(name)
    classes, y = np.unique(data.y_train, return_inverse=True)
    y_test = np.searchsorted(classes, data.y_test)
    return Split(name, data.X_train, y.astype(np.int64), data.X_test, y_test.astype(np.int64))


@dataclass
class Trace:
    """Values at the start (epoch 0) and after each pass: of the training documents, and the accuracy on the test documents."""

    hinge: list[float] = field(default_factory=list)
    ncll: list[float] = field(default_factory=list)
    perplexity: list[float] = field(default_factory=list)
    accuracy: list[float] = field(default_factory=list)


def trace(split: Split, loss: str, alpha: float, decay: float = DECAY, epochs: int = 10, seed: int = 0) -> Trace:
    """The paper's algorithm (`algorithm="paper"`) on one set; the loss and perplexity are means over the training documents."""
    model = Words.of(Multinomial.for_data(split.X, split.n_classes))
    count = np.full((split.X.shape[1], split.n_classes), float(alpha))
    prior = model.of_counts(np.full(split.n_classes, alpha), count)
    problem = Problem(model, split.X, split.y, np.ones(len(split.y)), loss_named(loss), prior)
    learner = Paper(InverseTime(decay))
    state = learner.init(problem, prior, np.random.default_rng(seed))
    values = Trace()
    n_words = float(split.X.sum())
    for epoch in range(epochs + 1):
        state = learner.step(problem, state) if epoch else state
        measure = state.measure or problem.measure(state.moments)
        values.hinge.append(measure.hinge)
        values.ncll.append(measure.ncll)
        likelihood = logsumexp(problem.scores(state.moments), axis=1).sum()
        values.perplexity.append(float(np.exp(-likelihood / n_words)) / len(split.y))
        correct = model.scores(state.moments, split.X_test).argmax(axis=1) == split.y_test
        values.accuracy.append(float(correct.mean()))
    return values


def liblinear(split: Split, kind: str) -> float:
    """Test accuracy of L2-regularised logistic regression or SVM of LIBLINEAR at C = 1 (the paper names no C)."""
    if kind == "SVM":
        return float(LinearSVC(random_state=0).fit(split.X, split.y).score(split.X_test, split.y_test))
    machine = LogisticRegression(solver="liblinear", random_state=0)
    return float(OneVsRestClassifier(machine).fit(split.X, split.y).score(split.X_test, split.y_test))


def plain(split: Split, alpha: float = 1.0) -> float:
    """Test accuracy of maximum-likelihood multinomial naive Bayes."""
    return float(MultinomialNB(alpha=alpha).fit(split.X, split.y).score(split.X_test, split.y_test))


def set_names(options: Options, names: Sequence[str] = ("20ng", "r52")) -> Sequence[str]:
    return ("r8",) if options.quick else names


def canvas(n_panels: int, titles: Sequence[str], ylabels: Sequence[str], n_rows: int = 1):
    """Panels over epochs, in a row or several."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    n_columns = n_panels // n_rows
    figure, axes = pyplot.subplots(n_rows, n_columns, figsize=(5 * n_columns, 4 * n_rows), constrained_layout=True)
    axes = np.atleast_1d(axes).ravel()
    for panel, title, label in zip(axes, titles, ylabels, strict=True):
        panel.set(title=title, xlabel="Epoch", ylabel=label)
    return figure, axes


def save(figure, options: Options, name: str) -> Path:
    from matplotlib import pyplot

    options.folder.mkdir(parents=True, exist_ok=True)
    path = options.folder / f"{name}.png"
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return path
