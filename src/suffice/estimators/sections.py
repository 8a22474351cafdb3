"""Sections of the docstrings that all classifiers share."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import TypeVar

T = TypeVar("T")

PARAMETERS = """
    Parameters
    ----------
    loss : {"ncll", "hinge", "nll"} or Loss, default="ncll"
        What training minimises: the conditional likelihood of the labels (as logistic regression does), the hinge loss (as a
        support vector machine does), or the joint likelihood (plain naive Bayes); or another one (`suffice.losses.register`).
    prior : float, "laplace", "log" or "auto", default="auto"
        Pseudo-counts: the regulariser. "auto" chooses on held-out parts of the training rows and keeps maximum likelihood where
        training for classification shows no gain; under "nll" it is the least that makes every estimate finite.
    algorithm : {"auto", "lbfgs", "incremental", "stochastic", "batch", "paper"}, default="auto"
        "auto" is "lbfgs" for dense tables under "ncll" (to the optimum, with a certificate), else incremental where the loss has a
        dual and one number a row and class fits in memory, else stochastic. "paper" follows Masegosa (2014).
    step_size : float, schedule or None, default=None
        Only for stochastic learners. A number multiplies the first rate; a schedule comes from `suffice.learners.step_sizes`.
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
    unlabelled : a label, None or "auto", default="auto"
        The label that stands for "no label" (beside None and NaN, which always do); None: there is none. "auto" is -1 where y is of
        whole numbers with at least two other labels, none of them negative, and says so in a warning.
    random_state : int, RandomState instance or None, default=None
        How rows are dealt into held-out parts. None is a seed too: a fit of the same rows gives the same bits.
    verbose : int, default=0
        Print a line a pass.
    warm_start : bool, default=False
        Start from the last fit.
    n_jobs : int or None, default=None
        Threads that try out priors on the held-out parts side by side; None is one, -1 one for every core. It changes the time, not
        a bit of the result.
    checkpoint : path or None, default=None
        Where the fit writes where it stands, every `checkpoint_minutes`.
    checkpoint_minutes : float, default=3.0
    resume : path, True or None, default=None
        A checkpoint to go on from (True: `checkpoint`, if there is one yet): the result is that of a fit that never stopped.
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
        Per pass: its objective, the three losses and accuracy, the best objective so far, duality gap, shortened steps, seconds, and
        whether the pass was measured. (Words and topics are measured after some passes and the last one; between, the last values
        stand and "measured" is False.)
    n_iter_, converged_, stopped_ : passes made, whether the criterion was met, and why training stopped.
    temperature_, rivalry_, background_ : float
        How `predict_proba` is calibrated: factor on the scores, how much sharper the rivals of the best class are told apart, and share
        of the class frequencies (1, 1 and 0 unless held-out rows asked for more).
    unlabelled_weight_ : float
        What rows without a label counted.
    choice_ : the prior that was chosen, or why maximum likelihood was kept.
"""


def with_sections(parameters: str, attributes: str) -> Callable[[type[T]], type[T]]:
    """A decorator that puts the shared sections of a docstring where the class asks for them."""

    def documented(cls: type[T]) -> type[T]:
        if cls.__doc__ is None:  # python -OO
            return cls
        for name, text in (("PARAMETERS", parameters), ("ATTRIBUTES", attributes)):
            cls.__doc__ = cls.__doc__.replace(f"    {name}\n", text.strip("\n") + "\n")
        loss = signature(cls).parameters.get("loss")
        if loss is not None:  # the one default that is not the same everywhere
            cls.__doc__ = cls.__doc__.replace('Loss, default="ncll"', f'Loss, default="{loss.default}"')
        return cls

    return documented


documented = with_sections(PARAMETERS, ATTRIBUTES)
