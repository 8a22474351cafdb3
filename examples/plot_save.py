"""
Save, look inside, load
=======================

A model file is a zip of a JSON header and arrays, without pickle: a file from a stranger cannot run code.
"""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine

import suffice
from suffice.saving import header

X, y = load_wine(return_X_y=True)
model = suffice.GaussianNB(random_state=0).fit(X, y)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "wine.sfc"
    suffice.save(model, path)
    head = header(path)
    print(path.stat().st_size, "bytes, format version", head["version"], "written by", head["written_by"])
    again = suffice.load(path)
print("the same bits:", np.array_equal(again.predict_proba(X), model.predict_proba(X)))
