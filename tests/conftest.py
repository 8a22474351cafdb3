"""Fixtures shared by all tests. `registry` holds the cases the properties run over."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import registry


@pytest.fixture(params=registry.NAMES)
def case(request) -> registry.Case:
    return registry.cases()[request.param]


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The papers' data, where SUFFICE_DATA names their folder."""
    folder = os.environ.get("SUFFICE_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("SUFFICE_DATA does not name the folder of the papers' data")
    return Path(folder)
