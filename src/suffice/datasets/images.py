"""Binary images of the papers: OCR letters and the fixed binarisation of MNIST.

Read from the folder named by the environment variable SUFFICE_DATA (laid out as `image/ocr_letters/letter.data.xz`,
...).
"""

from __future__ import annotations

import lzma
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Images(NamedTuple):
    """0/1 rows, labels from 0, and the shape of one image."""

    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray
    train_labels: np.ndarray
    valid_labels: np.ndarray
    test_labels: np.ndarray
    shape: tuple[int, int]

    @property
    def train_and_valid(self) -> np.ndarray:
        return np.concatenate([self.train, self.valid])

    @property
    def train_and_valid_labels(self) -> np.ndarray:
        return np.concatenate([self.train_labels, self.valid_labels])


def data_folder() -> Path | None:
    folder = os.environ.get("SUFFICE_DATA")
    return Path(folder) if folder else None


def open_member(*parts: str, source: str = "") -> bytes:
    """An unpacked file below SUFFICE_DATA (plain or .xz), or an error that says where to get it."""
    folder = data_folder()
    if folder is not None:
        path = folder.joinpath(*parts)
        if path.exists():
            return path.read_bytes()
        packed = path.with_name(path.name + ".xz")
        if packed.exists():
            return lzma.decompress(packed.read_bytes())
    where = f"SUFFICE_DATA={folder}" if folder else "the environment variable SUFFICE_DATA, which is not set"
    raise FileNotFoundError(f"no {'/'.join(parts)}(.xz) under {where}; get it from {source}")


def idx_array(content: bytes) -> np.ndarray:
    """An idx file: two zero bytes, a type code (8: uint8), the number of dimensions, the dimensions, the values."""
    if content[:3] != b"\0\0\x08":
        raise ValueError(f"an idx file of bytes starts with 00 00 08, this one with {content[:3].hex(' ')}")
    n_dimensions = content[3]
    shape = np.frombuffer(content, ">i4", n_dimensions, 4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * n_dimensions).reshape(shape)


LETTERS = "https://ai.stanford.edu/~btaskar/ocr/letter.data.gz"
MNIST = "https://www.cs.toronto.edu/~larocheh/public/datasets/binarized_mnist/ (as idx files)"


def load_ocr_letters() -> Images:
    """OCR letters, 16 x 8, 26 classes: 32,152 / 10,000 / 10,000 by Larochelle's split."""
    lines = open_member("image", "ocr_letters", "letter.data", source=LETTERS).decode().splitlines()
    fields = [line.split("\t") for line in lines]
    pixels = np.array([f[6:134] for f in fields]).astype(np.uint8)
    labels = np.array([ord(f[1]) - ord("a") for f in fields])
    order = np.array(open_member("image", "ocr_letters", "larochelle_split.txt", source=LETTERS).split(), dtype=int)
    parts = np.split(order, [32152, 42152])
    a, b, c = parts
    return Images(pixels[a], pixels[b], pixels[c], labels[a], labels[b], labels[c], (16, 8))


def load_binarized_mnist() -> Images:
    """The fixed binarisation of MNIST (Salakhutdinov and Murray; Larochelle): 50,000 / 10,000 / 10,000, 28 x 28."""
    names = ("train", "valid", "test")

    def read(kind):
        for name in names:
            yield idx_array(open_member("image", "mnist_binarized_larochelle", f"{name}-{kind}", source=MNIST))

    a, b, c = (np.ascontiguousarray(part.reshape(len(part), -1)) for part in read("images-idx3-ubyte"))
    p, q, r = (part.astype(int) for part in read("labels-idx1-ubyte"))
    return Images(a, b, c, p, q, r, (28, 28))
