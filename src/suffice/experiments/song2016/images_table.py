"""Tables 1 and 2: every method trained for the same time, then annealing or the variational bound on test rows."""

from __future__ import annotations

import numpy as np

from ...evaluation import annealed_importance_sampling, variational_bound
from .. import Options, Report, Row
from . import common


def run_table(options: Options, paper: dict, names: list[str], estimator: str) -> Report:
    """`paper[(data set, hidden, method)]` is the printed number; one row each."""
    report = Report()
    minutes = 0.03 if options.quick else options.minutes or 4.0
    n_seeds = 1 if options.quick else options.seeds or 1
    for data_name in ("OCR", "MNIST"):
        data = common.images_for(data_name, options, report)
        if data is None:
            continue
        n_test = 40 if options.quick else 1000
        test = common.random_rows(data.test, n_test)
        for hidden in ((200,), (200, 200)):
            for name in names:
                if (data_name, hidden, name) not in paper or (
                    options.quick and (data_name, hidden) == ("MNIST", (200, 200))
                ):
                    continue
                settings = common.settings_of(name, data_name) | {"hidden": hidden}
                models = [common.train(data.train_and_valid, minutes, seed, **settings) for seed in range(n_seeds)]
                results = [evaluate(model, test, estimator, options, len(hidden)) for model in models]
                label = f"{data_name} {'-'.join(map(str, hidden))} {name}"
                report.rows.append(over_seeds(label, paper[data_name, hidden, name], results))
                options.say(f"{label}: {report.rows[-1].ours:.2f} after {minutes:g} minutes, {results[0]} (first seed)")
    spread = "over seeds" if n_seeds > 1 else "the standard error over test rows"
    report.notes.append(f"{minutes:g} minutes of CPU time each, one thread; the spread is {spread}.")
    report.notes.append("Test rows: the same random rows for all methods; trained on train plus valid.")
    return report


def over_seeds(label: str, paper: float, results: list) -> Row:
    values = [result.mean for result in results]
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else results[0].standard_error
    return Row(label, paper, float(np.mean(values)), spread, len(values))


def evaluate(model, test, estimator: str, options: Options, n_layers: int):
    if estimator == "bound":
        return variational_bound(model, test, n_samples=10)
    n_temperatures = 50 if options.quick else (1000 if n_layers == 1 else 4000)
    return annealed_importance_sampling(model, test, n_temperatures)
