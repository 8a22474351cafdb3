"""Our defaults and the peers on about 34 tables: accuracy, log-loss, calibration error, CPU seconds, ranks; one run.

Stratified 3-fold twice, the same folds for all. Numbers of the peers are scaled and imputed, categories one-hot with a category for
what is missing. LightGBM and InterpretML's boosting (`pip install lightgbm interpret-core`) take part where they are installed.
Environment: TABLES and MODELS are comma-separated names ("fast" is a subset of small tables), REPEATS how often, FOLDS how many of the
three, GAPS=0.3 removes so many of all cells, TEST_GAPS=0.3 of the test cells only, CLASS_WEIGHT=balanced weighs rows of the models that
can and prints balanced accuracies, OUT is a file that results are kept in and read from.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB as PlainGaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

from suffice import MixedNB, TableClassifier
from suffice.datasets import arff, tabular
from suffice.evaluation.calibration import calibration_error

BUNDLED = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
FAST = ["iris", "wine", "breast cancer", "heart.c", "lymph", "glass", "hepatitis", "votes", "zoo", "balance.scale"]
UCI = ["adult", "hepatitis", "letter", "mushroom", "promoters", "splice", "votes"]
OURS = ("MixedNB", "TableClassifier")
PEERS = (  # that need not be there
    ("LightGBM", "lightgbm.LGBMClassifier", lambda kind: Encoded(kind(random_state=0, verbose=-1, n_jobs=1), "trees")),
    (
        "EBM", "interpret.glassbox.ExplainableBoostingClassifier",
        lambda kind: Encoded(kind(random_state=0, n_jobs=1), "trees"),
    ),
)  # fmt: skip
LEAST = 1e-15  # probabilities are clipped there, as scikit-learn's log_loss does


def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    if name in BUNDLED:
        return BUNDLED[name](return_X_y=True, as_frame=True)[0], BUNDLED[name]().target.astype(str)
    found = arff.load(name) if name in arff.NAMES else tabular.load(name)
    return found.X, found.y


def names() -> list[str]:
    wanted = os.environ.get("TABLES", "")
    if wanted == "fast":
        return FAST
    return [name.strip() for name in wanted.split(",")] if wanted else [*BUNDLED, *UCI, *arff.NAMES]


class Encoded(BaseEstimator):
    """A classifier of scikit-learn behind scaling, imputation and one-hot (or, for trees, codes with missing cells as they are)."""

    def __init__(self, model, kind="linear"):
        self.model = model
        self.kind = kind

    def fit(self, X, y):
        used = [c for c in X if X[c].notna().any()]  # boosting cannot bin a column of nothing
        numbers = [c for c in used if X[c].dtype.kind in "iuf"]
        others = [c for c in used if c not in numbers]
        if self.kind in ("linear", "iterative"):
            if self.kind == "linear":
                filled = SimpleImputer(strategy="mean", add_indicator=True, keep_empty_features=True)
            else:
                filled = IterativeImputer(random_state=0, keep_empty_features=True)
            number = make_pipeline(
                FunctionTransformer(np.array), filled, StandardScaler()
            )  # a frame's numbers are read-only
            other = OneHotEncoder(handle_unknown="ignore")
        else:
            number = SimpleImputer(keep_empty_features=True) if self.kind == "forest" else "passthrough"
            other = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
        self.encoder_ = ColumnTransformer([("n", number, numbers), ("o", other, others)], sparse_threshold=0.0)
        self.model.fit(self.encoder_.fit_transform(self._plain(X)), y)
        self.classes_ = self.model.classes_
        return self

    @staticmethod
    def _plain(X):
        X = X.copy()
        for column in X:
            if X[column].dtype.kind in "iuf":
                X[column] = X[column].astype(float)
            else:
                X[column] = (
                    X[column].astype(object).where(X[column].notna(), None).map(lambda v: v if v is None else str(v))
                )
        return X

    def predict_proba(self, X):
        return self.model.predict_proba(self.encoder_.transform(self._plain(X)))


def models() -> dict[str, Callable]:
    own = {"class_weight": os.environ.get("CLASS_WEIGHT")}
    found: dict[str, Callable] = {
        "MixedNB": lambda: MixedNB(**own),
        "TableClassifier": lambda: TableClassifier(**own),
        "LR": lambda: Encoded(LogisticRegression(max_iter=2000, **own)),
        "LRCV": lambda: Encoded(
            LogisticRegressionCV(max_iter=2000, scoring="neg_log_loss", cv=5, use_legacy_attributes=False, **own)
        ),
        "LR iterative": lambda: Encoded(LogisticRegression(max_iter=2000, **own), "iterative"),
        "HGB": lambda: Encoded(HistGradientBoostingClassifier(random_state=0, **own), "trees"),
        "forest": lambda: Encoded(RandomForestClassifier(random_state=0, **own), "forest"),
        "plain NB": lambda: Encoded(PlainGaussianNB()),
    }
    for name, module, make in PEERS:
        try:
            kind = getattr(import_module(module.rpartition(".")[0]), module.rpartition(".")[2])
        except ImportError as error:
            print(f"{name} is left out: {error}")
            continue
        found[name] = partial(make, kind)
    if not any(float(os.environ.get(name, "0")) for name in ("GAPS", "TEST_GAPS")):
        del found["LR iterative"]  # the same as LR where hardly a cell is missing
    wanted = os.environ.get("MODELS", "")
    return {name: found[name] for name in wanted.split(",")} if wanted else found


def holed(X: pd.DataFrame, share: float, seed: int) -> pd.DataFrame:
    """X with a share of its cells removed at random."""
    gone, X = np.random.default_rng(seed).random(X.shape) < share, X.copy()
    for j in range(X.shape[1]):
        column = X.iloc[:, j]
        column = column.astype(float) if column.dtype.kind in "iuf" else column.astype(object)
        X.isetitem(j, column.mask(gone[:, j]))
    return X


def measured(make: Callable, X, y, train, test, test_gaps: float, seed: int) -> dict:
    """Figures of one fit."""
    model, X_test = make(), X.iloc[test]
    if test_gaps:
        X_test = holed(X_test, test_gaps, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        model.fit(X.iloc[train], y[train])
        fitted = time.process_time()
        p = model.predict_proba(X_test)
        ended = time.process_time()
    classes = [str(label) for label in model.classes_]
    whole = np.full((len(test), len(np.unique(y))), 0.0)
    whole[:, [list(np.unique(y)).index(label) for label in classes]] = p
    codes = np.searchsorted(np.unique(y), y[test])
    own = np.clip(whole[np.arange(len(test)), codes], LEAST, 1.0)
    return {
        "accuracy": float((whole.argmax(axis=1) == codes).mean()),
        "balanced": float(balanced_accuracy_score(codes, whole.argmax(axis=1))),
        "loss": float(-np.log(own).mean()),
        "calibration": float(calibration_error(y[test], whole, np.unique(y))),
        "fit": fitted - began,
        "predict": ended - fitted,
        "converged": bool(getattr(model, "converged_", True)),
        "errors": float((whole.argmax(axis=1) != codes).std() / np.sqrt(len(test))),
    }


def evaluated(name: str, makers: dict[str, Callable], kept: dict, save: Callable) -> None:
    X, y = load(name)
    gaps, test_gaps = float(os.environ.get("GAPS", "0")), float(os.environ.get("TEST_GAPS", "0"))
    if gaps:
        X = holed(X, gaps, 0)
    counts = pd.Series(y).value_counts()
    keep = pd.Series(y).isin(counts[counts >= 3].index).to_numpy()  # every fold has a row of every class
    X, y = X[keep].reset_index(drop=True), y[keep]
    for repeat in range(int(os.environ.get("REPEATS", "2"))):
        folds = StratifiedKFold(3, shuffle=True, random_state=repeat).split(X, y)
        for number, (train, test) in enumerate(islice(folds, int(os.environ.get("FOLDS", "3")))):
            for model, make in makers.items():
                key = f"{name}|{model}|{repeat}|{number}"
                if key not in kept:
                    kept[key] = measured(make, X, y, train, test, test_gaps, 10 * repeat + number)
        save()


def table_of(kept: dict, tables: list[str], makers: dict, figure: str) -> pd.DataFrame:
    """Means over the folds: a row a table, a column a model."""
    rows = {}
    for name in tables:
        rows[name] = {
            model: np.mean(
                [found[figure] for key, found in kept.items() if key.startswith(f"{name}|{model}|")] or [np.nan]
            )
            for model in makers
        }
    return pd.DataFrame(rows).T


def report(kept: dict, tables: list[str], makers: dict) -> None:
    parts = {
        figure: table_of(kept, tables, makers, figure)
        for figure in ("accuracy", "balanced", "loss", "calibration", "fit", "predict")
    }
    for figure in ("accuracy", *(["balanced"] if os.environ.get("CLASS_WEIGHT") else []), "loss", "fit"):
        print(f"\n{figure}\n{parts[figure].round(4).to_string()}")
    ranks = {f: parts[f].rank(axis=1, ascending=f != "accuracy") for f in ("accuracy", "loss")}
    summary = pd.DataFrame(
        {
            "accuracy": parts["accuracy"].mean(), "rank": ranks["accuracy"].mean(),
            "+-": ranks["accuracy"].std() / np.sqrt(len(tables)),
            "log-loss": parts["loss"].mean(), "rank ": ranks["loss"].mean(), "+- ": ranks["loss"].std() / np.sqrt(len(tables)),
            "calibration": parts["calibration"].mean(), "fit s": np.exp(np.log(parts["fit"].clip(1e-4)).mean()),
            "predict s": np.exp(np.log(parts["predict"].clip(1e-5)).mean()),
        }
    )  # fmt: skip
    print(f"\nmeans over {len(tables)} tables (seconds: geometric)\n{summary.round(4).to_string()}")
    for ours in [name for name in makers if name in OURS]:
        for peer in [name for name in makers if name not in (*OURS, "plain NB")]:
            losses = int((parts["loss"][ours] <= parts["loss"][peer] + 1e-9).sum())
            right = int((parts["accuracy"][ours] >= parts["accuracy"][peer] - 1e-9).sum())
            print(f"{ours} at least as good as {peer}: log-loss {losses}, accuracy {right} of {len(tables)}")
        bad = sorted(
            {key.split("|")[0] for key, found in kept.items() if key.split("|")[1] == ours and not found["converged"]}
        )
        print(f"{ours}: fits that did not converge in {bad or 'no table'}")


def run() -> None:
    path = os.environ.get("OUT")
    kept = json.loads(Path(path).read_text()) if path and Path(path).exists() else {}

    def save() -> None:
        if path:
            Path(path).write_text(json.dumps(kept))

    makers, tables = models(), names()
    for name in tables:
        began = time.perf_counter()
        evaluated(name, makers, kept, save)
        losses = {model: round(table_of(kept, [name], makers, "loss").iloc[0][model], 4) for model in makers}
        print(f"{name}: {losses} in {time.perf_counter() - began:.0f} s", flush=True)
    report(kept, tables, makers)
