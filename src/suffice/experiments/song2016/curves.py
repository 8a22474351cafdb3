"""Figures 2 and 4: the variational lower bound on test images against training time, Rec-MCEM beside NVIL."""

from __future__ import annotations

import numpy as np

from ...evaluation import variational_bound
from .. import Options, Report, Row
from . import common, pictures

SHARES = (0.1, 0.25, 0.5, 1.0)  # of the budget, where the rows of the report are read


def run_curves(options: Options, data_name: str, figure: str) -> Report:
    report = Report()
    data = common.images_for(data_name, options, report)
    if data is None:
        return report
    minutes = 0.05 if options.quick else options.minutes or 3.0
    n_seeds = 1 if options.quick else options.seeds or 3
    test = common.random_rows(data.test, 100 if options.quick else 1000)
    lines: dict = {}
    for name in ("Rec-MCEM-MAP", "NVIL", "NVIL, plain gradients"):
        lines[name] = [
            one_curve(data.train_and_valid, test, common.settings_of(name, data_name), minutes, seed)
            for seed in range(n_seeds)
        ]
        for share in SHARES:
            if share * 60 * minutes < max(line[0][0] for line in lines[name]):
                continue  # a bound is taken once a pass: nothing is known of the time before the first
            values = [np.interp(share * 60 * minutes, *line) for line in lines[name]]
            spread = float(np.std(values, ddof=1)) if n_seeds > 1 else None
            label = f"{data_name} {name} after {share * minutes:.2g} minutes"
            report.rows.append(Row(label, None, float(np.mean(values)), spread, n_seeds))
            options.say(f"{label}: bound {np.mean(values):.2f}")
    drawn = pictures.curves(lines, "seconds", "variational lower bound, test", f"Song et al. 2016, {figure}",
                            low=min(line[1][-1] for runs in lines.values() for line in runs) - 20)  # fmt: skip
    report.pictures.append(pictures.save(drawn, options.folder, f"song2016-{figure}"))
    report.notes.append("The paper prints no numbers for this figure; it shows Rec-MCEM above NVIL throughout.")
    return report


def one_curve(
    X: np.ndarray, test: np.ndarray, settings: dict, minutes: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    times, values, due = [], [], [0.0]

    def watch(model, seconds):
        if seconds >= due[0]:  # about forty points a curve
            times.append(seconds)
            values.append(variational_bound(model, test, n_samples=5).mean)
            due[0] = seconds + 60 * minutes / 40

    model = common.train(X, minutes, seed, watch, **settings)
    times.append(60 * minutes)
    values.append(variational_bound(model, test, n_samples=5).mean)
    return np.array(times), np.array(values)
