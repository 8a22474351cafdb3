"""Dates of frames and of files: their parts tell the classes, and every command and page shows them as dates."""

import numpy as np
import pandas as pd
import pytest

import suffice
from suffice import TableClassifier, load
from suffice.cli import main as command
from suffice.evaluation import column_density
from suffice.files import read
from suffice.files.dates import clock_times, days_of_times


def winters(n=600, seed=0):
    """A frame of dates with a gap, and whether each is a weekend in the first half of a year."""
    days = np.datetime64("2020-01-01") + np.random.default_rng(seed).permutation(900)[:n]
    y = np.where((days.astype(int) + 3) % 7 >= 5, "yes", "no")
    y = np.where(days.astype("datetime64[M]").astype(int) % 12 < 6, y, "no")
    X = pd.DataFrame({"when": days.astype("datetime64[us]"), "noise": np.arange(float(n)) % 7})
    X.loc[n - 1, "when"] = pd.NaT
    return X, y


def test_dates_of_a_file_have_parts_too(tmp_path, monkeypatch, capsys):
    """The command line learns what the same frame teaches, and every command reads its file."""
    monkeypatch.setattr("suffice.estimators.table.COMPONENTS", ())
    monkeypatch.chdir(tmp_path)
    X, y = winters()
    table = X.assign(y=y)
    table[:400].to_csv("train.csv", index=False)
    table[400:].to_csv("test.csv", index=False)
    assert command(["train", "train.csv", "-t", "y", "-o", "model.sfc"]) == 0
    trained = load("model.sfc")
    assert trained.dates == ("when",) and trained.model.date_parts_ == {"when": ["month", "day of the week"]}
    want = TableClassifier(random_state=0).fit(X[:400], y[:400]).predict_proba(X[400:])
    with read("test.csv", target="y") as reader:
        np.testing.assert_array_equal(trained.model.predict_proba(trained.inputs(next(reader))), want)
    capsys.readouterr()
    for line in ("predict model.sfc test.csv --explain", "evaluate model.sfc test.csv", "inspect model.sfc"):
        assert command(line.split()) == 0
    out = capsys.readouterr().out
    assert "when: day of the week=Sunday" in out and "when +" in out and "when: month" not in out.partition("rows ")[0]
    assert command(["report", "model.sfc", "test.csv", "-o", "page.html"]) == 0


def test_a_report_shows_dates(monkeypatch):
    """As dates in the rows and as days below the curve; a date that is missing is a missing cell."""
    monkeypatch.setattr("suffice.estimators.table.COMPONENTS", ())
    X, y = winters()
    model = TableClassifier(random_state=0).fit(X[:400], y[:400])
    page = suffice.report(model, X[400:], y[400:]).html()
    assert page.count("when 20") >= 8  # rows in a line
    assert "when (days since 1970)" in page and '<th scope="row">when</th>' in page.partition("share missing")[2]
    found = column_density(model, X, 0, 50)
    assert found.is_numeric and found.values[0] < 18_262 < 19_161 < found.values[-1]  # 2020-01-01 and 900 days
    again = days_of_times(pd.Series(clock_times(found.values)))
    np.testing.assert_allclose(again, found.values, rtol=0, atol=2e-11)  # a microsecond is 1.2e-11 days


@pytest.mark.parametrize("zone", [None, "Europe/Rome"])
def test_days_and_times_come_back(zone):
    """To the microsecond, by the clocks of the zone; what is in no year is missing."""
    times = pd.Series(
        np.array(["0001-01-01", "1969-12-31T23:59:59.999999", "NaT", "2024-02-29T12:30"], "datetime64[us]")
    )
    days = days_of_times(times if zone is None else times[2:].dt.tz_localize(zone))
    np.testing.assert_array_equal(clock_times(days), times if zone is None else times[2:])
    assert np.isnat(clock_times([np.nan, np.inf, -1e6, 1e300])).all()
