"""The oldest versions that pyproject.toml allows, as constraints: python tools/oldest.py > oldest.txt"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).resolve().parent.parent / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
for line in [*project["dependencies"], *extras["cli"], *extras["files"], *extras["figures"]]:
    if found := re.fullmatch(r"([\w.-]+)>=([\w.]+)", line):
        print(f"{found[1]}=={found[2]}")
