"""The command line as a person or a pipe uses it: results on standard output, errors of one line, exit codes."""

import csv
import io
import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from sklearn.datasets import dump_svmlight_file, load_iris
from sklearn.metrics import log_loss

import suffice.experiments as experiments
from suffice.cli import main, training
from suffice.evaluation.classification import Scores
from suffice.experiments import Experiment, Report, Row
from suffice.files.trained import Trained
from suffice.saving import load, save

NAMES = ["sepal length", "sepal width", "petal length", "petal width"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Iris as CSV, Parquet and svmlight; a table of categories; texts; and models of each."""
    folder = tmp_path_factory.mktemp("cli")
    iris = load_iris()
    frame = pd.DataFrame(iris.data, columns=NAMES).assign(species=iris.target_names[iris.target])
    frame.to_csv(folder / "iris.csv", index=False)
    frame.to_parquet(folder / "iris.parquet")
    dump_svmlight_file(iris.data, iris.target, str(folder / "iris.svm"), zero_based=False)
    rng = np.random.default_rng(0)
    y = rng.choice(["eat", "leave"], size=300)
    odour = np.where(rng.random(300) < 0.9, np.where(y == "eat", "none", "foul"), "musty")
    pd.DataFrame({"odour": odour, "cap": rng.choice(list("xbs"), size=300), "y": y}).to_csv(
        folder / "m.csv", index=False
    )
    words = {"grain": "wheat corn crop", "crude": "oil barrel opec"}
    labels = rng.choice(list(words), size=80)
    lines = [f"{label}\tthe {' '.join(rng.choice(words[label].split(), size=4))}\n" for label in labels]
    (folder / "news.txt").write_text("".join(lines))
    plain = ["--model", "naive-bayes", "-o"]
    assert main(["train", str(folder / "iris.csv"), "-t", "species", *plain, str(folder / "iris.sfc")]) == 0
    fast = ["--loss", "nll", "-o"]
    assert main(["train", str(folder / "iris.svm"), *fast, str(folder / "svm.sfc")]) == 0
    assert main(["train", str(folder / "m.csv"), "-t", "y", *fast, str(folder / "m.sfc")]) == 0
    assert main(["train", str(folder / "news.txt"), *fast, str(folder / "news.sfc")]) == 0
    return folder


@pytest.fixture
def suffice(folder, capfd, monkeypatch):
    """Run a command in the folder: code, lines of output, lines of errors."""
    monkeypatch.chdir(folder)

    def run(line: str):
        capfd.readouterr()
        code = main(line.split())
        out, err = capfd.readouterr()
        return code, out.splitlines(), err.splitlines()

    return run


def shell(folder: Path, line: str, **options):
    command = f'"{sys.executable}" -c "import sys; from suffice.cli import main; sys.exit(main())"'
    return subprocess.run(
        line.replace("suffice ", command + " "), shell=True, cwd=folder, capture_output=True, text=True, **options
    )


@pytest.mark.parametrize("data", ["iris.csv", "iris.parquet"])
def test_predict(suffice, data):
    code, out, err = suffice(f"predict iris.sfc {data} --proba")
    rows = list(csv.DictReader(out))
    assert code == 0 and err == [] and len(rows) == 150
    assert rows[0]["prediction"] == "setosa" and float(rows[0]["p(setosa)"]) > 0.9
    model = load("iris.sfc").model
    expected = model.predict_proba(load_iris().data)
    np.testing.assert_allclose([[float(row[f"p({c})"]) for c in model.classes_] for row in rows], expected)
    code, out, _ = suffice(f"predict iris.sfc {data} --json")
    assert json.loads(out[0]) == {"prediction": "setosa"}


def test_predict_to_a_file(suffice, folder):
    assert suffice("predict iris.sfc iris.csv -o p.csv")[:2] == (0, [])
    assert (folder / "p.csv").read_text().splitlines()[:2] == ["prediction", "setosa"]


@pytest.mark.parametrize("model_data", ["iris.sfc iris.csv", "svm.sfc iris.svm", "m.sfc m.csv", "news.sfc news.txt"])
def test_evaluate(suffice, model_data):
    code, out, err = suffice(f"evaluate {model_data} --json")
    result = json.loads(out[0])
    assert code == 0 and err == []
    confusion = np.array(result["confusion"])
    assert result["rows"] == confusion.sum() and result["accuracy"] == np.trace(confusion) / confusion.sum() > 0.85
    assert 0 <= result["log_loss"] < 0.7 and result["ncll"] < result["nll"]
    code, out, _ = suffice(f"evaluate {model_data}")
    assert code == 0 and out[1].split() == ["accuracy", f"{result['accuracy']:.4f}"]


def test_scores_are_those_of_their_definitions():
    rng = np.random.default_rng(1)
    joint, y = rng.normal(size=(500, 4)) * 3 - 5, rng.integers(4, size=500)
    scores = Scores(4)
    for rows in np.array_split(np.arange(500), 7):
        scores.update(joint[rows], y[rows])
    found = scores.summary()
    proba = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    hinges = [max(0, 1 + max(row[k] for k in range(4) if k != c) - row[c]) for row, c in zip(joint, y, strict=True)]
    confidence, correct = proba.max(axis=1), proba.argmax(axis=1) == y
    ece = 0.0
    for b in range(15):
        inside = (confidence > b / 15) & (confidence <= (b + 1) / 15)
        if inside.any():
            ece += inside.mean() * abs(correct[inside].mean() - confidence[inside].mean())
    np.testing.assert_allclose(found["log_loss"], log_loss(y, proba))
    np.testing.assert_allclose(found["nll"], -joint[np.arange(500), y].mean())
    np.testing.assert_allclose(found["hinge"], np.mean(hinges))
    np.testing.assert_allclose(found["calibration_error"], ece)
    np.testing.assert_allclose(found["accuracy"], correct.mean())


def test_inspect(suffice):
    code, out, _ = suffice("inspect iris.sfc --top 2")
    assert code == 0 and "GaussianNB(" in out[0] and any(line.startswith("setosa") for line in out)
    about = json.loads(suffice("inspect iris.sfc --json")[1][0])
    assert about["target"] == "species" and set(about["means"]["setosa"]) == set(NAMES)
    top = json.loads(suffice("inspect news.sfc --json --top 3")[1][0])["top"]
    assert {word for word, _ in top["crude"]} == {"oil", "barrel", "opec"}
    top = json.loads(suffice("inspect m.sfc --json --top 1")[1][0])["top"]
    assert top["leave"][0][0] == "odour=foul"


def test_inspect_prints_the_topics_of_every_class(suffice):
    assert suffice("train news.txt --model lda -o lda.sfc")[0] == 0
    code, out, _ = suffice("inspect lda.sfc --top 3")
    assert code == 0 and sum(line.startswith("crude, topic ") for line in out) == 2
    topics = json.loads(suffice("inspect lda.sfc --json --top 3")[1][0])["topics"]
    assert {word for topic in topics["crude"] for word in topic} & {"oil", "barrel", "opec"}


@pytest.mark.parametrize(
    "model",
    [
        "gaussian-nb",
        "poisson-nb",
        "multinomial-nb",
        "complement-nb",
        "bernoulli-nb",
        "categorical-nb",
        "discriminant",
        "mixture",
        "lda",
    ],
)
def test_every_model_trains(suffice, model):
    data = "m.csv -t y" if model == "categorical-nb" else "iris.csv -t species"
    code, out, err = suffice(f"train {data} --model {model} --loss nll -o any.sfc")
    assert (code, out) == (0, []) and "any.sfc" in err[-1] and "rows held out: accuracy" in err[-2], err
    assert suffice("inspect any.sfc")[0] == 0
    assert suffice(f"evaluate any.sfc {data.split()[0]}")[0] == 0


def test_a_table_is_told_what_was_compared(suffice):
    code, out, err = suffice("train iris.csv -t species --set max_seconds=0.1 -o any.sfc")
    assert (code, out) == (0, []) and "TableClassifier" in err[-1], err
    compared = "\n".join(err)
    assert "compared" in compared and "naive Bayes" in compared and "kept" in compared
    assert suffice("predict any.sfc iris.csv --proba")[0] == 0
    assert suffice("evaluate any.sfc iris.csv")[0] == 0
    assert "petal" in "".join(suffice("inspect any.sfc")[1])
    assert "petal" in suffice("predict any.sfc iris.csv --explain")[1][1]


def test_an_output_that_is_an_input_is_refused(suffice, folder):
    before = (folder / "iris.csv").read_bytes(), (folder / "iris.sfc").read_bytes()
    (folder / "link.csv").unlink(missing_ok=True)
    (folder / "link.csv").symlink_to(folder / "iris.csv")
    for line in (
        "train iris.csv -t species -o iris.csv", "train iris.csv -t species -o link.csv", "predict iris.sfc iris.csv -o iris.csv",
        "predict iris.sfc iris.csv -o iris.sfc", "convert iris.csv ./iris.csv", "predict iris.sfc link.csv -o iris.csv",
    ):  # fmt: skip
        code, _, err = suffice(line)
        assert code == 2 and len(err) == 1 and "overwritten" in err[0], line
    assert before == ((folder / "iris.csv").read_bytes(), (folder / "iris.sfc").read_bytes())


def test_train_says_how_columns_were_read_and_how_well_it_does(suffice):
    _, _, err = suffice("train iris.csv -t species -o any.sfc --set prior=1.0")
    assert err[0] == "columns: 4 (4 numeric, 0 categorical)" and "petal width" in err[4] and "0.1 to 2.5" in err[4]
    assert err[-3].startswith("kept: GaussianNB") and err[-2].startswith("30 rows held out: accuracy 0.9")
    _, _, err = suffice("train iris.csv -t species -o any.sfc --cv 3 --loss nll")
    assert err[-2].startswith("cross-validation in 3 folds: accuracy 0.9")
    for wrong in ("--cv 1", "--holdout 1.5", "--kind a", "--decimal x"):
        assert suffice(f"train iris.csv -t species -o any.sfc {wrong}")[0] == 2


def test_predict_keeps_columns_and_says_why(suffice, folder):
    frame = pd.read_csv(folder / "iris.csv").assign(plant=[f"plant {i}" for i in range(150)])
    frame.iloc[0, 0] = np.nan
    text = frame.to_csv(index=False).replace("4.9,3.0,1.4", "what?,3.0,1.4", 1)
    (folder / "kept.csv").write_text(text)
    code, out, err = suffice("predict iris.sfc kept.csv --keep plant --keep species --explain --proba")
    rows = list(csv.DictReader(out))
    assert code == 0 and len(err) == 1 and "'what?'" in err[0] and "taken as missing" in err[0]
    assert list(rows[0]) == ["plant", "species", "prediction", "p(setosa)", "p(versicolor)", "p(virginica)", "because"]
    assert rows[7]["plant"] == "plant 7" and rows[7]["species"] == "setosa" and "petal" in rows[7]["because"]
    code, out, _ = suffice("predict iris.sfc kept.csv --explain --json")
    found = json.loads(out[5])["because"]
    model = load("iris.sfc").model
    why = dict(zip(NAMES, model.explain(load_iris().data[[5]]).parts[0], strict=True))
    assert code == 0 and found == pytest.approx(why)
    assert suffice("predict iris.sfc kept.csv --keep colour")[0] == 3


def test_predict_is_the_argmax_of_the_probabilities(suffice):
    plain = suffice("predict iris.sfc iris.csv")[1][1:]
    rows = list(csv.DictReader(suffice("predict iris.sfc iris.csv --proba")[1]))
    best = [
        max((name for name in row if name.startswith("p(")), key=lambda name: float(row[name]))[2:-1] for row in rows
    ]
    assert plain == [row["prediction"] for row in rows] == best


def test_compare(suffice):
    assert suffice("train iris.csv -t species --loss nll --drop 0 --drop 1 --drop 2 -o weak.sfc")[0] == 0
    code, out, _ = suffice("compare weak.sfc iris.sfc iris.csv")
    assert code == 0 and out[0] == "150 rows" and out[1].split() == ["weak.sfc", "iris.sfc", "difference", "+-"]
    found = json.loads(suffice("compare weak.sfc iris.sfc iris.csv --json")[1][0])
    accuracy = json.loads(suffice("evaluate iris.sfc iris.csv --json")[1][0])["accuracy"]
    assert found["accuracy"]["second"] == pytest.approx(accuracy)
    gap = found["only_second_right"] - found["only_first_right"]
    assert found["accuracy"]["difference"] == pytest.approx(gap / 150)


def test_inspect_finds_two_columns_among_a_thousand(suffice, folder):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 1002))
    X[:, [17, 700]] += 2.0 * y[:, None]
    pd.DataFrame(X, columns=[f"c{j}" for j in range(1002)]).round(3).assign(y=y).to_csv(
        folder / "wide.csv", index=False
    )
    for loss in ("ncll", "nll"):
        assert suffice(f"train wide.csv -t y --loss {loss} --set prior=1.0 --holdout 0 -o wide.sfc")[0] == 0
        found = json.loads(suffice("inspect wide.sfc --json --top 2")[1][0])
        assert {name for name, _ in found["columns"]} == {"c17", "c700"}


def test_inspect_of_mixed_columns(suffice, folder):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    frame = pd.DataFrame(
        {"noise": rng.choice(["a", "b"], 300), "size": rng.normal(size=300) + 3 * y, "y": np.array(["no", "yes"])[y]}
    )
    frame.assign(hue=np.where(rng.random(300) < 0.9, np.array(["red", "blue"])[y], "green")).to_csv(
        folder / "mix.csv", index=False
    )
    assert suffice("train mix.csv -t y --loss nll -o mix.sfc")[0] == 0
    found = json.loads(suffice("inspect mix.sfc --json --top 2")[1][0])
    assert {name for name, _ in found["columns"]} == {"size", "hue"}
    assert found["means"]["yes"]["size"] > found["means"]["no"]["size"] and found["top"]["yes"][0][0] == "hue=blue"
    assert suffice("inspect mix.sfc")[0] == 0


def test_parameters_can_be_set(suffice):
    assert suffice("train iris.csv -t species --set max_epochs=3 --loss hinge -o any.sfc")[0] == 0
    model = load("any.sfc").model
    assert (model.loss, model.max_epochs, model.random_state) == ("hinge", 3, 0)


def test_a_file_longer_than_memory_is_a_stream(suffice, folder):
    many = pd.concat([pd.read_csv(folder / "iris.csv").sample(frac=1, random_state=i) for i in range(20)])
    many.to_csv(folder / "many.csv", index=False)
    assert suffice("train many.csv -t species --loss nll -o whole.sfc")[0] == 0
    code, _, err = suffice("train many.csv -t species --loss nll -o stream.sfc --memory 0.02 --chunk-rows 500")
    assert code == 0 and "3,000 rows" in err[-1]
    whole, stream = (json.loads(suffice(f"evaluate {m}.sfc iris.csv --json")[1][0]) for m in ("whole", "stream"))
    assert abs(whole["accuracy"] - stream["accuracy"]) < 0.03
    ordered = pd.read_csv(folder / "iris.csv").sort_values("species")
    ordered.to_csv(folder / "ordered.csv", index=False)
    code, _, err = suffice("train ordered.csv -t species -o any.sfc --memory 0.001 --chunk-rows 40")
    assert code == 3 and "row 51: the class 'versicolor'" in err[-1] and "--classes" in err[-1]
    line = (
        "train ordered.csv -t species -o any.sfc --memory 0.001 --chunk-rows 40 --classes setosa,versicolor,virginica"
    )
    assert suffice(line)[0] == 0


def test_missing_labels_and_unseen_categories(suffice, folder):
    (folder / "odd.csv").write_text("odour,cap,y\nfoul,x,leave\nnone,z,eat\nnone,x,?\n")
    code, _, err = suffice("evaluate m.sfc odd.csv --json")
    assert code in (0, 3)  # 3: a model that does not know missing cells says so
    assert any("'z' was not seen in training" in line for line in err)
    (folder / "half.csv").write_text((folder / "m.csv").read_text() + "none,x,?\n")
    code, _, err = suffice("train half.csv -t y -o any.sfc")
    assert code == 0 and any("1 rows without a label" in line for line in err)


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("train none.csv -t y -o any.sfc", 3, "none.csv: No such file"),
        ("train iris.csv -t colour -o any.sfc", 3, "no column 'colour'"),
        ("train iris.csv -o any.sfc", 3, "--target"),
        ("train iris.csv -t species --model tree -o any.sfc", 2, "naive-bayes, gaussian-nb"),
        ("train iris.csv -t species --loss ncl -o any.sfc", 2, "'ncl' is not one of nll, ncll, hinge"),
        ("train iris.csv -t species --set depth=3 -o any.sfc", 2, "no parameter 'depth'"),
        ("train iris.csv -t species --set depth -o any.sfc", 2, "name=value"),
        ("train iris.csv -t species --set max_epochs=0 -o any.sfc", 2, "max_epochs=0"),
        ("train iris.csv -t species --format xls -o any.sfc", 2, "csv, tsv"),
        ("train m.csv -t y --model gaussian-nb -o any.sfc", 2, "column 'odour' is categorical"),
        ("train iris.csv -t species", 2, "--output"),
        ("train iris.csv -t species -o no/such/any.sfc", 2, "create it"),
        ("predict none.sfc iris.csv", 4, "none.sfc: No such file"),
        ("predict iris.csv iris.csv", 4, "iris.csv: the file is not a zip"),
        ("predict iris.sfc m.csv", 3, "no column 'sepal"),
        ("evaluate iris.sfc iris.csv -t 0", 3, "none of the model's classes"),
        ("evaluate news.sfc iris.csv", 3, "no labels"),
        ("convert m.csv out.svm -t y", 3, "column 'odour'"),
        ("convert m.csv out.gz", 2, "--to"),
        ("convert m.csv out.csv.gz", 2, "not compressed"),
        ("reproduce nothing", 2, "--list"),
        ("reproduce", 2, "--list"),
        ("frobnicate", 2, "frobnicate"),
    ],
)
def test_errors_are_one_line_with_a_code(suffice, line, code, says):
    found, out, err = suffice(line)
    assert (found, out) == (code, []), err
    assert [text for text in err if text.startswith("suffice: ")] == err[-1:] and says in err[
        -1
    ]  # after how columns were read


def test_debug_shows_where(suffice):
    code, _, err = suffice("predict iris.csv iris.csv --debug")
    assert code == 4 and err[0].startswith("Traceback") and "ArchiveError" in err[-1]


def test_a_failure_inside_is_code_1(suffice, monkeypatch):
    monkeypatch.setattr(training, "train", lambda *_, **__: 1 / 0)
    code, _, err = suffice("train iris.csv -t species -o any.sfc")
    assert code == 1 and err == ["suffice: ZeroDivisionError: division by zero (--debug shows where)"]


def test_an_estimator_saved_from_python(suffice):
    model = load("iris.sfc").model
    save(model, "bare.sfc")
    code, out, _ = suffice("inspect bare.sfc")
    assert code == 0 and "GaussianNB" in out[0]
    assert Trained.of(model).columns == ("x0", "x1", "x2", "x3")
    Path("plain.csv").write_text("x0,x1,x2,x3\n5.1,3.5,1.4,0.2\n")
    assert suffice("predict bare.sfc plain.csv")[1] == ["prediction", "setosa"]


@pytest.mark.parametrize(
    "chain",
    [["iris.csv", "a.parquet", "a.tsv", "b.csv"], ["iris.svm", "c.csv", "c.svm"], ["news.txt", "d.csv", "d.txt"]],
)
def test_convert_round_trips(suffice, folder, chain):
    target = {"iris.csv": "species", "iris.svm": "label", "news.txt": "label"}[chain[0]]
    for old, new in pairwise(chain):
        assert suffice(f"convert {old} {new} -t {target}")[0] == 0
    first, last = (folder / chain[0]).read_text(), (folder / chain[-1]).read_text()
    if chain[0].endswith("svm"):
        first, last = ("\n".join(line for line in text.splitlines() if line[0] != "#") for text in (first, last))
    assert first.split() == last.split()


def test_reproduce(suffice, monkeypatch, folder):
    def fake(options):
        options.say("half way")
        (options.folder / "toy.png").write_bytes(b"")
        rows = [Row("accuracy", 0.904, 0.921, 0.004, options.seeds), Row("loss", None, float("nan"))]
        return Report(rows, ["a definition"], [options.folder / "toy.png"])

    experiment = Experiment("toy", "A toy", 0.5, "none")
    monkeypatch.setattr(Experiment, "run", lambda self, options: fake(options))
    monkeypatch.setitem(experiments.EXPERIMENTS, "toy", experiment)
    assert ["toy", "0.5", "min", "A", "toy"] in [line.split() for line in suffice("reproduce --list")[1]]
    code, out, err = suffice("reproduce toy --quick --seeds 3 --json rows/r.json --out pictures")
    assert code == 0 and err == ["suffice: half way"]
    assert out[1].split() == ["paper", "ours", "±", "std", "seeds"]
    assert out[2].split() == ["accuracy", "0.9040", "0.9210", "0.0040", "3"]
    assert out[4:6] == ["note: a definition", "picture: pictures/toy.png"]
    content = json.loads((folder / "rows" / "r.json").read_text())
    assert content["rows"][0] == {"name": "accuracy", "paper": 0.904, "ours": 0.921, "std": 0.004, "n_seeds": 3}
    assert content["rows"][1]["ours"] is None and content["quick"] is True


def test_demo_is_one_table_and_what_to_try_next(suffice, monkeypatch, folder):
    from suffice.experiments import demo

    figures = {"digits": (0.9, 0.2, 0.01, 1.0), "wine": (0.95, float("nan"), float("nan"), 0.5)}
    table = {name: {"sklearn A": np.array(row), "suffice B": np.array(row)} for name, row in figures.items()}
    assert len(demo.lines_of(table)) == 4 and demo.lines_of(table)[2].split()[-1] == "1.50"
    monkeypatch.setattr(demo, "SETS", {"wine": demo.SETS["wine"]})
    monkeypatch.setattr(demo, "draw", lambda *_: None)
    code, out, _ = suffice("demo --quick --out pictures")
    assert code == 0 and sum("suffice GaussianNB ncll" in line for line in out) == 1 and "paper" not in "".join(out)
    assert any("suffice train DATA.csv" in line for line in out)


def test_pipes(folder):
    run = shell(folder, "cat iris.csv | suffice train - -t species -o - | suffice predict - iris.csv --proba")
    assert run.returncode == 0 and len(run.stdout.splitlines()) == 151
    assert "150 rows" in run.stderr and "\x1b" not in run.stderr  # no progress bar in a pipe
    run = shell(folder, "gzip -c iris.csv | suffice evaluate iris.sfc - --json")
    assert json.loads(run.stdout)["rows"] == 150


def test_a_closed_pipe_is_no_error(folder):
    pd.concat([pd.read_csv(folder / "iris.csv")] * 300).to_csv(folder / "long.csv", index=False)
    run = shell(folder, "(suffice predict iris.sfc long.csv --proba; echo code $? >&2) | head -1")
    assert run.stderr == "code 0\n"


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_a_progress_bar_on_a_terminal(folder):
    import pty

    ours, theirs = pty.openpty()
    code = "import sys; from suffice.cli import main; sys.exit(main(sys.argv[1:]))"
    arguments = [sys.executable, "-c", code, "predict", "iris.sfc", "iris.csv", "-o", "bar.csv"]
    process = subprocess.Popen(arguments, cwd=folder, stderr=theirs, stdout=subprocess.DEVNULL)
    os.close(theirs)
    written = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        written += piece
    os.close(ours)
    assert process.wait() == 0 and b"predicting" in written and b"\x1b" in written


def test_help_names_every_model():
    from suffice.cli.options import MODELS

    assert all(name in MODELS for name in training.CHOICES)


def test_help_starts_fast_because_it_imports_little(folder):
    code = "import sys; from suffice.cli import main; main(['--help']); print(sorted(sys.modules), file=sys.stderr)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "reproduce" in run.stdout
    assert not {"'numpy'", "'sklearn'", "'pandas'", "'numba'", "'scipy'"} & set(run.stderr.strip("[]\n").split(", "))


def test_without_typer_there_is_one_line(folder):
    code = "import sys; sys.modules['typer'] = None; from suffice.cli import main; sys.exit(main(['--help']))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ)
    assert run.returncode == 1
    assert run.stderr == "suffice: the command line needs typer: pip install 'suffice[cli]'\n"


def test_the_app_runs_under_typers_own_runner(folder):
    from typer.testing import CliRunner

    from suffice.cli.app import app

    result = CliRunner().invoke(app, ["evaluate", str(folder / "iris.sfc"), str(folder / "iris.csv"), "--json"])
    assert result.exit_code == 0 and json.loads(io.StringIO(result.stdout).readline())["rows"] == 150
    assert CliRunner().invoke(app, ["--version"]).stdout.startswith("suffice ")


def test_rows_of_mixed_columns_become_a_frame_with_the_categories_of_training(tmp_path):
    from suffice.files import read
    from suffice.files.trained import prepared, stacked

    path = tmp_path / "a.csv"
    path.write_text("age,job,y\n39,clerk,no\n,driver,yes\n50,,no\n")
    tables = list(read(path, "y", chunk_rows=2))
    trained = prepared(None, tables, "csv", None)
    X = stacked([trained.inputs(table) for table in tables])
    assert X["job"].cat.categories.tolist() == ["clerk", "driver"] and X["age"].dtype == float
    path.write_text("job,more,age\nbaker,1,20\ndriver,2,30\n")
    options = {"columns": trained.columns, "kinds": trained.kinds, "categories": trained.categories}
    with pytest.warns(UserWarning, match="'baker' was not seen"):
        X = trained.inputs(next(read(path, **options)))
    assert X["job"].cat.codes.tolist() == [-1, 1] and X.columns.tolist() == ["age", "job"]
