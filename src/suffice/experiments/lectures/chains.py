"""The lecture's hidden Markov model twice: states observed (count joint events) and not observed (EM), on a planted chain.

With the states seen, one pass of counting is the maximum of the likelihood. Without them EM climbs the likelihood of the symbols from a
random start; the states it finds are matched with the planted ones.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from ... import figures
from ...estimators.hmm import CategoricalHMM
from .. import Options, Report, Row

STATES, SYMBOLS, LENGTH = 3, 6, 50
STAY = 0.85


def planted(n: int, seed: int) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray, np.ndarray]:
    """(sequences of symbols, their states, transitions, probabilities of symbols by state)"""
    generator = np.random.default_rng(seed)
    A = np.full((STATES, STATES), (1 - STAY) / (STATES - 1))
    np.fill_diagonal(A, STAY)
    B = 0.9 * np.kron(np.eye(STATES), np.full((1, SYMBOLS // STATES), STATES / SYMBOLS)) + 0.1 / SYMBOLS
    Z = np.empty((n, LENGTH), dtype=int)
    Z[:, 0] = generator.integers(0, STATES, n)
    for t in range(1, LENGTH):
        Z[:, t] = np.minimum((generator.random((n, 1)) > np.cumsum(A, axis=1)[Z[:, t - 1]]).sum(axis=1), STATES - 1)
    X = np.minimum((generator.random((n, LENGTH, 1)) > np.cumsum(B, axis=1)[Z]).sum(axis=2), SYMBOLS - 1)
    return [x[:, None].astype(float) for x in X], list(Z), A, B


def matched(model: CategoricalHMM, B: np.ndarray) -> list[int]:
    """The model's states in the order of the planted ones."""
    errors = {order: np.abs(model.emissionprob_[list(order)] - B).sum() for order in permutations(range(STATES))}
    return list(min(errors, key=lambda order: errors[order]))


def run(options: Options) -> Report:
    n_seeds = options.seeds or (1 if options.quick else 5)
    n = 100 if options.quick else 1000
    results, paths = [], []
    for seed in range(n_seeds):
        X, Z, A, B = planted(n, seed)
        held, held_states, _, _ = planted(n, 1000 + seed)
        counted = CategoricalHMM(STATES, prior=0.01).fit(X, states=Z)
        found = CategoricalHMM(STATES, n_init=3, tol=1e-7, max_iter=500, random_state=seed).fit(X)
        truth = np.concatenate(held_states)
        own = []
        for model, order in ((counted, list(range(STATES))), (found, matched(found, B))):
            states = np.argsort(order)[np.concatenate(model.predict(held))]
            errors = (
                np.abs(model.transmat_[np.ix_(order, order)] - A).max(),
                np.abs(model.emissionprob_[order] - B).max(),
            )
            own += [model.score(held) / (n * LENGTH), float((states == truth).mean()), *errors]
        results.append(own)
        paths.append(found.lower_bounds_)
        options.say(f"seed {seed}: " + ", ".join(f"{value:.4f}" for value in own))
    mean, std = np.mean(results, axis=0), np.std(results, axis=0)
    what = ["held-out log-likelihood of a step", "steps in the right state", "largest error of a transition",
            "largest error of a symbol's probability"]  # fmt: skip
    names = [f"{how}: {name}" for how in ("states observed (counting)", "states hidden (EM)") for name in what]
    rows = [Row(name, None, float(m), float(s), n_seeds) for name, m, s in zip(names, mean, std, strict=True)]
    picture = options.folder / "hmm-lecture.png"
    with figures.figure(picture) as axes:
        for seed, path in enumerate(paths):
            axes[0, 0].plot(path, color=figures.COLOURS[seed % len(figures.COLOURS)])
        figures.tidy(axes[0, 0], "EM: log-likelihood of a step by iteration", "iteration", "nats")
    rises = all((np.diff(path) > -1e-6).all() for path in paths)
    notes = [
        f"{n:,} sequences of {LENGTH} symbols, {STATES} states that stay with {STAY}",
        "the likelihood rose in every iteration"
        if rises
        else "the likelihood fell in some iteration (the prior took part)",
    ]
    return Report(rows, notes, [picture])
