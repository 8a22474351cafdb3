"""Splits of the UCI tables one by one, ours and peers, into a file of JSON lines from which an interrupted run goes on.

    python tools/regression_splits.py out.jsonl --what complete nll missing --sets boston yacht --splits 0-19
    python tools/regression_splits.py out.jsonl --table

complete: ours and boosting. nll: ours under loss="nll". missing: 30 % of all cells removed; ours, boosting with its own NaN, and NGBoost
(cells imputed by means) where it is installed. Splits are the outer loop, so a part of a run has all sets.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

from suffice.datasets import regression
from suffice.evaluation.regression import RegressionScores
from suffice.experiments.regression.peers import boosting, natural_boosting
from suffice.regression import MixtureRegressor

SETS = ("boston", "concrete", "energy", "yacht", "power", "kin8nm")
MISSING = 0.3


def ours(loss: str):
    def scored(X, y, X_test, y_test, seed: int) -> dict:
        start = time.process_time()
        model = MixtureRegressor(loss=loss, random_state=seed).fit(X, y)
        seconds = time.process_time() - start
        scores = RegressionScores()
        scores.update(model, X_test, y_test)
        return {**scores.summary(), "fit_seconds": seconds}

    return scored


JOBS = {
    "complete": {"ours": ours("ncll"), "boosting": boosting},
    "nll": {"ours, nll": ours("nll")},
    "missing": {"ours": ours("ncll"), "boosting": boosting, "NGBoost": natural_boosting},
}
MODELS = list(dict.fromkeys(label for jobs in JOBS.values() for label in jobs))


def with_gaps(split, seed: int):
    X, y, X_test, y_test = split
    generator = np.random.default_rng(seed)
    X, X_test = (np.where(generator.random(own.shape) < MISSING, np.nan, own) for own in (X, X_test))
    return X, y, X_test, y_test


def run(path: Path, kinds: list[str], sets: list[str], splits: range, models: list[str]) -> None:
    known = {(line["what"], line["set"], line["split"], line["model"]) for line in read(path)}
    for number in splits:
        for kind in kinds:
            for name in sets:
                split = regression.load(name).split(number)
                split = with_gaps(split, number) if kind == "missing" else split
                for label, function in JOBS[kind].items():
                    if label not in models or (kind, name, number, label) in known:
                        continue
                    try:
                        found = function(*split, number)
                    except ImportError:
                        continue
                    line = {"what": kind, "set": name, "split": number, "model": label, **found}
                    with path.open("a") as file:
                        file.write(json.dumps(line) + "\n")


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(path: Path) -> None:
    """Means over the splits that are there, and how many there are."""
    found: dict[tuple, list[dict]] = {}
    for line in read(path):
        found.setdefault((line["what"], line["set"], line["model"]), []).append(line)
    for (kind, name, label), lines in sorted(found.items()):
        shown = [k for k in ("nll", "rmse", "crps", "coverage_90", "fit_seconds") if k in lines[0]]
        values = "  ".join(f"{k} {np.mean([line[k] for line in lines]):.4f}" for k in shown)
        error = np.std([line["nll"] for line in lines]) / np.sqrt(len(lines))
        print(f"{kind:9} {name:9} {label:10} {len(lines):2} splits  {values}  (nll +- {error:.3f})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--what", nargs="+", default=list(JOBS), choices=list(JOBS))
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--splits", default="0-19")
    parser.add_argument("--models", nargs="+", default=MODELS, choices=MODELS)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if not given.table:
        first, _, last = given.splits.partition("-")
        run(given.path, given.what, given.sets, range(int(first), int(last or first) + 1), given.models)
    table(given.path)
