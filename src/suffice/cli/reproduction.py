"""`suffice reproduce` and `suffice demo`: experiments, their tables, pictures and JSON."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..experiments import EXPERIMENTS, Options, Report
from .notices import UsageError
from .tables import aligned


def listed() -> Iterator[str]:
    """Names, expected minutes and titles."""
    rows = [[name, f"{e.minutes:g} min"] for name, e in EXPERIMENTS.items()]
    for line, experiment in zip(aligned(rows), EXPERIMENTS.values(), strict=True):
        yield f"{line}  {experiment.title}"


def reproduce(name: str, options: Options, json_file: str | None) -> Iterator[str]:
    """Run one experiment; the lines of its report."""
    if name not in EXPERIMENTS:
        raise UsageError(
            f"there is no experiment {name!r}; `suffice reproduce --list` shows them: {', '.join(EXPERIMENTS)}"
        )
    experiment = EXPERIMENTS[name]
    options.folder.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    report = experiment.run(options)
    seconds = time.perf_counter() - start
    if json_file is not None:
        _write_json(json_file, name, options, report, seconds)
    yield f"{name}: {experiment.title}"
    yield from report_lines(report)
    yield f"{seconds:.1f} s"


def report_lines(report: Report) -> Iterator[str]:
    """The paper's figures beside ours, notes, pictures."""
    if report.rows:
        head = ["", "paper", "ours", "± std", "seeds"]
        body = [[r.name, _number(r.paper), _number(r.ours), _number(r.std), str(r.n_seeds)] for r in report.rows]
        yield from aligned([head, *body])
    for note in report.notes:
        yield f"note: {note}"
    for picture in report.pictures:
        yield f"picture: {picture}"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    digits = 4 if abs(value) < 10 else 2
    return f"{value:.{digits}f}" if math.isfinite(value) else str(value)


def _write_json(path: str, name: str, options: Options, report: Report, seconds: float) -> None:
    content = {
        "experiment": name,
        "quick": options.quick,
        "seconds": round(seconds, 3),
        "rows": [{key: _finite(value) for key, value in row.as_json().items()} for row in report.rows],
        "notes": list(report.notes),
        "pictures": [str(picture) for picture in report.pictures],
    }
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    if path == "-":
        print(text, end="")
    else:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
