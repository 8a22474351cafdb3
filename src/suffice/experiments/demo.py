"""`suffice demo`: our three losses beside scikit-learn's classifiers, on data that ships with scikit-learn."""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB as PlainGaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from .. import figures
from ..estimators.discriminant import GaussianDiscriminant
from ..estimators.naive_bayes import GaussianNB, PoissonNB
from ..evaluation.calibration import calibration_error
from . import Options, Report, Row

SETS = {"digits": load_digits, "breast cancer": load_breast_cancer, "wine": load_wine}


def competitors(seed: int) -> dict:
    return {
        "sklearn GaussianNB": PlainGaussianNB(),
        "sklearn LogisticRegression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
        "sklearn LinearSVC": make_pipeline(StandardScaler(), LinearSVC(max_iter=5000)),
        "suffice GaussianNB nll": GaussianNB(loss="nll", random_state=seed),
        "suffice GaussianNB ncll": GaussianNB(random_state=seed),
        "suffice GaussianNB hinge": GaussianNB(loss="hinge", random_state=seed),
        "suffice GaussianDiscriminant ncll": GaussianDiscriminant(random_state=seed),
        "suffice PoissonNB ncll": PoissonNB(random_state=seed),
    }


def run(options: Options) -> Report:
    report = Report(
        notes=[
            "accuracy / log-loss / calibration error / seconds to fit; mean over folds of repeated 2-fold cross-validation"
        ]
    )
    table: dict[str, dict[str, np.ndarray]] = {}
    n_repeats = 1 if options.quick else options.seeds or 2
    compile_first()
    for name, load in SETS.items():
        X, y = load(return_X_y=True)
        if options.quick:
            X, y = X[::3], y[::3]
        for model in competitors(0):
            figures_ = []
            for repeat in range(n_repeats):
                folds = StratifiedKFold(2, shuffle=True, random_state=repeat).split(X, y)
                figures_ += [measure(competitors(repeat)[model], X, y, *fold) for fold in folds]
            table.setdefault(name, {})[model] = np.mean(figures_, axis=0)
            report.rows.append(
                Row(
                    f"{name}: {model}",
                    None,
                    float(table[name][model][0]),
                    float(np.std([f[0] for f in figures_])),
                    n_repeats,
                )
            )
    for line in lines_of(table):
        options.say(line)
    path = options.folder / "demo.png"
    draw(path, table)
    report.pictures.append(path)
    return report


def compile_first() -> None:
    """Compile (or read from the cache) outside the times that are shown."""
    X, y = load_wine(return_X_y=True)
    for model in (
        GaussianNB(prior=1.0, max_epochs=1),
        GaussianDiscriminant(prior=1.0, max_epochs=1),
        PoissonNB(prior=1.0, max_epochs=1),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)


def measure(model, X, y, train, test) -> tuple[float, float, float, float]:
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[train], y[train])
    seconds = time.perf_counter() - began
    if not hasattr(model, "predict_proba"):
        return float(model.score(X[test], y[test])), np.nan, np.nan, seconds
    probabilities = model.predict_proba(X[test])
    accuracy = float((model.classes_[probabilities.argmax(axis=1)] == y[test]).mean())
    return (
        accuracy,
        log_loss(y[test], probabilities),
        calibration_error(y[test], probabilities, model.classes_),
        seconds,
    )


def lines_of(table: dict[str, dict[str, np.ndarray]]) -> list[str]:
    """One table: a line a model; accuracy, log-loss and calibration error on every set, and the seconds of all fits."""
    sets, models = list(table), list(next(iter(table.values())))
    lines = [f"{'':34}" + "".join(f"{name:^24}" for name in sets)]
    lines += [f"{'':34}" + f"{'accuracy':>9}{'log-loss':>9}{'cal.':>6}" * len(sets) + f"{'fit s':>8}"]
    for model in models:
        cells = ""
        for name in sets:
            accuracy, loss, calibration, _ = table[name][model]
            shown = [f"{value:.3f}" if np.isfinite(value) else "-" for value in (loss, calibration)]
            cells += f"{accuracy:>9.4f}{shown[0]:>9}{shown[1]:>6}"
        lines.append(f"{model:34}{cells}{sum(table[name][model][3] for name in sets):>8.2f}")
    return lines


def draw(path, table) -> None:
    with figures.figure(path, 1, len(table), (4.6, 3.6)) as axes:
        for place, (name, rows) in enumerate(table.items()):
            plot = axes[0, place]
            models = list(rows)[::-1]
            colours = [figures.COLOURS[0] if model.startswith("suffice") else "#b0b0b0" for model in models]
            errors = [100 * (1 - rows[model][0]) for model in models]
            plot.barh(range(len(models)), errors, color=colours)
            plot.set_yticks(range(len(models)), models if place == 0 else [""] * len(models), fontsize=8)
            for position, error in enumerate(errors):
                plot.text(error, position, f" {error:.1f}", va="center", fontsize=8)
            figures.tidy(plot, name, "test error, %")
