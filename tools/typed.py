"""How much of the public interface has types: `pyright --verifytypes`, counted over the public modules and over all.

    pip install pyright scikit-learn-stubs && python tools/typed.py [--list]

scikit-learn has no types of its own; without its stubs every class that inherits from it counts as unknown.
"""

import json
import subprocess
import sys

ROOMS = {
    "kernels",
    "engines",
    "families",
    "structures",
    "learners",
    "choosing",
    "reading",
    "files",
    "experiments",
}  # inner ones

command = ["pyright", "--pythonpath", sys.executable, "--ignoreexternal", "--outputjson", "--verifytypes", "suffice"]
found = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)["typeCompleteness"]
symbols = [symbol for symbol in found["symbols"] if symbol["isExported"]]
unknown = [symbol for symbol in symbols if not symbol["isTypeKnown"] or symbol.get("isTypeAmbiguous")]
for title, rooms in (("public modules", ROOMS), ("all modules", set())):
    n, bad = (sum(symbol["name"].split(".")[1] not in rooms for symbol in part) for part in (symbols, unknown))
    print(f"{title}: {100 * (1 - bad / n):.1f} % of {n:,} symbols have a known type")
if "--list" in sys.argv:
    print(*sorted(symbol["name"] for symbol in unknown if symbol["name"].split(".")[1] not in ROOMS), sep="\n")
