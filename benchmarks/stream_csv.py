"""A long CSV from the command line: time and memory of training, as ratios of reading it in chunks with pandas alone.

python benchmarks/stream_csv.py --rows 5000000 [--loss nll]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

READ = "import pandas, sys; sum(len(c) for c in pandas.read_csv(sys.argv[1], chunksize=65536, dtype={'y': 'category'}))"
TRAIN = "import sys; from suffice.cli import main; sys.exit(main(sys.argv[1:]))"


def make(path: Path, n_rows: int, n_columns: int = 20) -> None:
    """Two classes, 1 apart in every second column."""
    rng = np.random.default_rng(0)
    for start in range(0, n_rows, 100_000):
        y = rng.integers(2, size=min(100_000, n_rows - start))
        X = rng.normal(size=(len(y), n_columns - 1)) + 0.3 * y[:, None] * (np.arange(n_columns - 1) % 2)
        frame = pd.DataFrame(X.round(4), columns=[f"c{j}" for j in range(n_columns - 1)])
        frame.assign(y=np.where(y, "yes", "no")).to_csv(path, index=False, header=start == 0, mode="a")


def measured(code: str, *arguments: str) -> tuple[float, float, float]:
    """Seconds, seconds of processor time, and the peak memory in MB of the largest child so far."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code, *arguments], check=True)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, after.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--loss", default="ncll")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.csv"
        make(path, options.rows)
        print(f"{options.rows:,} rows, {path.stat().st_size / 1e6:,.0f} MB")
        reading, reading_cpu, memory = measured(READ, str(path))
        print(f"pandas, reading in chunks: {reading:.1f} s ({reading_cpu:.1f} s of processor), {memory:,.0f} MB")
        train = ["train", str(path), "-t", "y", "--loss", options.loss, "-o", str(Path(folder) / "model.sfc")]
        training, cpu, memory = measured(TRAIN, *train)
        ratios = f"{training / reading:.2f} x; processor {cpu:.1f} s, {cpu / reading_cpu:.2f} x"
        print(f"suffice train --loss {options.loss}: {training:.1f} s ({ratios}), {memory:,.0f} MB")


if __name__ == "__main__":
    main()
