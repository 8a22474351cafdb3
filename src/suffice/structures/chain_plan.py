"""Which steps of which sequences run side by side: lanes, pieces of long sequences, and shards that a thread takes at a time.

A sequence is the rows offsets[i] .. offsets[i + 1] of a table of steps. A long one is cut into pieces that run as lanes of their own:
a piece begins `burn` steps early from a flat message and goes on `burn` steps too long. Chains forget, so at a seam both know
the same: `gap` measures it. A plan depends on the lengths alone, so threads do not change a bit of the result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels.structures.chain import LANES

BURN = 64  # steps that the messages of a piece warm up at first
PIECE = 4096  # steps of a piece, if the burn-in is short
SHARD = 16384  # steps of a shard, about
EQUAL = 4  # shards are as many as divide by this, of about equal size: threads end together
AGREES = 1e-11  # the most that messages at a seam may differ


@dataclass(frozen=True, eq=False)
class Shard:
    """Lanes whose steps lie side by side: rows start .. stop are read, begin .. end count. Arrays have an entry for every lane."""

    start: int
    stop: int
    begin: int
    end: int
    sequence: np.ndarray
    base: np.ndarray  # first row, from `start`
    length: np.ndarray
    first: np.ndarray  # steps first .. last of the lane count
    last: np.ndarray
    fresh: np.ndarray  # whether the lane begins where its sequence begins
    closes: np.ndarray  # whether it ends where that ends

    def some(self, which: np.ndarray) -> Shard:
        """Some of the lanes; rows stay."""
        arrays = (self.sequence, self.base, self.length, self.first, self.last, self.fresh, self.closes)
        return Shard(self.start, self.stop, self.begin, self.end, *(array[which] for array in arrays))

    def counting(self) -> list[tuple[int, int]]:
        """(first, last) of every lane's rows that count, from `start`."""
        return list(zip(self.base + self.first, self.base + self.last, strict=True))


def planned(offsets: np.ndarray, burn: int | None = BURN, keep: np.ndarray | None = None) -> list[Shard]:
    """Shards of all sequences (or those that `keep` says); burn=None: nothing is cut."""
    lengths = np.diff(offsets)
    some = lengths > 0 if keep is None else (lengths > 0) & keep
    lanes = cut(np.flatnonzero(some), offsets, piece_length(lengths, burn), burn or 0)
    if not len(lanes):
        return []
    blocks = np.arange(0, len(lanes), LANES)
    steps = np.append(0, np.cumsum(np.add.reduceat(lanes[:, 2] - lanes[:, 1], blocks)))  # before every block
    n = -(-int(steps[-1]) // SHARD)
    n = n if n == 1 else EQUAL * -(-n // EQUAL)
    near = np.rint(np.interp(np.arange(n) * (steps[-1] / n), steps, np.arange(len(steps)))).astype(np.int64)
    firsts = blocks[np.unique(np.minimum(near, len(blocks) - 1))]
    return [shard_of(lanes[first:last]) for first, last in zip(firsts, [*firsts[1:], len(lanes)], strict=True)]


def piece_length(lengths: np.ndarray, burn: int | None) -> int:
    """Steps of a piece: PIECE, less where lanes would stay empty, and never less than eight burn-ins."""
    if burn is None:
        return int(lengths.max(initial=1))
    return max(min(PIECE, -(-int(lengths.sum()) // LANES)), 8 * burn)


def cut(sequences: np.ndarray, offsets: np.ndarray, piece: int, burn: int) -> np.ndarray:
    """(lanes, 7) array: sequence, first row, last row, first that counts, last that counts, sequence's first row, its last."""
    begin, end = offsets[sequences], offsets[sequences + 1]
    n = np.maximum(np.rint((end - begin) / piece).astype(np.int64), 1)  # pieces of every sequence
    which, number = np.repeat(np.arange(len(n)), n), np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
    begin, end, n = begin[which], end[which], n[which]
    a, b = begin + (end - begin) * number // n, begin + (end - begin) * (number + 1) // n
    run, stop = np.maximum(begin, a - burn), np.minimum(end, b + burn)
    return np.stack([sequences[which], run, stop, a, b, begin, end], axis=1)


def shard_of(table: np.ndarray) -> Shard:
    """Lanes sorted by their length, so that those of a batch end together."""
    table = table[np.argsort(table[:, 1] - table[:, 2], kind="stable")]
    sequence, run, stop, begin, end, first, last = table.T
    start = int(run.min())
    return Shard(
        start, int(stop.max()), int(begin.min()), int(end.max()), sequence.copy(), run - start, stop - run, begin - run,
        end - run, run == first, stop == last,
    )  # fmt: skip


def neighbours(shards: list[Shard]) -> tuple[np.ndarray, np.ndarray]:
    """(left, right): places of lanes that follow each other in a sequence, in all shards' lanes one after the other."""
    if not shards:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    sequence = np.concatenate([shard.sequence for shard in shards])
    first = np.concatenate([shard.start + shard.base + shard.first for shard in shards])
    order = np.lexsort((first, sequence))
    together = sequence[order][1:] == sequence[order][:-1]
    return order[:-1][together], order[1:][together]


def gap(shards: list[Shard], seams: list[np.ndarray]) -> float:
    """The largest difference of neighbouring pieces' messages; infinity where one of them is not a number."""
    left, right = neighbours(shards)
    if not len(left):
        return 0.0
    messages = np.concatenate(seams)
    with np.errstate(invalid="ignore", divide="ignore"):
        messages = messages / messages.sum(axis=2, keepdims=True)
        ahead = np.abs(messages[left, 1] - messages[right, 0]).max()
        worst = max(ahead, np.abs(messages[left, 3] - messages[right, 2]).max())
    return float(worst) if np.isfinite(worst) else np.inf


def path_gap(shards: list[Shard], seams: list[np.ndarray], states: list[np.ndarray]) -> float:
    """The same of best paths: infinity where neighbours' paths differ at a seam, else how much delta does (relative to its size)."""
    left, right = neighbours(shards)
    if not len(left):
        return 0.0
    at = np.concatenate(states)
    if (at[left, 1] != at[right, 0]).any():
        return np.inf
    delta = np.concatenate(seams)
    before, after = delta[left, 1], delta[right, 0]
    with np.errstate(invalid="ignore"):
        before, after = before - before.max(axis=1, keepdims=True), after - after.max(axis=1, keepdims=True)
        differ = np.where(before == after, 0.0, np.abs(before - after) / (1.0 + np.abs(before)))
    worst = differ.max()
    return float(worst) if np.isfinite(worst) else np.inf
