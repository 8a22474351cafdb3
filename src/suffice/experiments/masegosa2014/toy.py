"""Section 4.1, Figure 1: a Gaussian naive Bayes whose data come from another model, trained with the three losses.

The printed N(0, 3) and N(+-5, 0.1) are standard deviations: read so, maximum likelihood gives the paper's 78.6 %.
"""

from __future__ import annotations

import warnings

import numpy as np

from ... import figures
from ...estimators.naive_bayes import GaussianNB
from ...learners.step_sizes import InverseTime
from .. import Options, Report, Row

PAPER = {"nll": 78.6, "ncll": 90.4, "hinge": 90.6}
LAMBDAS = (1.0, 0.1, 0.01, 0.001)


def toy_data(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    y = generator.choice([-1, 1], size=n)
    narrow = np.where(generator.random(n) < 0.8, -5.0, 5.0) + 0.1 * generator.standard_normal(n)
    return np.where(y == -1, 3.0 * generator.standard_normal(n), narrow)[:, None], y


def run(options: Options) -> Report:
    n_seeds = options.seeds or (2 if options.quick else 10)
    n = 3_000 if options.quick else 30_000
    accuracies: dict[str, list[float]] = {}
    models = {}
    for seed in range(n_seeds):
        X, y = toy_data(n, seed)
        X_test, y_test = toy_data(30_000, 1_000_000 + seed)
        for loss in PAPER:
            models[loss] = GaussianNB(loss=loss, random_state=seed).fit(X, y)
            accuracies.setdefault(f"{loss}, default algorithm", []).append(100 * models[loss].score(X_test, y_test))
        for decay in LAMBDAS[:2] if options.quick else LAMBDAS:
            printed = GaussianNB(
                loss="ncll",
                algorithm="paper",
                step_size=InverseTime(decay),
                max_epochs=10,
                random_state=seed,
                prior=1.0,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a check step is no cure: some of these end at chance level
                printed.fit(X, y)
            accuracies.setdefault(f"ncll, algorithm='paper', lambda={decay:g}", []).append(
                100 * printed.score(X_test, y_test)
            )
        options.say(f"seed {seed}: " + ", ".join(f"{name} {values[-1]:.2f}" for name, values in accuracies.items()))
    rows = [
        Row(name, PAPER[name.split(",")[0]], float(np.mean(values)), float(np.std(values)), n_seeds)
        for name, values in accuracies.items()
    ]
    picture = options.folder / "masegosa2014-toy.png"
    draw(picture, X, y, models, accuracies)
    notes = [f"accuracy in %, on 30,000 fresh points; trained on {n:,} points; spread over seeds"]
    return Report(rows, notes, [picture])


def draw(path, X, y, models, accuracies) -> None:
    """Histograms and curves on one scale, both of p(x, y): areas add up to one."""
    with figures.figure(path, 3, 1, (7.2, 1.9)) as axes:
        for plot, (loss, model) in zip(axes[:, 0], models.items(), strict=True):
            figures.DensityDisplay.from_estimator(model, X, y, n_points=1500, bins=180, ax=plot)
            accuracy = np.mean(accuracies[f"{loss}, default algorithm"])
            plot.set(xlim=(-10, 10), ylim=(1e-3, 2.5), yscale="log", ylabel="p(x, y), log scale")
            figures.tidy(plot, f'loss="{loss}": {accuracy:.1f} % of fresh points right', "", "p(x, y), log scale")
            plot.get_legend().set_title("class y")
            strip(plot, model)
        plot.set_xlabel("x")


def strip(plot, model) -> None:
    """Below the densities: the class that is predicted."""
    grid = np.linspace(-10, 10, 2001)
    said = model.predict(grid[:, None])
    ends = np.flatnonzero(np.diff(np.searchsorted(model.classes_, said)))
    for first, last in zip([0, *ends + 1], [*ends, len(grid) - 1], strict=True):
        colour = figures.COLOURS[int(np.searchsorted(model.classes_, said[first]))]
        plot.axvspan(grid[first], grid[last], 0, 0.06, color=colour, linewidth=0)
