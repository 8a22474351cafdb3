"""A target that is a number, on the command line: found by itself, trained, predicted with intervals, evaluated."""

import csv
import io
import json
import re

import numpy as np
import pandas as pd
import pytest

from suffice import GaussianRegressor
from suffice.cli import main
from suffice.cli.holding import _splits
from suffice.cli.regression import are_codes, is_regression
from suffice.saving import load


@pytest.fixture
def houses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    rooms, town = generator.integers(1, 8, 300), generator.choice(["north", "south"], 300)
    price = 1.5 + 0.7 * rooms + (town == "north") + 0.2 * generator.normal(size=300)
    frame = pd.DataFrame({"rooms": rooms, "town": town, "price": price.round(3), "stars": rooms % 3})
    frame.to_csv("houses.csv", index=False)
    return frame


FAST = ["--set", "n_members=1", "--set", "n_components=2", "-o", "m.sfc"]


def test_a_number_is_found_and_said(houses, capfd):
    assert main(["train", "houses.csv", "-t", "price", *FAST]) == 0
    said = capfd.readouterr().err
    assert "price is taken as a number" in said and "--task classification" in said and "MixtureRegressor" in said
    assert main(["evaluate", "m.sfc", "houses.csv", "--json"]) == 0
    result = json.loads(capfd.readouterr().out)
    assert result["rmse"] < 0.3 and result["rows"] == 300 and 0.8 < result["coverage_90"] <= 1 and result["crps"] < 0.2
    assert main(["evaluate", "m.sfc", "houses.csv"]) == 0
    assert "coverage_90" in capfd.readouterr().out
    assert main(["predict", "m.sfc", "houses.csv", "--proba"]) == 0
    rows = list(csv.DictReader(io.StringIO(capfd.readouterr().out)))
    assert len(rows) == 300 and all(float(r["lower_90"]) < float(r["prediction"]) < float(r["upper_90"]) for r in rows)
    assert main(["inspect", "m.sfc"]) == 0
    said = capfd.readouterr().out
    assert "chosen: one fit of 2 components" in said and "probability" not in said  # classes are none of its business


def test_scores_of_rows_held_out(houses, capfd):
    line = ["train", "houses.csv", "-t", "price", "--model", "gaussian-regressor", "-o", "m.sfc"]
    assert main([*line, "--cv", "2"]) == 0
    found = re.search(r"cross-validation in 2 folds: RMSE (\S+) .* \(the mean alone (\S+)\)", capfd.readouterr().err)
    splits = _splits(np.zeros(300), 0.2, 2)
    X, y = houses.drop(columns="price"), houses["price"].to_numpy()
    squares = [(GaussianRegressor().fit(X.iloc[a], y[a]).predict(X.iloc[b]) - y[b]) ** 2 for a, b in splits]
    assert float(found[1]) == pytest.approx(np.sqrt(np.concatenate(squares).mean()), rel=1e-3)
    assert float(found[2]) == pytest.approx(y.std(), rel=1e-3)
    assert main([*line, "--holdout", "0.1"]) == 0 and "30 rows held out: RMSE" in capfd.readouterr().err
    assert main([*line, "--holdout", "0"]) == 0 and "held out" not in capfd.readouterr().err


def test_few_whole_numbers_stay_classes(houses, capfd):
    assert main(["train", "houses.csv", "-t", "stars", "--loss", "nll", "-o", "m.sfc"]) == 0
    assert hasattr(load("m.sfc").model, "classes_")
    assert main(["train", "houses.csv", "-t", "stars", "--task", "regression", *FAST]) == 0
    assert type(load("m.sfc").model).__name__ == "MixtureRegressor"


def test_many_whole_numbers_are_numbers_unless_they_look_like_codes(houses, capfd):
    houses.assign(price=(1000 * houses["price"]).round().astype(int)).to_csv("whole.csv", index=False)
    assert main(["train", "whole.csv", "-t", "price", *FAST]) == 0
    assert "so this is regression" in capfd.readouterr().err
    codes = np.arange(21).astype(float)
    assert are_codes(codes, 210) and are_codes(codes + 1, 210)
    assert not are_codes(codes, 200) and not are_codes(codes + 2, 1000) and not are_codes(2 * codes, 1000)
    prices = np.array([str(number) for number in range(100, 150)])
    assert is_regression("auto", "auto", prices, "price") and not is_regression("auto", "auto", prices, "price", False)
    assert not is_regression("classification", "auto", prices, "price")


def test_a_line_and_wrong_use(houses, capfd):
    assert main(["train", "houses.csv", "-t", "price", "--model", "gaussian-regressor", "-o", "m.sfc"]) == 0
    assert main(["train", "houses.csv", "-t", "town", "--task", "regression", *FAST]) == 3
    assert "is not a number" in capfd.readouterr().err
    assert main(["train", "houses.csv", "-t", "price", "--task", "sorting", *FAST]) == 2
    assert main(["train", "houses.csv", "-t", "price", "--task", "regression", "--model", "lda", *FAST]) == 2
    assert main(["train", "houses.csv", "-t", "price", "--loss", "hinge", "--task", "regression", *FAST]) == 2


def test_a_long_file_is_a_stream(houses, capfd):
    options = ["--memory", "0.001", "--chunk-rows", "100"]
    assert main(["train", "houses.csv", "-t", "price", *options, *FAST]) == 0
    assert "on 300 rows" in capfd.readouterr().err
