"""Readers of the files people have, in chunks: memory does not grow with the file.

    for table in read("adult.csv.gz", target="income"):
        model.partial_fit(table.X, table.y, classes=classes)

CSV and TSV, Parquet, svmlight, `label<TAB>text` and `.ts` (series, as long tables); plain or
compressed (gzip, xz, bzip2, found by content); "-" is
standard input. Labels are always text, None where the label is missing. Tables are DataFrames of float64 columns and
categorical columns whose codes mean the same in every chunk; svmlight is CSR; text is a DataFrame of one column "text".
Sentences with a token a line (CoNLL, CoNLL-U) are lists of words and of tags: `read_tokens`.
"""

from __future__ import annotations

from .dataset import Dataset
from .reader import FORMATS, Reader, read
from .table import MISSING, DataError, Table
from .tokens import read_tokens

__all__ = ["FORMATS", "MISSING", "DataError", "Dataset", "Reader", "Table", "read", "read_tokens"]
