"""Names that people know from scikit-learn and hmmlearn are answered with ours."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from functools import wraps
from typing import Any

from typing_extensions import override

# what others call it: what it is here, the first that the class has; and a word on it
NAMES: dict[str, tuple[tuple[str, ...], str]] = {
    "var_smoothing": (("prior",), "pseudo-rows that keep variances positive"),
    "reg_covar": (("prior",), "pseudo-rows that keep variances positive"),
    "alpha": (("prior",), "pseudo-counts"),
    "C": (("prior",), "pseudo-counts: the regulariser, the larger the stronger"),
    "shrinkage": (("prior",), "pseudo-rows of the pooled covariance"),
    "reg_param": (("prior",), "pseudo-rows of the pooled covariance"),
    "priors": (("class_prior",), "probabilities of the classes"),
    "fit_prior": (("class_prior",), "probabilities of the classes; give equal ones for fit_prior=False"),
    "n_components": (("n_topics", "n_states", "n_components"), ""),
    "n_topics": (("n_components",), ""),
    "n_states": (("n_components",), ""),
    "max_iter": (("max_epochs", "max_iter"), "most passes over the data"),
    "n_iter": (("max_iter", "max_epochs"), "most passes over the data"),
    "max_epochs": (("max_iter",), "most passes over the data"),
    "covariance_type": (("covariance",), '"tied", "full" or "diag"'),
    "covariance": (("covariance_type",), ""),
    "ngram_range": (("ngrams",), ""),
    "min_df": (("min_documents",), ""),
    "max_features": (("max_words",), ""),
    "doc_topic_prior": (("alpha",), ""),
    "topic_word_prior": (("beta", "eta"), ""),
    "learning_rate": (("step_size",), ""),
    "seed": (("random_state",), ""),
}


def answer(name: str, wrong: str, known: list[str]) -> str:
    """A sentence on a parameter that a class does not have."""
    ours, word = NAMES.get(wrong, ((), ""))
    right = next((own for own in ours if own in known), None) or next(iter(get_close_matches(wrong, known, 1)), None)
    if right is None:
        return f"{name} has no parameter {wrong!r}; it has {', '.join(known)}"
    return f"{name} has no parameter {wrong!r}: here it is {right!r}" + (f" ({word})" if word and right in ours else "")


class Habits:
    """A base whose subclasses refuse unknown parameters by name, with the right one."""

    @override
    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            setattr(cls, "__init__", _answering(vars(cls)["__init__"]))  # noqa: B010, for type checkers no assignment


def _answering(init: Any) -> Any:
    known = [name for name in inspect.signature(init).parameters if name != "self"]

    @wraps(init)
    def checked(self: Any, *given: Any, **named: Any) -> None:
        for wrong in named:
            if wrong not in known:
                raise TypeError(answer(type(self).__name__, wrong, known))
        init(self, *given, **named)

    return checked
