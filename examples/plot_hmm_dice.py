"""
The dishonest casino
====================

A fair die and a loaded one, changed now and then (Durbin et al. 1998). Of the first 300 rolls somebody noted which die it was; of the
other 2,700 the model sees the rolls only.
"""

import numpy as np

from suffice import CategoricalHMM, StatesDisplay

rng = np.random.default_rng(0)
fair, loaded = np.full(6, 1 / 6), np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.5])
state, states = 0, []
for _ in range(3000):
    state = rng.choice(2, p=[[0.98, 0.02], [0.05, 0.95]][state])
    states.append(state)
rolls = np.array([rng.choice(6, p=(fair, loaded)[k]) for k in states])[:, None]

known = np.where(np.arange(3000) < 300, states, -1)
model = CategoricalHMM(2, random_state=0, tol=1e-6).fit(rolls, states=known)
right = np.mean((model.predict(rolls) == states)[300:])
print(f"later rolls whose die was found: {right:.3f}; always saying fair: {1 - np.mean(states[300:]):.3f}")
print("transitions\n", model.transmat_.round(3))
StatesDisplay.from_estimator(model, rolls[:250])
