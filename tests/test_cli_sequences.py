"""Sequences on the command line and in files: long tables, .ts files, texts letter by letter."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

from suffice.cli import main
from suffice.files import DataError, read
from suffice.files.ts import series

HEADER = "@problemName toy\n@univariate false\n@classLabel true a b\n@data\n"


def steps(n: int = 30, seed: int = 0) -> pd.DataFrame:
    """A shuffled long table: the classes go up or down."""
    generator = np.random.default_rng(seed)
    parts = []
    for i in range(n):
        T = int(generator.integers(5, 9))
        way = 1 if i % 2 else -1
        x = way * np.linspace(-2, 2, T) + 0.3 * generator.normal(size=T)
        sky = np.where(generator.random(T) < 0.8, "sun" if i % 2 else "rain", "fog")
        parts.append(
            pd.DataFrame({"day": f"d{i}", "hour": np.arange(T), "x": x, "sky": sky, "kind": "up" if i % 2 else "down"})
        )
    return pd.concat(parts).sample(frac=1.0, random_state=seed)


def run(capsys, *arguments) -> str:
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_long_table_is_trained_predicted_and_evaluated(tmp_path, capsys, ending):
    frame, test = steps(), steps(20, seed=1)
    frame.loc[frame.index[0], "x"] = np.nan
    for name, table in (("train", frame), ("test", test)):
        write = table.to_csv if ending == "csv" else table.to_parquet
        write(tmp_path / f"{name}.{ending}", index=False)
    model = tmp_path / "days.sfc"
    run(
        capsys, "train", tmp_path / f"train.{ending}", "--model", "hmm", "--sequence", "day", "--time", "hour", "--target", "kind",
        "--set", "n_states=2", "--set", "prior=1.0", "--set", "topology=left-right", "-o", model,
    )  # fmt: skip
    lines = list(csv.DictReader(io.StringIO(run(capsys, "predict", model, tmp_path / f"test.{ending}", "--proba"))))
    answers = test.drop_duplicates("day").set_index("day")["kind"]
    assert [line["day"] for line in lines] == list(answers.index)
    assert np.mean([line["prediction"] == answers[line["day"]] for line in lines]) > 0.9
    assert all(abs(float(line["p(up)"]) + float(line["p(down)"]) - 1) < 1e-9 for line in lines)
    found = json.loads(run(capsys, "evaluate", model, tmp_path / f"test.{ending}", "--json"))
    assert found["rows"] == 20 and found["accuracy"] > 0.9 and np.sum(found["confusion"]) == 20


def test_series_files_and_letters(tmp_path, capsys):
    generator = np.random.default_rng(0)
    rows = [(np.sort(generator.normal(size=6))[:: 1 if i % 2 else -1], "ab"[i % 2]) for i in range(30)]
    text = HEADER + "".join(",".join(f"{v:.4f}" for v in x) + ":?,1,2,3,4,5:" + label + "\n" for x, label in rows)
    (tmp_path / "toy.ts").write_text(text)
    model, options = tmp_path / "toy.sfc", ("--set", "n_states=2", "--set", "prior=1.0")
    run(capsys, "train", tmp_path / "toy.ts", "--model", "hmm", *options, "-o", model)
    assert json.loads(run(capsys, "evaluate", model, tmp_path / "toy.ts", "--json"))["accuracy"] > 0.9
    (tmp_path / "names.txt").write_text(
        "".join(f"{'f' if i % 2 else 'm'}\t{'anna' if i % 2 else 'otto'}{'ae'[i % 2]}\n" for i in range(24))
    )
    run(capsys, "train", tmp_path / "names.txt", "--model", "hmm", *options, "-o", model)
    assert run(capsys, "predict", model, tmp_path / "names.txt").splitlines()[1:3] == ["m", "f"]


def test_ts_files_are_long_tables(tmp_path):
    path = tmp_path / "toy.ts"
    path.write_text("# note\n" + HEADER + "1,2,3:4,?,6:a\n7:8:b\n")
    (table,) = read(path)
    assert table.columns == ("sequence", "time", "dim_0", "dim_1") and table.y.tolist() == ["a", "a", "a", "b"]
    assert table.X["sequence"].tolist() == [0, 0, 0, 1] and np.isnan(table.X["dim_1"][1])
    for wrong, said in (
        ("1,2:a\n", "@data"), (HEADER + "1:2:a\n1:a\n", "dimensions"), (HEADER + "x:a\n", "no number"),
        (HEADER + "(0,1):a\n", "pairs"), (HEADER.replace("@univariate", "@timeStamps true\n@univariate") + "1:a\n", "time stamps"),
    ):  # fmt: skip
        with pytest.raises(DataError, match=said):
            list(series(wrong.splitlines(), "toy.ts"))


def test_wrong_usage_is_said(tmp_path, capsys):
    steps().to_csv(tmp_path / "train.csv", index=False)
    for arguments, said in (
        (("--model", "hmm", "--target", "kind"), "--sequence"),
        (("--model", "hmm", "--target", "kind", "--sequence", "week"), "week"),
        (("--target", "kind", "--sequence", "day"), "hmm"),
        (("--model", "hmm", "--sequence", "day"), "--target"),
    ):
        assert main(["train", str(tmp_path / "train.csv"), "-o", str(tmp_path / "x.sfc"), *arguments]) in (2, 3)
        assert said in capsys.readouterr().err
