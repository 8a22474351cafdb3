"""Imports point down only, heavy packages stay in their rooms, and `import suffice` is light."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

import suffice

HOME = Path(suffice.__file__).parent
# from the bottom up; a module may import from its own floor only within its own folder
FLOORS = [
    {"kernels", "losses"},
    {"engines", "saving"},
    {"families"},
    {"structures", "files"},
    {"learners", "reading", "datasets"},
    {"choosing", "evaluation"},
    {"estimators", "figures"},
    {"naive_bayes", "discriminant", "table", "mixture", "topic", "sbn", "text", "hmm", "regression", "bounds"},
    {"experiments", "reporting", "warm_up"},
    {"cli"},
]
MODULES = sorted(path for path in HOME.rglob("*.py"))


def floor_of(room: str) -> int | None:
    return next((level for level, rooms in enumerate(FLOORS) if room in rooms), None)


def room_of(path: Path) -> str:
    return path.relative_to(HOME).with_suffix("").parts[0]


def imported(path: Path) -> list[tuple[str, ...]]:
    """Absolute dotted names of everything a module imports, anywhere in it (`import_module` of a literal as well)."""
    package = ("suffice", *path.relative_to(HOME).parts[:-1])
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            base += tuple(node.module.split(".")) if node.module else ()
            found += [(*base, alias.name) for alias in node.names]
    return found


def names(path: Path) -> str:
    return str(path.relative_to(HOME))


@pytest.mark.parametrize("path", MODULES, ids=names)
def test_imports_point_down(path):
    room = room_of(path)
    level = floor_of(room)
    if level is None:
        assert room in ("__init__", "__main__"), f"{room} is on no floor: add it to FLOORS"
        return
    for name in imported(path):
        if name[0] == "suffice" and len(name) > 1 and name[1] != room:
            below = floor_of(name[1])
            assert below is None or below < level, f"{names(path)} imports {'.'.join(name)}, which is not below it"


@pytest.mark.parametrize("path", MODULES, ids=names)
def test_heavy_packages_stay_in_their_rooms(path):
    room, packages = room_of(path), {name[0] for name in imported(path)}
    if room != "kernels":
        assert "numba" not in packages
    if room not in ("figures", "experiments"):
        assert "matplotlib" not in packages
    if room in ("kernels", "models", "learners", "losses", "step_sizes", "priors", "calibration", "selection"):
        assert "sklearn" not in packages


def test_a_learner_imports_no_family():
    """Those of belief networks, which have no outcomes to enumerate, may know the network."""
    for path in (HOME / "learners").glob("*.py"):
        for name in imported(path):
            if name[:2] == ("suffice", "models"):
                known = ("base", "records", "rows") + (
                    ("sbn",) if path.stem.startswith(("sbn", "recognition", "monte_carlo")) else ()
                )
                assert name[2] in known, f"{path.name} imports {'.'.join(name)}"


def in_a_process(code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(HOME.parent)}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_import_suffice_is_light():
    heavy = in_a_process(
        "import sys, suffice; print([m for m in ('numba', 'sklearn', 'matplotlib', 'pandas') if m in sys.modules])"
    )
    assert heavy.strip() == "[]"


def test_import_suffice_is_as_fast_as_scikit_learns_naive_bayes():
    """At most 1.3 times, best of three processes each."""

    def best(code: str) -> float:
        times = []
        for _ in range(3):
            began = time.perf_counter()
            in_a_process(code)
            times.append(time.perf_counter() - began)
        return min(times)

    assert best("import suffice") <= 1.3 * best("import sklearn.naive_bayes")


def test_every_public_name_is_there():
    for name in suffice.__all__:
        assert getattr(suffice, name) is not None
        assert name in dir(suffice)
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = suffice.Nothing


def walk() -> Any:
    """`tools/walk.py`, which follows a fit; kernels stay compiled here."""
    spec = spec_from_file_location("walk", Path(__file__).parent.parent / "tools" / "walk.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["GaussianNB", "MultinomialNB", "GaussianMixture", "LDAClassifier", "partial_fit"])
@pytest.mark.filterwarnings("ignore")
def test_no_two_modules_call_each_other(name):
    tool = walk()
    edges, _, _ = tool.traced(tool.walks()[name])
    assert len(edges) > 20  # it did walk
    assert tool.both_ways(edges) == []
