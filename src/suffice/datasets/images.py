"""Binary images of the papers: OCR letters and the fixed binarisation of MNIST.

Read from the folder that `SUFFICE_DATA` names (`image/ocr_letters/letter.data.xz`, ...), else downloaded once.
"""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np

from .files import DataNotFound, content

LETTERS = "https://ai.stanford.edu/~btaskar/ocr/letter.data.gz"
MNIST = "https://www.cs.toronto.edu/~larocheh/public/datasets/binarized_mnist"


class Images(NamedTuple):
    """0/1 rows, labels from 0 (-1: unknown), and the shape of one image."""

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


def load_ocr_letters() -> Images:
    """OCR letters, 16 x 8, 26 classes: 32,152 / 10,000 / 10,000 by Larochelle's split."""
    lines = content("image/ocr_letters/letter.data", [LETTERS]).decode().splitlines()
    fields = [line.split("\t") for line in lines]
    pixels = np.array([f[6:134] for f in fields]).astype(np.uint8)
    labels = np.array([ord(f[1]) - ord("a") for f in fields])
    a, b, c = np.split(larochelle_order(len(lines)), [32152, 42152])
    return Images(pixels[a], pixels[b], pixels[c], labels[a], labels[b], labels[c], (16, 8))


def larochelle_order(n_rows: int) -> np.ndarray:
    """The order in which MLPython deals the letters: Python 2's `random.seed(12345); random.shuffle(rows)`."""
    draw, order = random.Random(12345).random, np.arange(n_rows)
    for last in range(n_rows - 1, 0, -1):
        other = int(draw() * (last + 1))
        order[last], order[other] = order[other], order[last]
    return order


def load_binarized_mnist() -> Images:
    """The fixed binarisation of MNIST (Salakhutdinov and Murray; Larochelle): 50,000 / 10,000 / 10,000, 28 x 28.

    Larochelle's own files have no labels: after a download they are -1.
    """
    (a, p), (b, q), (c, r) = (_binarized_part(name) for name in ("train", "valid", "test"))
    return Images(a, b, c, p, q, r, (28, 28))


def _binarized_part(name: str) -> tuple[np.ndarray, np.ndarray]:
    folder = "image/mnist_binarized_larochelle"
    try:
        images, labels = (
            idx_array(content(f"{folder}/{name}-{kind}-ubyte")) for kind in ("images-idx3", "labels-idx1")
        )
    except DataNotFound:
        file = f"binarized_mnist_{name}.amat"
        images = amat_array(content(f"{folder}/{file}", [f"{MNIST}/{file}"]))
        labels = np.full(len(images), -1)
    return np.ascontiguousarray(images.reshape(len(images), -1)), labels.astype(int)


def idx_array(table: bytes) -> np.ndarray:
    """An idx file: two zero bytes, a type code (8: uint8), the number of dimensions, the dimensions, the values."""
    if table[:3] != b"\0\0\x08":
        raise ValueError(f"an idx file of bytes starts with 00 00 08, this one with {table[:3].hex(' ')}")
    n_dimensions = table[3]
    shape = np.frombuffer(table, ">i4", n_dimensions, 4)
    return np.frombuffer(table, np.uint8, offset=4 + 4 * n_dimensions).reshape(shape)


def amat_array(table: bytes) -> np.ndarray:
    """Larochelle's text form: a row a line, 0 or 1 for every pixel, spaces between."""
    return np.array([line.split() for line in table.splitlines() if line.strip()], dtype=np.uint8)
