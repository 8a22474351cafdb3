"""Try a wheel as a stranger would: python tools/check_wheel.py dist/suffice-*.whl

A virtual environment without extras, the wheel alone, and a CSV: train, predict, evaluate, inspect, report must exit 0 and write what they say,
outside of this repository.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = [
    ["train", "animals.csv", "--target", "kind", "-o", "animals.sfc"],
    ["predict", "animals.sfc", "new.csv", "--proba", "-o", "predictions.csv"],
    ["evaluate", "animals.sfc", "new.csv"],
    ["inspect", "animals.sfc"],
    ["report", "animals.sfc", "new.csv", "-o", "report.html"],
]


def table(path: Path, n: int, seed: int) -> None:
    """Two kinds of animals, with holes."""
    draw = random.Random(seed)
    lines = ["weight,home,kind"]
    for _ in range(n):
        kind = draw.choice(["cat", "dog"])
        weight = "" if draw.random() < 0.1 else f"{draw.gauss(4.5, 1) if kind == 'cat' else draw.gauss(18, 6):.2f}"
        home = draw.choice(["flat", "flat", "house"] if kind == "cat" else ["flat", "house", "house"])
        lines.append(f"{weight},{home},{kind}")
    path.write_text("\n".join(lines) + "\n")


def main(wheel: Path) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "clean", with_pip=True)
        python = folder / "clean" / ("Scripts" if os.name == "nt" else "bin") / "python"
        install = [python, "-m", "pip", "install", "-q", "--constraint", ROOT / "constraints.txt", wheel]
        subprocess.run(list(map(str, install)), check=True)
        table(folder / "animals.csv", 400, 0)
        table(folder / "new.csv", 200, 1)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        for command in COMMANDS:
            run = subprocess.run(
                [str(python), "-m", "suffice", *command], cwd=folder, env=environment, capture_output=True, text=True
            )
            print(f"{'ok  ' if run.returncode == 0 else 'FAIL'} suffice {' '.join(command)}")
            if run.returncode:
                print(run.stdout, run.stderr, sep="\n")
                return 1
        lines = len((folder / "predictions.csv").read_text().splitlines())
        page = (folder / "report.html").read_text()
        if lines != 201 or "Columns that tell" not in page or "http" in page:
            print(f"FAIL {lines} lines of predictions; a report of {len(page)} characters")
            return 1
    print(f"{wheel.name}: fine in an environment of its own")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
