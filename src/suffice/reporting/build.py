"""Which sections a model gets: what was asked, then what it is worth on the rows, then its own pictures."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from . import classification, latent, regression, rows, sequences
from .page import Report, Section, Table

FOUND = {  # attributes that are shown, each with what it means
    "n_iter_": "passes over the data",
    "converged_": "whether training came to its end",
    "temperature_": "factor on the scores that calibrates the probabilities; 1: none",
    "rivalry_": "factor on the differences among the classes behind the best one; 1: none",
    "background_": "share of the class frequencies that is mixed into the probabilities",
    "unlabelled_weight_": "weight of a row without a label",
    "count_power_": "power that counts of words are raised to",
    "n_components_": "components in the mixture",
    "lower_bound_": "mean log-likelihood of a row, or its bound",
}
STRENGTH = "weight of the prior"


def report(
    model: Any, X: Any, y: Any = None, *, X_train: Any = None, names: Sequence[str] | None = None,
    categories: Mapping[str, Sequence[str]] | None = None, dates: Sequence[str] = (), title: str | None = None,
) -> Report:  # fmt: skip
    """A report of a fitted model on rows X: one page of HTML without network, with its numbers.

    Parameters
    ----------
    model : a fitted estimator of this library
    X : rows as the model takes them (a table, counts of words, texts, sequences)
        Rows it was not trained on, or the scores will be too good.
    y : array-like of labels, default=None
        Without them there are no scores. None and NaN: no label.
    X_train : rows of training, default=None
        To compare log p(x) of training rows and of X.
    names : names of the columns or words, default=None
        Where X has none.
    categories : dict {column: its categories}, default=None
        Texts of codes.
    dates : names of columns that hold days since 1970, default=()
        Their cells are written as dates.
    title : str, default=None

    Returns
    -------
    Report
        `save(path)` writes the page; `scores` and `columns` are its numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import suffice
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = suffice.GaussianNB(loss="nll").fit(X[::2], y[::2])
    >>> page = suffice.report(model, X[1::2], y[1::2], X_train=X[::2])
    >>> len(page.html()) < 3_000_000
    True
    >>> page.columns[0][0] in X.columns
    True
    """
    check_is_fitted(model)
    tags_steps = "tagger" in type(model).__module__  # y has a tag for every step
    given = rows.Rows.of(model, X, None if tags_steps else y, names, categories)
    given.dates |= frozenset(dates)
    of = sequences.counted(model, X) if given.is_sequences else given.described()
    page = Report(title or f"{type(model).__name__}: a report", f"{of}. This page needs no network.")
    page.sections.append(asked(model))
    if tags_steps:
        page.sections += sequences.tags(model, X, y, page)
    else:
        fill(page, model, given, X_train)
    return page


def fill(page: Report, model: Any, given: rows.Rows, X_train: Any) -> None:
    """The sections that fit the model and its rows."""
    if given.is_sequences:
        page.sections += sequences.states(model, given)
        if hasattr(model, "classes_") and given.y is not None:
            page.sections[1:1] = classification.scores(model, given, page)
        return
    if hasattr(model, "classes_"):
        if given.y is not None:
            page.sections += classification.scores(model, given, page)
            page.sections += classification.telling(model, given, page)
        page.sections += classification.densities(model, given)
    elif given.y is not None and is_regressor(model):
        page.sections += regression.scores(model, given, page)
    page.sections += latent.own_pictures(model, given)
    page.sections += rows.surprises(model, given, X_train)
    page.sections += rows.missing(given)


def asked(model: Any) -> Section:
    """Parameters that were set, and what was chosen and why."""
    defaults = {name: p.default for name, p in inspect.signature(type(model).__init__).parameters.items()}
    params = [
        [name, str(value), "" if _same(value, defaults.get(name)) else "set"]
        for name, value in sorted(model.get_params(deep=False).items())
    ]
    inner = getattr(model, "model_", model)
    text = []
    choice, compared = getattr(inner, "choice_", None), getattr(model, "choice_", None)
    setting, reason = getattr(choice, "setting", None), getattr(choice, "reason", None)
    if reason:
        kept = "Maximum likelihood was kept" if setting is None else "The prior was chosen on held-out data"
        text.append(f"{kept}: {reason}.")
    elif isinstance(choice, str):
        text.append(f"Chosen: {choice}.")
    stopped = str(getattr(inner, "stopped_", None) or "")
    if stopped and not stopped.startswith("maximum likelihood"):  # which was said
        text.append(f"Training stopped because {stopped}.")
    found = [[name.rstrip("_"), _plain(getattr(inner, name)), FOUND[name]] for name in FOUND if hasattr(inner, name)]
    if (strength := getattr(setting, "strength", None)) is not None:
        found.append(["strength", _plain(strength), STRENGTH])
    chosen, rest = [row[:2] for row in params if row[2]], [row[:2] for row in params if not row[2]]
    tables = [Table(["parameter", "value"], chosen, "What was asked")] if chosen else []
    tables.append(Table(["parameter", "value"], rest, "Parameters at their defaults", is_folded=True))
    if found:
        tables.append(Table(["found", "value", "meaning"], found, "What was found"))
    if isinstance(compared, list):  # of a TableClassifier
        body = [[each["model"], each["log_loss"], each["accuracy"], "yes" if each["kept"] else ""] for each in compared]
        tables.append(Table(["compared", "held-out log-loss", "accuracy", "kept"], body, "What was compared"))
    return Section("What was asked, what was chosen", text, tables=tables)


def _same(value: Any, default: Any) -> bool:
    try:
        return bool(value is default or value == default)
    except (TypeError, ValueError):
        return False


def _plain(value: Any) -> Any:
    return (
        value.item() if isinstance(value, np.generic) else value if isinstance(value, (int, float, str)) else str(value)
    )
