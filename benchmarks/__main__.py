"""python -m benchmarks [NAME ...]: run the benchmarks and print ratios."""

import sys
from importlib import import_module
from pathlib import Path

NAMES = sorted(
    path.stem
    for path in Path(__file__).parent.glob("*.py")
    if not path.stem.startswith("_") and "\ndef run(" in path.read_text()
)

for name in sys.argv[1:] or NAMES:
    if name not in NAMES:
        sys.exit(f"no benchmark {name!r}; there are {', '.join(NAMES)}")
    print(f"== {name}", flush=True)
    import_module(f"benchmarks.{name}").run()
