"""Small fitted models of every stored class, for the files that are forged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import suffice
from attack.cast import plain_rows
from suffice.files.trained import Trained


def models() -> list[Any]:
    """Small fitted models of every kind, some of them in the middle of a stream."""
    generator = np.random.default_rng(0)
    y = np.arange(24) % 3
    rows = {kind: plain_rows(kind, 24, 4, generator) for kind in ("numbers", "counts", "flags", "codes")}
    mixed = np.column_stack([rows[kind][:, 0] for kind in ("numbers", "codes", "counts", "flags")])
    made, few = [], {"prior": 1.0, "random_state": 0}
    for name, kind in {
        "GaussianNB": "numbers", "MultinomialNB": "counts", "ComplementNB": "counts", "BernoulliNB": "flags",
        "CategoricalNB": "codes", "PoissonNB": "counts", "MixedNB": "numbers", "GaussianDiscriminant": "numbers",
    }.items():  # fmt: skip
        for loss in ("nll", "ncll"):
            model = getattr(suffice, name)(loss=loss, prior=1.0, max_epochs=3, random_state=np.random.RandomState(0))
            made.append(model.fit(rows[kind], y))
        made.append(getattr(suffice, name)(loss="ncll", prior=1.0).partial_fit(rows[kind], y, classes=[0, 1, 2]))
    for family, kind in (
        ("gaussian", "numbers"),
        ("poisson", "counts"),
        ("multinomial", "counts"),
        ("categorical", "codes"),
    ):
        made.append(
            suffice.MixtureClassifier(2, family=family, prior=1.0, max_epochs=3, random_state=0).fit(rows[kind], y)
        )
    for name, kind in {
        "GaussianMixture": "numbers", "BernoulliMixture": "flags", "CategoricalMixture": "codes", "MultinomialMixture": "counts",
        "PoissonMixture": "counts", "MixedMixture": "numbers",
    }.items():  # fmt: skip
        made.append(getattr(suffice, name)(2, max_iter=3, random_state=0).fit(rows[kind]))
        made.append(getattr(suffice, name)(2, max_iter=3, random_state=0).partial_fit(rows[kind]))
    made.append(suffice.FamilyNB("poisson", max_epochs=3, **few).fit(rows["counts"], y))
    made.append(suffice.FamilyMixture(2, family="bernoulli", max_iter=3, **few).fit(rows["flags"]))
    for covariance in ("full", "tied", "diag"):
        made.append(suffice.GaussianDiscriminant(covariance=covariance, max_epochs=3, **few).fit(rows["numbers"], y))
    made.append(suffice.MixtureClassifier(2, family="bernoulli", max_epochs=3, **few).fit(rows["flags"], y))
    kinds = ["gaussian", "categorical", "count", "bernoulli"]
    made.append(suffice.MixedNB(["histogram", *kinds[1:]], max_epochs=3, **few).fit(mixed, y))
    made.append(suffice.MixedMixture(2, kinds=kinds, max_iter=3, random_state=0).fit(mixed))
    made.append(suffice.MixedHMM(2, kinds, max_iter=2, random_state=0).fit(mixed))
    made.append(suffice.GaussianNB(random_state=0).fit(rows["numbers"], y))  # with what a choice leaves behind
    made.append(suffice.MultinomialNB(random_state=0).fit(rows["counts"], y))
    for covariance in ("tied", "diag", "spherical"):
        made.append(
            suffice.GaussianMixture(2, covariance_type=covariance, random_state=0, max_iter=3).fit(rows["numbers"])
        )
    made.append(suffice.GaussianMixture(2, algorithm="variational", random_state=0, max_iter=3).fit(rows["numbers"]))
    for name, kind in {
        "GaussianHMM": "numbers",
        "PoissonHMM": "counts",
        "CategoricalHMM": "codes",
        "BernoulliHMM": "flags",
    }.items():
        made.append(getattr(suffice, name)(2, max_iter=3, random_state=0).fit(rows[kind]))
        made.append(
            getattr(suffice, name)(2, max_iter=3, random_state=0, has_end=True).partial_fit(
                [rows[kind][:12], rows[kind][12:]]
            )
        )
    made.append(suffice.LDAClassifier(2, max_epochs=2, nll_passes=2, random_state=0).fit(rows["counts"], y))
    made.append(
        suffice.LDAClassifier(2, inference="gibbs", max_epochs=2, nll_passes=2, random_state=0).fit(rows["counts"], y)
    )
    made.append(suffice.LatentDirichletAllocation(2, max_iter=2, random_state=0).fit(rows["counts"]))
    made.append(suffice.SigmoidBeliefNetwork((3,), max_iter=1, random_state=0, n_temperatures=3).fit(rows["flags"]))
    made.append(
        suffice.SigmoidBeliefNetwork((3, 2), data="count", max_iter=2, random_state=0, n_temperatures=3).fit(
            rows["counts"]
        )
    )
    made += sequences_and_regressors(rows, y)
    columns = ("a", "b", "c", "d")
    made.append(Trained(made[0], "table", columns, dict.fromkeys(columns, "numeric")))
    text = np.array(["one", "two", "three", "four"], dtype=object)
    made.append(Trained(made[3], "text", ("text",), {}, {}, text))
    return made


def sequences_and_regressors(rows: dict[str, np.ndarray], y: np.ndarray) -> list[Any]:
    made: list[Any] = []
    parts = {kind: [table[k : k + 3] for k in range(0, 24, 3)] for kind, table in rows.items()}
    tags, few = [y[k : k + 3].tolist() for k in range(0, 24, 3)], {"prior": 1.0, "random_state": 0}
    for family, kind in (("gaussian", "numbers"), ("categorical", "codes"), ("poisson", "counts")):
        model = suffice.HMMClassifier(2, family=family, max_epochs=2, **few)
        made.append(model.fit(parts[kind], y[:8]))
        model = suffice.HMMClassifier(2, family=family, max_epochs=2, **few)
        made.append(model.partial_fit(parts[kind], y[:8], classes=[0, 1, 2]))
    made.append(suffice.GaussianHMM(2, algorithm="variational", max_iter=3, random_state=0).fit(rows["numbers"]))
    made.append(suffice.GaussianHMM(2, n_mixtures=2, max_iter=3, random_state=0).fit(rows["numbers"]))
    made.append(suffice.HMMTagger("gaussian", max_iter=2, **few).fit(parts["numbers"], tags))
    made.append(suffice.HMMTagger("categorical", min_count=2, max_iter=2, **few).fit(parts["codes"], tags))
    sentences = [["the", "dog", "barks"], ["a", "cat", "sleeps"]] * 3
    made.append(suffice.TextTagger(max_iter=2, **few).fit(sentences, [["D", "N", "V"]] * 6))
    made.append(suffice.TextClassifier(max_epochs=2, **few).fit([" ".join(words) for words in sentences], [0, 1] * 3))
    made.append(suffice.GaussianRegressor().fit(rows["numbers"], rows["numbers"][:, 0]))
    made.append(suffice.GaussianRegressor(kinds="categorical").fit(rows["codes"], rows["numbers"][:, :2]))
    made.append(
        suffice.MixtureRegressor(2, n_members=1, max_iter=3, random_state=0).fit(rows["numbers"], rows["numbers"][:, 0])
    )
    mixed = suffice.MixtureRegressor(1, n_members=2, kinds="count", family="poisson", max_iter=3, random_state=0)
    made.append(mixed.fit(rows["counts"], rows["counts"][:, 0]))
    made.append(suffice.TableClassifier(max_seconds=0.01).fit(rows["numbers"], y))
    dates = pd.DataFrame(
        {"when": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(24) * 900.7, "h"), "a": rows["numbers"][:, 0]}
    )
    made.append(suffice.TableClassifier(max_seconds=0.01).fit(dates, y))
    gaps = np.where(np.arange(96).reshape(24, 4) % 8 == 3, np.nan, rows["numbers"] + rows["numbers"][:, :1])
    made.append(suffice.MixedNB(prior=1.0).fit(gaps, y))
    return made
