"""`suffice inspect`: what a model learned, in words and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..files.trained import Trained
from ..saving.names import name_of
from .tables import aligned

MEANS = ("theta_", "means_", "rates_", "rate_")  # scikit-learn's names and ours for class means


def summary(trained: Trained, head: dict[str, Any]) -> dict[str, Any]:
    """The header, parameters, classes and their probabilities."""
    model = trained.model
    return {
        "class": (name_of(type(model)) or "").replace(":", "."),
        "format_version": head["version"],
        "written_by": head["written_by"],
        "params": {name: _plain(value) for name, value in model.get_params(deep=False).items()},
        "data": trained.format,
        "features": int(model.n_features_in_),
        "target": trained.target,
        "classes": {str(label): _prior(model, k) for k, label in enumerate(getattr(model, "classes_", ()))},
        "epochs": _plain(getattr(model, "n_iter_", None)),
        "bytes": sum(member["size"] for member in head["members"].values()),
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _prior(model: Any, k: int) -> float | None:
    log_prior = getattr(model, "class_log_prior_", None)
    if log_prior is not None:
        return float(np.exp(log_prior[k]))
    prior = getattr(model, "class_prior_", getattr(model, "priors_", None))
    return None if prior is None else float(prior[k])


def learned(trained: Trained, top: int) -> dict[str, Any]:
    """{"means": {class: {feature: mean}}}, {"top": {class: [[feature, lift]]}} or {"topics": {class: [[word]]}}: what the model has."""
    if trained.is_regressor:
        return {}
    model, classes = trained.model, [str(label) for label in trained.classes]
    names = _feature_names(trained)
    if hasattr(model, "top_words"):
        words = model.top_words(names, top)
        return {"topics": {c: words[label] for c, label in zip(classes, trained.classes, strict=True)}}
    log_prob = getattr(model, "feature_log_prob_", None)
    if isinstance(log_prob, np.ndarray) and log_prob.ndim == 2:
        sign = (
            -1.0 if (log_prob > 0).all() else 1.0
        )  # ComplementNB's are minus the logarithms of the other classes' words
        frequency = np.exp(sign * log_prob)
        lift = sign * np.log(frequency / frequency.mean(axis=0))
        weight = frequency * lift  # a word counts by how often it occurs, too
        order = np.argsort(-weight, axis=1)[:, :top]
        return {"top": {c: [[names[j], float(np.exp(lift[k, j]))] for j in order[k]] for k, c in enumerate(classes)}}
    if isinstance(log_prob, list | tuple):
        return {"top": {c: _top_categories(trained, log_prob, k, top) for k, c in enumerate(classes)}}
    for attribute in MEANS:
        means = getattr(model, attribute, None)
        if isinstance(means, np.ndarray) and means.ndim == 2:
            order = _telling(means)[:top]
            return {"means": {c: {names[j]: float(means[k, j]) for j in order} for k, c in enumerate(classes)}}
    return {}


def _telling(means: np.ndarray) -> np.ndarray:
    """Features by the spread of their means, relative to their size."""
    spread = means.std(axis=0) / np.maximum(np.abs(means).mean(axis=0), 1e-300)
    return np.argsort(-spread, kind="stable")


def _feature_names(trained: Trained) -> list[str]:
    if trained.vocabulary is not None:
        return list(trained.vocabulary)
    if trained.format == "table":
        return list(trained.columns)
    return [f"x{i}" for i in range(trained.model.n_features_in_)]


def _top_categories(trained: Trained, log_prob: Any, k: int, top: int) -> list[list[Any]]:
    found = []
    columns = trained.columns or [f"x{i}" for i in range(len(log_prob))]
    for i, (column, table) in enumerate(zip(columns, log_prob, strict=True)):
        lift = table[k] - np.log(np.exp(table).mean(axis=0))
        names, values = trained.categories.get(column, ()), getattr(trained.model, "categories_", None)
        codes = range(len(lift)) if values is None else [int(value) for value in values[i]]
        for j, value in enumerate(lift):
            name = f"{column}={names[codes[j]] if codes[j] < len(names) else codes[j]}"
            found.append([np.exp(table[k, j]) * value, name, float(np.exp(value))])
    return [[name, lift] for _, name, lift in sorted(found, reverse=True)[:top]]


def lines(about: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    """For a person."""
    params = ", ".join(f"{name}={value!r}" for name, value in about["params"].items())
    versions = ", ".join(f"{name} {version}" for name, version in about["written_by"].items())
    yield f"{about['class']}({params})"
    yield f"format version {about['format_version']}, {about['bytes']:,} bytes of arrays, written by {versions}"
    yield f"{about['features']:,} features ({about['data']}), target {about['target']!r}, epochs {about['epochs']}"
    yield ""
    rows = [[label, "" if p is None else f"{p:.4f}"] for label, p in about["classes"].items()]
    yield from aligned([["class", "probability"], *rows])
    if "means" in found:
        features = list(next(iter(found["means"].values())))
        yield ""
        yield "class means (the features that differ most)"
        body = [[c, *(f"{means[f]:.4g}" for f in features)] for c, means in found["means"].items()]
        yield from aligned([["", *features], *body])
    if "topics" in found:
        yield ""
        yield "topics of every class (frequent words that other topics use less)"
        for label, topics in found["topics"].items():
            for number, words in enumerate(topics, start=1):
                yield f"{label}, topic {number}: " + ", ".join(words)
    if "top" in found:
        yield ""
        yield "most telling (and how much more probable than in the mean class)"
        for label, pairs in found["top"].items():
            yield f"{label}: " + ", ".join(f"{name} ({lift:.1f}x)" for name, lift in pairs)
