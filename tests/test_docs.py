"""The examples of docs/architecture.md are the files that are tested."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = ("exponential.py", "test_new_loss.py", "test_new_structure.py", "test_new_engine.py")


def test_every_example_stands_in_a_file_that_is_tested():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "architecture.md").read_text(), flags=re.S)
    assert len(blocks) == len(SOURCES)
    for block, name in zip(blocks, SOURCES, strict=True):
        assert block.strip() in (ROOT / "tests" / name).read_text(), f"docs/architecture.md and tests/{name} differ"


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"
