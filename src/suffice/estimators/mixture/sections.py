"""Sections of the docstrings that all mixtures share."""

from ..sections import with_sections

PARAMETERS = """
    Parameters
    ----------
    n_components : int or "auto", default=1 (of MixedMixture "auto")
        "auto": 1, 2, 4, ... up to 256, as many as say most of held-out cells (`suffice.choosing.components`); see `candidates_`.
    tol : float, default=1e-3
        EM stops when a pass raises the mean log-likelihood of a row (plus the log prior) by less.
    max_iter : int, default=100
        Most passes over the rows.
    n_init : int, default=1
        Starts; the best is kept.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}, default="kmeans"
        How a start is found. All of them take missing cells and weights.
    prior : float or "auto", default="auto"
        Pseudo-rows of every component (see `suffice.structures.component_prior`): no component collapses. 0 is maximum likelihood.
    algorithm : {"em", "accelerated", "online", "variational"}, default="em"
        Batch EM; EM that leaps along its path every other step, for components that overlap (half the passes or fewer); stepwise EM
        in mini-batches (a pass or a few, for many rows); variational Bayes, which empties the components that the rows do not need.
    batch_size : int or None, default=None
        Rows of a mini-batch of "online" and `partial_fit`.
    weight_concentration_prior : float or None, default=None
        Of "variational": the Dirichlet parameter of the components' masses; None is 1 / n_components.
    n_jobs : int or None, default=None
        Threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
    warm_start : bool, default=False
        Start at the solution of the last fit (with as many components and columns, read with the same codes); `n_init` and given
        starts then do not count.
    verbose : int, default=0
        Print a line a pass.
    checkpoint : path or None, default=None
        Where the fit writes where it stands, every `checkpoint_minutes`.
    checkpoint_minutes : float, default=3.0
    resume : path, True or None, default=None
        A checkpoint to go on from (True: `checkpoint`, if there is one yet): the result is that of a fit that never stopped.
    n_members : int or "auto", default="auto"
        Mixtures of `n_components` that are fitted from different starts; their components are pooled into one mixture, which says
        more of missing cells than any of them. "auto" is 1 where n_components is a number or one component was found best; else
        16,000 rows' worth of them, from 4 to 24. A warm start needs 1.
"""

ATTRIBUTES = """
    Attributes
    ----------
    weights_ : ndarray of shape (n_components_,)
        Probabilities of the components.
    n_components_ : int
        Components of all members together.
    choice_ : str
        How many components of how many members, and why.
    candidates_ : list of dict
        With n_components="auto": every number tried and the mean log density of held-out cells.
    moments_ : record of arrays
        The model as expected sufficient statistics.
    lower_bound_, lower_bounds_ : mean log-likelihood of a row at the end, and after every pass ("variational": of the bound).
    history_ : dict of lists
    n_iter_, converged_, stopped_ : passes made, whether the criterion was met, and why EM stopped.
    reseeded_ : list of components that were dying and began anew.
    n_features_in_ : int
"""

documented = with_sections(PARAMETERS, ATTRIBUTES)
