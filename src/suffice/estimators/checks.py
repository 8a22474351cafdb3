"""Arguments are what they say they are; one sentence for each that is not."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engines.threads import n_threads
from ..learners.step_sizes import step_size_of
from ..losses import loss_named


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))


def is_whole(value: Any, least: int = 1) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= least)


def check_one_of(name: str, value: Any, allowed: Any) -> None:
    if value not in allowed:
        raise ValueError(f"{name}={value!r} is not one of {', '.join(map(repr, allowed))}")


def check_whole(name: str, value: Any, *, none: bool = False, auto: bool = False) -> None:
    if is_whole(value) or (none and value is None) or (auto and isinstance(value, str) and value == "auto"):
        return
    if none:
        raise ValueError(f"{name}={value!r} is neither None nor a positive whole number")
    raise ValueError(f"{name}={value!r} is not a positive whole number")


def check_positive(name: str, value: Any, *, none: bool = False, auto: bool = False) -> None:
    if (
        (is_number(value) and 0 < value < np.inf)
        or (none and value is None)
        or (auto and isinstance(value, str) and value == "auto")
    ):
        return
    others = [", None" * none, " nor 'auto'" * auto]
    raise ValueError(
        f"{name}={value!r} is neither a positive number{''.join(others)}"
        if any(others)
        else f"{name}={value!r} is not a positive number"
    )


def check_tol(value: Any) -> None:
    if not is_number(value) or not value >= 0:
        raise ValueError(f"tol={value!r} is not a number >= 0")


def check_jobs(value: Any) -> None:
    n_threads(value)
    if value == 0:
        raise ValueError("n_jobs=0 is neither None nor a whole number other than 0")


def check_training(
    estimator: Any, algorithms: tuple[str, ...], words: tuple[str, ...] = ("auto", "laplace", "log")
) -> None:
    """Parameters that all classifiers share; `words` are the priors that have a name."""
    loss = loss_named(estimator.loss)
    check_one_of("algorithm", estimator.algorithm, algorithms)
    prior, weight = estimator.prior, estimator.unlabelled_weight
    if not (0 <= prior < np.inf if is_number(prior) else isinstance(prior, str) and prior in words):
        named = " or ".join(filter(None, [", ".join(map(repr, words[:-1])), repr(words[-1])]))
        raise ValueError(f"prior={prior!r} is neither a number of pseudo-counts >= 0 nor {named}")
    if is_number(prior) and prior == 0 and loss.is_discriminative:
        raise ValueError(f"prior=0 leaves loss={loss.name!r} without regularisation: give a positive prior or 'auto'")
    check_whole("max_epochs", estimator.max_epochs, auto=words == ("auto",))
    check_tol(estimator.tol)
    if not (0 <= weight < np.inf if is_number(weight) else isinstance(weight, str) and weight == "auto"):
        raise ValueError(f"unlabelled_weight={weight!r} is neither a number >= 0 nor 'auto'")
    check_jobs(estimator.n_jobs)
    step_size_of(estimator.step_size)


def check_class_prior(class_prior: Any, classes: np.ndarray) -> None:
    if class_prior is None:
        return
    try:
        share = np.asarray(class_prior, dtype=float)
    except (TypeError, ValueError):
        share = np.empty(0)
    if share.shape != classes.shape or not (share > 0).all() or not np.isclose(share.sum(), 1.0):
        raise ValueError(
            f"class_prior={class_prior!r} must be {len(classes)} probabilities above 0 that add up to 1, "
            f"in the order of the classes {classes!r}"
        )
