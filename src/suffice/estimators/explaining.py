r"""What every column adds to the log-odds of a class against the rest.

Let s_k = log p(x, k), e_kj = log p(x_j | the other cells, k) (of independent columns log p(x_j | k)) and t the temperature of the
calibration.

Independent columns, additive:
    w      shares of the rivals of class c among themselves, softmax(rivalry t s_k) over k != c
    part_j = t (e_cj - sum_k w_k e_kj)
    log-odds(c) = constant + sum_j part_j,      constant = t (b_c - sum_k w_k b_k) - H(w) / rivalry,   b = log p(k), H the entropy

which holds exactly, because log sum_k exp s_k = sum_k w_k s_k + H(w) at w = softmax(s). With two classes w = 1: a part is the log of
the likelihood ratio, the constant that of the classes' frequencies. (Where a share of the class frequencies is mixed into the
probabilities, `background_`, the constant takes what that changes; so it does for rows with missing cells that the other columns tell
of, `structures.gaps`.)

Other models (correlated columns, mixtures, topics), not additive:
    part_j = log-odds(c | x) - log-odds(c | x without x_j)

the effect of making the cell missing (of topics: of taking the word out). Cells that are missing have part 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from ..choosing.calibration import log_probabilities, shares
from ..reading.guards import one_blas_thread

LEAST = -745.0  # log of the smallest positive double: stands for what is impossible
CELLS = 4_000_000  # numbers held at a time


@dataclass(eq=False)
class Explanation:
    """What each column adds to the log-odds of a class against the rest, for every row.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        The class that is explained: the predicted one, or the one that was asked for.
    log_odds : ndarray of shape (n_samples,)
        log p(class | x) - log(1 - p(class | x)), as `predict_proba` has it.
    constant : ndarray of shape (n_samples,)
        What no column adds: how frequent the classes are.
    parts : ndarray or sparse matrix of shape (n_samples, n_features)
        What each column adds; 0 where the cell is missing (of words: where they do not occur).
    names : list of str
    is_additive : bool
        Whether constant + sum of parts is the log-odds (naive Bayes); else a part is the effect of making its cell missing.
    """

    labels: np.ndarray
    log_odds: np.ndarray
    constant: np.ndarray
    parts: Any
    names: list[str]
    is_additive: bool

    @property
    def importances(self) -> np.ndarray:
        """(n_features,) array: mean size of the parts over the rows."""
        return np.asarray(abs(self.parts).mean(axis=0)).ravel()

    def ranked(self, top: int | None = None) -> list[tuple[str, float]]:
        """(name, importance) of the columns that say most, the first first."""
        sizes = self.importances
        order = np.argsort(-sizes, kind="stable")[:top]
        return [(self.names[j], float(sizes[j])) for j in order if sizes[j] > 0]

    def of_row(self, i: int, top: int | None = 10) -> list[tuple[str, float]]:
        """(name, part) of a row, the largest first, whatever its sign."""
        if sparse.issparse(self.parts):
            row = self.parts[[i]].tocsr()
            places, values = row.indices, row.data
        else:
            places, values = np.arange(self.parts.shape[1]), self.parts[i]
        order = np.argsort(-np.abs(values), kind="stable")[:top]
        return [(self.names[places[j]], float(values[j])) for j in order if values[j] != 0]


class Explains:
    """A mixin of the classifiers."""

    classes_: np.ndarray
    moments_: Any
    temperature_: float
    rivalry_: float
    background_: float
    class_count_: np.ndarray
    n_features_in_: int
    _stored_model: Any
    _answering: Any
    _reader_: Any
    _codes: Any  # Answers'
    _new_rows: Any
    _joint: Any
    _column_names: Any

    def explain(self, X: Any, y: Any = None) -> Explanation:
        """What every column adds to the log-odds of the predicted class against the rest.

        For naive Bayes parts and constant add up to the log-odds; for other models a part is the effect of making the cell missing,
        and parts do not add up.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : a label, or array-like of n_samples labels, default=None
            Classes to explain in the place of the predicted ones.

        Returns
        -------
        Explanation
            With `parts`, `constant`, `log_odds`, `labels`; `importances` and `ranked()` sum the rows up, `of_row(i)` tells of one.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from suffice import GaussianNB
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> found = GaussianNB(loss="nll").fit(X, y).explain(X)
        >>> [name for name, _ in found.ranked(2)]
        ['petal width (cm)', 'petal length (cm)']
        >>> bool(abs(found.parts.sum(axis=1) + found.constant - found.log_odds).max() < 1e-9)
        True
        """
        check_is_fitted(self)
        return self._explained(self._new_rows(X), y)

    def _explained(self, rows: Any, y: Any) -> Explanation:
        """The explanation of rows in the structure's units."""
        with np.errstate(divide="ignore", invalid="ignore"), one_blas_thread():
            scores = np.maximum(self._joint(rows), LEAST * 1e3)
            logs = self._log_probabilities(scores)
            codes = logs.argmax(axis=1) if y is None else self._codes(y, len(logs))
            log_odds = odds_of(logs, codes)
            parts, constant, is_additive = self._parts(rows, scores, codes)
        if is_additive:
            constant = log_odds - np.asarray(parts.sum(axis=1)).ravel()
        names = self._column_names() or [f"x{j}" for j in range(self.n_features_in_)]
        return Explanation(self.classes_[codes], log_odds, constant, parts, names, is_additive)

    def _log_probabilities(self, scores: np.ndarray) -> np.ndarray:
        """`predict_log_proba` of scores."""
        logs = log_probabilities(self.temperature_ * scores, self.rivalry_)
        if self.background_:
            logs = np.log((1.0 - self.background_) * np.exp(logs) + self.background_ * shares(self.class_count_))
        return logs

    def _parts(self, rows: Any, scores: np.ndarray, codes: np.ndarray) -> tuple[Any, np.ndarray, bool]:
        structure, width = self._stored_model, self._answering.width
        if width == 1 and (table := sparse_weights(structure, self.moments_, rows)) is not None:
            return self._word_parts(rows, table, scores, codes), np.zeros(len(codes)), True
        dense_rows = isinstance(rows, np.ndarray) or (sparse.issparse(rows) and not structure.takes_sparse)
        if not hasattr(structure, "split") or not dense_rows:
            return self._parts_without_words(rows, codes), self._empty_odds(codes), False
        rows = rows if isinstance(rows, np.ndarray) else rows.toarray()
        is_additive = width == 1 and all(family.has_independent_columns for family in structure.families)
        parts = np.zeros(rows.shape)
        step = max(1, CELLS // max(1, structure.n_outcomes * rows.shape[1]))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            found = cell_log_densities(structure, self.moments_, rows[part])
            if is_additive:
                parts[part] = additive_parts(found, scores[part], codes[part], self.temperature_, self.rivalry_)
            else:
                parts[part] = self._effects(rows[part], found, codes[part])
        return self._reader_.in_columns(parts), self._empty_odds(codes), is_additive

    def _effects(self, rows: Any, found: Any, codes: np.ndarray) -> np.ndarray:
        """(n, d) array: log-odds minus those without each cell."""
        answering = self._answering
        outcomes = np.maximum(answering.outcome_scores(self.moments_, rows), LEAST * 1e3)
        before = odds_of(self._log_probabilities(of_classes(outcomes, answering.width)), codes)
        effects = np.zeros(rows.shape)
        for j in np.flatnonzero(~np.isnan(rows).all(axis=0)):
            after = of_classes(outcomes - found[:, :, j], answering.width)
            effects[:, j] = before - odds_of(self._log_probabilities(after), codes)
        return np.where(np.isnan(rows), 0.0, effects)

    def _word_parts(self, rows: Any, table: np.ndarray, scores: np.ndarray, codes: np.ndarray) -> sparse.csr_matrix:
        """Parts of the words that occur."""
        signed = self.temperature_ * signed_shares(scores, codes, self.temperature_, self.rivalry_)
        values = rows if sparse.issparse(rows) else rows.tocsr()
        which = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))
        votes = np.zeros(len(values.data))
        for k in range(table.shape[1]):
            votes += np.nan_to_num(values.data) * signed[which, k] * table[values.indices, k]
        return sparse.csr_matrix((votes, values.indices, values.indptr), values.shape)

    def _parts_without_words(self, rows: Any, codes: np.ndarray) -> sparse.csr_matrix:
        """Effects of taking each word out of each row."""
        values = (rows if sparse.issparse(rows) else rows.tocsr()).tocsr()
        before = odds_of(self._log_probabilities(self._joint(rows)), codes)
        effects = np.zeros(len(values.data))
        for i in range(values.shape[0]):
            part = slice(values.indptr[i], values.indptr[i + 1])
            words, m = values.indices[part], part.stop - part.start
            if not m:
                continue
            counts = np.tile(values.data[part], (m, 1))
            np.fill_diagonal(counts, 0.0)
            ends = np.arange(0, m * m + 1, m)
            without = sparse.csr_matrix((counts.ravel(), np.tile(words, m), ends), (m, values.shape[1]))
            without.eliminate_zeros()
            after = odds_of(self._log_probabilities(self._joint(without)), np.full(m, codes[i]))
            effects[part] = before[i] - after
        return sparse.csr_matrix((effects, values.indices, values.indptr), values.shape)

    def _empty_odds(self, codes: np.ndarray) -> np.ndarray:
        """Log-odds of rows of which nothing is known."""
        mass = self.moments_.mass.reshape(len(self.classes_), -1).sum(axis=1)
        logs = self._log_probabilities(np.log(np.tile(mass / mass.sum(), (len(codes), 1))))
        return odds_of(logs, codes)


def odds_of(logs: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """(n,) array: log p(code) - log sum of the others."""
    places = np.arange(len(codes))
    others = logs.copy()
    others[places, codes] = -np.inf
    if logs.shape[1] == 1:
        return np.zeros(len(codes))
    return np.maximum(logs[places, codes], LEAST) - np.maximum(logsumexp(others, axis=1), LEAST)


def of_classes(scores: np.ndarray, width: int) -> np.ndarray:
    return scores if width == 1 else logsumexp(scores.reshape(len(scores), -1, width), axis=2)


def signed_shares(scores: np.ndarray, codes: np.ndarray, temperature: float, rivalry: float) -> np.ndarray:
    """(n, K) array: 1 for the class, minus the shares of its rivals among themselves."""
    places = np.arange(len(codes))
    if scores.shape[1] == 1:
        return np.zeros(scores.shape)
    rivals = rivalry * temperature * scores
    rivals[places, codes] = -np.inf
    signed = -np.exp(rivals - logsumexp(rivals, axis=1, keepdims=True))
    signed[places, codes] = 1.0
    return signed


def additive_parts(found: Any, scores: np.ndarray, codes: np.ndarray, temperature: float, rivalry: float) -> np.ndarray:
    signed = signed_shares(scores, codes, temperature, rivalry)
    return temperature * np.einsum("nk,nkd->nd", signed, np.maximum(found, LEAST))


def cell_log_densities(structure: Any, moments: Any, rows: np.ndarray) -> np.ndarray:
    """(n, K, d) array: log p(x_ij | the other cells, k), 0 where missing."""
    parts = zip(structure.families, moments.columns, structure.split(rows), strict=True)
    found = [family.cell_log_densities(own, part) for family, own, part in parts]
    return np.maximum(np.concatenate(found, axis=2), LEAST)


def sparse_weights(structure: Any, moments: Any, rows: Any) -> np.ndarray | None:
    """(W, K) array: what one unit of a word adds to log p(x, k), for rows whose zeros say nothing more; None for others."""
    if isinstance(rows, np.ndarray) or len(getattr(structure, "families", ())) != 1:
        return None
    return structure.family.word_weights(moments.columns[0])


def telling_columns(model: Any, names: Any, n_words: int) -> dict[Any, Any]:
    """{label: [(name, log-odds)]}: the columns that speak most for each class, of a model of words.

    The log-odds are log p(word | class) minus the mean of the other classes'. Words are ranked by log-odds times the standard deviation
    of whether they occur, sqrt(p (1 - p)) with p = 1 - exp(-mean count): how much they change the log-odds between documents.
    """
    structure, moments = model._stored_model, model.moments_
    table, statistics = structure.family.word_weights(moments.columns[0]), model._statistics
    if hasattr(structure, "words_of_outcomes"):
        counts = structure.words_of_outcomes(statistics).sum(axis=1)
    else:
        counts = statistics.columns[0].count[1::2].sum(axis=1)
    n_classes = table.shape[1]
    others = (table.sum(axis=1, keepdims=True) - table) / max(n_classes - 1, 1)
    weights = table - others if n_classes > 1 else table
    absent = np.exp(-np.maximum(counts, 0.0) / max(float(model.class_count_.sum()), 1e-300))
    rank = weights * np.sqrt(absent * (1.0 - absent))[:, None]
    order = np.argsort(-rank, axis=0, kind="stable")[:n_words]
    labels = [label.item() if isinstance(label, np.generic) else label for label in model.classes_]
    return {
        label: [(str(names[j]), float(weights[j, k])) for j in order[:, k] if weights[j, k] > 0]
        for k, label in enumerate(labels)
    }
