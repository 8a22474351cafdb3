"""Fuzzed inputs: every estimator and method, sparse matrices that are not whole, parameters changed between calls.

Each call works, or is refused with a ValueError (or TypeError) that changes nothing; parameters and probabilities are finite. Run it
with NUMBA_BOUNDSCHECK=1, so that an access outside of an array is an IndexError.
"""

from __future__ import annotations

import inspect
import pickle
import re
import warnings
from typing import Any

import numpy as np
from scipy import sparse

from attack.cast import COVARIANCES, LABELLED, NETWORK, Report, asked, cast, main, parameters, plain_rows, training
from suffice.saving.tree import Encoder

ODD = (np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 1e16, -1.0, 0.5, 1e99, -999999999.0, 2.0**53 + 1)
ANSWERS = (
    "predict", "predict_proba", "predict_joint_log_proba", "score_samples", "impute", "sample_missing", "transform", "filter", "decode",
    "predict_component_proba", "reconstruct", "forecast", "score_steps", "explain", "predict_quantiles", "predict_interval", "sample_y",
)  # fmt: skip
MADE_OF = (
    "sequence",
    "sequences",
    "row",
    "rows",
    "column",
    "columns",
    "features",
    "samples",
    "labels",
    "tags",
    "words",
    "texts",
    "fit",
    "fitted",
)
CHANGES: dict[str, tuple] = {
    "n_components": (1, 3, 9), "class_prior": ([0.5, 0.5], [0.2, 0.3, 0.5], np.full(10**5, 1e-5), "x"), "n_states": (1, 5, 9),
    "n_topics": (1, 7), "covariance_type": COVARIANCES, "covariance": ("full", "tied", "diag"), "prior": (1e-9, 1e9, -1, "x"),
    "loss": ("nll", "ncll", "hinge", "x"), "data": ("binary", "count"), "hidden": ((1,), (5, 5), "x"), "with_labels": (True,),
    "n_jobs": (0, 2, "x"), "family": ("poisson", "gaussian", "x"), "algorithm": ("batch", "em", "online", "x"),
    "binarize": (None, -1.0, 2.0),
    "max_epochs": (1, -1), "max_iter": (1, 0), "has_end": (True,), "topology": ("left-right", "cyclic"), "step_size": (1e3, -1),
    "class_weight": ("balanced", {0: 1e9}, {7: 1}), "unlabelled_weight": (1e9, -1), "concentration": (1e-9, -1),
    "inference": ("map", "gibbs"),
    "row_norm": (None, 1e-9), "count_power": (0.5, 0.3), "batch_size": (1, None), "n_temperatures": (1, 0), "penalty": (1e9, -1),
}  # fmt: skip


def table(kind: str, n: int, d: int, generator: np.random.Generator) -> Any:
    X = plain_rows(kind, n, d, generator)
    way = generator.integers(10)
    if way < 2 and X.size:
        for _ in range(int(generator.integers(1, 4))):
            X[int(generator.integers(n)), int(generator.integers(d))] = generator.choice(ODD)
    elif way == 2:
        return [
            X[:, :-1],
            X[:-1],
            X[:0],
            X[:, :0],
            X.ravel(),
            X[None],
            X.astype(object),
            X.astype(np.float32),
            np.asfortranarray(X),
        ][int(generator.integers(9))]
    elif way == 3:
        X = np.where(generator.random(X.shape) < 0.3, np.nan, X)
    elif way > 5:
        return damaged(sparse.csr_matrix(X), generator)
    return X


def damaged(X: Any, generator: np.random.Generator) -> Any:
    """A CSR matrix, more often than not with something wrong in it."""
    way = int(generator.integers(12))
    if X.nnz < 2 or way > 9:
        return X
    place = int(generator.integers(X.nnz))
    wrong = int(generator.choice([-1, -(2**31), X.shape[1], X.shape[1] + 1, 10**6, 2**31 - 1]))
    if way < 2:
        X.indices[place] = wrong
    elif way < 4:
        X.indptr[int(generator.integers(len(X.indptr)))] = wrong
    elif way == 4:
        X.indptr = X.indptr[: -int(generator.integers(1, 3))]
    elif way == 5:
        X.data = X.data[:-1]
    elif way == 6:
        X.indices[: X.nnz // 2] = X.indices[0]
        X.has_canonical_format = bool(generator.integers(2))
    elif way == 7:
        X.indices = X.indices.astype(str(generator.choice(["i8", "f8", "u4", "i2"])))
    elif way == 8:
        X = X.tocsc()
        X.indices[place] = wrong
    else:
        X = X.tocoo()
        X.row = X.row.copy()
        X.row[place] = wrong
    return X


def inputs(count: int = 1000, seed: int = 0, first: int = 1) -> Report:
    """`count` calls, from the estimator with the number `first` of the seed on."""
    report, number = Report("inputs"), max(first, 1) - 1
    while sum(report.counts.values()) < count:
        number += 1
        generator = np.random.default_rng([seed, number])
        model, kind, group = cast(generator)
        where = f"seed {seed} number {number} {model!r:.160}".replace("\n", " ")
        d = int(generator.integers(1, 5))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for step in range(8):
                reason = call(model, kind, group, d, generator, report, is_first=step == 0)
                if reason:
                    report.found(f"{where} call {step}", reason)
                    break
    return report


def state(model: Any) -> dict[str, bytes]:
    """The bytes of everything that was learned, also of arrays that are changed in place."""
    return {key: pickle.dumps(value) for key, value in vars(model).items() if key.endswith("_") or key == "_stream"}


def is_same(held: bytes, before: bytes | None) -> bool:
    """Whether both hold the same fields; what is computed from them and remembered does not count."""
    if held == before or before is None:
        return held == before
    return fields_of(pickle.loads(held)) == fields_of(pickle.loads(before))


def fields_of(value: Any) -> Any:
    return Encoder(lambda array: f"{array.dtype}{array.shape}{array.tobytes()!r}").encode(value)


def names_an_argument(message: str, method: Any, model: Any) -> bool:
    """Whether a refusal says what it is about: an argument, a parameter, or what the argument is made of."""
    words = set(re.findall(r"[A-Za-z_]\w*", message))
    known = {*inspect.signature(method).parameters, *model.get_params(deep=False), *MADE_OF}
    return bool(words & known)


def call(
    model: Any, kind: str, group: str, d: int, generator: np.random.Generator, report: Report, *, is_first: bool
) -> str:
    """What is wrong with a random call; "" if nothing is."""
    n = int(generator.choice([1, 2, 6, 12]))
    n = 12 if is_first else n
    X = plain_rows(kind, n, d, generator) if is_first and generator.random() < 0.7 else table(kind, n, d, generator)
    if not is_first and generator.random() < 0.35:
        known = [name for name in CHANGES if name in model.get_params(deep=False)]
        name = known[int(generator.integers(len(known)))]
        model.set_params(**{name: CHANGES[name][int(generator.integers(len(CHANGES[name])))]})
    y, before = np.arange(n) % 3, (dict(vars(model)), state(model))
    name = (
        "fit"
        if is_first
        else str(generator.choice(["fit", "partial_fit", "partial_fit", "partial_fit", *ANSWERS, *ANSWERS, "sample"]))
    )
    method = getattr(model, name, None)
    if method is None:
        return ""
    options: dict[str, Any] = {}
    arguments: tuple = (3,)
    if name in ("fit", "partial_fit"):
        weight = None
        if generator.random() < 0.2:
            weight = generator.choice([0.0, 1.0, -1.0, np.nan, 1e300], n, p=[0.1, 0.6, 0.1, 0.1, 0.1])
        arguments, options = training(model, group, X, y, weight)
        if name == "partial_fit" and len(arguments) > 1 and group in LABELLED:
            options["classes"] = [0, 1, 2]
    elif name != "sample":
        arguments = (asked(model, group, X),)
    try:
        answer = method(*arguments, **options)
        report.count("worked")
    except (ValueError, TypeError, NotImplementedError) as error:
        report.count("refused")
        changed = [key for key in {*before[0], *vars(model)} if vars(model).get(key) is not before[0].get(key)]
        changed += [key for key, held in state(model).items() if not is_same(held, before[1].get(key))]
        if changed and name != "sample":
            return f"a refusal of {name} changed {changed[:3]}: {error}"[:300]
        is_named = isinstance(error, NotImplementedError) or names_an_argument(str(error), method, model)
        return "" if is_named else f"a refusal of {name} names nothing: {error}"[:300]
    except Exception as error:
        return f"{name}: {type(error).__name__}: {error}"[:300]
    if name in ("fit", "partial_fit"):
        bad = [key for key, array in parameters(model) if not np.isfinite(array).all()]
        return f"{name} left {bad[0]} not finite" if bad else ""
    if name in ("predict_proba", "predict_component_proba") and group != NETWORK:
        for part in answer if isinstance(answer, list) else [np.asarray(answer)]:
            axis = tuple(range(1, np.ndim(part))) if name == "predict_component_proba" else -1
            totals = np.sum(part, axis=axis) if np.size(part) else np.ones(1)
            if not np.abs(totals[~np.isnan(totals) | (np.ndim(part) < 3)] - 1).max(initial=0.0) <= 1e-12:
                return f"{name} has rows that do not add up to one"  # padding of an (N, T, K) answer is NaN
    return ""


if __name__ == "__main__":
    main(inputs, 200_000)
