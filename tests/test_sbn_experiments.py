"""Every experiment of Song et al. runs in seconds with `quick` and reports rows or says what data it misses."""

import os
from pathlib import Path

import pytest

from suffice.experiments import EXPERIMENTS, Options

NAMES = [name for name in EXPERIMENTS if name.startswith("song2016") and "throughput" not in name]
QUICKEST = ("song2016-fig1", "song2016-table3")  # in every run of the tests; all of them with SUFFICE_FULL=1
needs_data = pytest.mark.skipif("SUFFICE_DATA" not in os.environ, reason="SUFFICE_DATA is not set: the papers' data")


@needs_data
@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("name", NAMES if os.environ.get("SUFFICE_FULL") == "1" else QUICKEST)
def test_quick_run(name, tmp_path):
    report = EXPERIMENTS[name].run(Options(quick=True, folder=tmp_path, say=lambda text: None))
    assert report.rows
    assert all(Path(p).exists() for p in report.pictures)


@pytest.mark.parametrize("name", NAMES)
def test_without_data_the_report_says_where_to_get_it(name, tmp_path, monkeypatch):
    def no_network(url, target, md5=None):
        raise OSError("no network")

    monkeypatch.setattr("suffice.datasets.files.download", no_network)
    monkeypatch.setenv("SUFFICE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    report = EXPERIMENTS[name].run(Options(quick=True, folder=tmp_path, say=lambda text: None))
    assert not report.rows and any("tried http" in note for note in report.notes)
