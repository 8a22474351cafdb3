"""
Texts
=====

Raw strings in, labels and probabilities out. The documents are the docstrings that came with NumPy, SciPy and scikit-learn: which of the
packages is a text from?
"""

import importlib
import inspect
import re

import numpy as np

from suffice import TextClassifier

MODULES = {
    "numpy": ["numpy", "numpy.linalg", "numpy.ma"],
    "scipy": ["scipy.stats", "scipy.signal", "scipy.special", "scipy.optimize", "scipy.ndimage"],
    "sklearn": ["sklearn.metrics", "sklearn.datasets", "sklearn.utils", "sklearn.linear_model", "sklearn.ensemble"],
}


def first_words(text, n=60):
    """The first words, without the names of the packages."""
    return " ".join(re.sub(r"numpy|np|scipy|sklearn|scikit", " ", text).split()[:n])


documents, labels = [], []
for package, modules in MODULES.items():
    for module in map(importlib.import_module, modules):
        for name, thing in inspect.getmembers(module, callable):
            if not name.startswith("_") and (text := inspect.getdoc(thing)):
                documents.append(first_words(text))
                labels.append(package)
documents, labels = np.array(documents), np.array(labels)
rng = np.random.default_rng(0)
order = rng.permutation(len(labels))
train, test = order[::2], order[1::2]

model = TextClassifier(random_state=0).fit(documents[train], labels[train])
print(f"{len(labels)} texts; accuracy {model.score(documents[test], labels[test]):.3f}")
print(f"the most frequent class is {max((labels == k).mean() for k in set(labels)):.3f} of them")

# %%
new = [
    "The sample covariance and its p-value under the null hypothesis.",
    "Fit the estimator on X and y.",
    "Return a new array.",
]
for text, p in zip(new, model.predict_proba(new), strict=True):
    print(dict(zip(model.classes_.tolist(), p.round(2).tolist(), strict=True)), text)
