"""The best networks we train: one and two layers on OCR letters and MNIST, by passes and so reproducible to the bit.

Checkpoints go to the folder; a run that was stopped continues from there. `only` picks some of the four.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...estimators.belief_network import SigmoidBeliefNetwork
from ...evaluation import annealed_importance_sampling
from .. import Options, Report, Row
from . import common

# Settings chosen on the validation parts (docs/notes/sbn.md). Paper: MCEM-MAP, Table 1.
RUNS: dict[str, dict[str, Any]] = {
    "OCR-200": {"paper": -37.34, "hidden": (200,), "max_iter": 60, "step": 0.2},
    "OCR-200-200": {"paper": -34.89, "hidden": (200, 200), "max_iter": 90, "step": 0.2, "joint_step": 0.1},
    "MNIST-200": {"paper": -98.88, "hidden": (200,), "max_iter": 39, "step": 0.4},
    "MNIST-200-200": {
        "paper": -98.37,
        "hidden": (200, 200),
        "max_iter": 110,
        "step": 0.4,
        "joint_step": 0.1,
        "batch_size": 4000,
        "greedy_share": 0.15,
    },
}


def run(options: Options, only: tuple[str, ...] = tuple(RUNS), n_jobs: int = 2) -> Report:
    report = Report()
    for name in only:
        settings = dict(RUNS[name])
        paper, data_name = settings.pop("paper"), name.split("-")[0]
        data = common.images_for(data_name, options, report)
        if data is None:
            continue
        model = fitted(name, data.train_and_valid, settings, options, n_jobs)
        n_temperatures = 50 if options.quick else (1000 if len(settings["hidden"]) == 1 else 4000)
        test = common.random_rows(data.test, 50 if options.quick else 1000)
        result = annealed_importance_sampling(model, test, n_temperatures, n_jobs=n_jobs)
        seconds = model.history_[-1]["seconds"]
        report.rows.append(Row(name, paper, result.mean, result.standard_error))
        options.say(f"{name}: {result} after {seconds:.0f} s of training, paper {paper}")
    return report


def fitted(name: str, X, settings: dict, options: Options, n_jobs: int) -> SigmoidBeliefNetwork:
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}{'-quick' if options.quick else ''}.ckpt"
    if options.quick:
        settings = settings | {"max_iter": 3 * len(settings["hidden"])}

    def say(line):
        if "bound" in line:
            left = line["seconds_left"] / 60
            options.say(
                f"{name}: stage {line['stage']} pass {line['pass']}, bound {line['bound']:.2f}, {left:.1f} min left"
            )

    paths = {"checkpoint": path, "checkpoint_minutes": 0.5, "resume": path if path.exists() else None}
    return SigmoidBeliefNetwork(**settings, **paths, callback=say, n_jobs=n_jobs, random_state=0).fit(X)
