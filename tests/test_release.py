"""What a release promises agrees with itself: versions, names, pins, workflows."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import suffice

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINS = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split() if "==" in line)


def test_the_version_is_one():
    assert f"\nversion: {suffice.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.search(rf"^## {re.escape(suffice.__version__)}\b", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)


def test_everything_that_is_installed_is_pinned_by_name_and_version_only():
    pinned = {name.lower().replace("_", "-") for name in PINS}
    for extra in ("dev", "docs", "files", "figures"):
        for line in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"][extra]]:
            name = re.match(r"[\w.-]+", line)[0].lower().replace("_", "-")
            assert name == "suffice" or name in pinned, f"{name} has no pin in constraints.txt"
    assert not re.search(r"://|--index|@ ", (ROOT / "constraints.txt").read_text())


def test_the_command_line_needs_no_extra():
    names = {re.match(r"[\w.-]+", line)[0] for line in PROJECT["dependencies"]}
    assert {"typer", "rich", "pandas"} <= names


def test_pre_commit_has_the_pinned_linter():
    assert f"rev: v{PINS['ruff']}" in (ROOT / ".pre-commit-config.yaml").read_text()


def test_ci_runs_what_we_run_on_every_python_we_claim():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    claimed = {c.rsplit(" ", 1)[1] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)}
    assert claimed == set(re.findall(r'python: "(3\.\d+)"', workflow)) and min(claimed) == PROJECT[
        "requires-python"
    ].strip(">=")
    for command in ("make test", "make docs", "make dist"):
        assert command in workflow
        assert re.search(rf"^{command.split()[1]}:", (ROOT / "Makefile").read_text(), flags=re.M)


def test_the_style_sheets_are_in_the_package():
    """Files that are not Python travel with the wheel."""
    home = Path(suffice.__file__).parent
    assert (home / "figures" / "suffice.mplstyle").exists() and (home / "reporting" / "report.css").exists()
    assert (home / "py.typed").exists()
