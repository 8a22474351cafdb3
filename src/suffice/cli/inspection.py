"""`suffice inspect`: what a model learned, in words and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..estimators.explaining import telling_columns
from ..files.trained import Trained
from ..reading.date_parts import named
from ..saving.names import name_of
from .prediction import feature_names
from .tables import aligned

N_DRAWN = 300
MEANS = ("theta_", "means_", "rates_", "rate_")  # scikit-learn's names and ours for class means


def summary(trained: Trained, head: dict[str, Any]) -> dict[str, Any]:
    """The header, parameters, classes and their probabilities."""
    model, kept = trained.model, _kept(trained).model
    return {
        "class": (name_of(type(model)) or "").replace(":", "."),
        "format_version": head["version"],
        "written_by": head["written_by"],
        "params": {name: _plain(value) for name, value in model.get_params(deep=False).items()},
        "data": trained.format,
        "features": int(model.n_features_in_),
        "target": trained.target,
        "classes": {str(label): _prior(kept, k) for k, label in enumerate(getattr(model, "classes_", ()))},
        "chosen": choice if isinstance(choice := getattr(model, "choice_", None), str) else None,
        "held_out_log_density": _plain(getattr(model, "held_out_log_density_", None)),
        "epochs": _plain(getattr(kept, "n_iter_", None)),
        "bytes": sum(member["size"] for member in head["members"].values()),
    }


def _kept(trained: Trained) -> Trained:
    """With the model that was kept in the place of one that compared several."""
    model = trained.model
    if not hasattr(model, "choice_") or not hasattr(model, "model_"):
        return trained
    columns = [name for name in trained.columns if name not in model.dropped_]
    columns += [named(name, part) for name, own in getattr(model, "date_parts_", {}).items() for part in own]
    return replace(trained, model=model.model_, columns=tuple(columns))


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _prior(model: Any, k: int) -> float | None:
    log_prior = getattr(model, "class_log_prior_", None)
    if log_prior is not None:
        return float(np.exp(log_prior[k]))
    prior = getattr(model, "class_prior_", getattr(model, "priors_", None))
    return None if prior is None else float(prior[k])


def learned(trained: Trained, top: int) -> dict[str, Any]:
    """What the model has of these, under their names:

    topics   {class: [[word]]}
    top      {class: [[word or column=category, how many times as probable as in the other classes]]}
    columns  [[column, mean size of what it adds to the log-odds, over rows drawn from the model]], the most telling first
    means    {class: {column: mean}} of the most telling numeric columns
    """
    trained = _kept(trained)
    model, classes = trained.model, [str(label) for label in getattr(trained.model, "classes_", ())]
    names = feature_names(trained)
    if hasattr(model, "top_words"):
        words = model.top_words(names, top)
        return {"topics": {c: words[label] for c, label in zip(classes, model.classes_, strict=True)}}
    structure: Any = getattr(model, "_stored_model", None)
    if not hasattr(structure, "split"):
        return {}
    if len(structure.families) == 1 and is_of_words(model, structure):
        found = telling_columns(model, names, top)
        return {
            "top": {str(label): [[word, float(np.exp(odds))] for word, odds in pairs] for label, pairs in found.items()}
        }
    columns = _telling(model, names)
    result: dict[str, Any] = {"columns": [[name, size] for name, size in columns[:top]]}
    means = _means(model, names)
    if means:
        shown = [name for name, _ in columns if name in means][:top]
        result["means"] = {c: {name: float(means[name][k]) for name in shown} for k, c in enumerate(classes)}
    shares = _shares(trained, names)
    if shares:
        result["top"] = {c: _top_categories(shares, k, top) for k, c in enumerate(classes)}
    return result


def is_of_words(model: Any, structure: Any) -> bool:
    return model._answering.width == 1 and structure.family.word_weights(model.moments_.columns[0]) is not None


def _telling(model: Any, names: list[str]) -> list[tuple[str, float]]:
    """Columns by what they add to the log-odds, in the mean over rows that the model draws."""
    generator = np.random.default_rng(0)
    rows, _ = model._answering.sampled(model.moments_, N_DRAWN, None, generator)
    found = model._explained(rows, None)
    found.names = names
    return [(name, float(size)) for name, size in found.ranked()]


def _means(model: Any, names: list[str]) -> dict[str, np.ndarray]:
    """{column: its mean in every class}."""
    for attribute in MEANS:
        means = getattr(model, attribute, None)
        if isinstance(means, dict) and means:
            rates = getattr(model, "rate_", None)
            return {**means, **(rates if isinstance(rates, dict) else {})}
        if isinstance(means, np.ndarray) and means.ndim == 2:
            return dict(zip(names, means.T, strict=True))
    return {}


def _shares(trained: Trained, names: list[str]) -> dict[str, tuple[list[str], np.ndarray]]:
    """{column: (its categories, log of their probabilities in every class)}."""
    model = trained.model
    logs: Any = getattr(model, "category_log_prob_", None)
    categories: Any = getattr(model, "categories_", None)
    if isinstance(logs, dict):
        return {
            name: ([str(value) for value in categories[name]], table)
            for name, table in logs.items()
            if name in categories
        }
    logs = getattr(model, "feature_log_prob_", None)
    if not isinstance(logs, list | tuple):
        return {}
    found = {}
    for j, (name, table) in enumerate(zip(names, logs, strict=True)):
        texts, codes = trained.categories.get(name, ()), range(table.shape[1]) if categories is None else categories[j]
        found[name] = ([texts[int(code)] if int(code) < len(texts) else f"{code:g}" for code in codes], table)
    return found


def _top_categories(shares: dict[str, tuple[list[str], np.ndarray]], k: int, top: int) -> list[list[Any]]:
    """Categories by how often they occur in class k times the log of how many times as often as in the other classes."""
    found = []
    for column, (categories, table) in shares.items():
        others = np.delete(np.exp(table), k, axis=0)
        lift = table[k] - np.log(others.mean(axis=0)) if len(others) else np.zeros(len(categories))
        found += [
            [np.exp(table[k, j]) * value, f"{column}={category}", float(np.exp(value))]
            for j, (category, value) in enumerate(zip(categories, lift, strict=True))
        ]
    return [[name, lift] for weight, name, lift in sorted(found, reverse=True)[:top] if weight > 0]


def lines(about: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    """For a person."""
    params = ", ".join(f"{name}={value!r}" for name, value in about["params"].items())
    versions = ", ".join(f"{name} {version}" for name, version in about["written_by"].items())
    yield f"{about['class']}({params})"
    yield f"format version {about['format_version']}, {about['bytes']:,} bytes of arrays, written by {versions}"
    epochs = "" if about["epochs"] is None else f", epochs {about['epochs']}"
    yield f"{about['features']:,} features ({about['data']}), target {about['target']!r}{epochs}"
    if about["chosen"]:
        yield f"chosen: {about['chosen']}"
    if isinstance(about["held_out_log_density"], float):
        yield f"held-out log density: {about['held_out_log_density']:.4f}"
    if about["classes"]:
        rows = [[label, "" if p is None else f"{p:.4f}"] for label, p in about["classes"].items()]
        yield ""
        yield from aligned([["class", "probability"], *rows])
    if found.get("columns"):
        yield ""
        yield "most telling columns (mean size of what each adds to the log-odds)"
        yield from aligned([[name, f"{size:.3f}"] for name, size in found["columns"]])
    if found.get("means") and any(found["means"].values()):
        features = list(next(iter(found["means"].values())))
        yield ""
        yield "means of every class (the most telling columns)"
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
        yield "most telling (how many times as probable as in the other classes)"
        for label, pairs in found["top"].items():
            yield f"{label}: " + ", ".join(f"{name} ({lift:.1f}x)" for name, lift in pairs)
