"""
A fit that was killed goes on
=============================

With ``checkpoint`` a fit writes where it stands. Resumed, it ends with the bits of a fit that never stopped.
"""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from suffice import GaussianNB

X, y = load_digits(return_X_y=True)
straight = GaussianNB(random_state=0).fit(X, y)
with tempfile.TemporaryDirectory() as folder:
    where = Path(folder) / "fit.checkpoint"
    GaussianNB(random_state=0, checkpoint=where, checkpoint_minutes=0).fit(X, y)
    print("a checkpoint of", where.stat().st_size, "bytes was left")
    resumed = GaussianNB(random_state=0, checkpoint=where, resume=True).fit(X, y)
print("the same bits:", np.array_equal(straight.predict_proba(X), resumed.predict_proba(X)))
