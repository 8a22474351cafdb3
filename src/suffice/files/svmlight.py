"""svmlight / libsvm: `label index:value index:value ...`, as CSR."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice

import numpy as np
import scipy.sparse as sp

from .streams import Source
from .table import DataError, Options, Table


def tables(source: Source, format: str, options: Options) -> Iterator[Table]:
    from sklearn.datasets import load_svmlight_file

    n_features, zero_based = _extent(source, options)
    columns = tuple(f"x{i}" for i in range(n_features))
    lines = iter(io.BufferedReader(source.start(), 1 << 20))
    first_row = first_line = 0
    while chunk := list(islice(lines, options.chunk_rows)):
        content = b"".join(chunk)
        try:
            X, y = load_svmlight_file(io.BytesIO(content), zero_based=zero_based)
        except (ValueError, OverflowError) as error:
            number, line = _first_bad(chunk, zero_based)
            raise DataError(
                f"{source.name}: line {first_line + number + 1} cannot be read ({line[:60]!r}): expected "
                f"`label index:value ...` with ascending indices from {'0' if zero_based else '1'}"
            ) from error
        if X.shape[1] > n_features and options.n_features is None:
            raise DataError(
                f"{source.name}: after line {first_line} there are {X.shape[1]} features, and the first chunk has "
                f"{n_features}: give n_features="
            )
        X = of_width(X, n_features)
        first_line += len(chunk)
        if X.shape[0]:
            yield Table(X, _labels(y), columns, {}, first_row, zero_based=zero_based)
        first_row += X.shape[0]
    if first_row == 0:
        raise DataError(f"{source.name} has no rows")


def _extent(source: Source, options: Options) -> tuple[int, bool]:
    """Number of features and whether indices start at 0: as given, else from the file (a pipe: its first chunk)."""
    if options.n_features is not None and options.zero_based is not None:
        return options.n_features, options.zero_based
    scan = source if source.path is None or source.size is None else Source(source.path)
    lines = iter(io.BufferedReader(scan if scan is source else scan.start(), 1 << 20))
    least, most = 1, 0
    for line in islice(lines, options.chunk_rows) if scan is source else lines:
        cells = line.partition(b"#")[0].split(None, 3)
        try:
            pairs = [cell for cell in cells[1:3] if not cell.startswith(b"qid:")]
            if pairs:
                least = min(least, int(pairs[0].partition(b":")[0]))
                most = max(most, int(line.partition(b"#")[0].rpartition(b":")[0].split()[-1]))
        except (ValueError, IndexError):
            continue  # the reader itself will name the line
    if scan is not source:
        scan.finish()
    zero_based = options.zero_based if options.zero_based is not None else least == 0
    return options.n_features or max(1, most + zero_based), zero_based


def of_width(X: sp.csr_matrix, n_features: int) -> sp.csr_matrix:
    """The matrix with exactly `n_features` columns."""
    if X.shape[1] > n_features:
        return X[:, :n_features]
    return sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))


def _labels(y: np.ndarray) -> np.ndarray:
    texts = np.empty(len(y), dtype=object)
    texts[:] = [f"{label:.17g}" for label in y]
    return texts


def _first_bad(lines: list[bytes], zero_based: bool) -> tuple[int, bytes]:
    from sklearn.datasets import load_svmlight_file

    for number, line in enumerate(lines):
        try:
            load_svmlight_file(io.BytesIO(line), zero_based=zero_based)
        except (ValueError, OverflowError):
            return number, line.rstrip()
    return 0, b""
