"""
A table as it comes
===================

Numbers, categories and holes in one DataFrame: no encoder, no scaler, no imputer. A category that training never saw counts as missing.
"""

import numpy as np
import pandas as pd

from suffice import DensityDisplay, MixedNB

rng = np.random.default_rng(0)
n = 600
kind = rng.choice(["cat", "dog"], n, p=[0.4, 0.6])
weight = np.where(kind == "cat", rng.normal(4.5, 1.0, n), rng.normal(18.0, 7.0, n))
home = np.where(rng.random(n) < np.where(kind == "cat", 0.8, 0.3), "flat", "house")
table = pd.DataFrame({"weight": weight.round(1), "home": home, "visits": rng.poisson(2, n)})
table = table.mask(rng.random(table.shape) < 0.15)
print(table.head())

# %%
model = MixedNB(kinds={"visits": "count"}, random_state=0).fit(table[:400], kind[:400])
print(model.kinds_)
print(f"accuracy on new rows: {model.score(table[400:], kind[400:]):.3f}")

# %%
# "boat" is new. The row is judged by its other cells.
new = pd.DataFrame({"weight": [5.0, None], "home": ["boat", "flat"], "visits": [1, 2]})
print(pd.DataFrame(model.predict_proba(new), columns=model.classes_).round(3))

# %%
# What the model believes of a column, above the rows it was trained on.
DensityDisplay.from_estimator(model, table, kind, column="weight")
