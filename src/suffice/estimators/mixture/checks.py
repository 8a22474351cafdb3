"""Arguments of mixtures, and mixtures read from files, are what they say they are."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .starts import STARTS

ALGORITHMS = ("em", "accelerated", "online", "variational")


def is_number(value) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def check_parameters(mixture) -> None:
    for name in ("n_components", "max_iter", "n_init"):
        value = getattr(mixture, name)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise ValueError(f"{name}={value!r} is not a positive whole number")
    if mixture.algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm={mixture.algorithm!r} is not one of {', '.join(map(repr, ALGORITHMS))}")
    if mixture.init_params not in STARTS:
        raise ValueError(f"init_params={mixture.init_params!r} is not one of {', '.join(map(repr, STARTS))}")
    if not is_number(mixture.tol) or not mixture.tol >= 0:
        raise ValueError(f"tol={mixture.tol!r} is not a number >= 0")
    if mixture.prior != "auto" and not (is_number(mixture.prior) and 0 <= mixture.prior < np.inf):
        raise ValueError(f"prior={mixture.prior!r} is neither a number of pseudo-rows >= 0 nor 'auto'")
    concentration = mixture.weight_concentration_prior
    if concentration is not None and not (is_number(concentration) and 0 < concentration < np.inf):
        raise ValueError(f"weight_concentration_prior={concentration!r} is neither None nor a positive number")
    size = mixture.batch_size
    if size is not None and (isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1):
        raise ValueError(f"batch_size={size!r} is neither None nor a positive whole number")
    jobs = mixture.n_jobs
    if jobs is not None and (not isinstance(jobs, (int, np.integer)) or jobs == 0):
        raise ValueError(f"n_jobs={jobs!r} is neither None nor a whole number other than 0")


def checked_labels(labels, n: int, n_components: int) -> tuple[np.ndarray, bool]:
    if labels is None:
        return np.full(n, -1, dtype=np.int64), False
    try:
        values = np.asarray(labels, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"labels holds what is not the number of a component: {error}") from error
    if values.shape != (n,):
        raise ValueError(f"labels has shape {values.shape}; it must have one component for each of the {n} rows")
    values = np.where(np.isnan(values), -1, values)
    wrong = (values != np.floor(values)) | (values < -1) | (values >= n_components)
    if wrong.any():
        raise ValueError(
            f"labels has the value {values[wrong][0]:g}; components are 0 to {n_components - 1}, and -1 or NaN: unknown"
        )
    return values.astype(np.int64), bool((values >= 0).any())


def check_loaded(mixture) -> None:
    """After reading from a file: arrays of the model's own shapes, finite, with masses that are masses."""
    if not hasattr(mixture, "moments_"):
        return
    model, moments, name = mixture._stored_model, mixture.moments_, type(mixture).__name__
    mass = np.asarray(moments.mass, dtype=float)
    if model.n_features != mixture._width() or mass.shape != (model.n_outcomes,):
        raise ValueError(
            f"the file's {name} does not fit together: components, columns and parameters differ in number"
        )
    empty = (
        sparse.csr_matrix((0, model.n_features)) if model.family == "multinomial" else np.zeros((0, model.n_features))
    )
    template = model.statistics(empty, np.zeros(0, dtype=np.int64), np.zeros(0))
    shapes = [np.shape(array) for array in template.arrays()]
    if type(template) is not type(moments) or [np.shape(array) for array in moments.arrays()] != shapes:
        raise ValueError(f"the file's {name} has parameters of the wrong shape")
    if not moments.is_finite() or (mass < 0).any() or not mass.sum() > 0:
        raise ValueError(f"the file's {name} has parameters that are not finite or not positive")
