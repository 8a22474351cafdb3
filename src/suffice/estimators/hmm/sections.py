"""Sections of the docstrings that all hidden Markov models share."""

from ..sections import with_sections

ALGORITHMS = ("em", "accelerated", "online", "variational")
PARAMETERS = """
    Parameters
    ----------
    n_states : int, default=1
    topology : {"ergodic", "left-right", "cyclic"} or ("left-right", skips), default="ergodic"
        Which states can follow each other: all; the same or the next one (or over `skips` more), beginning with the first; the same or
        the next one, from the last to the first.
    transitions : array-like of shape (n_states, n_states), default=None
        Cells of the transitions: 0 is forbidden, a number is fixed, NaN is learned. In the place of what `topology` says.
    start : array-like of shape (n_states,), default=None
        The same for the first state.
    has_end : bool, default=False
        Learn how probable it is that a sequence is over after each state.
    tol : float, default=1e-4
        EM stops when a pass raises the mean log-likelihood of a step (plus the log prior) by less.
    max_iter : int, default=100
        Most passes over the sequences.
    n_init : int, default=1
        Starts; the best is kept.
    init_params : {"auto", "kmeans", "k-means++", "random", "parts"}, default="auto"
        How a start is found: clusters of steps (numbers), random soft states (symbols), or equal parts of every sequence (left-right).
    prior : float or "auto", default="auto"
        Pseudo-steps of every state, one start and one step out of every state: no state collapses. 0 is maximum likelihood.
    n_mixtures : int, default=1
        Components of a mixture in every state: `weights_` are theirs, and what shows the emissions has an axis for them.
    ties : dict {"emissions": list, "transitions": list}, default=None
        A group for every state: those of the same group share their emissions, or what follows them.
    algorithm : {"em", "accelerated", "online", "variational"}, default="em"
        Batch EM; EM that leaps along its path every other step; stepwise EM on mini-batches of sequences; variational Bayes, which
        gives a posterior of the parameters (`posterior_`). `prior` is then the pseudo-steps out of every state (and starts) that a
        Dirichlet spreads over the free cells (1 where "auto"; above 0), and `tol` the gain of the whole bound.
    batch_size : int or None, default=None
        Sequences of a mini-batch of "online" and `partial_fit`; None is 32.
    sequence, time : names of columns, default=None
        Of a DataFrame: which sequence a row is of, and its place there.
    n_jobs : int or None, default=None
        Threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
    warm_start : bool, default=False
        Start at the solution of the last fit (or of `of`); `n_init` then does not count.
    verbose : int, default=0
        Print a line a pass.
    checkpoint : path or None, default=None
        Where the fit writes where it stands, every `checkpoint_minutes`.
    checkpoint_minutes : float, default=3.0
    resume : path, True or None, default=None
        A checkpoint to go on from (True: `checkpoint`, if there is one yet): the result is that of a fit that never stopped.
"""

ATTRIBUTES = """
    Attributes
    ----------
    startprob_ : ndarray of shape (n_states,)
    transmat_ : ndarray of shape (n_states, n_states)
        Probabilities of the first state, and of the next one. With `has_end` a row adds up to 1 - `endprob_`.
    weights_ : ndarray of shape (n_states, n_mixtures), where there are mixtures
    moments_ : record of arrays
        The model as expected sufficient statistics.
    lower_bound_, lower_bounds_ : mean log-likelihood of a step at the end, and after every pass.
        Of "variational": the lower bound of the evidence, divided by the steps.
    posterior_ : the posterior of the parameters ("variational" only); `moments_` and what is shown are its means.
    history_ : dict of lists
    n_iter_, converged_, stopped_ : passes made, whether the criterion was met, and why EM stopped.
    reseeded_ : list of states that were dying and began anew.
    n_features_in_ : int
"""

documented = with_sections(PARAMETERS, ATTRIBUTES)
