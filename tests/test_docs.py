"""The documents: examples are files that are tested, links lead somewhere, every public name has a page with a runnable example."""

from __future__ import annotations

import inspect
import re
import runpy
import sys
import warnings
from importlib import import_module
from pathlib import Path

import pytest

import suffice

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    p for folder in ("tutorials", "how-to", "explanation", "reference") for p in (ROOT / "docs" / folder).glob("*.md")
)
EXAMPLES = (
    "plot_cost.py",
    "plot_mixture_weights.py",
    "plot_save.py",
    "plot_mixed_table.py",
)  # a sample; `make docs` runs all
SOURCES = ("exponential.py", "test_new_loss.py", "test_new_structure.py", "test_new_engine.py")


def test_every_example_stands_in_a_file_that_is_tested():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "architecture.md").read_text(), flags=re.S)
    assert len(blocks) == len(SOURCES)
    for block, name in zip(blocks, SOURCES, strict=True):
        assert block.strip() in (ROOT / "tests" / name).read_text(), f"docs/architecture.md and tests/{name} differ"


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        if "_build" in page.parts or "gallery" in page.parts:
            continue
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text()):
            if "gallery/" in target:  # made by sphinx-gallery from a script
                target = re.sub(r"^(\.\./)*gallery/", lambda found: found[0].replace("gallery", "../examples"), target)
                target = target.replace(".rst", ".py").replace("index.py", "README.rst")
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def test_every_public_name_has_an_example_that_runs():
    """Doctests run with the suite; here is only that there is one."""
    sys.path.insert(0, str(ROOT / "docs" / "_ext"))
    try:
        pages = import_module("public_api")
    finally:
        sys.path.pop(0)
    named = [(f"suffice.{module}", name) for module in pages.public_modules() for name in pages.names_of(module)]
    named += [("suffice", name) for name in suffice.__all__ if name != "__version__"]
    assert len(named) > 60
    without = [
        f"{module}.{name}"
        for module, name in named
        if "Examples\n--------" not in (inspect.getdoc(getattr(import_module(module), name)) or "")
    ]
    assert not without, f"no Examples section with a runnable example: {', '.join(without)}"


def blocks_of(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks_of(page)], ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    """As a reader runs it: block after block in one session."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    session: dict = {}
    for block in blocks_of(page):
        exec(compile(block, str(page), "exec"), session)
    pyplot.close("all")


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_of_the_gallery_runs(name, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runpy.run_path(str(ROOT / "examples" / name))
    pyplot.close("all")


def test_the_gallery_is_large_and_every_example_says_what_it_shows():
    scripts = sorted((ROOT / "examples").glob("*.py"))
    assert len(scripts) >= 20
    for script in scripts:
        assert re.match(r'"""\n(.+)\n=+\n\n[`\w]', script.read_text()), f"{script.name} needs a title and a sentence"


def test_the_readme_has_the_command_that_ci_runs():
    command = (ROOT / ".ci" / "run").read_text().strip().splitlines()[-1]
    assert command == "make test" and command in (ROOT / "README.md").read_text()
