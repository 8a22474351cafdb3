"""Tables 1 and 2: every method trained for the same time, then annealing or the variational bound on test rows."""

from __future__ import annotations

from suffice.evaluation import annealed_importance_sampling, variational_bound
from suffice.experiments import Options, Report, Row
from suffice.experiments.song2016 import common


def run_table(options: Options, paper: dict, names: list[str], estimator: str) -> Report:
    """`paper[(data set, hidden, method)]` is the printed number; one row each."""
    report = Report()
    minutes = 0.03 if options.quick else options.minutes or 4.0
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
                model = common.train(data.train_and_valid, minutes, hidden=hidden, **common.METHODS[name])
                result = evaluate(model, test, estimator, options, len(hidden))
                label = f"{data_name} {'-'.join(map(str, hidden))} {name}"
                report.rows.append(Row(label, paper[data_name, hidden, name], result.mean, result.standard_error))
                options.say(f"{label}: {result} after {minutes:g} minutes, paper {paper[data_name, hidden, name]}")
    report.notes.append(
        f"{minutes:g} minutes of CPU time each, one thread; the spread is the standard error over test rows."
    )
    report.notes.append("Test rows: the same random rows for all methods; trained on train plus valid.")
    return report


def evaluate(model, test, estimator: str, options: Options, n_layers: int):
    if estimator == "bound":
        return variational_bound(model, test, n_samples=10)
    n_temperatures = 50 if options.quick else (1000 if n_layers == 1 else 4000)
    return annealed_importance_sampling(model, test, n_temperatures)
