"""A table with holes and with wrong cells: `MixedMixture` with default settings beside imputers and boosting for every column.

**Completion.** 30 % of the observed cells of a table (its class or target is a column like the others) are hidden; every method is
given the table with its holes and asked for them. Categories: accuracy and mean log-loss. Numbers (and categories that are numbers,
by their expectation): root mean squared error in units of the column's deviation. `KNNImputer` (five neighbours on standardised,
one-hot columns) votes; `IterativeImputer` predicts one-hot indicators; boosting is a HistGradientBoosting for every column with the
others as its inputs, holes native.

**Wrong cells.** 1 % of the cells are replaced by values of other rows of the column that differ. Cells are ranked by minus
`score_cells` (relative: the odds that a cell is right, free of units), by boosting's residuals (held out by five folds: -log p of a
category, r^2 / 2 of a number in units of the deviation of r) and, row by row, by an isolation forest. Average precision of cells (of
rows for the forest, beside ours of rows: the lowest cell). Tables are samples of at most 8,000 rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor, IsolationForest
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer
from sklearn.metrics import average_precision_score
from sklearn.model_selection import KFold

from ...datasets import regression, tabular
from ...estimators.mixture import MixedMixture
from .. import Options, Report, Row

SETS = ("votes", "boston", "mushroom", "letter")
HIDDEN, WRONG = 0.3, 0.01
LEAST = 1e-3  # of a probability, for methods that can say 0
FEW_VALUES = 20
MOST_ROWS = 8000


def run(options: Options) -> Report:
    report = Report()
    for name in ("votes",) if options.quick else SETS:
        table = Table.load(name, 150, 6) if options.quick else Table.load(name, MOST_ROWS)
        found: dict[tuple[str, str], list[float]] = {}
        for seed in range(options.seeds or 1):
            for (method, measure), value in {**completed(table, seed), **searched(table, seed)}.items():
                found.setdefault((method, measure), []).append(value)
            options.say(f"{name}, seed {seed}: " + ", ".join(f"{m} {w} {v[-1]:.3f}" for (m, w), v in found.items()))
        for (method, measure), values in found.items():
            report.rows.append(
                Row(f"{name}, {method}: {measure}", None, float(np.mean(values)), float(np.std(values)), len(values))
            )
        for measure in ("log-loss", "nrmse", "average precision of cells", "average precision of rows"):
            ranked = {m: float(np.mean(v)) for (m, w), v in found.items() if w == measure}
            if len(ranked) > 1:
                best = (max if "precision" in measure else min)(ranked, key=ranked.get)  # type: ignore[arg-type]
                report.notes.append(f"{name}: best {measure} by {best}")
    report.notes.append(
        f"one hidden cell in {1 / HIDDEN:.1f}; a probability of methods that can say 0 is at least {LEAST:g}"
    )
    return report


class Table:
    """Codes of categories and numbers, side by side: what every method is given in the form it takes."""

    def __init__(self, frame: Any):
        self.frame = frame
        self.codes = np.full(frame.shape, np.nan)
        self.values: list[np.ndarray | None] = []  # categories of a column, None of numbers
        for j, column in enumerate(frame):
            values = frame[column]
            seen = ~values.isna().to_numpy()
            is_number = values.dtype.kind == "f" or (values.dtype.kind == "i" and values.nunique() > FEW_VALUES)
            self.values.append(None if is_number else np.array(sorted(values[seen].unique())))
            own = self.values[j]
            self.codes[seen, j] = values[seen] if own is None else np.searchsorted(own, values[seen])

    @classmethod
    def load(cls, name: str, n_rows: int, n_columns: int | None = None) -> Table:
        """A sample of the rows, and the last columns (all of them where their number is None)."""
        import pandas as pd

        if name in regression.FILES:
            data = regression.load(name)
            frame = pd.DataFrame(np.column_stack([data.X, data.y]))
            frame.columns = [*(f"a{j}" for j in range(data.X.shape[1])), "target"]
            frame = frame.astype({name: np.int64 for name in frame if (frame[name] % 1 == 0).all()})
        else:
            table = tabular.load(name)
            frame = table.X.assign(**{"class": table.y})
        if len(frame) > n_rows:
            frame = frame.sample(n_rows, random_state=0).reset_index(drop=True)
        return cls(frame if n_columns is None else frame.iloc[:, -n_columns:])

    def numbers(self, j: int) -> np.ndarray | None:
        """What the codes of column j are worth, where its categories are numbers."""
        own = self.values[j]
        return own.astype(float) if own is not None and own.dtype.kind in "if" else None

    def framed(self, codes: np.ndarray) -> Any:
        """A frame of changed codes."""
        import pandas as pd

        columns: dict[Any, Any] = {}
        for j, name in enumerate(self.frame):
            own, seen = self.values[j], ~np.isnan(codes[:, j])
            if own is None:
                columns[name] = codes[:, j]
            else:
                cells = np.full(len(codes), None, dtype=object)
                cells[seen] = own[codes[seen, j].astype(int)]
                columns[name] = pd.array(cells, dtype="Int64") if own.dtype.kind == "i" else cells
        return pd.DataFrame(columns)

    def indicators(self, codes: np.ndarray, first: int = 0) -> tuple[np.ndarray, list[slice]]:
        """Numbers in standard units and indicators of categories from the `first` on, NaN where missing; the columns of each."""
        parts, places, start = [], [], 0
        for j, own in enumerate(self.values):
            column = codes[:, j]
            if own is None:
                part = ((column - np.nanmean(column)) / max(float(np.nanstd(column)), 1e-12))[:, None]
            else:
                part = np.where(np.isnan(column)[:, None], np.nan, column[:, None] == np.arange(first, len(own)))
            parts.append(part)
            places.append(slice(start, start + part.shape[1]))
            start += part.shape[1]
        return np.hstack(parts), places


Answer = Callable[[int, np.ndarray], np.ndarray]  # (column, rows): probabilities (rows, categories), or means (rows,)


def completed(table: Table, seed: int) -> dict[tuple[str, str], float]:
    generator = np.random.default_rng(seed)
    hidden = (generator.random(table.codes.shape) < HIDDEN) & ~np.isnan(table.codes)
    holed = np.where(hidden, np.nan, table.codes)
    found = {}
    methods = {"ours": ours, "KNNImputer": nearest, "IterativeImputer": iterated, "boosting per column": boosted}
    for method, make in methods.items():
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            measures = measured(table, hidden, make(table, holed, seed))
        found.update({(method, measure): value for measure, value in measures.items() if np.isfinite(value)})
        found[method, "CPU s"] = time.process_time() - start
    return found


def measured(table: Table, hidden: np.ndarray, answer: Answer) -> dict[str, float]:
    right, losses, errors = [], [], []
    for j, own in enumerate(table.values):
        rows = np.flatnonzero(hidden[:, j])
        if not len(rows):
            continue
        said, truth, worth = answer(j, rows), table.codes[rows, j], table.numbers(j)
        if own is not None:
            share = said[np.arange(len(rows)), truth.astype(int)]
            losses.append(-np.log(np.maximum(share, 1e-12)))
            right.append(said.argmax(axis=1) == truth)
            if worth is None:
                continue
            said, truth = said @ worth, worth[truth.astype(int)]
        every = table.codes[:, j] if worth is None else worth[table.codes[:, j].astype(int)]
        errors.append(np.mean((said - truth) ** 2) / max(float(np.nanvar(every)), 1e-12))
    return {
        "accuracy": float(np.mean(np.concatenate(right))) if right else np.nan,
        "log-loss": float(np.mean(np.concatenate(losses))) if losses else np.nan,
        "nrmse": float(np.sqrt(np.mean(errors))) if errors else np.nan,
    }


def ours(table: Table, holed: np.ndarray, seed: int) -> Answer:
    frame = table.framed(holed)
    model = MixedMixture(random_state=seed).fit(frame)

    def answer(j: int, rows: np.ndarray) -> np.ndarray:
        found = model.conditional(frame.iloc[rows], j)
        own = table.values[j]
        if isinstance(found, tuple):
            return (found[0] * found[1]).sum(axis=1)
        known = list(model.categories_[str(table.frame.columns[j])])
        assert own is not None
        said = np.full((len(rows), len(own)), 1e-12)  # a category that was hidden everywhere
        said[:, [int(np.flatnonzero(own == value)[0]) for value in known]] = found
        return said

    return answer


def filled(table: Table, holed: np.ndarray, imputer: Any, first: int = 0) -> Answer:
    """Of an imputer of numbers: indicators are taken for probabilities."""
    points, places = table.indicators(holed, first)
    done = imputer.fit_transform(points)

    def answer(j: int, rows: np.ndarray) -> np.ndarray:
        own = done[rows, places[j]]
        if table.values[j] is None:
            return np.nanmean(holed[:, j]) + own[:, 0] * np.nanstd(holed[:, j])
        rest = 1.0 - own.sum(axis=1, keepdims=True)
        share = np.maximum(np.hstack([rest, own]) if first else own, LEAST)
        return share / share.sum(axis=1, keepdims=True)

    return answer


def nearest(table: Table, holed: np.ndarray, seed: int) -> Answer:
    return filled(table, holed, KNNImputer(n_neighbors=5, keep_empty_features=True))


def iterated(table: Table, holed: np.ndarray, seed: int) -> Answer:
    """The first category of a column has no indicator: it would be told by the others, which are just as missing."""
    return filled(table, holed, IterativeImputer(random_state=seed, keep_empty_features=True), first=1)


def boosted(table: Table, holed: np.ndarray, seed: int) -> Answer:
    models: dict[int, Any] = {}

    def answer(j: int, rows: np.ndarray) -> np.ndarray:
        others = np.delete(holed, j, axis=1)
        seen = np.flatnonzero(~np.isnan(holed[:, j]))
        own = table.values[j]
        if j not in models:
            models[j] = column_model(table, j, seed).fit(others[seen], holed[seen, j])
        if own is None:
            return models[j].predict(others[rows])
        return all_shares(models[j], others[rows], len(own))

    return answer


def column_model(table: Table, j: int, seed: int) -> Any:
    kinds = [values is not None and table.numbers(k) is None for k, values in enumerate(table.values) if k != j]
    maker = HistGradientBoostingRegressor if table.values[j] is None else HistGradientBoostingClassifier
    return maker(random_state=seed, categorical_features=kinds, l2_regularization=1.0)  # 0 diverges on rare categories


def all_shares(model: Any, X: np.ndarray, n_categories: int) -> np.ndarray:
    said = np.full((len(X), n_categories), 1e-12)
    said[:, model.classes_.astype(int)] = model.predict_proba(X) if len(model.classes_) > 1 else 1.0
    return said


def searched(table: Table, seed: int) -> dict[tuple[str, str], float]:
    """Average precisions of planted wrong cells."""
    generator = np.random.default_rng(1000 + seed)
    codes, wrong = table.codes.copy(), np.zeros(table.codes.shape, dtype=bool)
    for row, j in zip(*np.nonzero((generator.random(codes.shape) < WRONG) & ~np.isnan(codes)), strict=True):
        others = table.codes[~np.isnan(table.codes[:, j]) & (table.codes[:, j] != table.codes[row, j]), j]
        if len(others):
            codes[row, j], wrong[row, j] = generator.choice(others), True
    seen = ~np.isnan(codes)
    frame = table.framed(codes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = -MixedMixture(random_state=seed).fit(frame).score_cells(frame, relative=True)
        residuals = boosted_residuals(table, codes, seed)
        points = np.nan_to_num(table.indicators(codes)[0])
        rows = -IsolationForest(random_state=seed).fit(points).score_samples(points)
    cells, of_rows = "average precision of cells", "average precision of rows"
    in_row = wrong.any(axis=1)
    return {
        ("ours", cells): average_precision_score(wrong[seen], scores[seen]),
        ("boosting per column", cells): average_precision_score(wrong[seen], residuals[seen]),
        ("ours", of_rows): average_precision_score(in_row, np.nanmax(np.where(seen, scores, -np.inf), axis=1)),
        ("isolation forest", of_rows): average_precision_score(in_row, rows),
    }


def boosted_residuals(table: Table, codes: np.ndarray, seed: int) -> np.ndarray:
    found = np.zeros(codes.shape)
    for j, own in enumerate(table.values):
        seen, others = np.flatnonzero(~np.isnan(codes[:, j])), np.delete(codes, j, axis=1)
        if len(np.unique(codes[seen, j])) < 2:
            continue
        for train, test in KFold(5, shuffle=True, random_state=seed).split(seen):
            fitted, held = seen[train], seen[test]
            model = column_model(table, j, seed).fit(others[fitted], codes[fitted, j])
            if own is None:
                found[held, j] = model.predict(others[held]) - codes[held, j]
            else:
                share = all_shares(model, others[held], len(own))
                found[held, j] = -np.log(np.maximum(share[np.arange(len(held)), codes[held, j].astype(int)], 1e-12))
        if own is None:
            deviation = max(float(np.std(found[seen, j])), 1e-12)
            found[seen, j] = 0.5 * (found[seen, j] / deviation) ** 2
    return found
