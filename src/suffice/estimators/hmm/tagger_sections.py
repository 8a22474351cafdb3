"""Sections of the docstrings that the taggers share."""

from ..sections import with_sections

PARAMETERS = """
    Parameters
    ----------
    kinds : dict {column: kind}, list of kinds, one kind or "auto", default="auto"
        "gaussian", "categorical", "bernoulli" (two values) or "count" (Poisson); as in `MixedNB`.
    loss : {"ncll", "hinge", "nll"}, default="ncll"
        What training minimises: the conditional likelihood of the tags, a margin of 1 between the right path and the best wrong one, or
        the joint likelihood (counting; EM where tags are missing).
    prior : float or "auto", default="auto"
        Strength of the prior: a quadratic one of the weights under "ncll" and "hinge", pseudo-steps of every tag under "nll". "auto"
        chooses on held-out sequences.
    min_count : int, default=1
        Categories that occur less often in training are one category, and so are new ones at prediction. With 1, a new category counts
        as missing.
    unlabelled_weight : float or "auto", default="auto"
        What sequences without tags count. Under "nll": the weight of their likelihood in EM. Else: how far the prior leans towards the
        model that EM learns from all sequences, from 0 (not at all) to 1. "auto" takes what is best on held-out sequences.
    max_iter : int, default=100
        Most passes over the sequences.
    tol : float, default=3e-4
        Training stops when a pass lowers the mean loss of a step by less (under "hinge": when the duality gap is below so much a step).
    sequence, time : names of columns, default=None
        Of a DataFrame: which sequence a row is of, and its place there.
    n_jobs : int or None, default=None
        Threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
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
    classes_ : ndarray of the tags, in order
    startprob_, endprob_ : ndarray of shape (n_tags,)
        Probabilities of the first tag, and that a sequence is over after each tag.
    transmat_ : ndarray of shape (n_tags, n_tags)
        Probabilities of the next tag; rows add up to 1 - endprob_.
    moments_ : record of arrays
        Expected statistics of the hidden Markov model: all that is needed of it.
    prior_, unlabelled_weight_ : float
        What was chosen or given.
    choice_ : the same with the reason.
    history_ : dict of lists
        Per pass: objective, seconds.
    n_iter_, converged_, stopped_ : passes made, whether the criterion was met, and why training stopped.
    n_features_in_ : int
"""

documented = with_sections(PARAMETERS, ATTRIBUTES)
