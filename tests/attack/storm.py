"""A storm of numbers: scales and weights of 1e-300 to 1e300, constant columns, outliers, codes of missing values.

Every fit either is refused with a ValueError that changes nothing, or has finite parameters, warns of no arithmetic, and gives rows of
`predict_proba` that lie in [0, 1] and add up to one within 1e-12, also for new rows of any finite size.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from attack.cast import LABELLED, NETWORK, REGRESSOR, Report, asked, cast, main, parameters, plain_rows, training

SCALES = (1e-300, 1e-200, 1e-150, 1e-100, 1e-30, 1e-8, 1.0, 1.0, 1.0, 1e8, 1e30, 1e39, 1e80, 1e99, 1e150, 1e200, 1e300)
ODD = (-999999999.0, 1e80, -1e80, 1e99, 1e-320, 5e-324, 0.0, 1e16, 2.0**53 + 1)


def scaled(X: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    with np.errstate(over="ignore"):
        return np.nan_to_num(X * generator.choice(SCALES), nan=np.nan)


def nasty(kind: str, n: int, d: int, generator: np.random.Generator) -> np.ndarray:
    """Rows that a careless export may hold."""
    X = plain_rows(kind, n, d, generator)
    for j in range(d):
        way = generator.integers(8)
        if way == 0:
            X[:, j] = generator.choice([0.0, 1.0, 3.0, 1e-300, 1e99])
        elif way == 1:
            X[:, j] = scaled(X[:, j], generator)
        elif way == 2:
            X[int(generator.integers(n)), j] = generator.choice(ODD)
        elif way == 3 and kind == "numbers":
            X[:, j] += generator.choice(SCALES)
        elif way == 4:
            X[:, j] = X[:, 0]
        elif way == 5 and generator.random() < 0.3:
            X[generator.random(n) < 0.3, j] = np.nan
    if generator.random() < 0.2:
        X = scaled(X, generator)
    return np.abs(X) if kind in ("counts", "flags") else X


def weights(n: int, generator: np.random.Generator) -> np.ndarray | None:
    way = generator.integers(5)
    if way < 3:
        return None
    if way == 3:
        return np.full(n, generator.choice([1e-300, 1e-99, 1e-30, 1e30, 1e99, 1e300]))
    return generator.choice([1e-300, 1e-90, 1e-30, 1.0, 1e30, 1e90, 0.0], n, p=[0.02, 0.08, 0.1, 0.6, 0.1, 0.08, 0.02])


def fitted(model: Any, group: str, X: Any, y: np.ndarray, weight: np.ndarray | None, *, stream: bool) -> Any:
    arguments, options = training(model, group, X, y, weight)
    if not stream or group == NETWORK or not hasattr(model, "partial_fit"):
        return model.fit(*arguments, **options)
    classes = {"classes": [0, 1, 2]} if len(arguments) > 1 and group in LABELLED else {}
    return model.partial_fit(*arguments, **options, **classes)


def wrong(model: Any, rows: Any, group: str) -> str:
    """What is wrong with the answers about rows; "" if nothing is."""
    for name, array in parameters(model):
        if not np.isfinite(array).all():
            return f"{name} is not finite"
    for name in ("predict_proba", "transform", "filter"):
        if not hasattr(model, name):
            continue
        try:
            answer = getattr(model, name)(rows)
            answer = np.concatenate(answer) if isinstance(answer, list) else np.asarray(answer)
        except ValueError as error:
            if name == "filter" or "X" in str(error) or "sequence" in str(error):
                continue
            return f"{name}: {error}"
        if np.isnan(answer).any() or (answer < 0).any() or (answer > 1 + 1e-12).any():
            return f"{name} leaves [0, 1]"
        if (name != "transform" or hasattr(model, "topics_")) and len(answer):
            worst = float(np.abs(answer.sum(axis=1) - 1).max())
            if worst > 1e-12:
                return f"{name} has rows that add up to {1 + worst}"
    for name in ("predict", "score_samples"):
        if hasattr(model, name):
            try:
                answer = np.asarray(getattr(model, name)(rows))
            except ValueError:
                continue
            if (name == "score_samples" or group == REGRESSOR) and np.isnan(answer.astype(float)).any():
                return f"{name} is NaN"
    return ""


def storm(count: int = 1000, seed: int = 0, first: int = 0) -> Report:
    """`count` fits, from the number `first` of the seed on."""
    report = Report("storm")
    for number in range(first, first + count):
        generator = np.random.default_rng([seed, number])
        model, kind, group = cast(generator)
        n, d = int(generator.choice([6, 12, 30])), int(generator.integers(1, 5))
        X, y = nasty(kind, n, d, generator), np.arange(n) % 3
        weight, stream = weights(n, generator), generator.random() < 0.2
        where = f"seed {seed} number {number} {model!r:.200}".replace("\n", " ")
        before = dict(vars(model))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                fitted(model, group, X, y, weight, stream=bool(stream))
            except ValueError as error:
                report.count("refused")
                if vars(model).keys() != before.keys():
                    report.found(where, f"a refusal changed it: {error}")
                continue
            except Exception as error:
                report.found(where, f"{type(error).__name__}: {error}"[:300])
                continue
            report.count("fitted")
            new = np.concatenate([X, nasty(kind, 6, d, generator)])
            try:
                reason = wrong(model, asked(model, group, new), group)
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"[:300]
        arithmetic = [w for w in told if issubclass(w.category, RuntimeWarning)]
        if arithmetic and not reason:
            last = arithmetic[-1]
            reason = f"warns {last.message} ({last.filename.rpartition('/')[2]}:{last.lineno})"
        if reason:
            report.found(where, reason)
    return report


if __name__ == "__main__":
    main(storm, 20_000)
