"""A Parquet folder of any size, and what a fit on it takes: python tools/out_of_core.py FOLDER --gigabytes 10 --columns 20

Makes the folder if it is not there, reads it once with pyarrow, fits GaussianNB (likelihood) in one process, and prints the times of both and
the peak of the process's memory (VmHWM). `--parts make` and `--parts fit` do one of the two, so that the peak is of the fit alone.
"""

from __future__ import annotations

import argparse
import glob
import os
import time

import numpy as np

ROWS = 100_000  # of a row group


def make(folder: str, gigabytes: float, columns: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    os.makedirs(folder, exist_ok=True)
    names = [f"x{j}" for j in range(columns)]
    n_files = max(1, round(gigabytes * 1e9 / (8 * columns * 10 * ROWS)))
    for number in range(n_files):
        generator = np.random.default_rng(number)
        schema = pa.schema([*((name, pa.float64()) for name in names), ("y", pa.string())])
        with pq.ParquetWriter(
            f"{folder}/part{number:05}.parquet", schema, compression="none", use_dictionary=["y"]
        ) as writer:
            for _ in range(10):
                y = generator.integers(0, 3, ROWS)
                X = generator.normal(size=(ROWS, columns)) + 0.3 * y[:, None]
                writer.write_table(pa.table([*X.T, np.array(["u", "v", "w"])[y]], schema=schema), row_group_size=ROWS)


def peak() -> float:
    """Megabytes: the peak of this process alone."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))


def fit(folder: str, loss: str, jobs: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from suffice import GaussianNB
    from suffice.files import Dataset

    pa.set_memory_pool(pa.system_memory_pool())
    files = sorted(glob.glob(f"{folder}/*.parquet"))
    began, size = time.perf_counter(), 0
    for path in files:
        file = pq.ParquetFile(path)
        for group in range(file.num_row_groups):
            size += sum(len(column) for column in file.read_row_group(group, use_threads=False).columns)
    reading = time.perf_counter() - began
    began = time.perf_counter()
    model = GaussianNB(loss=loss, n_jobs=jobs).fit(Dataset(files, target="y"))
    fitting = time.perf_counter() - began
    print(
        f"{len(files)} files, {sum(map(os.path.getsize, files)) / 1e9:.2f} GB: reading {reading:.1f} s, fit {fitting:.1f} s "
        f"({fitting / reading:.2f} times), peak {peak():.0f} MB, rows {model.class_count_.sum():.0f}"
    )


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("folder")
    asked.add_argument("--gigabytes", type=float, default=10.0)
    asked.add_argument("--columns", type=int, default=20)
    asked.add_argument("--loss", default="nll")
    asked.add_argument("--jobs", type=int, default=2, help="threads of the one process")
    asked.add_argument("--parts", choices=["make", "fit", "both"], default="both")
    options = asked.parse_args()
    if options.parts != "fit" and not glob.glob(f"{options.folder}/*.parquet"):
        make(options.folder, options.gigabytes, options.columns)
    if options.parts != "make":
        fit(options.folder, options.loss, options.jobs)
