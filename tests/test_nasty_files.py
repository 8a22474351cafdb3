"""Files as they come, through the command line: the right reading or one clear sentence; none changes its input."""

import gzip
import io
import lzma

import numpy as np
import pandas as pd
import pytest

from suffice.cli import main
from suffice.saving import load

N = 40


def body(delimiter=",", decimal=".", ending="\n", header=True, quote=""):
    """Two numeric columns, one of categories, a label; 40 rows."""
    generator = np.random.default_rng(0)
    rows = [["height", "weight", "hair", "y"]] if header else []
    for i in range(N):
        label = ("no", "yes")[i % 2]
        number = f"{generator.normal() + 2 * (i % 2):.3f}".replace(".", decimal)
        other = f"{generator.normal():.2f}".replace(".", decimal)
        rows.append([number, other, ("long", "short")[int(generator.random() < 0.5)], label])
    return ending.join(delimiter.join(f"{quote}{cell}{quote}" for cell in row) for row in rows) + ending


def frame():
    return pd.read_csv(io.StringIO(body()))


def with_notes():
    return frame().assign(note=[f"this is note {i} of many" for i in range(N)]).to_csv(index=False)


def with_cell(text, column=0, rows=(3,)):
    table = frame().astype(object)
    for row in rows:
        table.iloc[row, column] = text
    return table.to_csv(index=False)


def parquet(table, **options):
    file = io.BytesIO()
    table.to_parquet(file, **options)
    return file.getvalue()


def excel(table, **options):
    file = io.BytesIO()
    table.to_excel(file, **options)
    return file.getvalue()


def texts(form):
    good, bad = "a good fine film", "a bad dull film"
    pairs = [(("up", good), ("down", bad))[i % 2] for i in range(N)]
    if form == "csv":
        return "review,sentiment\n" + "".join(
            f'"{text}, number {i} of many words",{label}\n' for i, (label, text) in enumerate(pairs)
        )
    if form == "fasttext":
        return "".join(f"__label__{label} {text}\n" for label, text in pairs)
    return "".join(f"{label}\t{text}\n" for label, text in pairs)


NUMBERS = {"height": "numeric", "weight": "numeric", "hair": "categorical"}
GAP = {"height": "numeric", "x1": "numeric", "hair": "categorical"}
CLASSES = {"classes": ["no", "yes"]}
PLAIN = {"kinds": NUMBERS, "classes": ["no", "yes"]}
FILES = {
    # name: (file name, content, arguments, expected reading or part of the one sentence, exit code)
    "plain": ("a.csv", body(), "-t y", PLAIN, 0),
    "windows line ends": ("a.csv", body(ending="\r\n"), "-t y", PLAIN, 0),
    "old mac line ends": ("a.csv", body(ending="\r"), "-t y", PLAIN, 0),
    "semicolons": ("a.csv", body(";"), "-t y", PLAIN, 0),
    "semicolons and decimal commas": ("a.csv", body(";", ","), "-t y", PLAIN, 0),
    "tabs in a csv": ("a.csv", body("\t"), "-t y", PLAIN, 0),
    "tabs and decimal commas": ("a.tsv", body("\t", ","), "-t y", PLAIN, 0),
    "bars": ("a.csv", body("|"), "-t y", PLAIN, 0),
    "quoted": ("a.csv", body(quote='"'), "-t y", PLAIN, 0),
    "quoted decimal commas": ("a.csv", body(decimal=",", quote='"'), "-t y --decimal ,", PLAIN, 0),
    "a line for excel": ("a.csv", "sep=;\n" + body(";"), "-t y", PLAIN, 0),
    "blank lines first": ("a.csv", "\n\n" + body(), "-t y", PLAIN, 0),
    "blank lines between": ("a.csv", body().replace("\n", "\n\n"), "-t y", PLAIN, 0),
    "no newline at the end": ("a.csv", body().rstrip("\n"), "-t y", PLAIN, 0),
    "spaces after commas": ("a.csv", body(", "), "-t y", PLAIN, 0),
    "utf-8 with a mark": ("a.csv", body().encode("utf-8-sig"), "-t y", PLAIN, 0),
    "utf-16": ("a.csv", body().encode("utf-16"), "-t y", PLAIN, 0),
    "utf-16 without a mark": ("a.csv", body().encode("utf-16-le"), "-t y", PLAIN, 0),
    "utf-16 named": ("a.csv", body().encode("utf-16"), "-t y --encoding utf-16", PLAIN, 0),
    "latin-1": ("a.csv", body().replace("long", "frisé").encode("latin-1"), "-t y", {"categories": {"hair": ("frisé", "short")}}, 0),
    "latin-1 named": ("a.csv", body().replace("height", "größe").encode("latin-1"), "-t y --encoding latin-1", CLASSES, 0),
    "utf-8 accents": ("a.csv", body().replace("long", "frisé").encode(), "-t y", {"categories": {"hair": ("frisé", "short")}}, 0),
    "an unknown encoding": ("a.csv", body(), "-t y --encoding klingon", "'klingon' is not known", 3),
    "the wrong encoding": ("a.csv", body().replace("long", "é").encode("latin-1"), "-t y --encoding utf-8", "--encoding", 3),
    "no header": ("a.csv", body(header=False), "-t -1", {"kinds": {"x0": "numeric", "x1": "numeric", "x2": "categorical"}}, 0),
    "gzip": ("a.csv.gz", gzip.compress(body().encode()), "-t y", PLAIN, 0),
    "xz without its name": ("a.csv", lzma.compress(body().encode()), "-t y", PLAIN, 0),
    "pandas' index in a csv": ("a.csv", frame().to_csv(), "-t y", PLAIN, 0),
    "pandas' index in parquet": ("a.parquet", parquet(frame()[::-1]), "-t y", PLAIN, 0),
    "a named index in parquet": ("a.parquet", parquet(frame().rename_axis("row")[::-1]), "-t y", PLAIN, 0),
    "excel": ("a.xlsx", excel(frame(), index=False), "-t y", PLAIN, 0),
    "excel with an index": ("a.xlsx", excel(frame()), "-t y", PLAIN, 0),
    "an id of numbers": ("a.csv", frame().assign(id=range(N)).to_csv(index=False), "-t y", PLAIN, 0),
    "an id of texts": ("a.csv", frame().assign(who=[f"p{i:03}" for i in range(N)]).to_csv(index=False), "-t y", PLAIN, 0),
    "an id that is named": ("a.csv", frame().assign(nr=range(N)).to_csv(index=False), "-t y --id nr", PLAIN, 0),
    "a column that is dropped": ("a.csv", frame().assign(nr=range(N)).to_csv(index=False), "-t y --drop nr", PLAIN, 0),
    "free text beside numbers": ("a.csv", with_notes(), "-t y", PLAIN, 0),
    "text and label": ("a.csv", texts("csv"), "-t sentiment", {"format": "text", "text_column": "review"}, 0),
    "text that is named": ("a.csv", texts("csv"), "-t sentiment --text review", {"format": "text", "text_column": "review"}, 0),
    "labelled lines": ("a.txt", texts("tab"), "", {"format": "text", "classes": ["down", "up"]}, 0),
    "fasttext's lines": ("a.txt", texts("fasttext"), "", {"format": "text", "classes": ["down", "up"]}, 0),
    "a table called txt": ("a.txt", body(), "-t y", PLAIN, 0),
    "a few bad cells": ("a.csv", with_cell("oops", rows=(3, 9)), "-t y --kind height=numeric", PLAIN, 0),
    "a bad cell among numbers": ("a.csv", with_cell("oops"), "-t y", {"kinds": NUMBERS | {"height": "categorical"}}, 0),
    "its own missing": ("a.csv", with_cell("unknown"), "-t y --na unknown", PLAIN, 0),
    "excel's errors": ("a.csv", with_cell("#DIV/0!"), "-t y", PLAIN, 0),
    "plus and minus labels": ("a.csv", body().replace(",yes", ",+").replace(",no", ",-"), "-t y", {"classes": ["+", "-"]}, 0),
    "labels that are missing": ("a.csv", with_cell("", 3, (0, 1)), "-t y", PLAIN | {"rows": N - 2}, 0),
    "a header with a gap": ("a.csv", body().replace("weight", "", 1), "-t y", {"kinds": GAP}, 0),
    "a name twice": ("a.csv", body().replace("weight", "height", 1), "-t y", "'height' twice", 3),
    "too many cells in a row": ("a.csv", body() + "1,2,long,yes,9\n", "-t y", "line 42", 3),
    "no such column": ("a.csv", body(), "-t colour", "no column 'colour'", 3),
    "no rows": ("a.csv", "a,b,y\n", "-t y", "no rows", 3),
    "empty": ("a.csv", "", "-t y", "is empty", 3),
    "infinity": ("a.csv", with_cell("inf"), "-t y", "infinity", 3),
    "a picture": ("a.bin", bytes(range(256)) * 20, "-t y", "binary file", 3),
    "not a workbook": ("a.xlsx", b"PK\x03\x04 nonsense", "-t y", "not a readable Excel", 3),
    "not parquet": ("a.parquet", b"PAR1 nonsense", "-t y", "not a readable Parquet", 3),
    "an open quote": ("a.csv", body() + '"1,2,long,yes\n', "-t y", "quotes", 3),
    "one class": ("a.csv", body().replace("yes", "no"), "-t y", {"classes": ["no"]}, 0),
    "a truncated gzip": ("a.csv.gz", gzip.compress(body().encode())[:-20], "-t y", "decompressed", 3),
    "a kind that is none": ("a.csv", body(), "-t y --kind height=number", "COL=numeric", 2),
    "a decimal mark that is none": ("a.csv", body(), "-t y --decimal x", "--decimal", 2),
}  # fmt: skip
SPELLINGS = ["", "?", "NA", "N/A", "n/a", "NULL", "null", "None", "NaN", "nan", "-", "#N/A", "<NA>"]
FILES |= {f"missing is {text!r}": ("a.csv", with_cell(text), "-t y", PLAIN | {"missing": 1}, 0) for text in SPELLINGS}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FILES)
def test_the_right_reading_or_one_sentence(name, tmp_path, capfd):
    file, content, arguments, expected, code = FILES[name]
    path, model = tmp_path / file, tmp_path / "model.sfc"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    before = path.read_bytes()
    command = ["train", str(path), *arguments.split(), "--loss", "nll", "--holdout", "0", "-o", str(model)]
    assert main(command) == code, capfd.readouterr().err
    lines = capfd.readouterr().err.splitlines()
    assert path.read_bytes() == before
    assert {entry.name for entry in tmp_path.iterdir()} <= {file, "model.sfc"}
    if code:
        own = [line for line in lines if line.startswith("suffice: ") and not line.startswith("suffice: warning")]
        assert len(own) == 1 and expected in own[0], lines
        assert not model.exists()
        return
    trained = load(model)
    found = {
        "kinds": dict(trained.kinds), "classes": list(trained.classes), "format": trained.format, "text_column": trained.text_column,
        "categories": {name: tuple(sorted(values)) for name, values in trained.categories.items()},
        "rows": float(trained.model.class_count_.sum()),
    }  # fmt: skip
    if "missing" in expected:
        weights = trained.model._statistics.columns[0].weight.sum(axis=0)
        assert weights.tolist() == [N - expected["missing"], N]
    for key, value in expected.items():
        assert key == "missing" or found[key] == value, (key, lines)
    assert main(["predict", str(model), str(path), "--proba", "-o", str(tmp_path / "out.csv")]) == 0, (
        capfd.readouterr().err
    )
    assert len(pd.read_csv(tmp_path / "out.csv")) == N


def test_there_are_more_than_fifty():
    assert len(FILES) >= 50


@pytest.mark.filterwarnings("ignore")
def test_decimal_commas_give_the_numbers(tmp_path):
    for name, text in (("a.csv", body()), ("b.csv", body(";", ","))):
        (tmp_path / name).write_text(text)
        assert (
            main(["train", str(tmp_path / name), "-t", "y", "--loss", "nll", "-o", str(tmp_path / f"{name}.sfc")]) == 0
        )
    one, other = (load(tmp_path / f"{name}.sfc").model for name in ("a.csv", "b.csv"))
    np.testing.assert_array_equal(one.theta_["height"], other.theta_["height"])
    (tmp_path / "c.csv").write_text("h;w;y\n" + "1.234,5;2,5;a\n2.000,0;3,5;b\n" * 15)
    assert main(["train", str(tmp_path / "c.csv"), "-t", "y", "--loss", "nll", "-o", str(tmp_path / "c.sfc")]) == 0
    assert load(tmp_path / "c.sfc").model.theta_[:, 0].tolist() == pytest.approx([1234.5, 2000.0])
