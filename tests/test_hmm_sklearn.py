"""scikit-learn's own checks, as far as they can apply: a 2-D array is one sequence."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice.hmm import BernoulliHMM, CategoricalHMM, GaussianHMM, MixedHMM, PoissonHMM

ORDER = "rows of a 2-D array are steps of one sequence: their neighbours and their order matter"
WEIGHTS = "weights are of sequences, and a 2-D array is one"
CANNOT_APPLY = {
    "check_methods_sample_order_invariance": ORDER,
    "check_methods_subset_invariance": ORDER,
    "check_all_zero_sample_weights_error": WEIGHTS,
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weights_list": WEIGHTS,
    "check_sample_weights_not_an_array": WEIGHTS,
    "check_sample_weights_not_overwritten": WEIGHTS,
    "check_sample_weights_pandas_series": WEIGHTS,
    "check_sample_weights_shape": WEIGHTS,
}


@parametrize_with_checks(
    [kind(2, max_iter=5, random_state=0) for kind in (GaussianHMM, BernoulliHMM, CategoricalHMM, PoissonHMM, MixedHMM)],
    expected_failed_checks=lambda estimator: CANNOT_APPLY,
)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)
