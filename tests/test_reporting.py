"""The report: its numbers are scikit-learn's, it is one small page that needs nothing else, and every model has one.

With a browser (SUFFICE_CHROMIUM names an executable, and playwright is installed) the page is opened in it without network.
"""

from __future__ import annotations

import os
import re
import secrets
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import LinearRegression
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    confusion_matrix,
    log_loss,
    mean_absolute_error,
    mean_squared_error,
    precision_recall_fscore_support,
    r2_score,
)
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

import suffice
from suffice.cli import main
from suffice.reporting import Report
from suffice.reporting.svg import ticks

VOID = {"meta", "br", "img", "input", "link", "hr"}


class Page(HTMLParser):
    """The tables of a page as rows of texts, and what must be true of every page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.tags: dict[str, int] = {}
        self.ids: list[str] = []
        self.links: list[str] = []
        self.svgs: list[dict] = []
        self.in_cell = False
        self.feed(text)
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found[k] for k in ("href", "src") if k in found]
        if tag == "svg":
            self.svgs.append(found)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self.in_cell = True
        elif tag == "data":
            self.tables[-1][-1][-1] = found["value"]
            self.in_cell = False
        if tag not in VOID and tag not in ("rect", "circle", "path", "polyline"):
            self.open.append(tag)

    handle_startendtag = lambda self, tag, attrs: self.tags.__setitem__(tag, self.tags.get(tag, 0) + 1)  # noqa: E731

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag in ("td", "th"):
            self.in_cell = False

    def handle_data(self, data):
        if self.in_cell:
            self.tables[-1][-1][-1] += data

    def table(self, first: str) -> list[list[str]]:
        """The rows below the head whose first cell is `first`."""
        return next(table[1:] for table in self.tables if table[0][0] == first)


def checked(page: Report) -> Page:
    """A page that is whole, small, alone and usable without eyes or mouse."""
    text = page.html()
    found = Page(text)
    assert len(text.encode()) < 3_000_000
    assert not re.search(r"https?://|<script|@import|url\(", text)
    assert all(link.startswith("#") and link[1:] in found.ids for link in found.links)
    assert len(found.ids) == len(set(found.ids))
    assert found.tags["h1"] == 1 and found.tags["main"] == 1 and found.tags["title"] == 1 + len(found.svgs)
    for svg in found.svgs:
        assert svg["role"] == "img" and all(name in found.ids for name in svg["aria-labelledby"].split())
    assert found.tags.get("figure", 0) == len(found.svgs) <= len(found.tables)  # a table with every chart
    return found


@pytest.fixture(scope="module")
def case():
    """Rows split by a seed of this very run."""
    seed = secrets.randbelow(10_000)
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :8].mask(np.random.default_rng(seed).random((len(X), 8)) < 0.05)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed, stratify=y)
    model = suffice.GaussianNB(random_state=0, prior=1.0).fit(X_train, y_train)
    return seed, model, X_train, X_test, y_test.to_numpy()


def test_the_numbers_are_those_of_scikit_learn(case):
    seed, model, X_train, X, y = case
    page = suffice.report(model, X, y, X_train=X_train)
    found, proba, said = checked(page), model.predict_proba(X), model.predict(X)
    shown = {row[0]: row for row in found.table("score")}
    expected = {
        "accuracy": accuracy_score(y, said),
        "log-loss": log_loss(y, proba),
        "balanced accuracy": balanced_accuracy_score(y, said),
        "most frequent class": max(np.mean(y == 0), np.mean(y == 1)),
    }
    for name, value in expected.items():
        np.testing.assert_allclose(float(shown[name][1]), value, rtol=1e-9, err_msg=f"{name}, seed {seed}")
    right = said == y
    np.testing.assert_allclose(float(shown["accuracy"][2]), np.std(right, ddof=1) / np.sqrt(len(y)), rtol=1e-9)
    of_class = np.array([[float(c.replace(",", "")) for c in row[1:]] for row in found.table("class")]).T
    np.testing.assert_allclose(of_class, precision_recall_fscore_support(y, said, zero_division=0), rtol=1e-9)
    confusion = [[int(c.replace(",", "")) for c in row[1:]] for row in found.table("true class")]
    np.testing.assert_array_equal(confusion, confusion_matrix(y, said))
    observed, predicted = calibration_curve(y, proba[:, 1], n_bins=10)
    curve = np.array([[float(c) for c in row[:2]] for row in found.table("predicted")])
    np.testing.assert_allclose(curve, np.c_[predicted, observed], rtol=1e-9)
    (missing,) = [table[1:] for table in found.tables if table[0] == ["column", "share missing"]]
    share = {row[0]: float(row[1]) for row in missing}
    assert len(share) == 8
    for name, value in share.items():
        np.testing.assert_allclose(value, X[name].isna().mean(), rtol=1e-9)
    rows = found.table("row")
    worst = proba[np.arange(len(y)), y]
    np.testing.assert_allclose([float(row[3]) for row in rows], np.sort(worst)[: len(rows)], rtol=1e-9)


def peer_of(model: suffice.GaussianNB, columns: list[int]) -> GaussianNB:
    """scikit-learn's naive Bayes with the parameters of ours on some columns."""
    peer = GaussianNB()
    peer.classes_, peer.class_prior_ = model.classes_, model.class_prior_
    peer.theta_, peer.var_ = model.theta_[:, columns], model.var_[:, columns]
    peer.n_features_in_ = len(columns)
    return peer


def test_every_number_of_a_page_is_one_of_scikit_learn():
    """Each number on the page is found among those that scikit-learn's naive Bayes and metrics give, to nine digits."""
    seed = secrets.randbelow(10_000)
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X, y_train, y = train_test_split(X[:, :5], y, random_state=seed, stratify=y)
    model = suffice.GaussianNB(loss="nll").fit(X_train, y_train)
    n, everything = len(y), list(range(5))
    peer = peer_of(model, everything)
    proba, said = peer.predict_proba(X), peer.predict(X)
    own = proba[np.arange(n), y]
    losses = -np.log(np.clip(own, np.finfo(float).eps, 1))
    right = said == y
    observed, predicted = calibration_curve(y, proba[:, 1], n_bins=10)
    expected = [
        accuracy_score(y, said), log_loss(y, proba), balanced_accuracy_score(y, said), np.mean(y == 1), 0.0, 1.0,
        np.std(right, ddof=1) / np.sqrt(n), np.std(losses, ddof=1) / np.sqrt(n),
        *precision_recall_fscore_support(y, said)[0], *precision_recall_fscore_support(y, said)[1],
        *precision_recall_fscore_support(y, said)[2], *observed, *predicted, *np.sort(own)[:8],
    ]  # fmt: skip
    bins = np.clip(np.ceil(proba.max(axis=1) * 15).astype(int) - 1, 0, 14)  # of the calibration error
    expected.append(sum(abs(right[bins == b].sum() - proba.max(axis=1)[bins == b].sum()) for b in range(15)) / n)
    parts = np.searchsorted(np.linspace(0, 1, 11)[1:-1], proba[:, 1])
    for part in np.unique(parts):
        interval = binomtest(int(y[parts == part].sum()), int((parts == part).sum())).proportion_ci(method="wilson")
        expected += [interval.low, interval.high]
    logs = np.maximum(peer.predict_log_proba(X)[np.arange(n), y], -700)
    for j in everything:
        others = [i for i in everything if i != j]
        change = logs - np.maximum(peer_of(model, others).predict_log_proba(X[:, others])[np.arange(n), y], -700)
        expected += [change.mean(), np.std(change, ddof=1) / np.sqrt(n)]
    density = np.logaddexp.reduce(peer.predict_joint_log_proba(X), axis=1)
    before = np.logaddexp.reduce(peer.predict_joint_log_proba(X_train), axis=1)
    expected += np.sort(density)[:8].tolist()
    edges = np.linspace(np.percentile(np.r_[density, before], 0.5), max(density.max(), before.max()), 31)
    for values in (density, before):
        expected += (np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0] / len(values)).tolist()
    expected += edges.tolist()
    page = suffice.report(model, X, y, X_train=X_train)
    found = checked(page)
    for j in everything:  # p(x, class) at the values that the page shows
        table = next(t for t in found.tables if t[0] == [f"x{j}", "p(x, 0)", "p(x, 1)"])
        values = np.array([float(row[0]) for row in table[1:]])
        assert values[0] < X[:, j].min() < X[:, j].max() < values[-1]
        expected += values.tolist()
        expected += np.exp(peer_of(model, [j]).predict_joint_log_proba(values[:, None])).ravel().tolist()
    shown = np.array([float(value) for value in re.findall(r'<data value="([^"]+)"', page.html())])
    allowed = np.sort(expected)
    near = np.abs(shown[:, None] - allowed).min(axis=1) / np.maximum(np.abs(shown), 1e-6)
    assert len(shown) > 200
    assert near.max() < 1e-9, (seed, shown[near >= 1e-9])


@pytest.mark.parametrize("model", [LinearRegression(), suffice.GaussianRegressor(random_state=0)], ids=str)
def test_a_regression_has_the_scores_of_scikit_learn(model):
    X, y = load_diabetes(return_X_y=True)
    X_train, X, y_train, y = train_test_split(X, y, random_state=secrets.randbelow(10_000))
    model.fit(X_train, y_train)
    page = suffice.report(model, X, y)
    shown, said = {row[0]: float(row[1]) for row in checked(page).table("score")}, model.predict(X)
    expected = [r2_score(y, said), mean_squared_error(y, said), mean_absolute_error(y, said)]
    np.testing.assert_allclose(
        [shown[k] for k in ("R2", "mean squared error", "mean absolute error")], expected, rtol=1e-9
    )
    if hasattr(model, "predict_interval"):
        low, high = model.predict_interval(X)
        np.testing.assert_allclose(shown["coverage 90"], np.mean((low <= y) & (y <= high)), rtol=1e-9)
        np.testing.assert_allclose(shown["negative log density"], -model.log_density(X, y).mean(), rtol=1e-9)
        assert "Columns that tell" in [section.title for section in page.sections]


def test_a_tagger_has_the_scores_of_scikit_learn():
    rng = np.random.default_rng(secrets.randbelow(10_000))
    tags = [rng.choice(["N", "V"], 6).tolist() for _ in range(40)]
    words = [[str(rng.choice(["dog", "cat", "run"] if t == "N" else ["run", "sees"])) for t in own] for own in tags]
    model = suffice.TextTagger(random_state=0).fit(words[:30], tags[:30])
    given = [[None, *own[1:]] for own in tags[30:]]  # the first tag of every sentence is not known
    page = suffice.report(model, words[30:], given)
    found = checked(page)
    y = np.concatenate([own[1:] for own in tags[30:]])
    proba = np.concatenate([p[1:] for p in model.predict_proba(words[30:])])
    said = np.concatenate([p[1:] for p in model.predict(words[30:])])
    shown = {row[0]: float(row[1]) for row in found.table("score")}
    np.testing.assert_allclose(
        [shown["accuracy"], shown["log-loss"]], [accuracy_score(y, said), log_loss(y, proba)], rtol=1e-9
    )
    assert {"Confusion", "Reliability", "Worst steps", "Which tag follows which"} <= {s.title for s in page.sections}
    assert "Scores" not in [s.title for s in suffice.report(model, words[30:]).sections]


@pytest.mark.parametrize("is_count", [False, True])
def test_a_density_of_a_number_has_scores_coverage_and_columns(is_count):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[::7, 0] = np.nan
    y = np.nan_to_num(X[:, 2]) + (rng.poisson(2.0, 300) if is_count else rng.normal(size=300))
    y = np.maximum(np.round(y), 0.0) if is_count else y
    model = suffice.MixtureRegressor(2, n_members=1, family="poisson" if is_count else "gaussian", random_state=0)
    model.fit(X[:200], y[:200])
    page = suffice.report(model, X[200:], y[200:])
    found = checked(page)
    shown = {row[0]: float(row[1]) for row in found.table("score")}
    assert shown["negative log density"] == pytest.approx(-model.log_density(X[200:], y[200:]).mean())
    assert shown["CRPS"] == pytest.approx(model.crps(X[200:], y[200:]).mean())
    below = model.cdf(X[200:], y[200:])
    held = {round(float(row[0]), 2): float(row[1]) for row in found.table("interval says")}
    assert held[0.9] == shown["coverage 90"] == np.mean((below >= 0.05) & (below <= 0.95))
    assert page.columns[0][0] == "x2"
    [single] = [section for section in page.sections if section.title == "Densities of single rows"]
    density = np.array(single.charts[0][1].rows)
    sums = density[:, 1:].sum(axis=0) * (1.0 if is_count else density[1, 0] - density[0, 0])
    np.testing.assert_allclose(sums, 1.0, atol=0.03)


def test_planted_columns_are_told_first():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=600)
    X = rng.normal(size=(600, 12))
    X[:, 7] += 2 * y
    X[:, 3] -= 1.5 * y
    page = suffice.report(suffice.GaussianNB(loss="nll").fit(X[:300], y[:300]), X[300:], y[300:])
    assert [name for name, *_ in page.columns[:2]] == ["x7", "x3"]


def test_texts_of_the_data_cannot_become_markup():
    X = pd.DataFrame({"<b>a</b>": [0.0, 1.0, 4.0, 5.0] * 5, "c": ["<script>alert(1)</script>", "&", '"', "x"] * 5})
    y = np.array(["<i>", "<i>", "no", "no"] * 5)
    page = suffice.report(suffice.MixedNB(loss="nll").fit(X, y), X, y, title="</title><script>")
    checked(page)
    assert "<script" not in page.html() and "<b>a" not in page.html()


def sequences():
    return np.r_[np.zeros(30), np.full(30, 5.0)][:, None] + np.random.default_rng(0).normal(size=(60, 1))


MODELS = {
    "texts": lambda: (
        suffice.TextClassifier(random_state=0).fit(["good film", "bad plot", "good plot", "bad film"] * 6, [1, 0, 1, 0] * 6),
        ["good film", "bad plot", "a bad film"],
        [1, 0, 0],
        ["Columns that tell", "Worst rows"],
    ),
    "topics": lambda: (
        suffice.LatentDirichletAllocation(2, random_state=0).fit(np.kron(np.eye(2, dtype=int), np.full((10, 3), 4))),
        np.kron(np.eye(2, dtype=int), np.full((4, 3), 4)),
        None,
        ["Topics"],
    ),
    "mixture": lambda: (
        suffice.GaussianMixture(2, random_state=0).fit(load_wine().data[:, :3]), load_wine().data[:, :3], None, ["Components"]
    ),
    "states": lambda: (suffice.GaussianHMM(2, random_state=0).fit(sequences()), sequences(), None, ["States"]),
    "classes of sequences": lambda: (
        suffice.HMMClassifier(2, random_state=0, loss="nll").fit([sequences(), -sequences()] * 4, [0, 1] * 4),
        [sequences(), -sequences()] * 2,
        [0, 1, 0, 1],
        ["Scores", "Confusion"],
    ),
    "network": lambda: (
        suffice.SigmoidBeliefNetwork((2,), max_iter=3, random_state=0).fit(np.eye(4, dtype=int).repeat(5, axis=0)),
        np.eye(4, dtype=int),
        None,
        ["Dictionary"],
    ),
    "tags": lambda: (
        suffice.TextTagger(random_state=0).fit([["a", "dog"], ["the", "cat"]] * 5, [["D", "N"], ["D", "N"]] * 5),
        [["the", "dog"], ["a", "cat"]],
        [["D", "N"], ["D", None]],
        ["Scores", "Worst steps"],
    ),
    "numbers": lambda: (
        suffice.MixtureRegressor(2, random_state=0).fit(load_wine().data[::2, :3], load_wine().data[::2, 3]),
        load_wine().data[1::2, :3],
        load_wine().data[1::2, 3],
        ["Scores", "Columns that tell", "Worst rows"],
    ),
    "many classes": lambda: (
        suffice.GaussianNB(loss="nll").fit(np.arange(70.0)[:, None] // 2, np.arange(70) // 2),
        np.arange(70.0)[:, None] // 2,
        np.arange(70) // 2,
        ["Confusion", "Reliability"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_every_kind_of_model_has_a_report(name):
    model, X, y, sections = MODELS[name]()
    page = suffice.report(model, X, y)
    checked(page)
    titles = [section.title for section in page.sections]
    assert titles[0] == "What was asked, what was chosen" and set(sections) <= set(titles)


def test_rows_without_a_label_count_nowhere(case):
    _, model, _, X, y = case
    labels = y.astype(object)
    labels[::2] = None
    page = suffice.report(model, X, labels)
    assert page.scores["accuracy"] == accuracy_score(y[1::2], model.predict(X.iloc[1::2]))
    assert "Scores" not in [section.title for section in suffice.report(model, X).sections]


def test_what_is_refused_says_why(case):
    _, model, _, X, y = case
    with pytest.raises(ValueError, match=r"[23] is none of the model's classes: '0', '1'"):
        suffice.report(model, X, y + 2)
    with pytest.raises(ValueError, match="rows and y 1 labels"):
        suffice.report(model, X, y[:1])


def test_ticks_are_round_and_inside():
    for low, high in [(0, 1), (-3.2, 7.9), (1e-9, 3e-9), (1000, 123456), (5, 5)]:
        found = ticks(low, high)
        assert 1 <= len(found) <= 12 and all(low - 1e-9 <= value <= high * (1 + 1e-9) + 1e-9 for value in found)


def written(tmp_path: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(0)
    kind = rng.choice(["cat", "dog"], 300)
    table = pd.DataFrame(
        {"weight": np.where(kind == "cat", 4, 18) + rng.normal(size=300), "home": rng.choice(["flat", "house"], 300)}
    )
    table["kind"], table["born"] = kind, [f"2021-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(300)]
    table.to_csv(tmp_path / "animals.csv", index=False)
    model = tmp_path / "animals.sfc"
    assert main(["train", str(tmp_path / "animals.csv"), "--target", "kind", "-o", str(model)]) == 0
    return model, tmp_path / "animals.csv"


def test_the_command_line_writes_one_and_destroys_nothing(tmp_path, capsys):
    model, data = written(tmp_path)
    before = data.read_bytes()
    page = tmp_path / "report.html"
    assert main(["report", str(model), str(data), "-o", str(page)]) == 0
    assert "accuracy" in capsys.readouterr().err
    assert "Columns that tell" in page.read_text() and "What was compared" in page.read_text()
    assert "born 2021-" in page.read_text() and "rows of training" not in page.read_text()
    other = tmp_path / "other.csv"
    other.write_bytes(before)
    assert main(["report", str(model), str(data), "--training", str(other), "-o", str(page)]) == 0
    assert "rows of training" in page.read_text()
    for path in (data, model, other):
        assert main(["report", str(model), str(data), "--training", str(other), "-o", str(path)]) == 2
    assert data.read_bytes() == before
    assert main(["report", str(model), str(tmp_path / "nothing.csv"), "-o", str(page)]) == 3


@pytest.mark.skipif("SUFFICE_CHROMIUM" not in os.environ, reason="no browser: SUFFICE_CHROMIUM names an executable")
def test_a_browser_without_network_shows_every_kind_of_page(case, tmp_path):
    api = pytest.importorskip("playwright.sync_api")
    _, model, X_train, X, y = case
    pages = {name: suffice.report(*MODELS[name]()[:3]) for name in MODELS}
    pages["table"] = suffice.report(model, X, y, X_train=X_train)
    with api.sync_playwright() as playwright:
        arguments = ["--headless=shell", "--no-sandbox", "--disable-gpu", "--single-process", "--no-zygote"]
        browser = playwright.chromium.launch(executable_path=os.environ["SUFFICE_CHROMIUM"], args=arguments)
        tab, said, asked = browser.new_context(offline=True).new_page(), [], []
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("request", lambda request: asked.append(request.url))
        for number, (name, page) in enumerate(pages.items()):  # the table is the last
            page.save(tmp_path / "report.html")
            tab.goto(f"file://{tmp_path / 'report.html'}")
            drawn = tab.evaluate(
                "[...document.querySelectorAll('svg')].filter(s => s.getBoundingClientRect().height > 40).length"
            )
            assert drawn == page.html().count("<svg") >= 1, name
            wide = tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, f"{name} is wider than the window"
            assert not said and len(asked) == number + 1, (name, said)
        assert drawn >= 6
        tab.keyboard.press("Tab")
        assert tab.evaluate("document.activeElement.textContent") == "To the content"
        folded = tab.locator("details").first
        folded.locator("summary").focus()
        tab.keyboard.press("Enter")
        assert folded.evaluate("d => d.open")
        browser.close()
