"""Topics: the words that tell of each, or a map."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..evaluation.topic_map import TopicMap, topic_map
from .style import COLOURS, QUIET, on_axes, style


class TopicDisplay:
    """The topics of a topic model: bars of their words, or a map in which near topics use the same words.

    Parameters
    ----------
    topics : TopicMap

    Attributes
    ----------
    ax_, figure_ : what was drawn on (an array of axes for the words).

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import LatentDirichletAllocation, TopicDisplay
    >>> X = np.kron(np.eye(2, dtype=int), np.full((10, 3), 4))
    >>> model = LatentDirichletAllocation(2, random_state=0).fit(X)
    >>> display = TopicDisplay.from_estimator(model, list("abcxyz"), n_words=3)
    >>> len(display.figure_.axes)
    2
    """

    figure_: Any

    def __init__(self, topics: TopicMap) -> None:
        self.topics = topics

    @classmethod
    def from_estimator(
        cls, estimator: Any, vocabulary: Any = None, *, kind: str = "words", n_words: int = 8, ax: Any = None
    ) -> TopicDisplay:
        """Draw the topics of a fitted model; kind="map" draws the map, and `ax` is for it only."""
        if kind not in ("words", "map"):
            raise ValueError(f"kind={kind!r} is not one of 'words', 'map'")
        display = cls(topic_map(estimator, vocabulary, n_words))
        return display.plot() if kind == "words" else display.plot_map(ax=ax)

    def plot(self) -> TopicDisplay:
        """Bars of the telling words of every topic, four topics a row."""
        with style():
            import matplotlib.pyplot as plt

            found = self.topics
            n, columns = len(found.names), min(4, len(found.names))
            rows = -(-n // columns)
            height = 0.6 + 0.2 * len(found.words[0])
            self.figure_, grid = plt.subplots(
                rows, columns, figsize=(2.4 * columns, height * rows), squeeze=False, layout="constrained"
            )
            self.ax_: Any = grid.ravel()[:n]
            for axes in grid.ravel()[n:]:
                axes.set_visible(False)
            for t, axes in enumerate(self.ax_):
                places = np.arange(len(found.words[t]))[::-1]
                axes.barh(places, found.probability[t], color=COLOURS[t % len(COLOURS)])
                axes.set_yticks(places, found.words[t])
                axes.set_title(f"{found.names[t]} ({100 * found.share[t]:.0f} %)")
                axes.tick_params(axis="x", labelsize=7)
                axes.set_xlabel("p(word | topic)")
        return self

    def plot_map(self, ax: Any = None) -> TopicDisplay:
        """A point for every topic with its first words; its area is its share of all words."""
        with on_axes(self, ax, size=(6.0, 4.4)) as axes:
            found = self.topics
            axes.axhline(0, color=QUIET, linewidth=0.5, zorder=0)
            axes.axvline(0, color=QUIET, linewidth=0.5, zorder=0)
            colours = [COLOURS[t % len(COLOURS)] for t in range(len(found.names))]
            axes.scatter(*found.place.T, s=1500 * found.share, color=colours, alpha=0.6)
            for t, (x, y) in enumerate(found.place):
                text = f"{found.names[t]}\n{', '.join(found.words[t][:3])}"
                axes.annotate(text, (x, y), ha="center", va="center", fontsize=8)
            axes.margins(0.25)
            axes.set(xlabel="first axis of the distances between topics", ylabel="second axis")
        return self
