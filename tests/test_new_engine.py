"""An engine from outside of the library: the bits of a fit do not depend on who sums, or in which order the parts are worked at."""

from __future__ import annotations

import numpy as np
import pytest

from suffice.engines.threads import Engine, shards
from suffice.learners.driver import run
from suffice.learners.em import BatchEM, MixtureProblem
from suffice.learners.expectation import Rows
from suffice.mixture import GaussianMixture


class Backwards(Engine):
    """The last part first; results in the order of the parts all the same."""

    def each(self, function, parts):
        results = [function(part) for part in reversed(parts)]
        yield from reversed(results)


@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_an_engine_of_your_own_gives_the_same_bits(covariance):
    X = np.random.default_rng(0).normal(size=(20_000, 3)) + 3.0 * (np.arange(20_000) % 2)[:, None]
    assert len(shards(len(X), 8192)) == 3
    model = GaussianMixture(2, covariance_type=covariance, random_state=0, max_iter=2, tol=0.0)
    with pytest.warns(UserWarning):
        model.fit(X)
    structure, prior = model._stored_model, model._component_prior(model._stored_model, model.moments_)
    fits = []
    for engine in (Engine(1), Engine(2), Backwards()):
        rows = Rows(structure.form(X), np.ones(len(X)), np.full(len(X), -1), engine=engine)
        problem = MixtureProblem(rows, prior)
        fits.append(run(BatchEM(), problem, model.moments_, np.random.default_rng(0), max_epochs=3, tol=0.0))
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0].moments.flat(), other.moments.flat())
