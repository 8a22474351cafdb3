"""The lecture's mixture of string patterns: strings of fixed length over an alphabet, two latent pattern classes, learned by EM.

Two patterns are planted (every position has its own distribution over letters); EM must find them again from the strings alone.
"""

from __future__ import annotations

import numpy as np

from ... import figures
from ...estimators.mixture import CategoricalMixture
from .. import Options, Report, Row

LETTERS, LENGTH, SHARE = 4, 12, 0.35


def planted(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(strings as codes, their classes, probabilities of class by position by letter)"""
    generator = np.random.default_rng(seed)
    tables = generator.dirichlet(np.full(LETTERS, 0.6), (2, LENGTH))
    k = (generator.random(n) < SHARE).astype(int)
    steps = np.cumsum(tables[k], axis=2)
    return np.minimum((generator.random((n, LENGTH, 1)) > steps).sum(axis=2), LETTERS - 1), k, tables


def run(options: Options) -> Report:
    n_seeds = options.seeds or (1 if options.quick else 5)
    n = 2000 if options.quick else 20_000
    results = []
    for seed in range(n_seeds):
        X, k, tables = planted(n, seed)
        model = CategoricalMixture(2, min_categories=LETTERS, n_init=3, tol=1e-7, max_iter=500, random_state=seed).fit(
            X
        )
        found = model.predict(X)
        agree = float((found == k).mean())
        order = [0, 1] if agree >= 0.5 else [1, 0]
        ideal = np.log([[1 - SHARE, SHARE]]) + np.log(
            np.take_along_axis(tables[None], X[:, None, :, None], axis=3)[..., 0]
        ).sum(axis=2)
        learned = np.stack(model.probabilities_, axis=1)[order]
        results.append(
            [max(agree, 1 - agree), float((ideal.argmax(axis=1) == k).mean()), np.abs(learned - tables).max(),
             model.weights_[order[1]]]
        )  # fmt: skip
        options.say(f"seed {seed}: " + ", ".join(f"{value:.4f}" for value in results[-1]))
    mean, std = np.mean(results, axis=0), np.std(results, axis=0)
    names = ["strings in the right pattern class", "the same, knowing the planted model", "largest error of a probability",
             f"share of the second pattern (planted {SHARE})"]  # fmt: skip
    rows = [Row(name, None, float(m), float(s), n_seeds) for name, m, s in zip(names, mean, std, strict=True)]
    picture = options.folder / "lecture-strings.png"
    with figures.figure(picture, 1, 2, (4.2, 2.4)) as axes:
        for pattern in range(2):
            axes[0, pattern].imshow(learned[pattern].T, vmin=0, vmax=1, cmap="Blues", aspect="auto")
            figures.tidy(axes[0, pattern], f"pattern {pattern}: p(letter | position)", "position")
    return Report(rows, [f"{n:,} strings of {LENGTH} letters over an alphabet of {LETTERS}"], [picture])
