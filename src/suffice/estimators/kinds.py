"""Kinds of parameters that many estimators have, by name."""

from __future__ import annotations

import os
from typing import TypeAlias

import numpy as np

Seed: TypeAlias = int | np.random.RandomState | None  # random_state
Path: TypeAlias = str | os.PathLike[str] | None  # checkpoint, resume
