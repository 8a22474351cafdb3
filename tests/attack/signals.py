"""Signals and full disks: SIGKILL of every estimator with checkpoints, SIGINT of every `fit` and `partial_fit`, commands.

A killed fit goes on to the bits of one that was not; an interrupted one is as it was or whole at its best state, and the exception goes
on; a disk without space costs a file and never a fit; old files are whole and nothing temporary is left.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import os
import pickle
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import suffice
from attack.cast import CHAINS, CLASSIFIERS, MIXTURES, Report, main, plain_rows
from suffice.cli import main as command
from suffice.saving import load, save
from suffice.saving.checkpoints import load_checkpoint
from suffice.saving.tree import Encoder

SECONDS = 1.5  # of the longest fit that is looked at; longer ones are signalled in their first part


def cases(n: int = 240) -> Iterator[tuple[Any, tuple, tuple]]:
    """(estimator, arguments of `fit`, arguments of `partial_fit`): one for every estimator."""
    generator = np.random.default_rng(0)
    y = np.arange(n) % 3
    rows = {kind: plain_rows(kind, n, 4, generator) for kind in ("numbers", "counts", "flags", "codes")}
    rows = {kind: X + (y[:, None] if kind in ("numbers", "counts") else 0.0) for kind, X in rows.items()}
    classes = np.unique(y)
    for name, kind in {**CLASSIFIERS, "FamilyNB": "numbers", "MixtureClassifier": "numbers"}.items():
        model = getattr(suffice, name)(random_state=0)
        yield model, (rows[kind], y), (rows[kind], y, classes)
    for name, kind in {**MIXTURES, "FamilyMixture": "numbers"}.items():
        yield getattr(suffice, name)(3, tol=0.0, max_iter=40, random_state=0), (rows[kind],), (rows[kind],)
    for name, kind in CHAINS.items():
        parts = [rows[kind][k : k + 20] for k in range(0, n, 20)]
        yield getattr(suffice, name)(2, tol=0.0, max_iter=20, random_state=0), (parts,), (parts,)
    parts, tags = [rows["numbers"][k : k + 4] for k in range(0, n, 4)], [y[k : k + 4].tolist() for k in range(0, n, 4)]
    few = y[: len(parts)]
    yield suffice.HMMClassifier(2, prior=1.0, max_epochs=15, random_state=0), (parts, few), (parts, few, classes)
    yield suffice.HMMTagger("gaussian", prior=1.0, max_iter=15, random_state=0), (parts, tags), (parts, tags)
    words = [[f"w{int(cell)}" for cell in row] for row in rows["codes"]]
    yield suffice.TextTagger(prior=1.0, max_iter=15, random_state=0), (words, [["a", "b", "a", "b"]] * n), ()
    texts = [" ".join(line) for line in words]
    yield suffice.TextClassifier(random_state=0), (texts, y), (texts, y, classes)
    yield suffice.LDAClassifier(2, max_epochs=10, random_state=0), (rows["counts"], y), (rows["counts"], y, classes)
    yield suffice.LatentDirichletAllocation(2, max_iter=20, random_state=0), (rows["counts"],), (rows["counts"],)
    yield suffice.SigmoidBeliefNetwork((3,), max_iter=10, n_temperatures=5, random_state=0), (rows["flags"],), ()
    target = rows["numbers"] @ np.arange(4.0)
    yield suffice.GaussianRegressor(random_state=0), (rows["numbers"], target), (rows["numbers"], target)
    yield suffice.MixtureRegressor(2, n_members=1, max_iter=20, random_state=0), (rows["numbers"], target), ()
    yield suffice.TableClassifier(random_state=0), (rows["numbers"][:60, :2], y[:60]), ()


def learned(model: Any) -> Any:
    """A tree that is equal for two fits if all that they learned is equal in every bit; times do not count."""

    def put(array: np.ndarray) -> str:
        return f"{array.dtype}{array.shape}{hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()}"

    model = getattr(model, "model_", model)
    return Encoder(put).encode({k: v for k, v in sorted(vars(model).items()) if k.endswith("_") and k != "history_"})


def everything(model: Any) -> bytes:
    """All that the estimator holds, and the estimators within it; the order in which it was set does not count."""
    held = {name: everything(own) if hasattr(own, "get_params") else own for name, own in sorted(vars(model).items())}
    return pickle.dumps(held)


def leftovers(folder: str, *names: str) -> list[str]:
    return [name for name in os.listdir(folder) if name not in names]


def timed(work: Callable[[], Any], most: float = SECONDS) -> tuple[Any, float]:
    work()  # loads the compiled loops
    began = time.monotonic()
    return work(), min(time.monotonic() - began, most)


def forked(work: Callable[[], Any], seconds: float, number: int) -> int:
    """The status of a process that does the work and is sent the signal `number` after that time."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            code = work() or 0
        except SystemExit as error:
            code = int(error.code or 0)
        finally:
            os._exit(code)
    time.sleep(seconds)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, number)
    return os.waitpid(child, 0)[1]


# -- SIGKILL -------------------------------------------------------------------------------------------------------------


def killed(
    model: Any,
    given: tuple,
    count: int,
    generator: np.random.Generator,
    report: Report,
    folder: str,
    interval: float = 0.0,
    reading: float = 0.0,
) -> str:
    """Kill a fit `count` times and let it end; what is wrong. With checkpoints every `interval` seconds at most two of them are lost:
    one, and the passes that were under way when it was over; and the seconds of `reading`, before there is anything to keep.
    """
    want, length = timed(lambda: copy.deepcopy(model).fit(*given), 10.0 if interval else SECONDS)
    path = Path(folder) / "checkpoint"
    own = {"checkpoint": str(path), "checkpoint_minutes": interval / 60.0, "resume": True}

    def work() -> int:
        copy.deepcopy(model).set_params(**own).fit(*given)
        return 0

    kills = ends = 0
    while kills < count and ends < 5 * count:
        began = time.time()
        status = forked(work, float(generator.uniform(0.0, 1.0)) * length, signal.SIGKILL)
        ended, written = time.time(), began
        if path.exists():
            load_checkpoint(path)  # always whole
            written = max(began, path.stat().st_mtime)
        if os.WIFSIGNALED(status):
            kills += 1
            report.count("killed")
            if interval:
                report.most(ended - written, 0)
                if ended - written > 2.0 * interval + (reading if written == began else 0.0):
                    return f"{ended - written:.2f} s were lost, with checkpoints every {interval} s"
        else:
            ends += 1
            if os.WEXITSTATUS(status):
                return f"a fit that went on ended with {os.WEXITSTATUS(status)}"
            if learned(copy.deepcopy(model).set_params(resume=str(path)).fit(*given)) != learned(want):
                return "a fit that was killed and went on has other bits"
            path.unlink()
    if learned(copy.deepcopy(model).set_params(**own).fit(*given)) != learned(want):
        return "a fit that was killed and went on has other bits"
    left = leftovers(folder, "checkpoint")
    return f"left behind: {left}" if left else "" if kills == count else f"only {kills} kills"


# -- SIGINT --------------------------------------------------------------------------------------------------------------


def interrupted(model: Any, name: str, given: tuple, count: int, generator: np.random.Generator, report: Report) -> str:
    """Interrupt a method `count` times; what is wrong."""
    whole, length = timed(lambda: getattr(copy.deepcopy(model), name)(*given))
    sent: list[int] = []

    def send(*_: Any) -> None:
        sent.append(1)
        os.kill(os.getpid(), signal.SIGINT)

    for _ in range(count):
        own = copy.deepcopy(model)
        before, raised, returned = everything(own), False, False
        sent.clear()
        handlers = signal.signal(signal.SIGINT, signal.default_int_handler), signal.signal(signal.SIGALRM, send)
        try:
            signal.setitimer(signal.ITIMER_REAL, max(1e-4, float(generator.uniform(0.0, 1.0)) * length))
            getattr(own, name)(*given)
            returned = True
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        except KeyboardInterrupt:
            raised = True
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGINT, handlers[0])
            signal.signal(signal.SIGALRM, handlers[1])
        report.count("interrupted" if sent else "ended before")
        if sent and not raised:
            return f"{name} swallows KeyboardInterrupt"
        is_as_it_was = everything(own) == before
        stopped = str(getattr(own, "stopped_", ""))
        if raised and not returned and not is_as_it_was:
            if name == "partial_fit" and learned(own) != learned(whole):
                return "an interrupted partial_fit is neither done nor undone"
            if name == "fit" and not stopped.startswith("interrupted") and learned(own) != learned(whole):
                return f"an interrupted fit is neither as it was nor says so (stopped_={stopped!r})"
        if not is_as_it_was:
            buffer = io.BytesIO()
            save(own, buffer)
            load(io.BytesIO(buffer.getvalue()))  # holds every field to every other
    return ""


# -- full disks ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def small_disk(size: int) -> Iterator[str | None]:
    """A folder on a disk of its own with that many bytes; None where one may not be made."""
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, check=False
        )
        try:
            yield folder if made.returncode == 0 else None
        finally:
            if made.returncode == 0:
                subprocess.run(["umount", "-l", folder], check=False)


def filled(folder: str, free: int) -> None:
    """Leave that many bytes on the disk."""
    space = os.statvfs(folder)
    with open(Path(folder) / "ballast", "wb") as file:
        file.write(bytes(max(0, space.f_bavail * space.f_frsize - free)))


def full(model: Any, given: tuple, free: int, report: Report) -> str:
    """A fit with checkpoints, and a save over an older file, on a disk that fills up; what is wrong."""
    want = copy.deepcopy(model).fit(*given)
    with small_disk(1 << 20) as folder:
        if folder is None:
            report.count("disks not permitted")
            return ""
        old = Path(folder) / "model.sfc"
        old.write_bytes(b"the old model" * 1000)
        filled(folder, free)
        own = copy.deepcopy(model).set_params(checkpoint=str(Path(folder) / "c"), checkpoint_minutes=0.0)
        try:
            own.fit(*given)
        except ValueError as error:
            if free >= 4096 * 2 or "checkpoint=" not in str(error):
                return f"a full disk costs the fit: {error}"
            report.count("refused before training")
        else:
            report.count("fits on a full disk")
            if learned(own) != learned(want):
                return "a full disk changes the fit"
        try:
            save(want, old)
            if free < 4096:
                return "saved on a full disk?"
            load(old)
        except OSError:
            if old.read_bytes() != b"the old model" * 1000:
                return "a full disk destroys the old file"
            report.count("saves on a full disk")
        left = leftovers(folder, "ballast", "model.sfc", "c")
        return f"left behind: {left}" if left else ""


# -- commands ------------------------------------------------------------------------------------------------------------


def commanded(count: int, generator: np.random.Generator, report: Report, folder: str) -> str:
    """`suffice train` under each signal; what is wrong."""
    rows = np.random.default_rng(0).normal(size=(400, 4))
    lines = [",".join(f"{cell:.4f}" for cell in row) + f",{'ab'[k % 2]}" for k, row in enumerate(rows)]
    table, out = Path(folder) / "t.csv", Path(folder) / "m.sfc"
    table.write_text("a,b,c,d,y\n" + "\n".join(lines) + "\n")
    arguments = ["train", str(table), "-t", "y", "-o", str(out)]

    def work() -> int:
        return command(arguments)

    began = time.monotonic()
    if forked(work, 0.0, 0):
        return "the command fails"
    length, content = time.monotonic() - began, out.read_bytes()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        for _ in range(count):
            out.write_bytes(content)
            status = forked(work, float(generator.uniform(0.0, 1.0)) * length, number)
            code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
            if code not in (0, 128 + number):
                return f"signal {int(number)} ends with {code}"
            report.count("commands signalled" if code else "commands ended")
            load(out)  # the old model or the new one
            if left := leftovers(folder, "t.csv", "m.sfc"):
                return f"signal {int(number)} leaves {left}"
    return ""


def signals(count: int = 20, seed: int = 0, only: str = "") -> Report:
    """SIGKILL and SIGINT `count` and 3 / 2 `count` times for each estimator (whose name holds `only`), the rest a quarter of that."""
    report, generator = Report("signals"), np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model, given, batch in cases():
            name = type(model).__name__
            if only not in name:
                continue
            works = [lambda m=model, g=given: interrupted(m, "fit", g, 3 * count // 2, generator, report)]
            if hasattr(model, "partial_fit") and batch:
                begun = copy.deepcopy(model).partial_fit(*batch)
                again = batch[:2]
                works.append(
                    lambda m=begun, g=again: interrupted(m, "partial_fit", g, 3 * count // 2, generator, report)
                )
            if "checkpoint" in model.get_params():
                with tempfile.TemporaryDirectory() as folder:
                    works.append(lambda m=model, g=given, f=folder: killed(m, g, count, generator, report, f))
                    os.rmdir(folder)
                    os.mkdir(folder)
                    for k in range(-(-count // 4)):
                        works.append(
                            lambda m=model, g=given, f=(0, 4096, 8192, 20_000, 60_000)[k % 5]: full(m, g, f, report)
                        )
                    run(works, name, seed, report)
            else:
                run(works, name, seed, report)
        if not only:
            with tempfile.TemporaryDirectory() as folder:
                run([lambda: commanded(-(-count // 4), generator, report, folder)], "suffice train", seed, report)
    return report


def run(works: list[Any], name: str, seed: int, report: Report) -> None:
    for work in works:
        try:
            reason = work()
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"[:300]
        if reason:
            report.found(f"seed {seed} {name}", reason)


if __name__ == "__main__":
    main(signals, 20)
