"""Where a search over blocks begins and in which units: how alike the labels of blocks are, and second derivatives of all rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from suffice import MultinomialNB
from suffice.choosing.recipes import in_blocks
from suffice.engines.blocks import Threads
from suffice.families.multinomial import Multinomial
from suffice.files.dataset import Blocks
from suffice.files.pieces import Part
from suffice.learners.blocks import Block, BlockRows
from suffice.losses import loss_named
from suffice.structures.words import Words


@dataclass(frozen=True)
class InMemory:
    """A block of rows that are here."""

    rows: object

    def load(self):
        return self.rows


@dataclass(frozen=True)
class Sources:
    sources: tuple

    def place(self, engine, prepare, n_bytes):
        return engine.place(self.sources, prepare, n_bytes)


def text_blocks(n_blocks: int, order: np.ndarray | None = None, n: int = 600) -> tuple[Words, BlockRows, Block]:
    """A structure of words, its rows in blocks, and the same rows as one block."""
    generator = np.random.default_rng(5)
    y = np.sort(generator.integers(0, 3, n))
    y = y if order is None else y[order]
    X = sparse.csr_matrix(generator.poisson(generator.random((3, 40))[y]).astype(float))
    weights = generator.uniform(0.5, 2.0, n)
    model = Words.of(Multinomial.for_data(X, 3, weights))
    whole = Block(X, y, weights)
    parts = [Block(whole.X[own], y[own], weights[own]) for own in np.array_split(np.arange(n), n_blocks)]
    return model, BlockRows(Threads(1), Sources(tuple(map(InMemory, parts))), None, 1, model), whole


def test_how_alike_the_labels_of_blocks_are():
    shuffled = np.random.default_rng(0).permutation(600)
    assert text_blocks(3, shuffled)[1].labelled.dependence < 0.02
    assert text_blocks(60)[1].labelled.dependence > 0.9  # sorted
    assert text_blocks(1)[1].labelled.dependence == pytest.approx(0.0, abs=1e-12)


def test_curvatures_are_second_derivatives_of_the_loss():
    loss, generator = loss_named("ncll"), np.random.default_rng(1)
    scores, y, step = generator.normal(size=(7, 4)), generator.integers(0, 4, 7), 1e-5
    for k in range(4):
        ahead, behind = scores.copy(), scores.copy()
        ahead[:, k] += step
        behind[:, k] -= step
        slopes = [-loss.labelled_weights(own, y)[:, k] for own in (ahead, behind)]
        expected = (slopes[0] - slopes[1]) / (2 * step)
        np.testing.assert_allclose(loss.labelled_curvatures(scores, y)[:, k], expected, rtol=1e-6)


def test_the_curved_pass_gives_the_loss_its_gradient_and_the_squares():
    model, rows, whole = text_blocks(5)
    loss = loss_named("ncll")
    moments = model.statistics(whole.X, whole.y, whole.weights) + model.pseudo_counts(model.no_statistics(), 1.0)
    total, statistics, squares = rows.curved_loss(moments, loss)
    plain = rows.loss(moments, loss)
    assert total == plain[0] and np.array_equal(statistics.flat(), plain[1].flat())
    share = whole.weights[:, None] * loss.labelled_curvatures(model.scores(moments, whole.X), whole.y)
    np.testing.assert_allclose(model.counts_of(squares), (whole.X.toarray() ** 2).T @ share, rtol=1e-12)
    np.testing.assert_allclose(squares.mass, share.sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize(
    ("rows", "n_blocks", "is_sorted", "expected"),
    [(100, 2, False, "dual_rounds"), (100, 2, True, "fit_of_sample"), (300, 8, False, "fit_of_sample")],
)
def test_a_sample_smaller_than_a_block_gives_way_to_dual_rounds(rows, n_blocks, is_sorted, expected, monkeypatch):
    """The objective is that of one process, wherever the search began."""
    order = np.random.default_rng(0).permutation(600)
    whole = text_blocks(1, None if is_sorted else order)[2]
    monkeypatch.setattr("suffice.files.dataset.ROWS", rows)
    begun = []
    for name in ("dual_rounds", "fit_of_sample"):
        own = getattr(in_blocks, name)
        monkeypatch.setattr(in_blocks, name, lambda *given, name=name, own=own: [begun.append(name), own(*given)][1])
    parts = [Part(whole.X[own], whole.y[own]) for own in np.array_split(np.arange(600), n_blocks)]
    model = MultinomialNB(loss="ncll", prior=1.0, random_state=0).fit(Blocks(list(map(InMemory, parts))))
    assert begun == [expected]
    best = min(
        MultinomialNB(loss="ncll", prior=1.0, random_state=0, tol=1e-6).fit(whole.X, whole.y).history_["objective"]
    )
    assert model.history_["objective"][-1] <= best + 1e-3 * 600 * max(0.1, model.history_["ncll"][-1])
