"""How far a default `SigmoidBeliefNetwork` is from the truth on planted networks: `python tools/planted_networks.py [UNITSxPIXELS ...]`.

6,000 rows of networks with weights N(0, 2); log-likelihood of 1,000 fresh rows by enumeration, or by annealing above twelve units.
"""

import sys
import time

import numpy as np

from suffice import SigmoidBeliefNetwork
from suffice.learners.network.annealing import annealed_log_weights
from suffice.learners.network.monte_carlo import VisibleRows
from suffice.structures.network import Network, sample_hidden, sample_visible
from suffice.structures.network_enumeration import exact_log_likelihood


def log_likelihood(network: Network, X: np.ndarray) -> float:
    if network.sizes[1] <= 12:
        return float(np.mean(exact_log_likelihood(network, X)))
    return float(annealed_log_weights(network, VisibleRows(X, "binary"), 1000, 1, 0).mean())


for size in sys.argv[1:] or ["8x40", "20x100"]:
    units, pixels = map(int, size.split("x"))
    for seed in range(5):
        rng = np.random.default_rng(seed)
        truth = Network([rng.normal(0, 2, (units, pixels))], [rng.normal(0, 1, pixels)], rng.normal(0, 1, units))
        X, fresh = (sample_visible(truth, sample_hidden(truth, n, rng)[0], rng) for n in (6000, 1000))
        began = time.process_time()
        model = SigmoidBeliefNetwork((units,), random_state=seed).fit(X)
        seconds = time.process_time() - began
        short = log_likelihood(truth, fresh) - log_likelihood(model.network_, fresh)
        print(
            f"{size} seed {seed}: {short:+.3f} nats short, {model.n_iter_} passes, {seconds:.1f} CPU s; {model.stopped_}",
            flush=True,
        )
