"""The pages of models of sequences: states of a hidden Markov model, classes of sequences, tags of steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..reading.sequences import sequences_of
from ..reading.tags import flat_tags
from .classification import score_sections
from .page import Report, Section, Table
from .rows import SHOWN_ROWS, Rows
from .svg import Chart, heat_map

STEPS = 300  # of a sequence that is drawn
SYMBOLS = 12  # of a state that are shown
TAGS = 20  # that transitions are drawn for


def states(model: Any, given: Rows) -> list[Section]:
    """States: how long they last, where they go (of every class), what they emit, and the path of a first sequence."""
    if not hasattr(model, "transmat_"):
        return []
    classes = hasattr(model, "classes_")
    of = list(map(str, model.classes_)) if classes else [""]
    section = Section("States")
    for name, start, A in zip(
        of, *(np.asarray(v) if classes else [v] for v in (model.startprob_, model.transmat_)), strict=True
    ):
        section.charts.append(_transitions(name, np.asarray(start), np.asarray(A)))
    if not classes:
        steps = _steps_of(model, given.X)
        total = float(model.score(given.X))
        section.text.append(f"log p of all sequences: {total:.6g}, of a step {total / max(1, steps.n_steps):.6g}.")
        section.tables += _emissions(model, given)
        section.charts.append(_path(model, given))
    return [section]


def _steps_of(model: Any, X: Any) -> Any:
    return sequences_of(X, None, getattr(model, "sequence", None), getattr(model, "time", None))


def counted(model: Any, X: Any) -> str:
    """How many sequences and steps X has."""
    steps = _steps_of(model, X)
    if steps.n_sequences == 1:
        return f"1 sequence of {steps.n_steps:,} steps"
    return f"{steps.n_sequences:,} sequences of {steps.n_steps:,} steps together"


def _transitions(of: str, start: np.ndarray, A: np.ndarray, names: list[str] | None = None) -> tuple[Chart, Table]:
    S = len(A)
    names = names or [f"state {k}" for k in range(S)]
    title = "Transitions (from: down, to: across)" + (f" of {of}" if of else "")
    chart = heat_map(title, names, names, np.round(A[:, :S], 4), "to", "from")
    stay = 1.0 / np.maximum(1.0 - np.diag(A[:, :S]), 1e-12)
    rows: list[list[Any]] = [[names[k], float(start[k]), float(stay[k]), *map(float, A[k, :S])] for k in range(S)]
    return chart, Table(["state", "p(start)", "mean steps of a stay", *(f"to {n}" for n in names)], rows)


def _emissions(model: Any, given: Rows) -> list[Table]:
    """What the states emit: means of the columns, or the most probable symbols."""
    means = getattr(model, "means_", getattr(model, "lambdas_", None))
    if isinstance(means, np.ndarray) and means.ndim == 2:
        D = means.shape[1]
        names = given.names if len(given.names) == D else [f"x{j}" for j in range(D)]
        rows: list[list[Any]] = [[f"state {k}", *map(float, mean[:30])] for k, mean in enumerate(means)]
        return [Table(["state", *names[:30]], rows, "Means of the columns in every state")]
    symbols = getattr(model, "emissionprob_", None)
    if isinstance(symbols, np.ndarray) and symbols.ndim == 2:
        names = [str(name) for name in getattr(model, "symbols_", range(symbols.shape[1]))]
        rows = [
            [f"state {k}", ", ".join(f"{names[j]} {p[j]:.3f}" for j in np.argsort(-p, kind="stable")[:SYMBOLS])]
            for k, p in enumerate(symbols)
        ]
        return [Table(["state", "most probable symbols"], rows, "What every state emits")]
    return []


def _path(model: Any, given: Rows) -> tuple[Chart, Table]:
    """The probabilities of the states along the first sequence."""
    first = given.X[0] if isinstance(given.X, (list, tuple)) else given.X
    first = first[:STEPS] if not hasattr(first, "iloc") else first.iloc[:STEPS]
    proba, path = np.asarray(model.predict_proba(first)), np.asarray(model.predict(first))
    names = [f"state {k}" for k in range(proba.shape[1])]
    chart = Chart("States of the first sequence", (0, len(path)), (0, 1), "step", "p(state | sequence)")
    below, time = np.zeros(len(path)), np.arange(len(path))
    for k, name in enumerate(names):
        chart.boxes(time, time + 1, below + proba[:, k], name, k, y0=below)
        below = below + proba[:, k]
    rows: list[list[Any]] = [[int(t), names[path[t]], *map(float, proba[t])] for t in range(len(path))]
    return chart, Table(["step", "path", *names], rows)


def tags(model: Any, X: Any, y: Any, page: Report) -> list[Section]:
    """What a tagger is worth on steps with a known tag: scores, confusion, reliability, worst steps, and which tag follows which."""
    steps = _steps_of(model, X)
    classes = [str(tag) for tag in model.classes_]
    sections = []
    if y is not None:
        codes = {tag: k for k, tag in enumerate(model.classes_.tolist())}
        given = flat_tags(y, steps)
        known = np.array([tag is not None and tag == tag for tag in given], dtype=bool)
        unseen = {tag for tag, is_known in zip(given, known, strict=True) if is_known and tag not in codes}
        known &= [tag not in unseen for tag in given]
        truth = np.array([codes.get(tag, -1) if is_known else -1 for tag, is_known in zip(given, known, strict=True)])
        path = np.array([codes[tag] for tag in _flat(model.predict(X), steps)])
        proba = _flat(model.predict_proba(X), steps)
        if known.any():
            sections = score_sections(proba[known], path[known], truth[known], classes, page, "steps with a known tag")
            sections[0].text.append(
                "Tags are those of the most probable path; probabilities are those of single steps."
            )
            if unseen:
                names = ", ".join(sorted(map(repr, unseen))[:5])
                sections[0].text.append(f"Steps with a tag that training did not have are left out: {names}.")
            sections.append(_worst_steps(steps, truth, path, proba, known, classes))
    if len(classes) <= TAGS:
        drawn = _transitions("", np.asarray(model.startprob_), np.asarray(model.transmat_), classes)
        sections.append(Section("Which tag follows which", charts=[drawn]))
    return sections


def _flat(values: Any, steps: Any) -> Any:
    """Answers for every step, one after the other in the order of the table."""
    if steps.shape == "list":
        return np.concatenate([np.asarray(part) for part in values if len(part)])
    values = np.asarray(values)
    values = values if steps.padded is None else values[steps.padded]
    return values if steps.order is None else values[steps.order]


def _worst_steps(
    steps: Any, truth: np.ndarray, path: np.ndarray, proba: np.ndarray, known: np.ndarray, classes: list[str]
) -> Section:
    """Steps whose true tag was given the least probability, between their neighbours."""
    own = np.where(known, proba[np.arange(len(truth)), np.maximum(truth, 0)], np.inf)
    rows: list[list[Any]] = []
    for i in np.argsort(own, kind="stable")[: min(SHOWN_ROWS, int(known.sum()))]:
        number = int(np.searchsorted(steps.offsets, i, side="right")) - 1
        first, last = int(steps.offsets[number]), int(steps.offsets[number + 1])
        around = [
            f"[{_step(steps.table, t)}]" if t == i else _step(steps.table, t)
            for t in range(max(first, i - 2), min(last, i + 3))
        ]
        place = int(i) - first
        rows.append([number, place, classes[truth[i]], classes[path[i]], float(own[i]), " ".join(around)])
    head = ["sequence", "step", "true tag", "said", "p(true tag)", "the step in brackets, between its neighbours"]
    return Section("Worst steps", tables=[Table(head, rows, "Steps whose true tag was given the least probability")])


def _step(table: Any, t: int) -> str:
    cells = (
        list(table.iloc[t]) if hasattr(table, "iloc") else np.atleast_1d(np.asarray(table[t], dtype=object)).tolist()
    )
    return "/".join(f"{c:.4g}" if isinstance(c, (float, np.floating)) else str(c) for c in cells[:4])
