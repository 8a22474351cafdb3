"""Sections of the docstring of the classifier of sequences."""

from ..sections import with_sections

PARAMETERS = """
    Parameters
    ----------
    n_states : int or "auto", default="auto"
        States of every class's chain. "auto" chooses on held-out sequences.
    family : {"auto", "gaussian", "categorical", "bernoulli", "poisson", "mixed"}, default="auto"
        What a step is in a state: as in `GaussianHMM`, `CategoricalHMM`, ... "auto" goes by the columns: numbers, symbols, or both.
    covariance_type : {"diag", "full", "tied", "spherical"}, default="diag"
        Of the Gaussian family; "tied" within a class.
    topology : "auto", {"ergodic", "left-right", "cyclic"} or ("left-right", skips), default="auto"
        Which states can follow each other. "auto" tries left-right and ergodic chains on held-out sequences of numbers; symbols get
        ergodic ones.
    has_end : bool or "auto", default="auto"
        Whether the chains learn where a sequence ends. "auto" tries it for symbols whose sequences differ in length.
    changes : bool or "auto", default="auto"
        Whether the chains also see the change of every number from the step before (columns of their own). "auto" tries it.
    loss : {"ncll", "hinge", "nll"} or Loss, default="ncll"
        What training minimises: the conditional likelihood of the labels, the hinge loss, or the joint likelihood (EM).
    prior : float or "auto", default="auto"
        Pseudo-steps of every state that look like all steps: the regulariser. "auto" chooses it, and the share of EM's own statistics
        in it, on held-out sequences, and keeps maximum likelihood where training for classification shows no gain. Under "nll" the
        pseudo-steps of EM.
    algorithm : {"auto", "lbfgs", "em"}, default="auto"
    step_size : float, schedule or None, default=None
        Of `partial_fit`: a factor on its rates, or a schedule from `suffice.learners.step_sizes`.
    max_epochs : int, default=300
        Most steps of the minimiser, or passes of EM.
    tol : float, default=1e-4
        Training has converged when no entry of the gradient of the objective (of a sequence, in unconstrained coordinates) is larger.
    average : bool, default=True
        Average the steps of `partial_fit`.
    class_prior : array-like of shape (n_classes,), default=None
        Class probabilities to put in place of the learned ones.
    class_weight : dict {label: weight}, "balanced" or None, default=None
    unlabelled_weight : float or "auto", default="auto"
        What a sequence without a label counts; "auto" decides on held-out labelled ones.
    unlabelled : a label, None or "auto", default="auto"
        The label that stands for "no label"; None: there is none. "auto" is -1 beside at least two labels >= 0, with a warning.
    kinds, binarize : as in `MixedHMM` and `BernoulliHMM`
    sequence, time : names of columns, default=None
        Of a DataFrame of steps: which sequence a row is of, and its place there.
    n_jobs : int or None, default=None
        Threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        Print a line a pass.
    warm_start : bool, default=False
        Start from the last fit, where it has the same shape.
    checkpoint : path or None, default=None
        Where the fit writes where it stands, every `checkpoint_minutes`.
    checkpoint_minutes : float, default=3.0
    resume : path, True or None, default=None
        A checkpoint to go on from (True: `checkpoint`, if there is one yet): the result is that of a fit that never stopped.
    n_members : int or "auto", default="auto"
        Most models that answer together. Shapes that held-out sequences do not tell apart are all fitted where "ncll" or "hinge"
        chooses among some, and `predict_proba` is the calibrated mean of theirs. "auto" is 5; 1 keeps the best one alone.
"""

ATTRIBUTES = """
    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_states_, topology_, has_end_, changes_, family_ : what was chosen.
    choice_ : the prior that was chosen and why, or why maximum likelihood was kept (`choice_.reason`).
    class_prior_ : ndarray of shape (n_classes,)
    startprob_, transmat_ : ndarrays of shape (n_classes, n_states) and (n_classes, n_states, n_states)
    moments_ : record of arrays
        The model as expected sufficient statistics.
    members_ : list
        The models that answer about classes together with this one; all else (`hmm`, densities, samples) is of this one alone.
    history_ : dict of lists
        Per pass: its objective, the best so far, seconds; at the end the three losses, the accuracy on the training sequences and the
        largest entry of the gradient ("gradient").
    n_iter_, converged_, stopped_ : passes made, whether the criterion was met, and why training stopped.
    temperature_, background_ : float
        How `predict_proba` is calibrated: factor on the scores, and share of the class frequencies.
    unlabelled_weight_ : float
    class_count_ : ndarray of shape (n_classes,)
"""

documented = with_sections(PARAMETERS, ATTRIBUTES)
