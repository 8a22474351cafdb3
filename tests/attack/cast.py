"""Every estimator in small variants, with the kind of rows each takes and the methods that answer about rows."""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import suffice

LOSSES = ("nll", "ncll", "hinge")
CLASSIFIERS = {
    "GaussianNB": "numbers", "MultinomialNB": "counts", "ComplementNB": "counts", "BernoulliNB": "flags", "CategoricalNB": "codes",
    "PoissonNB": "counts", "MixedNB": "numbers", "GaussianDiscriminant": "numbers",
}  # fmt: skip
MIXTURES = {
    "GaussianMixture": "numbers", "BernoulliMixture": "flags", "CategoricalMixture": "codes", "MultinomialMixture": "counts",
    "PoissonMixture": "counts", "MixedMixture": "numbers",
}  # fmt: skip
CHAINS = {
    "GaussianHMM": "numbers",
    "PoissonHMM": "counts",
    "BernoulliHMM": "flags",
    "CategoricalHMM": "codes",
    "MixedHMM": "numbers",
}
COVARIANCES = ("full", "tied", "diag", "spherical")
CLASSIFIER, MIXTURE, CHAIN, TOPICS, NETWORK = "classifier", "mixture", "chain", "topics", "network"
SEQUENCES, TAGGER, WORDS, REGRESSOR = "sequences", "tagger", "words", "regressor"
LABELLED = (CLASSIFIER, TOPICS, SEQUENCES)  # groups whose partial_fit takes classes
STEPS = 3  # of a sequence with a label


def cast(generator: np.random.Generator, group: str | None = None) -> tuple[Any, str, str]:
    """(estimator, kind of rows, group): a random one."""

    def one(values: Any) -> Any:
        return values[int(generator.integers(len(values)))]

    every = [CLASSIFIER] * 6 + [MIXTURE] * 4 + [CHAIN] * 2 + [TOPICS] * 2 + [REGRESSOR] * 2
    group = group or one([*every, NETWORK, SEQUENCES, TAGGER, WORDS])
    seed = int(generator.integers(1000))
    prior = one(["auto", "auto", 1.0, 1e-6, 1e6])
    if group == CLASSIFIER:
        name = one([*CLASSIFIERS, "GaussianDiscriminant", "FamilyNB", "MixtureClassifier", "TableClassifier"])
        if name == "TableClassifier":
            return suffice.TableClassifier(max_seconds=0.01, random_state=seed), "numbers", group
        options = {"loss": one(LOSSES), "prior": prior, "max_epochs": 5, "random_state": seed}
        if generator.random() < 0.3:
            options["algorithm"] = one(["incremental", "stochastic", "batch"])
        if name == "GaussianDiscriminant":
            options["covariance"] = one(["full", "tied", "diag"])
        kind = CLASSIFIERS.get(name, "numbers")
        if name == "FamilyNB":
            options["family"], kind = one([("gaussian", "numbers"), ("poisson", "counts"), ("bernoulli", "flags")])
        if name == "MixtureClassifier":
            options.pop("algorithm", None)
            options["family"], kind = one(
                [
                    ("gaussian", "numbers"),
                    ("poisson", "counts"),
                    ("bernoulli", "flags"),
                    ("categorical", "codes"),
                    ("multinomial", "counts"),
                ]
            )
            options["n_components"] = one([1, 2])
            if options["family"] == "gaussian":
                options["covariance_type"] = one(COVARIANCES)
        return getattr(suffice, name)(**options), kind, group
    if group == MIXTURE:
        name = one([*MIXTURES, "GaussianMixture", "GaussianMixture"])
        options = {"n_components": one([1, 2, 3]), "max_iter": 5, "random_state": seed, "prior": prior}
        options["algorithm"] = one(["em", "em", "accelerated", "online", "variational"])
        if name == "GaussianMixture":
            options["covariance_type"] = one(COVARIANCES)
        return getattr(suffice, name)(**options), MIXTURES[name], group
    if group == CHAIN:
        name = one([*CHAINS])
        options = {"n_states": one([1, 2, 3]), "max_iter": 4, "random_state": seed, "prior": prior}
        options |= {
            "algorithm": one(["em", "accelerated", "online", "variational"]),
            "topology": one(["ergodic", "left-right"]),
        }
        if name == "GaussianHMM":
            options["covariance_type"] = one(COVARIANCES)
        return getattr(suffice, name)(**options), CHAINS[name], group
    if group == TOPICS:
        inference = one(["map", "variational", "gibbs"])
        if generator.random() < 0.5:
            options = {
                "loss": one(LOSSES),
                "max_epochs": 3,
                "nll_passes": 2,
                "random_state": seed,
                "inference": inference,
            }
            return suffice.LDAClassifier(2, **options), "counts", group
        options = {"algorithm": one(["online", "batch"]), "max_iter": 3, "random_state": seed, "inference": inference}
        return suffice.LatentDirichletAllocation(2, **options), "counts", group
    if group == SEQUENCES:
        family, kind = one(
            [("gaussian", "numbers"), ("categorical", "codes"), ("poisson", "counts"), ("bernoulli", "flags")]
        )
        options = {
            "loss": one(LOSSES),
            "prior": one([1.0, 1e-6, 1e6]),
            "max_epochs": 3,
            "random_state": seed,
            "family": family,
        }
        options |= {
            "topology": one(["ergodic", "left-right"]),
            "has_end": one([True, False]),
            "changes": family == "gaussian",
        }
        return suffice.HMMClassifier(one([1, 2]), **options), kind, group
    if group == TAGGER:
        options = {"loss": one(LOSSES), "prior": one([1.0, 1e-6, 1e6]), "max_iter": 3, "random_state": seed}
        kinds, kind = one([("auto", "numbers"), ("categorical", "codes"), ("count", "counts"), ("gaussian", "numbers")])
        return suffice.HMMTagger(kinds, **options), kind, group
    if group == WORDS:
        options = {"loss": one(LOSSES), "prior": one([1.0, 1e6]), "random_state": seed, "tol": 1e-3}
        if generator.random() < 0.5:
            return suffice.TextClassifier(max_epochs=3, **options), "codes", group
        return suffice.TextTagger(max_iter=3, neighbours=one([True, False]), **options), "codes", group
    if group == REGRESSOR:
        if generator.random() < 0.4:
            return suffice.GaussianRegressor(random_state=seed), "numbers", group
        options = {
            "family": one(["gaussian", "poisson", "bernoulli"]),
            "loss": one(["nll", "ncll"]),
            "random_state": seed,
        }
        options |= {"n_members": one([1, 1, 2]), "max_iter": 4}
        return suffice.MixtureRegressor(one([1, 2]), **options), "numbers", group
    options = {"learner": one(["mcem", "rec-mcem", "sgd", "vb", "nvil"]), "max_iter": 2, "random_state": seed}
    options |= {"data": one(["binary", "count"]), "batch_size": 8, "n_temperatures": 5}
    return suffice.SigmoidBeliefNetwork((3,), **options), "counts" if options["data"] == "count" else "flags", group


def training(model: Any, group: str, X: Any, y: np.ndarray, weight: np.ndarray | None) -> tuple[tuple, dict[str, Any]]:
    """What `fit` is given for rows X and labels y."""
    n = y.shape[0]
    options = {} if weight is None else {"sample_weight": weight}
    if group == CHAIN:
        return (halves(X),), {} if weight is None else {"sample_weight": weight[:2]}
    if group == NETWORK or type(model).__name__ == "LatentDirichletAllocation":
        return (X,), {}
    if group == SEQUENCES:
        labels = y[: len(range(0, n, STEPS))]
        return (thirds(X), labels), {} if weight is None else {"sample_weight": weight[: len(labels)]}
    if group == TAGGER:
        return (halves(X), [y[: n // 2].tolist(), y[n // 2 :].tolist()]), {}
    if group == WORDS:
        words = spoken(model, X)
        is_tagged = isinstance(words, list) and not hasattr(model, "weighing")
        return (words, [[f"t{k % 3}" for k in range(len(one))] for one in words] if is_tagged else y), {}
    if group == REGRESSOR:
        first = X[:, 0] if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] and len(X) == n else y
        return (X, (y > 0) * 1.0 if getattr(model, "family", "gaussian") != "gaussian" else first + y), options
    return ((X, y) if group != MIXTURE else (X,)), options


def asked(model: Any, group: str, X: Any) -> Any:
    """Rows X as an answer about them takes them."""
    if group == SEQUENCES:
        return thirds(X)
    return spoken(model, X) if group == WORDS else X


def halves(X: Any) -> Any:
    return [X[: len(X) // 2], X[len(X) // 2 :]] if isinstance(X, np.ndarray) else X


def thirds(X: Any) -> Any:
    return [X[k : k + STEPS] for k in range(0, len(X), STEPS)] if isinstance(X, np.ndarray) else X


def spoken(model: Any, X: Any) -> Any:
    """Documents, or sentences, of a word for each cell."""
    if hasattr(X, "toarray"):
        return X
    sentences = [[f"w{cell}" for cell in np.ravel(row)] for row in np.atleast_2d(X)]
    return [" ".join(words) for words in sentences] if hasattr(model, "weighing") else sentences


def plain_rows(kind: str, n: int, d: int, generator: np.random.Generator) -> np.ndarray:
    """(n, d) array of rows that an estimator of the kind takes gladly."""
    if kind == "numbers":
        return generator.normal(size=(n, d))
    if kind == "flags":
        return (generator.random((n, d)) < 0.4).astype(float)
    if kind == "codes":
        return generator.integers(0, 3, (n, d)).astype(float)
    return generator.poisson(2.0, (n, d)).astype(float)


def parameters(model: Any) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays that a fitted model is made of. Natural parameters of zero probabilities may be -inf: they are not among them."""
    if hasattr(model, "moments_"):
        for number, array in enumerate(model.moments_.arrays()):
            yield f"moments_[{number}]", array
    for name in (
        "weights_",
        "means_",
        "covariances_",
        "topics_",
        "components_",
        "top_bias_",
        "startprob_",
        "transmat_",
        "theta_",
        "var_",
    ):
        value = getattr(model, name, None)
        for part in value if isinstance(value, list) else value.values() if isinstance(value, dict) else [value]:
            if isinstance(part, np.ndarray) and part.dtype.kind == "f":
                yield name, part


class Report:
    """What was found, printed as it is found; the exit code says whether there was anything."""

    def __init__(self, title: str) -> None:
        self.title, self.began, self.cpu = title, time.monotonic(), time.process_time()
        self.counts: Counter[str] = Counter()
        self.bad: list[str] = []
        self.worst = 0.0, 0  # seconds and megabytes of the case that took most of either

    def count(self, what: str) -> None:
        self.counts[what] += 1

    def most(self, seconds: float, megabytes: int) -> None:
        self.worst = max(self.worst[0], seconds), max(self.worst[1], megabytes)

    def found(self, where: str, what: str) -> None:
        self.bad.append(f"{where}: {what}")
        print(f"BAD {self.bad[-1]}", flush=True)

    def close(self) -> int:
        told = ", ".join(f"{number} {what}" for what, number in sorted(self.counts.items()))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        told += "; at most {:.2f} s and {} MB each".format(*self.worst) if any(self.worst) else ""
        print(
            f"{self.title}: {told}; {len(self.bad)} bad; {time.process_time() - self.cpu:.0f} s CPU, peak {peak} MB, "
            f"bounds {'checked' if os.environ.get('NUMBA_BOUNDSCHECK') == '1' else 'not checked'}"
        )
        return len(self.bad)


def main(attack: Callable[..., Report], count: int) -> None:
    """The command line of an attack: how many, from which seed."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--first",
        type=int,
        default=0,
        help="the number to begin with, for a case that was found",
    )
    options = parser.parse_args()
    again = {"first": options.first} if options.first else {}
    sys.exit(min(1, attack(options.count, options.seed, **again).close()))
