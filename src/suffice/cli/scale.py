"""`suffice train` on files that need not fit in memory: in blocks, by threads here or by the workers of a dask cluster."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from ..engines.blocks import BlockEngine, Threads, engine
from ..files.dataset import Dataset
from ..files.table import MISSING
from ..saving import save
from .errors import data_errors, estimator_with
from .notices import UsageError, say, show
from .options import Where
from .progress import progress
from .training import DENSITIES, _kept, estimator_of, try_output


def is_pattern(path: str) -> bool:
    return glob.has_magic(path) and not os.path.exists(path)


def options_of(options: dict[str, Any], kinds: Any, format: str | None, max_words: int | None) -> dict[str, Any]:
    """The options of a reader as a Dataset has them."""
    given = {name: value for name, value in options.items() if name != "na"}
    if options.get("na") is not None:
        given["missing"] = (*MISSING, *options["na"])
    return {**given, "kinds": kinds or None, "format": format, "max_words": max_words}


@contextmanager
def engine_at(where: Where) -> Iterator[BlockEngine]:
    """Threads of this process, a cluster on loopback that ends with the block, or one that is there."""
    given = [name for name in ("workers", "scheduler", "scheduler_file") if getattr(where, name) is not None]
    if len(given) > 1:
        raise UsageError(f"--{given[0]} and --{given[1]} are two places to work at: give one".replace("_", "-"))
    if not given:
        yield Threads(1, where.checkpoint)
        return
    try:
        from distributed import Client, LocalCluster
    except ModuleNotFoundError as error:
        raise UsageError(f"--{given[0]} needs dask: pip install 'suffice[dask]'".replace("_", "-")) from error
    from ..engines.dask import DaskEngine

    if where.workers is not None:
        if where.workers < 1:
            raise UsageError(f"--workers {where.workers} must be at least 1")
        with (
            LocalCluster(
                n_workers=where.workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=40
            ) as cluster,
            Client(cluster) as client,
        ):
            yield DaskEngine(client, where.checkpoint)
        return
    try:
        client = Client(where.scheduler, timeout=20) if where.scheduler else Client(scheduler_file=where.scheduler_file)
    except (OSError, TimeoutError) as error:
        raise UsageError(f"no scheduler at {where.scheduler or where.scheduler_file}: {error}") from error
    with client:
        yield DaskEngine(client, where.checkpoint)


def train(path: str, output: str, *, model: str, params: dict[str, Any], where: Where, options: dict[str, Any]) -> None:
    """Fit all rows of the files, wherever the work is done; the model file is that of any other training."""
    start = time.perf_counter()
    try_output(output)
    with data_errors(path), progress("reading in blocks") as update, engine_at(where) as chosen, engine(chosen):
        data = Dataset(path, **options)
        update(None, f"{len(data)} blocks")
        if model in DENSITIES:
            module, _, name = DENSITIES[model].partition(":")
            estimator = estimator_with(getattr(import_module(module), name), params)
            fit(estimator, data, chosen, update)
            n_rows, made = sum(drawn.n_units for drawn in data.surveyed.drawn), estimator
        else:
            data.plain = True
            found = data.survey(chosen)
            if not found.labels:
                raise UsageError(f"{path} has no labels: name their column with --target")
            format = "text" if data.text else data.format
            estimator = estimator_of(model, format, data.layout.kinds, params, is_stream=True)
            fit(estimator, data, chosen, update)
            n_rows, made = found.n_rows, data.trained_as(estimator)
    save(made, output)
    show(_kept(estimator))
    if data.layout.vocabulary is not None and hasattr(estimator, "top_words"):
        show("\n".join(" ".join(words) for words in estimator.top_words(data.layout.vocabulary)))
    classes = f", {len(estimator.classes_)} classes" if hasattr(estimator, "classes_") else ""
    say(
        f"{type(estimator).__name__} on {n_rows:,} {'sequences' if 'sequence' in params else 'rows'} in {len(data)} blocks, "
        f"{estimator.n_features_in_:,} features{classes} in {time.perf_counter() - start:.1f} s, {chosen.rounds} rounds by "
        f"{len(chosen.processes)} process{'es' if len(chosen.processes) > 1 else ''} -> {output}"
    )


def fit(estimator: Any, data: Dataset, chosen: BlockEngine, update: Any) -> None:
    """Fit, with a line of progress a pass."""
    report = estimator._report

    def shown(number: int, line: dict) -> None:
        update(None, said(chosen, line))
        if verbose:
            report(number, line)

    estimator._report = shown
    verbose, estimator.verbose = estimator.verbose, 1
    try:
        estimator.fit(data)
    finally:
        estimator.verbose = verbose
        del estimator._report


def said(chosen: BlockEngine, line: dict) -> str:
    """Round, objective, bytes that came back, workers."""
    return (
        f"round {chosen.rounds}, objective {line['objective']:.6g}, {chosen.bytes / 1e6:.1f} MB, "
        f"{len(chosen.processes)} at work"
    )
