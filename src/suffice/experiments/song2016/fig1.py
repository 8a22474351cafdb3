"""Figure 1: Q against time for gradient, spectral and Polya-Gamma ascent; fixed hidden units (784 x 50, N = 300)."""

from __future__ import annotations

import time

import numpy as np
from scipy.special import expit

from ...structures.network import layer_objective, polya_gamma_mean
from .. import Options, Report, Row
from . import common, pictures


def run(options: Options) -> Report:
    report = Report()
    data = common.images_for("MNIST", options, report)
    if data is None:
        return report
    n_rows, n_units = 300, 50
    seconds = 2.0 if options.quick else 60 * (options.minutes or 1.0) / 4
    rng = np.random.default_rng(0)
    visible = common.random_rows(data.train, n_rows).astype(float)
    hidden = (rng.random((n_rows, n_units)) < 0.5).astype(float)
    step = 4 / (n_rows * n_units)
    methods = {
        "gradient, step 4/(NJ)": gradient_ascent(step),
        "gradient, step tuned": gradient_ascent(20 * step),
        "spectral": spectral_ascent(4 / n_rows),
        "Polya-Gamma": polya_gamma_ascent,
    }
    lines = {}
    for name, method in methods.items():
        times, values = follow(method, hidden, visible, seconds)
        lines[name] = [(times[1:], values[1:])]
        report.rows.append(Row(f"Q after one iteration, {name}", None, values[1]))
        report.rows.append(Row(f"Q after {seconds:.0f} s, {name}", None, values[-1]))
        options.say(f"{name}: {len(values) - 1} iterations, Q {values[1]:.0f} -> {values[-1]:.0f}")
    start = float(np.median([line[0][1][0] for line in lines.values()]))
    drawn = pictures.curves(lines, "seconds", "Q", "Song et al. 2016, Figure 1", low=start)
    drawn.axes[0].set_xscale("log")
    report.pictures.append(pictures.save(drawn, options.folder, "song2016-fig1"))
    report.notes.append("The paper prints no numbers for this figure. Hidden units: fair coins, fixed.")
    return report


def follow(method, hidden, visible, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """(times, values of Q) of repeated updates from zero; evaluation is off the clock."""
    design = np.column_stack([hidden, np.ones(len(hidden))])
    parameters = np.zeros((design.shape[1], visible.shape[1]))
    times, values, clock = [0.0], [layer_objective(parameters, 0.0, design, visible)], 0.0
    while clock < seconds:
        began = time.perf_counter()
        parameters = method(parameters, design, visible)
        clock += time.perf_counter() - began
        times.append(clock)
        values.append(layer_objective(parameters, 0.0, design, visible))
    return np.array(times), np.array(values)


def gradient_ascent(step: float):
    return lambda w, design, visible: w + step * design.T @ (visible - expit(design @ w))


def spectral_ascent(step: float):
    """Steepest ascent in the spectral norm (Carlson et al. 2015): all singular values become their sum."""

    def update(w, design, visible):
        left, values, right = np.linalg.svd(design.T @ (visible - expit(design @ w)), full_matrices=False)
        return w + step / len(w) * values.sum() * left @ right

    return update


def polya_gamma_ascent(w, design, visible):
    omega = polya_gamma_mean(design @ w)
    matrices = np.einsum("ni,na,nb->iab", omega, design, design, optimize=True) + 1e-8 * np.eye(len(w))
    return np.linalg.solve(matrices, ((visible - 0.5).T @ design)[:, :, None])[:, :, 0].T
