"""The pictures of models with something hidden: topics, components, dictionaries."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..evaluation.topic_map import topic_map
from .page import Section, Table
from .rows import Rows
from .svg import Chart, bar_chart


def own_pictures(model: Any, given: Rows) -> list[Section]:
    """The sections of a model's own kind."""
    if hasattr(model, "topics_"):
        return [_topics(model, given)]
    if hasattr(model, "weights_") and hasattr(model, "means_") and not hasattr(model, "classes_"):
        return [_components(model, given)]
    if hasattr(model, "weights_") and hasattr(model, "bic"):
        return [_weights(model)]
    if hasattr(model, "network_"):
        return [_network(model, given)]
    return []


def _topics(model: Any, given: Rows) -> Section:
    names = given.names if len(given.names) == np.shape(model.topics_)[-1] else None
    found = topic_map(model, names, 10)
    (x0, y0), (x1, y1) = found.place.min(axis=0), found.place.max(axis=0)
    dx, dy = 0.3 * (x1 - x0) or 1.0, 0.2 * (y1 - y0) or 1.0
    chart = Chart("Map of the topics", (x0 - dx, x1 + dx), (y0 - dy, y1 + dy), "near topics use the same words", "")
    for t, (x, y) in enumerate(found.place):
        chart.points([x], [y], colour=t, size=4 + 30 * np.sqrt(found.share[t]))
        chart.text(x, y, f"{found.names[t]}: {', '.join(found.words[t][:2])}", up=10 + 30 * np.sqrt(found.share[t]))
    rows: list[list[Any]] = [
        [found.names[t], float(found.share[t]), ", ".join(found.words[t]), *map(float, found.place[t])]
        for t in range(len(found.names))
    ]
    words = Table(["topic", "share of words", "telling words"], [row[:3] for row in rows], "The topics and their words")
    places = Table(["topic", "x", "y"], [[row[0], *row[3:]] for row in rows])
    return Section("Topics", charts=[(chart, places)], tables=[words])


def _components(model: Any, given: Rows) -> Section:
    weights, means = np.asarray(model.weights_), np.asarray(model.means_)
    order = np.argsort(-weights, kind="stable")
    chart = bar_chart("Weights of the components", [f"component {k}" for k in order], weights[order], x_name="weight")
    names = given.names if len(given.names) == means.shape[-1] else [f"x{j}" for j in range(means.shape[-1])]
    shown = names[:30]
    rows: list[list[Any]] = [[f"component {k}", float(weights[k]), *map(float, means[k, : len(shown)])] for k in order]
    section = Section("Components", charts=[(chart, Table(["component", "weight", *shown], rows, "Weights and means"))])
    if means.shape[-1] >= 2 and not given.is_texts:
        section.charts.append(_plane(model, given, means, names))
    return section


def _plane(model: Any, given: Rows, means: np.ndarray, names: list[str]) -> tuple[Chart, Table]:
    """The two columns in which the means lie furthest apart, in units of the columns."""
    spread = np.array([np.nanstd(np.asarray(given.column(j), dtype=float)) for j in range(means.shape[1])])
    i, j = np.sort(np.argsort(-(means.std(axis=0) / np.maximum(spread, 1e-300)), kind="stable")[:2])
    places = np.linspace(0, given.n - 1, min(given.n, 400)).astype(int)
    x, y = (np.asarray(given.column(c), dtype=float)[places] for c in (i, j))
    found, seen = model.predict(given.at(places)), np.isfinite(x) & np.isfinite(y)
    x, y, found = x[seen], y[seen], np.asarray(found)[seen]
    chart = Chart(
        "Rows by component", (x.min(), x.max()), (y.min(), y.max()), names[i], names[j],
        description="Rows coloured by their most probable component, and the means as large points.",
    )  # fmt: skip
    for k in range(len(means)):
        chart.points(x[found == k], y[found == k], f"component {k}", k, 2.2)
    for k in range(len(means)):
        chart.points([means[k, i]], [means[k, j]], colour=k, size=7)
    rows: list[list[Any]] = [
        [f"component {k}", float(means[k, i]), float(means[k, j]), int((found == k).sum())] for k in range(len(means))
    ]
    return chart, Table(["component", names[i], names[j], "rows drawn"], rows)


def _weights(model: Any) -> Section:
    weights = np.asarray(model.weights_)
    order = np.argsort(-weights, kind="stable")
    rows: list[list[Any]] = [[f"component {k}", float(weights[k])] for k in order]
    chart = bar_chart("Weights of the components", [row[0] for row in rows], weights[order], x_name="weight")
    return Section("Components", charts=[(chart, Table(["component", "weight"], rows))])


def _network(model: Any, given: Rows) -> Section:
    """The visible units each hidden unit switches on most."""
    weights = np.asarray(model.network_.weights[0])
    size = np.sqrt((weights**2).sum(axis=1))
    order = np.argsort(-size, kind="stable")[:30]
    names = given.names if len(given.names) == weights.shape[1] else [f"x{j}" for j in range(weights.shape[1])]
    rows: list[list[Any]] = [
        [f"unit {k}", float(size[k]), ", ".join(names[j] for j in np.argsort(-weights[k])[:8])] for k in order
    ]
    chart = bar_chart(
        "Length of the weights of the hidden units", [r[0] for r in rows], [r[1] for r in rows], x_name="length"
    )
    return Section("Dictionary", charts=[(chart, Table(["hidden unit", "length", "switches on"], rows))])
