"""A Parquet folder of any size, and what a fit on it takes: python tools/out_of_core.py FOLDER --gigabytes 10 --columns 20

Makes the folder if it is not there, reads all its columns with pyarrow by as many threads as the fit has (--jobs), fits GaussianNB
(likelihood) in one process, and prints the times of both and the peak of the process's memory (VmHWM). `--cold` takes the files out of
the system's cache before each of the two. `--parts make` and `--parts fit` do one of the two, so that the peak is of the fit alone.
With --workers the fit is by dask workers of --memory-limit each, without spilling, and the peaks are theirs.
"""

from __future__ import annotations

import argparse
import glob
import os
import time
from concurrent.futures import ThreadPoolExecutor

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


def forget(files: list[str]) -> None:
    """Take files out of the system's cache."""
    for path in files:
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read(path: str) -> int:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    groups = range(file.num_row_groups)
    return sum(file.read_row_group(group, use_threads=False).num_rows for group in groups)


def timed(work) -> tuple[float, float]:
    """Seconds and CPU seconds."""
    began, before = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began, time.process_time() - before


def fit(folder: str, loss: str, jobs: int, cold: bool) -> None:
    from suffice import GaussianNB
    from suffice.files import Dataset

    files = sorted(glob.glob(f"{folder}/*.parquet"))
    GaussianNB(loss=loss).fit(np.eye(3), np.arange(3))  # compiled
    if cold:
        forget(files)
    with ThreadPoolExecutor(jobs) as pool:
        reading = timed(lambda: list(pool.map(read, files)))
    if cold:
        forget(files)
    fitting = timed(lambda: GaussianNB(loss=loss, n_jobs=jobs).fit(Dataset(files, target="y")))
    print(
        f"{len(files)} files, {sum(map(os.path.getsize, files)) / 1e9:.2f} GB, {jobs} threads, {'cold' if cold else 'cached'}: reading "
        f"{reading[0]:.1f} s ({reading[1]:.1f} CPU s), fit {fitting[0]:.1f} s ({fitting[1]:.1f} CPU s), {fitting[0] / reading[0]:.2f} "
        f"times ({fitting[1] / reading[1]:.2f} times the CPU), peak {peak():.0f} MB",
        flush=True,
    )


def fit_by_workers(folder: str, loss: str, workers: int, memory_limit: str) -> None:
    import dask
    from distributed import Client, LocalCluster

    import suffice

    files = sorted(glob.glob(f"{folder}/*.parquet"))
    size = sum(map(os.path.getsize, files))
    dask.config.set({"distributed.worker.memory.spill": False, "distributed.worker.memory.target": False})
    options = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None, "silence_logs": 50}
    with LocalCluster(n_workers=workers, memory_limit=memory_limit, **options) as cluster, Client(cluster) as client:
        limit = min(info["memory_limit"] for info in client.scheduler_info(n_workers=-1)["workers"].values())
        with suffice.engine(suffice.DaskEngine(client)) as chosen:
            took, _ = timed(lambda: suffice.GaussianNB(loss=loss).fit(suffice.files.Dataset(files, target="y")))
        peaks = list(client.run(peak).values())
    print(
        f"{size / 1e9:.2f} GB, {size / limit:.1f} times the limit of {limit / 2**20:.0f} MB: {workers} workers, {took:.1f} s, peaks "
        f"{', '.join(f'{own:.0f}' for own in peaks)} MB, {len(chosen.processes)} processes",
        flush=True,
    )


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("folder")
    asked.add_argument("--gigabytes", type=float, default=10.0)
    asked.add_argument("--columns", type=int, default=20)
    asked.add_argument("--loss", default="nll")
    asked.add_argument("--jobs", type=int, default=2, help="threads of the one process")
    asked.add_argument("--cold", action="store_true", help="read from the disk and not from the system's cache")
    asked.add_argument("--workers", type=int, default=0, help="dask workers")
    asked.add_argument("--memory-limit", default="515MiB", help="of a worker")
    asked.add_argument("--parts", choices=["make", "fit", "both"], default="both")
    options = asked.parse_args()
    if options.parts != "fit" and not glob.glob(f"{options.folder}/*.parquet"):
        make(options.folder, options.gigabytes, options.columns)
    if options.parts != "make" and options.workers:
        fit_by_workers(options.folder, options.loss, options.workers, options.memory_limit)
    elif options.parts != "make":
        fit(options.folder, options.loss, options.jobs, options.cold)
