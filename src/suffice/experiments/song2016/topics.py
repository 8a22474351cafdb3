"""Topic models of documents: what tables 3 and 4 and figure 5 share."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...datasets.newsgroups2000 import Documents, load_20news2000
from ...datasets.rcv1 import load_rcv1
from ...evaluation import completion_perplexity
from .. import Options, Report
from . import common
from .common import RECOGNITION

DISPERSION = 0.8  # chosen on a tenth of the training documents (docs/notes/sbn.md)
METHODS: dict[str, dict[str, Any]] = {
    "NVIL": {"learner": "nvil", **RECOGNITION},
    "Rec-MCEM-ML": {"learner": "rec-mcem", **RECOGNITION},
    "Rec-MCEM-MAP": {"learner": "rec-mcem", **RECOGNITION, "penalty": 1e-2},
    "MCEM-ML": {"learner": "mcem"},
    "MCEM-MAP": {"learner": "mcem", "penalty": 1e-2},
}
DEFINITION = (
    "Perplexity: exp of minus the mean log-probability of the held-out 20 % of the tokens, "
    "normalised over the vocabulary, rates averaged over posterior samples given the other 80 % "
    "(the split that comes with 20 Newsgroups; a random one for RCV1-v2)."
)


LOADERS = {"20 Newsgroups": load_20news2000, "RCV1-v2": load_rcv1}


def documents(options: Options, report: Report, name: str = "20 Newsgroups") -> Documents | None:
    try:
        data = LOADERS[name]()
    except FileNotFoundError as error:
        report.notes.append(str(error))
        return None
    if options.quick:
        data = data._replace(train=data.train[:600], test=data.test[:100], test_observed=data.test_observed[:100],
                             test_held_out=data.test_held_out[:100])  # fmt: skip
    return data


def train(data: Documents, name: str, minutes: float, seed: int = 0, watch=None):
    options = {"hidden": (128,), "dispersion": DISPERSION, **METHODS[name]}
    return common.train(data.train, minutes, seed, watch, "count", **options)


def perplexity(model, data: Documents, n_documents: int | None = None, **samples):
    observed = np.asarray(data.test_observed.todense())[:n_documents]
    return completion_perplexity(model, observed, data.test_held_out[:n_documents], **samples)
