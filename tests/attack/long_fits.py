"""Fits of seconds: killed between their checkpoints, and every learner interrupted in the middle.

A killed fit loses no more than the interval between checkpoints and goes on to the bits of one that was not; an interrupted one is
fitted at its best state and says so, whichever learner was at work.
"""

from __future__ import annotations

import copy
import os
import signal
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import suffice
from attack.cast import MIXTURES, Report, main, plain_rows
from attack.signals import killed, run, timed

INTERVAL = 0.5  # seconds between checkpoints


def tables(n: int, d: int) -> dict[str, np.ndarray]:
    generator, y = np.random.default_rng(0), np.arange(n) % 3
    rows = {kind: plain_rows(kind, n, d, generator) for kind in ("numbers", "counts", "flags", "codes")}
    return {kind: X + (0.3 * y[:, None] if kind == "numbers" else 0.0) for kind, X in rows.items()}


def long_fits() -> Iterator[tuple[Any, tuple, Any]]:
    """(estimator, what `fit` is given, what it does before it learns): fits of a few seconds."""
    generator, rows = np.random.default_rng(1), tables(6000, 12)
    yield suffice.GaussianMixture(16, tol=0.0, max_iter=800, random_state=0), (rows["numbers"],), None
    words = np.minimum(generator.zipf(1.3, (15_000, 60)), 20_000)
    texts = [" ".join(f"w{word}" for word in line) + f" w{k % 4}" for k, line in enumerate(words)]
    model = suffice.TextClassifier(random_state=0)
    yield model, (texts, (words[:, 0] > 2) + 2 * (np.arange(15_000) % 2)), lambda: model._begun(texts)
    yield suffice.LatentDirichletAllocation(10, max_iter=40, random_state=0), (rows["counts"],), None
    network = suffice.SigmoidBeliefNetwork((10,), max_iter=250, n_temperatures=10, random_state=0)
    yield network, (rows["flags"],), None


def learners() -> Iterator[tuple[str, Any, tuple]]:
    """(name, estimator, what `fit` is given): one for every learner."""
    rows, y = tables(3000, 6), np.arange(3000) % 3
    for algorithm in ("incremental", "stochastic", "batch"):
        for loss in ("ncll", "hinge"):
            options = {
                "loss": loss,
                "algorithm": algorithm,
                "prior": 1.0,
                "max_epochs": 400,
                "tol": 0.0,
                "random_state": 0,
            }
            yield f"{algorithm} {loss}", suffice.MultinomialNB(**options), (rows["counts"], y)
    yield "linear", suffice.GaussianNB(random_state=0), (rows["numbers"], y)
    yield "tables", suffice.MixedNB(random_state=0), (rows["numbers"], y)
    yield "groups", suffice.MixtureClassifier(3, max_epochs=100, random_state=0), (rows["numbers"], y)
    for algorithm in ("em", "accelerated", "online", "variational"):
        for name in ("GaussianMixture", "MixedMixture"):
            options = {"algorithm": algorithm, "tol": 0.0, "max_iter": 300, "random_state": 0}
            yield f"{name} {algorithm}", getattr(suffice, name)(5, **options), (rows[MIXTURES[name]],)
        parts = [rows["numbers"][k : k + 50] for k in range(0, 3000, 50)]
        options = {"algorithm": algorithm, "tol": 0.0, "max_iter": 200, "random_state": 0}
        yield f"GaussianHMM {algorithm}", suffice.GaussianHMM(4, **options), (parts,)
    for inference in ("map", "variational", "gibbs"):
        for algorithm in ("online", "batch"):
            options = {"inference": inference, "algorithm": algorithm, "max_iter": 60, "random_state": 0}
            yield f"topics {inference} {algorithm}", suffice.LatentDirichletAllocation(5, **options), (rows["counts"],)
        options = {"inference": inference, "max_epochs": 60, "random_state": 0}
        yield f"LDAClassifier {inference}", suffice.LDAClassifier(4, **options), (rows["counts"], y)
    for learner in ("mcem", "rec-mcem", "sgd", "vb", "nvil"):
        options = {"learner": learner, "max_iter": 60, "n_temperatures": 10, "random_state": 0}
        yield f"network {learner}", suffice.SigmoidBeliefNetwork((6,), **options), (rows["flags"][:1000],)
    parts, tags = (
        [rows["numbers"][k : k + 5] for k in range(0, 3000, 5)],
        [y[k : k + 5].tolist() for k in range(0, 3000, 5)],
    )
    yield "HMMClassifier", suffice.HMMClassifier(2, prior=1.0, max_epochs=100, random_state=0), (parts, y[:600])
    yield "HMMTagger", suffice.HMMTagger("gaussian", prior=1.0, max_iter=100, random_state=0), (parts, tags)
    lines = [[f"w{int(cell)}" for cell in row] for row in rows["counts"]]
    yield "TextTagger", suffice.TextTagger(prior=1.0, max_iter=100, random_state=0), (lines, [list("abacab")] * 3000)
    yield "TextClassifier", suffice.TextClassifier(random_state=0), ([" ".join(line) for line in lines], y)
    target = rows["numbers"] @ np.arange(6.0)
    yield (
        "MixtureRegressor",
        suffice.MixtureRegressor(3, n_members=1, max_iter=100, random_state=0),
        (rows["numbers"], target),
    )
    yield "TableClassifier", suffice.TableClassifier(max_seconds=1.0, random_state=0), (rows["numbers"], y)


def kept(name: str, model: Any, given: tuple, count: int, generator: np.random.Generator, report: Report) -> str:
    """Interrupt a fit in its later part `count` times; what is wrong.

    While settings are compared on held-out parts there is no state to keep, and the estimator stays as it was; so it may in the last
    moments of a fit that is shorter than an interval between checkpoints.
    """
    _, length = timed(lambda: copy.deepcopy(model).fit(*given), 10.0)
    lost = ended = 0
    for _ in range(count):
        own, raised, inside = copy.deepcopy(model), False, set()
        handlers = (
            signal.signal(signal.SIGINT, signal.default_int_handler),
            signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT)),
        )
        try:
            signal.setitimer(signal.ITIMER_REAL, float(generator.uniform(0.4, 0.9)) * length)
            own.fit(*given)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        except KeyboardInterrupt as error:
            raised, inside = True, {frame.name for frame in traceback.extract_tb(error.__traceback__)}
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGINT, handlers[0])
            signal.signal(signal.SIGALRM, handlers[1])
        if not raised:
            ended += 1
        elif str(getattr(own, "stopped_", "")).startswith("interrupted"):
            report.count("kept")
        elif "chosen" in inside:
            report.count("interrupted in a choice")
        elif length < INTERVAL:
            report.count("interrupted at the end of a short fit")
        else:
            lost += 1
    report.counts["ended before"] += ended
    if lost:
        return f"{name}: {lost} of {count - ended} interruptions cost the fit (of {length:.2f} s)"
    return "" if ended < count else f"{name}: every fit ended before (of {length:.2f} s)"


def long_fit_attacks(count: int = 10, seed: int = 0, first: int = 0) -> Report:
    """`count` kills of each long fit, as many interruptions of each learner from the number `first` on."""
    report, generator = Report("long fits"), np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model, given, reading in long_fits() if not first else ():
            seconds = timed(reading)[1] if reading else 0.0
            with tempfile.TemporaryDirectory() as folder:
                works = [
                    lambda m=model, g=given, f=folder, s=seconds: killed(m, g, count, generator, report, f, INTERVAL, s)
                ]
                run(works, type(model).__name__, seed, report)
        for number, (name, model, given) in enumerate(learners()):
            if number >= first:
                run([lambda n=name, m=model, g=given: kept(n, m, g, count, generator, report)], name, seed, report)
    return report


if __name__ == "__main__":
    main(long_fit_attacks, 10)
