"""Did a change of the code change a result? Numbers of about two hundred small fits, through the public interface only.

    python tools/fingerprints.py write FILE        # before the change
    python tools/fingerprints.py compare FILE      # after it: equal bits, or the largest relative difference

Every estimator, loss and algorithm, with sparse, missing, weighted and unlabelled rows, streams and files. A file is of one machine and one
set of library versions: another processor may round otherwise.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import suffice

LOSSES = ("nll", "ncll", "hinge")
N, D = 180, 4


def tables() -> dict[str, tuple]:
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(3), rng.integers(0, 3, N - 3)])
    numbers = rng.normal(size=(3, D))[y] * 1.3 + rng.normal(size=(N, D))
    codes = np.array([[rng.choice(3, p=p) for p in table] for table in rng.dirichlet(np.ones(3), (3, D))[y]], float)
    flags = (rng.random((N, D)) < rng.uniform(0.2, 0.8, (3, D))[y]).astype(float)
    counts = rng.poisson(rng.uniform(0.5, 4.0, (3, D))[y]).astype(float)
    topics = rng.dirichlet(np.full(25, 0.2), 6)
    words = np.array([rng.multinomial(30, rng.dirichlet([1, 1]) @ topics[2 * k : 2 * k + 2]) for k in y], float)
    words[:, 0] += 1
    return {
        "numbers": (numbers, y),
        "codes": (codes, y),
        "flags": (flags, y),
        "counts": (counts, y),
        "words": (words, y),
    }


def with_holes(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X[np.random.default_rng(1).random(X.shape) < 0.15] = np.nan
    X[0] = np.abs(np.nan_to_num(X[0]))
    return X


def mixed_frame(with_gaps: bool = False):
    import pandas as pd

    rng = np.random.default_rng(2)
    y = np.concatenate([np.arange(3), rng.integers(0, 3, N - 3)])
    frame = pd.DataFrame({
        "size": rng.normal(y, 1.0),
        "weight": rng.normal(-0.5 * y, 2.0),
        "colour": np.array(["red", "green", "blue"])[(y + (rng.random(N) < 0.4)) % 3],
        "visits": rng.poisson(1.0 + y),
    })  # fmt: skip
    if with_gaps:
        frame.loc[rng.random(N) < 0.1, "size"] = np.nan
        frame.loc[rng.random(N) < 0.1, "colour"] = None
    return frame, y


def cases() -> Iterator[tuple[str, Callable]]:
    """(name, function that returns a fitted estimator and rows to answer for)."""
    data = tables()
    kinds = {
        "GaussianNB": "numbers", "BernoulliNB": "flags", "CategoricalNB": "codes", "PoissonNB": "counts", "MultinomialNB": "words",
        "ComplementNB": "words", "GaussianDiscriminant": "numbers", "LDAClassifier": "words",
    }  # fmt: skip
    weights = np.random.default_rng(3).uniform(0.3, 3.0, N)
    for name, kind in kinds.items():
        make = getattr(suffice, name)
        X, y = data[kind]
        options = [{}]
        if name == "GaussianDiscriminant":
            options = [{"covariance": c} for c in ("tied", "full", "diag")]
        if name == "LDAClassifier":
            options = [
                {"max_epochs": 4},
                {"max_epochs": 4, "inference": "variational"},
                {"max_epochs": 3, "inference": "gibbs"},
            ]
        for extra in options:
            label = "".join(f"-{v}" for v in extra.values())
            for loss in LOSSES:
                base = {"loss": loss, "random_state": 0, **extra}
                yield from classifier_cases(f"{name}{label}-{loss}", make, base, X, y, weights, name)
    rng = np.random.default_rng(4)
    long = np.array([rng.multinomial(20, rng.dirichlet(np.full(60, 0.3))) for _ in range(1400)], float)
    long[:, 0] += 1
    for K in (2, 4, 11):
        y = np.concatenate([np.arange(K), rng.integers(0, K, len(long) - K)])
        tilted = sp.csr_matrix(long * (1 + (np.arange(60)[None] % K == y[:, None])))
        for name in ("MultinomialNB", "ComplementNB", "BernoulliNB"):
            for loss in LOSSES[1:]:
                options = {"binarize": 1.0} if name == "BernoulliNB" else {}
                for algorithm in ("auto", "stochastic"):
                    prior = {"prior": 1.0} if algorithm == "stochastic" or K == 11 else {}
                    m = getattr(suffice, name)(
                        loss=loss, algorithm=algorithm, random_state=0, max_epochs=12, **prior, **options
                    )
                    yield f"{name}-many-{K}-{loss}-{algorithm}", lambda m=m, X=tilted, y=y: (m.fit(X, y), X[:40])
    for loss in LOSSES:
        for gaps in (False, True):
            frame, y = mixed_frame(gaps)
            yield (
                f"MixedNB-{loss}-{gaps}",
                lambda f=frame, y=y, l=loss: (suffice.MixedNB(loss=l, random_state=0).fit(f, y), f[:40]),
            )
    yield from mixture_cases(data)
    yield from network_cases(data)
    documents = [
        "the cat sat on the mat",
        "a dog barked at the cat",
        "stocks fell sharply",
        "markets and stocks rose",
    ] * 12
    labels = ["pets", "pets", "money", "money"] * 12
    yield "TextClassifier", lambda: (suffice.TextClassifier(random_state=0).fit(documents, labels), documents[:6])


def classifier_cases(label, make, base, X, y, weights, name) -> Iterator[tuple[str, Callable]]:
    yield label, lambda: (make(**base).fit(X, y), X)
    yield f"{label}-weighted", lambda: (make(**base).fit(X, y, sample_weight=weights), X)
    if name != "ComplementNB":
        hidden = np.where(np.arange(N) % 3 == 2, -1, y)
        yield f"{label}-unlabelled", lambda: (make(**base).fit(X, hidden), X)
    if name not in ("MultinomialNB", "ComplementNB", "LDAClassifier"):
        yield f"{label}-missing", lambda: (make(**base).fit(with_holes(X), y), with_holes(X))
    if name not in ("CategoricalNB",):
        yield (
            f"{label}-sparse",
            lambda: (make(**base).fit(sp.csr_matrix(np.maximum(X, 0)), y), sp.csr_matrix(np.maximum(X, 0))),
        )
    if name != "LDAClassifier":
        yield f"{label}-given", lambda: (make(**base, prior=2.0).fit(X, y), X)
        for algorithm in ("stochastic", "batch", "paper") if base["loss"] != "nll" else ():
            if not (algorithm == "paper" and name == "ComplementNB"):
                options = {**base, "algorithm": algorithm, "max_epochs": 8}
                yield f"{label}-{algorithm}", lambda o=options: (make(**o, prior=1.0).fit(X, y), X)

    if base.get("inference") == "gibbs" or (name == "LDAClassifier" and base["loss"] == "nll"):
        return  # the stream of LDAClassifier under "nll" is mended, not kept

    def streamed():
        m = make(**base)
        for part in np.array_split(np.arange(N), 4):
            m.partial_fit(X[part], y[part], classes=[0, 1, 2])
        return m, X

    yield f"{label}-stream", streamed
    yield (
        f"{label}-fit-then-stream",
        lambda: (make(**base).fit(X[: N // 2], y[: N // 2]).partial_fit(X[N // 2 :], y[N // 2 :]), X),
    )


def mixture_cases(data) -> Iterator[tuple[str, Callable]]:
    made = [("GaussianMixture", "numbers", {"covariance_type": c}) for c in ("diag", "full", "tied", "spherical")]
    made += [
        ("BernoulliMixture", "flags", {}),
        ("CategoricalMixture", "codes", {}),
        ("MultinomialMixture", "words", {}),
        ("PoissonMixture", "counts", {}),
    ]
    for name, kind, options in made:
        make, (X, _) = getattr(suffice, name), data[kind]
        label = name + "".join(f"-{v}" for v in options.values())
        for algorithm in ("em", "accelerated", "online", "variational"):
            m = make(3, algorithm=algorithm, random_state=0, max_iter=25, **options)
            yield f"{label}-{algorithm}", lambda m=m, X=X: (m.fit(X), X)
            if name != "MultinomialMixture" and algorithm != "accelerated":
                m = make(2, algorithm=algorithm, random_state=0, max_iter=15, **options)
                yield f"{label}-{algorithm}-missing", lambda m=m, X=X: (m.fit(with_holes(X)), with_holes(X))
        m = make(2, random_state=0, **options)
        yield f"{label}-stream", lambda m=m, X=X: (m.partial_fit(X[:90]).partial_fit(X[90:]), X)
    frame, _ = mixed_frame(True)
    for algorithm in ("em", "accelerated", "online", "variational"):
        yield (
            f"MixedMixture-{algorithm}",
            lambda a=algorithm: (suffice.MixedMixture(2, algorithm=a, random_state=0, max_iter=20).fit(frame), frame),
        )
    families = [("gaussian", "numbers", c) for c in ("diag", "full", "tied", "spherical")]
    families += [
        ("bernoulli", "flags", "diag"),
        ("categorical", "codes", "diag"),
        ("multinomial", "words", "diag"),
        ("poisson", "counts", "diag"),
    ]
    for family, kind, covariance in families:
        X, y = data[kind]
        for loss in LOSSES:
            base = {"family": family, "covariance_type": covariance, "loss": loss, "random_state": 0, "max_epochs": 25}
            label = f"MixtureClassifier-{family}-{covariance}-{loss}"
            make = suffice.MixtureClassifier
            yield label, lambda b=base, X=X, y=y: (make(2, **b).fit(X, y), X)
            hidden = np.where(np.arange(N) % 3 == 2, -1, y)
            yield f"{label}-unlabelled", lambda b=base, X=X, y=hidden: (make(2, **b, prior=1.0).fit(X, y), X)
            yield f"{label}-stream", lambda b=base, X=X, y=y: (
                make(2, **b).partial_fit(X[:90], y[:90], classes=[0, 1, 2]).partial_fit(X[90:], y[90:]), X)  # fmt: skip
            if family != "multinomial":
                yield (
                    f"{label}-missing",
                    lambda b=base, X=X, y=y: (make(2, **b, prior=1.0).fit(with_holes(X), y), with_holes(X)),
                )
    frame, y = mixed_frame(True)
    yield (
        "MixtureClassifier-mixed",
        lambda: (suffice.MixtureClassifier(2, family="mixed", random_state=0, max_epochs=20).fit(frame, y), frame),
    )


def network_cases(data) -> Iterator[tuple[str, Callable]]:
    X, counts = data["flags"][0], data["counts"][0]
    for learner in ("mcem", "rec-mcem", "sgd", "gibbs", "vb", "nvil"):
        m = suffice.SigmoidBeliefNetwork((5,), learner=learner, max_iter=4, batch_size=60, random_state=0)
        yield f"SigmoidBeliefNetwork-{learner}", lambda m=m: (m.fit(X), X)
    m = suffice.SigmoidBeliefNetwork((5, 3), max_iter=6, batch_size=60, random_state=0)
    yield "SigmoidBeliefNetwork-deep", lambda m=m: (m.fit(X), X)
    m = suffice.SigmoidBeliefNetwork((4,), data="count", max_iter=4, batch_size=60, random_state=0)
    yield "SigmoidBeliefNetwork-count", lambda m=m: (m.fit(counts), counts)
    words = sp.csr_matrix(data["words"][0])
    for options in ({"algorithm": "online"}, {"algorithm": "batch"}, {"inference": "gibbs"}):
        m = suffice.LatentDirichletAllocation(3, random_state=0, max_iter=4, **options)
        yield f"LatentDirichletAllocation-{'-'.join(options.values())}", lambda m=m: (m.fit(words), words)


def arrays_of(value) -> list[np.ndarray]:
    """Every array of numbers in a value, in a fixed order."""
    if hasattr(value, "arrays") and callable(value.arrays):
        return [array for part in value.arrays() for array in arrays_of(part)]
    if isinstance(value, list | tuple):
        return [array for part in value for array in arrays_of(part)]
    if isinstance(value, np.ndarray | float | int | np.number) and not isinstance(value, bool):
        array = np.asarray(value)
        return [array.astype(float).ravel()] if array.dtype.kind in "fiu" else []
    return []


PARTS = ("predict_joint_log_proba", "predict_proba", "score_samples", "transform")
ATTRIBUTES = (
    "theta_", "var_", "feature_log_prob_", "rate_", "topics_", "means_", "covariances_", "weights_", "probabilities_", "rates_", "biases_",
    "top_bias_", "components_", "class_prior_", "class_log_prior_", "temperature_", "background_", "n_iter_",
)  # fmt: skip


def numbers_of(model, X) -> np.ndarray:
    found = []
    for name in PARTS:
        with np.errstate(all="ignore"):
            try:
                found += arrays_of(getattr(model, name)(X))
            except AttributeError:
                continue
    for name in ATTRIBUTES:
        found += arrays_of(getattr(model, name, None))
    return np.concatenate(found) if found else np.zeros(0)


def through_a_file(model, X) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        suffice.save(model, Path(folder) / "m.sfc")
        return numbers_of(suffice.load(Path(folder) / "m.sfc"), X)


def gather(pattern: str) -> dict[str, np.ndarray]:
    found = {}
    for name, make in cases():
        if pattern in name:
            try:
                model, X = make()
                found[name] = numbers_of(model, X)
                if len(found) % 5 == 0 and not np.array_equal(found[name], through_a_file(model, X), equal_nan=True):
                    print(f"{name}: a saved file gives other numbers", file=sys.stderr)
            except Exception as error:
                found[name] = np.zeros(0)
                print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    return found


def digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:12]


def difference(one: np.ndarray, other: np.ndarray) -> float:
    """The largest difference, relative to 1 or to the number if it is larger."""
    if one.shape != other.shape or not np.array_equal(np.isfinite(one), np.isfinite(other)):
        return np.inf
    finite = np.isfinite(one)
    scale = np.maximum(1.0, np.abs(one[finite]))
    return float((np.abs(one[finite] - other[finite]) / scale).max(initial=0.0))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("write", "compare"))
    parser.add_argument("file")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--tol", type=float, default=1e-12)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    found = gather(options.only)
    if options.action == "write":
        np.savez_compressed(options.file, **found)
        print(f"{len(found)} cases, {digest(np.concatenate(list(found.values())))}")
        return 0
    with np.load(options.file) as before:
        known = {name: before[name] for name in before.files if options.only in name}
    n_equal, wrong = 0, []
    for name in sorted(known.keys() | found.keys()):
        gap = difference(known.get(name, np.zeros(0)), found.get(name, np.zeros(0)))
        n_equal += gap == 0.0
        if gap > options.tol:
            wrong.append((name, gap))
        elif gap:
            print(f"  {name}: {gap:.1e}")
    for name, gap in wrong:
        print(f"DIFFERS {name}: {gap:.3g}")
    print(
        f"{len(known)} cases: {n_equal} equal in every bit, {len(known) - n_equal - len(wrong)} within {options.tol:g}, {len(wrong)} not"
    )
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
