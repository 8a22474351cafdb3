"""
The density of a target
=======================

`MixtureRegressor` answers with p(y | x) and not only with a mean: two branches, a spread that grows, and what it says where the cell is missing.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import MixtureRegressor

rng = np.random.default_rng(0)
n = 1500
x = rng.uniform(-2, 2, n)
upper = rng.random(n) < 1 / (1 + np.exp(-3 * x))
spread = 0.1 + 0.15 * np.abs(x)
y = np.where(upper, 1.5 + 2 * np.maximum(x - 0.5, 0), np.where(x < 0, -1 - x, -1 + 0.5 * x)) + spread * rng.normal(
    size=n
)
model = MixtureRegressor(8, n_members=4, random_state=0).fit(x[:, None], y)
print(model.choice_)

# %%
# The density at every x (dark: probable), its mean, and rows. The mean of two branches is where no row is.
grid, levels = np.linspace(-2, 2, 121), np.linspace(-3, 6, 181)
pairs = np.stack(np.meshgrid(grid, levels, indexing="ij"), axis=-1).reshape(-1, 2)
density = np.exp(model.log_density(pairs[:, :1], pairs[:, 1])).reshape(121, 181)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), width_ratios=[2, 1])
left.pcolormesh(grid, levels, np.sqrt(density.T), cmap="Blues", rasterized=True)
left.plot(x[:300], y[:300], ".", color="k", markersize=2)
left.plot(grid, model.predict(grid[:, None]), color="tab:red", label="mean")
left.set(xlabel="x", ylabel="y")
left.legend()

# %%
# One row at a time: at x = 0 there are two peaks; where x is missing all rows are meant.
for value, name in ((-1.5, "x = -1.5"), (0.0, "x = 0"), (np.nan, "x missing")):
    right.plot(levels, np.exp(model.log_density(np.full((181, 1), value), levels)), label=name)
right.set(xlabel="y", ylabel="p(y | x)")
right.legend()
figure.tight_layout()
