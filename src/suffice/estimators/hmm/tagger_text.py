"""Tagging of texts in one line: lists of words in, lists of tags out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted
from typing_extensions import override

from ...choosing.taggers import TagSolution, trained
from ...families.categorical import Categorical
from ...learners.watch import Watch
from ...reading.guards import all_or_nothing
from ...reading.sequences import Sequences
from ...reading.tokens import Tokens
from ...structures.joint import Joint
from ..checks import check_one_of
from ..kinds import Path, Seed
from .tagger import HMMTagger


class TextTagger(HMMTagger):
    """A tagger of words: parts of speech, names, chunks. Lists of words and of tags in, tags out; nothing needs tuning.

    It makes columns of every word (itself, its beginnings and endings, its shape, the words beside it) and trains an `HMMTagger` on
    them. Words that were seen once or never share a category, so an unknown word is tagged by its affixes, shape and neighbours.

    Parameters
    ----------
    loss : {"ncll", "hinge", "nll"}, default="ncll"
        What training minimises: the conditional likelihood of the tags, a margin between the right path and the best wrong one, or the
        joint likelihood (counting; EM where tags are missing).
    prior : float or "auto", default="auto"
        Strength of the prior, chosen on held-out sentences.
    min_count : int, default=2
        Words and affixes that occur less often in training count as rare, as unknown ones do.
    neighbours : bool or "auto", default="auto"
        Whether the words before and after are columns; "auto" asks held-out sentences (under "nll" they are not: counting them with
        the tags would count the same evidence twice).
    unlabelled_weight : float or "auto", default="auto"
        What sentences without tags count, see `HMMTagger`.
    max_iter : int, default=100
        Most passes over the sentences.
    tol : float, default=3e-4
        Training stops when a pass lowers the mean loss of a word by less.
    n_jobs : int or None, default=None
        Threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        Print a line a pass.
    checkpoint : path or None, default=None
        Where the fit writes where it stands, every `checkpoint_minutes`.
    checkpoint_minutes : float, default=3.0
    resume : path, True or None, default=None
        A checkpoint to go on from (True: `checkpoint`, if there is one yet): the result is that of a fit that never stopped.

    Attributes
    ----------
    classes_ : ndarray of the tags, in order
    columns_ : list of the columns' names
    categories_ : dict {column: list of its values}
    startprob_, endprob_, transmat_, moments_, prior_, unlabelled_weight_, choice_, history_, n_iter_, converged_, stopped_ :
        As in `HMMTagger`.

    Examples
    --------
    >>> from suffice import TextTagger
    >>> sentences = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "walks"], ["a", "dog", "walked"]] * 5
    >>> tags = [["DET", "NOUN", "VERB"]] * 20
    >>> tagger = TextTagger(random_state=0).fit(sentences, tags)
    >>> tagger.predict([["the", "ferret", "jumps"]])[0].tolist()
    ['DET', 'NOUN', 'VERB']
    """

    time: Any
    sequence: Any

    columns_: Any
    categories_: Any

    def __init__(
        self, *, loss: str = "ncll", prior: float | str = "auto", min_count: int = 2, neighbours: int | str = "auto",
        unlabelled_weight: float | str = "auto", max_iter: int = 100, tol: float = 3e-4, n_jobs: int | None = None,
        random_state: Seed = None, verbose: int = 0, checkpoint: Path = None, checkpoint_minutes: float = 3.0,
        resume: Path | bool = None,
    ) -> None:  # fmt: skip
        self.loss = loss
        self.prior = prior
        self.min_count = min_count
        self.neighbours = neighbours
        self.unlabelled_weight = unlabelled_weight
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.checkpoint_minutes = checkpoint_minutes
        self.resume = resume

    sequence = time = None  # sentences are lists

    @override
    @all_or_nothing
    def fit(self, sentences: Any, tags: Any, *, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from sentences (lists of words) and their tags (lists as long; None: not known).

        Returns
        -------
        self
        """
        super().fit(checked(sentences), tags, sample_weight=sample_weight)
        self.columns_, self.categories_ = self._reader_.columns, self._reader_.categories
        return self

    @override
    def _reader(self) -> Any:
        return Tokens(self.min_count, self.neighbours is not False and self.loss != "nll")

    @override
    def _emissions(self, reader: Any, rows: Any, n_tags: int) -> Any:
        return Joint.of(Categorical(n_tags, rows.shape[1], reader.n_categories))

    @override
    def _read(self, reader: Any, steps: Sequences, *, reset: bool) -> Any:
        words = steps.table[:, 0].tolist() if steps.n_steps else []
        if reset:
            self.n_features_in_ = 1
            return reader.learn_words(words, steps.offsets)
        return reader.read_words(words, steps.offsets)

    @override
    def _trained(
        self,
        reader: Any,
        rows: Any,
        steps: Any,
        weights: np.ndarray,
        labels: Any,
        engine: Any,
        generator: np.random.Generator,
        watch: Watch,
    ) -> TagSolution:
        data = self._data(reader, rows, steps, weights, labels, engine)
        if not reader.has_neighbours or self.neighbours != "auto":
            return trained(data, self._options(), generator, watch)

        def narrower():
            own = replace(reader, has_neighbours=False)
            return self._data(own, reader.without_neighbours(rows), steps, weights, labels, engine)

        found = trained(data, self._options(), generator, watch, narrower)
        reader.has_neighbours = found.data.rows is data.rows
        return found

    @override
    def _given(self, X: Any, lengths: Any) -> Any:
        check_is_fitted(self)
        if lengths is not None:
            raise ValueError("lengths= is not taken here: sentences are lists of words")
        return super()._given(checked(X), None)

    @override
    def impute(self, X: Any, lengths: Any = None, return_std: bool = False) -> Any:
        """Not for words: a word is known by all its columns together."""
        raise NotImplementedError("missing words are not filled in: HMMTagger fills cells of tables")

    @override
    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_one_of("neighbours", self.neighbours, ("auto", True, False))

    @override
    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


def checked(sentences: Any) -> list[Any]:
    """Sentences as a list of lists of words, or an error that says what came instead."""
    if isinstance(sentences, (str, bytes)) or hasattr(sentences, "toarray") or not hasattr(sentences, "__iter__"):
        raise ValueError(f"sentences is a {type(sentences).__name__}: give a list of sentences, each a list of words")
    found = list(sentences)
    for i, sentence in enumerate(found):
        if isinstance(sentence, (str, bytes)) or not hasattr(sentence, "__len__"):
            raise ValueError(
                f"sentences[{i}] is {sentence!r}: give a list of its words (`text.split()`, or a tokeniser's answer)"
            )
    return [np.array([*sentence, None], dtype=object)[:-1] for sentence in found]
