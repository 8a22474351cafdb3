"""The lecture's question: Gaussian classes learned by likelihood, conditional likelihood and margin. "Which one is better?"

Two Gaussian classes share a covariance, so that the linear discriminant is right; beside the plane that they differ in there are four
columns of noise. Where it is wrong, a sixth of the first class lies far off, on its own side: no boundary has to care, but a mean and
a covariance do. The lecture: generative learning is more data efficient where its assumptions are (nearly) right, the others are more
robust where they are not; and the maximum-likelihood estimate is consistent (its error falls as one over the root of the rows).

Robustness and consistency show here. Data efficiency does not: with 20 rows the three are level.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from ... import figures
from ...estimators.discriminant import GaussianDiscriminant
from .. import Options, Report, Row

D = 6
MEANS = np.zeros((2, D))
MEANS[:, 0] = -1.0, 1.0
COVARIANCE = np.eye(D)
COVARIANCE[0, 1] = COVARIANCE[1, 0] = 0.6
FAR, SHARE = np.array([-11.0, 8.0, 0.0, 0.0, 0.0, 0.0]), 1.0 / 6.0  # how far, and how many
LOSSES = {"nll": "generative", "ncll": "conditional", "hinge": "margin"}


def drawn(n: int, is_right: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = MEANS[y] + rng.multivariate_normal(np.zeros(D), COVARIANCE, n)
    if not is_right:
        X[(y == 0) & (rng.random(n) < SHARE)] += FAR
    return X, y


def fitted(loss: str, X: np.ndarray, y: np.ndarray) -> GaussianDiscriminant:
    """All with the same few pseudo-rows: what differs is the loss."""
    return GaussianDiscriminant(loss=loss, prior=0.1, max_epochs=2_000, random_state=0).fit(X, y)


def run(options: Options) -> Report:
    n_test = 5_000 if options.quick else 50_000
    sizes = [20, 320] if options.quick else [20, 40, 80, 160, 320, 640, 1280]
    n_seeds = options.seeds or (3 if options.quick else 30)
    errors = {}
    for is_right in (True, False):
        X_test, y_test = drawn(n_test, is_right, 10**6)
        for n in sizes:
            for loss in LOSSES:
                found = [1.0 - fitted(loss, *drawn(n, is_right, seed)).score(X_test, y_test) for seed in range(n_seeds)]
                errors[is_right, loss, n] = float(np.mean(found)), float(np.std(found))
            options.say(f"{'right' if is_right else 'wrong'} assumptions, {n} rows")
    counts = [20 * 4**power for power in range(4 if options.quick else 8)]
    distances = [float(np.mean([distance(n, seed) for seed in range(n_seeds)])) for n in counts]
    slope = float(np.polyfit(np.log(counts), np.log(distances), 1)[0])
    apart = MEANS[1] - MEANS[0]
    least = float(norm.cdf(-0.5 * np.sqrt(apart @ np.linalg.solve(COVARIANCE, apart))))
    rows = [
        Row(f"error, {name}, {'right' if is_right else 'wrong'} assumptions, {n} rows", None, *errors[is_right, loss, n], n_seeds)
        for is_right in (True, False)
        for n in (sizes[0], sizes[-1])
        for loss, name in LOSSES.items()
    ]  # fmt: skip
    rows.append(Row("slope of the estimate's error against rows, logarithms", -0.5, slope))
    picture = drawing(options, errors, sizes, counts, distances, least)
    notes = [
        f"no classifier has an error below {least:.4f} where the assumptions are right; means over {n_seeds} draws of the rows"
    ]
    return Report(rows, notes, [picture])


def distance(n: int, seed: int) -> float:
    """From the true parameters to their maximum-likelihood estimate."""
    model = GaussianDiscriminant(loss="nll", prior=0).fit(*drawn(n, True, seed))
    return float(np.sqrt(((model.means_ - MEANS) ** 2).sum() + ((model.covariance_ - COVARIANCE) ** 2).sum()))


def drawing(options: Options, errors: dict, sizes: list, counts: list, distances: list, least: float):
    picture = options.folder / "lecture-discriminants.png"
    with figures.figure(picture, 2, 3, (11.0, 6.8)) as axes:
        for row, is_right in enumerate((True, False)):
            title = "right assumptions" if is_right else "wrong assumptions"
            boundaries(axes[row, 0], is_right, title)
            plot = axes[row, 1]
            for colour, (loss, name) in zip(figures.COLOURS, LOSSES.items(), strict=False):
                plot.semilogx(sizes, [errors[is_right, loss, n][0] for n in sizes], color=colour, label=name)
            if is_right:
                plot.axhline(least, color="#b0b0b0", linewidth=0.8)
            plot.legend(frameon=False)
            figures.tidy(plot, f"test error, {title}", "training rows")
        axes[0, 2].loglog(counts, distances, color=figures.COLOURS[0])
        figures.tidy(axes[0, 2], "distance of the maximum-likelihood estimate", "training rows")
        axes[1, 2].axis("off")
    return picture


def boundaries(plot, is_right: bool, title: str) -> None:
    """Rows, and where the two classes are equally probable."""
    X, y = drawn(200, is_right, 0)
    for label in (0, 1):
        plot.plot(*X[y == label, :2].T, ".", color="#b0b0b0" if label else "#707070", markersize=3)
    low, high = X[:, :2].min(axis=0) - 0.5, X[:, :2].max(axis=0) + 0.5
    grid = np.stack(np.meshgrid(np.linspace(low[0], high[0], 100), np.linspace(low[1], high[1], 100)), axis=-1)
    for colour, loss in zip(figures.COLOURS, LOSSES, strict=False):
        joint = fitted(loss, X, y).predict_joint_log_proba(np.pad(grid.reshape(-1, 2), ((0, 0), (0, D - 2))))
        plot.contour(
            grid[..., 0], grid[..., 1], (joint[:, 1] - joint[:, 0]).reshape(100, 100), levels=[0.0], colors=[colour]
        )
    figures.tidy(plot, title, "")
