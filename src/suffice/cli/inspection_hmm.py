"""`suffice inspect` of a hidden Markov model: states, what they emit, and how they follow each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..saving.names import name_of
from .inspection import _plain
from .tables import aligned

SHOWN = ("means_", "lambdas_", "probabilities_", "rates_")


def summary(model: Any, head: dict[str, Any], top: int) -> dict[str, Any]:
    """The header, parameters and every state: how often a sequence starts there, how long it stays, what it emits."""
    A = np.asarray(model.transmat_)
    stay = np.diagonal(A)
    states = []
    for k in range(len(A)):
        others = [int(j) for j in np.argsort(-A[k], kind="stable") if j != k and A[k, j] > 0][:3]
        states.append(
            {
                "start": float(model.startprob_[k]), "stays": float(stay[k]),
                "mean_steps": float(1 / max(1 - stay[k], 1e-12)), "then": {j: float(A[k, j]) for j in others},
                "emits": emitted(model, k, top),
            }
        )  # fmt: skip
    return {
        "class": (name_of(type(model)) or "").replace(":", "."),
        "format_version": head["version"],
        "written_by": head["written_by"],
        "params": {name: _plain(value) for name, value in model.get_params(deep=False).items()},
        "features": int(model.n_features_in_),
        "passes": _plain(getattr(model, "n_iter_", None)),
        "log_likelihood_of_a_step": _plain(getattr(model, "lower_bound_", None)),
        "bytes": sum(member["size"] for member in head["members"].values()),
        "states": states,
    }


def emitted(model: Any, k: int, top: int) -> dict[str, float]:
    """{column: mean} or {symbol: probability} of a state, the telling ones first."""
    found: dict[str, float] = {}
    cells = getattr(model, "emissionprob_", None)
    if cells is not None:
        tables = cells if isinstance(cells, list) else [cells]
        for i, (table, names) in enumerate(zip(tables, model.categories_, strict=True)):
            prefix = f"x{i}=" if len(tables) > 1 else ""
            for j in np.argsort(-table[k], kind="stable")[:top]:
                found[f"{prefix}{names[j] if len(names) else j}"] = float(table[k, j])
        return found
    for attribute in SHOWN:
        values = getattr(model, attribute, None)
        if isinstance(values, dict):
            found |= {f"{name}": float(np.ravel(own[k])[-1]) for name, own in values.items() if np.ndim(own[k]) == 0}
        elif values is not None:
            row = np.asarray(values)[k].reshape(-1)[:top]
            names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(len(row))])
            found |= {str(name): float(value) for name, value in zip(names, row, strict=False)}
    return found


def lines(about: dict[str, Any]) -> Iterator[str]:
    """For a person."""
    params = ", ".join(f"{name}={value!r}" for name, value in about["params"].items())
    versions = ", ".join(f"{name} {version}" for name, version in about["written_by"].items())
    yield f"{about['class']}({params})"
    yield f"format version {about['format_version']}, {about['bytes']:,} bytes of arrays, written by {versions}"
    fit = about["log_likelihood_of_a_step"]
    yield f"{about['features']:,} features, passes {about['passes']}" + (
        "" if fit is None else f", mean log-likelihood of a step {fit:.4f}"
    )
    yield ""
    head = ["state", "starts", "stays", "mean steps", "then", "emits"]
    rows = [
        [
            str(k), f"{state['start']:.3f}", f"{state['stays']:.3f}", f"{state['mean_steps']:.4g}",
            " ".join(f"{j} ({p:.2f})" for j, p in state["then"].items()),
            ", ".join(f"{name} {value:.4g}" for name, value in state["emits"].items()),
        ]
        for k, state in enumerate(about["states"])
    ]  # fmt: skip
    yield from aligned([head, *rows])
