"""Figure 3: dictionaries and synthesised digits, two layers with labels, two strengths of the Laplace prior."""

from __future__ import annotations

import numpy as np

from ...estimators.belief_network import SigmoidBeliefNetwork
from .. import Options, Report, Row
from . import common, pictures

PAPER_SHARES = {0.01: 0.669, 1.0: 0.037}  # of weights above 1e-9 in absolute value


def run(options: Options) -> Report:
    report = Report()
    data = common.images_for("MNIST", options, report)
    if data is None:
        return report
    minutes = 0.1 if options.quick else (options.minutes or 10.0) / 2
    X, y = data.train_and_valid, data.train_and_valid_labels
    show(report, options, "song2016-fig3-training", common.random_rows(X, 100).reshape(-1, *data.shape))
    for penalty, paper in PAPER_SHARES.items():
        settings = {"penalty": scaled(penalty, len(X)), "max_iter": common.ENDLESS, "max_minutes": minutes}
        model = SigmoidBeliefNetwork((200, 200), **settings, with_labels=True, random_state=0).fit(X, y)
        share = float(np.mean(np.abs(model.weights_[0][:, : X.shape[1]]) > 1e-9))
        report.rows.append(Row(f"share of weights that are not zero, lambda = {penalty:g}", paper, share))
        options.say(f"lambda {penalty:g}: {share:.3f} of the weights are not zero (paper {paper})")
        show(report, options, f"song2016-fig3-dictionary-{penalty:g}",
             model.components_[:100, : X.shape[1]].reshape(-1, *data.shape), symmetric=True)  # fmt: skip
        digits = [model.sample(10, label=k, random_state=k) for k in model.classes_]
        show(report, options, f"song2016-fig3-digits-{penalty:g}", np.concatenate(digits).reshape(-1, *data.shape))
        if penalty == min(PAPER_SHARES):
            completions(report, options, model, data)
    report.notes.append(
        "The paper does not say how lambda meets the online statistics; here sqrt(penalty) = 300 lambda."
    )
    return report


def scaled(penalty: float, n_rows: int) -> float:
    """Our penalty acts on the sum over rows; this one makes the two settings of the paper dense and sparse."""
    return (300.0 * penalty) ** 2 * n_rows / 60000


def completions(report: Report, options: Options, model, data) -> None:
    """Lower halves of test digits given the upper halves."""
    truth = common.random_rows(data.test, 20).astype(float)
    half = truth.copy()
    half[:, truth.shape[1] // 2 :] = np.nan
    found = model.impute(half, n_burn=30 if options.quick else 100)
    rows = np.stack([np.nan_to_num(half, nan=0.5), found, truth], axis=1).reshape(-1, *data.shape)
    show(report, options, "song2016-fig3-completions", rows, n_columns=12)


def show(
    report: Report, options: Options, name: str, images: np.ndarray, symmetric: bool = False, n_columns: int = 10
) -> None:
    drawn = pictures.tiles(images, n_columns, symmetric, name)
    report.pictures.append(pictures.save(drawn, options.folder, name))
