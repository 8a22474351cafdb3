"""Data in blocks: the same bits from one thread, two, and processes of a cluster; files that are read in blocks; what is refused."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.base import clone

import suffice
from suffice import BernoulliNB, ComplementNB, GaussianDiscriminant, GaussianMixture, GaussianNB, MixedNB, MultinomialNB
from suffice.choosing import priors
from suffice.engines.blocks import Threads, tree
from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.files import DataError, Dataset
from suffice.files.dataset import Blocks
from suffice.files.pieces import Part
from suffice.hmm import GaussianHMM
from suffice.learners.blocks import Block, BlockRows
from suffice.learners.driver import Problem, run
from suffice.learners.shardwise import Shardwise
from suffice.losses import loss_named
from suffice.losses.soft_hinge import SoftHinge
from suffice.structures.joint import Joint
from suffice.topic import LatentDirichletAllocation

COLUMNS = list("abcde")


def digest(model) -> str:
    found = hashlib.sha256()
    for array in [model.components_] if hasattr(model, "components_") else model.moments_.arrays():
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def table(n: int, seed: int = 0) -> pd.DataFrame:
    """Skewed, correlated numbers with gaps, whose classes naive Bayes cannot tell apart well by likelihood."""
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 3, n)
    X = generator.gamma(2.0, size=(n, 5)) + np.random.default_rng(7).normal(size=(3, 5))[y]
    X[:, 1] += X[:, 0]
    X[generator.random((n, 5)) < 0.02] = np.nan
    return pd.DataFrame(X, columns=COLUMNS).assign(y=np.array(["u", "v", "w"])[y])


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("rows")
    rows = table(4000)
    for part in range(4):
        rows.iloc[1000 * part : 1000 * (part + 1)].to_parquet(path / f"p{part}.parquet", row_group_size=250)
    documents, labels = texts(800)
    lines = [f"{label}\t{text}\n" for label, text in zip(labels, documents, strict=True)]
    (path / "docs.txt").write_text("".join(lines))
    steps().to_parquet(path / "steps.parquet", row_group_size=150)
    return path


def steps(n: int = 80) -> pd.DataFrame:
    """Steps of sequences, one after the other; row groups cut some of them."""
    generator, parts = np.random.default_rng(4), []
    for name in range(n):
        T = int(generator.integers(5, 40))
        state = np.cumsum(generator.random(T) < 0.15) % 2
        X = generator.normal(size=(T, 2)) + 3 * state[:, None]
        parts.append(pd.DataFrame(X, columns=["a", "b"]).assign(name=f"s{name:03}", t=np.arange(T)))
    return pd.concat(parts, ignore_index=True)


@dataclass(frozen=True)
class Held:
    """Rows in memory as a source; `load` may dawdle, and notes that it was called."""

    part: Part
    number: int = 0
    seconds: float = 0.0
    log: str = ""
    ends_at: int = 0  # the call at which the process dies

    def __repr__(self) -> str:
        return f"Held({self.number})"

    def load(self) -> Part:
        if self.log:
            with open(self.log, "a") as file:
                file.write(f"{self.number}\n")
            if self.ends_at and len(Path(self.log).read_text().split()) >= self.ends_at:
                os._exit(3)
        if self.seconds:
            time.sleep(self.seconds * np.random.default_rng().random())
        return self.part


def cut(X, y, n_blocks: int, order=None, **options) -> Blocks:
    """Rows in memory, in blocks."""
    order = np.arange(X.shape[0]) if order is None else order
    take = (lambda rows: X.iloc[rows]) if hasattr(X, "iloc") else (lambda rows: X[rows])
    parts = np.array_split(order, n_blocks)
    return Blocks(
        [Held(Part(take(rows), None if y is None else y[rows]), number, **options) for number, rows in enumerate(parts)]
    )


def texts(n: int) -> tuple[list[str], np.ndarray]:
    generator = np.random.default_rng(3)
    y = generator.integers(0, 2, n)
    words = np.array([f"w{i}" for i in range(60)])
    shares = generator.dirichlet(np.full(60, 0.5), 2)
    return [" ".join(generator.choice(words, 15, p=shares[k])) for k in y], np.where(y == 1, "sport", "trade")


# -- engines -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 63, 64, 65, 513, 600])
def test_the_tree_of_sums_is_level_by_level(n):
    def join(*parts):
        return f"({' '.join(parts)})"

    items = [str(i) for i in range(n)]
    expected = items
    while len(expected) > 1:
        groups = [expected[i : i + 8] for i in range(0, len(expected), 8)]
        expected = [join(*group) if len(group) > 1 else group[0] for group in groups]
    assert tree(iter(items), join) == expected[0]


@dataclass(frozen=True)
class Case:
    """An estimator, its data, and what the command line is given for the same."""

    model: object
    files: str
    data: dict
    command: str

    def dataset(self, folder: Path) -> Dataset:
        return Dataset(f"{folder}/{self.files}", **self.data)


TABLE = {"block_rows": 500, "target": "y"}
FITS = {
    "nll": Case(GaussianNB(loss="nll"), "p*.parquet", TABLE, "--target y --loss nll"),
    "ncll": Case(GaussianNB(loss="ncll", random_state=0), "p*.parquet", TABLE, "--target y --loss ncll"),
    "hinge": Case(
        GaussianNB(loss="hinge", random_state=0, prior=5.0), "p*.parquet", TABLE, "--target y --loss hinge --set prior=5"
    ),
    "duals": Case(
        GaussianNB(algorithm="incremental", random_state=0, prior=20.0), "p*.parquet", TABLE,
        "--target y --set algorithm=incremental --set prior=20",
    ),
    "mixture": Case(
        GaussianMixture(3, random_state=0, max_iter=8), "p*.parquet", {"block_rows": 500, "ignore": ["y"]},
        "--drop y --model gaussian-mixture --set n_components=3 --set max_iter=8",
    ),
    "text": Case(MultinomialNB(random_state=0), "docs.txt", {"block_bytes": 12_000}, ""),
    "topics": Case(
        LatentDirichletAllocation(3, random_state=0, max_iter=2), "docs.txt", {"block_bytes": 12_000},
        "--model topics --set n_topics=3 --set max_iter=2",
    ),
    "batch topics": Case(
        LatentDirichletAllocation(3, random_state=0, max_iter=4, algorithm="batch"), "docs.txt", {"block_bytes": 12_000},
        "--model topics --set n_topics=3 --set max_iter=4 --set algorithm=batch",
    ),
    "sequences": Case(
        GaussianHMM(2, random_state=0, max_iter=5, sequence="name", time="t"), "steps.parquet", {"block_rows": 300},
        "--model gaussian-hmm --set n_states=2 --set max_iter=5 --sequence name --time t",
    ),
}  # fmt: skip


def fitted(name: str, folder: Path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(FITS[name].model).fit(FITS[name].dataset(folder))


@pytest.fixture(scope="module")
def digests(folder) -> dict[str, str]:
    """By one thread."""
    with suffice.engine(Threads(1)):
        return {name: digest(fitted(name, folder)) for name in FITS}


@pytest.mark.parametrize("name", FITS)
def test_threads_change_no_bit(name, folder, digests):
    for chosen in (Threads(2), Threads(1, keep=False)):
        with suffice.engine(chosen):
            assert digest(fitted(name, folder)) == digests[name]


# -- the same fits as in memory ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_blocks", [2, 64])
@pytest.mark.parametrize("is_sorted", [False, True])
def test_objectives_are_those_of_one_process(n_blocks, is_sorted):
    rows = table(1500, seed=1)
    X, y = rows[COLUMNS], rows["y"].to_numpy()
    order = np.argsort(y, kind="stable") if is_sorted else None
    for loss in ("ncll", "hinge"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = GaussianNB(loss=loss, prior=20.0, random_state=0).fit(X, y)
            found = GaussianNB(loss=loss, prior=20.0, random_state=0).fit(cut(X, y, n_blocks, order))
        F, best = found.history_["objective"][-1], min(whole.history_["objective"])
        assert best * (1 + 1e-3) >= F
        assert abs(found.score(X, y) - whole.score(X, y)) <= 0.002


LATE = pytest.mark.xfail(reason="43 rounds since the learner of dense tables has another metric; 40 are asked")


@pytest.mark.parametrize("is_sorted", [pytest.param(False, marks=LATE), True])
def test_rounds_from_a_small_sample_reach_the_optimum(is_sorted, monkeypatch):
    """A sample of a quarter of the rows: what is left to gain is below a thousandth, after a few dozen rounds."""
    monkeypatch.setattr("suffice.files.dataset.ROWS", 1000)
    rows = table(4000, seed=1)
    X, y = rows[COLUMNS], rows["y"].to_numpy()
    data = cut(X, y, 8, np.argsort(y, kind="stable") if is_sorted else None)
    with suffice.engine(Threads(1)) as chosen:
        model = GaussianNB(prior=20.0, random_state=0).fit(data)
    assert chosen.rounds <= 40
    best = GaussianNB(prior=20.0, random_state=0, tol=1e-7).fit(data)
    assert model.history_["objective"][-1] <= best.history_["objective"][-1] * (1 + 1e-3)


def test_mixtures_and_closed_forms_are_those_of_one_process():
    rows = table(3000, seed=2)
    X, y = rows[COLUMNS], rows["y"].to_numpy()
    for model in (GaussianNB(loss="nll"), GaussianDiscriminant(loss="nll"), MixedNB(loss="nll")):
        whole, found = model.fit(X, y).moments_, type(model)(loss="nll").fit(cut(X, y, 5)).moments_
        np.testing.assert_allclose(found.flat(), whole.flat(), rtol=2e-3, atol=1e-6)
    whole = GaussianMixture(2, random_state=0, tol=1e-6).fit(X)
    found = GaussianMixture(2, random_state=0, tol=1e-6).fit(cut(X, None, 5))
    assert found.lower_bound_ == pytest.approx(whole.lower_bound_, rel=1e-6)


def test_objective_of_em_never_rises(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GaussianMixture(4, random_state=0, max_iter=20, tol=0.0).fit(
            Dataset(f"{folder}/p*.parquet", ignore=["y"])
        )
    assert (np.diff(model.lower_bounds_) >= -1e-9).all()


def test_a_label_and_a_category_of_the_last_block_only():
    rows = table(3000, seed=4).assign(kind="plain")
    rows.loc[2990:, "kind"] = "rare"
    rows.loc[2995:, "y"] = "last"
    model = MixedNB(loss="nll").fit(cut(rows[[*COLUMNS, "kind"]], rows["y"].to_numpy(), 6))
    assert model.classes_.tolist() == ["last", "u", "v", "w"]
    assert model.class_count_[0] == 5
    assert model.categories_["kind"] == ["plain", "rare"]


def test_texts_are_counted_by_one_vocabulary(tmp_path):
    documents, labels = texts(1200)
    lines = [f"{label}\t{text}" for label, text in zip(labels, documents, strict=True)]
    lines[-1] += " onlyhere"
    (tmp_path / "docs.txt").write_text("\n".join(lines) + "\n")
    data = Dataset(tmp_path / "docs.txt", block_bytes=10_000)
    assert len(data) > 5
    model = MultinomialNB(random_state=0).fit(data)
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(dtype=float)
    X = vectorizer.fit_transform([*documents[:-1], documents[-1] + " onlyhere"])
    assert list(data.layout.vocabulary) == vectorizer.get_feature_names_out().tolist()
    assert abs(model.score(X, labels) - MultinomialNB(random_state=0).fit(X, labels).score(X, labels)) < 0.01


# -- files -------------------------------------------------------------------------------------------------------------


def test_blocks_of_files_hold_every_row_once(tmp_path):
    rows = table(700, seed=5).round(3)
    rows["note"] = ['a, "quoted"\nline' if i % 7 == 0 else "plain" for i in range(700)]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    rows.to_parquet(tmp_path / "rows.parquet", row_group_size=60)
    for name, options in (("rows.csv", {"block_bytes": 2000}), ("rows.parquet", {"block_rows": 100})):
        data = Dataset(tmp_path / name, target="y", **options)
        parts = [source.load() for source in data.sources]
        assert len(parts) > 5
        together = pd.concat([part.X.assign(note=part.X["note"].astype(str)) for part in parts], ignore_index=True)
        pd.testing.assert_frame_equal(together[COLUMNS], rows[COLUMNS])
        assert together["note"].tolist() == rows["note"].tolist()
        assert np.concatenate([part.y for part in parts]).tolist() == rows["y"].tolist()


def test_a_file_that_was_written_anew_is_read_anew(tmp_path):
    for n in (300, 500):
        table(n, seed=5).to_parquet(tmp_path / "rows.parquet", row_group_size=60)
        parts = [source.load() for source in Dataset(tmp_path / "rows.parquet", target="y", block_rows=100).sources]
        assert sum(part.n_rows for part in parts) == n


def numbers_in_parquet(path: Path, y: np.ndarray, gap: int | None = None) -> Dataset:
    """80 blocks of 50 rows; a NaN, which is no null, in one of them."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    X = np.random.default_rng(20).normal(size=(4000, 3)) + (np.char.str_len(y) % 3)[:, None]
    if gap is not None:
        X[50 * gap + 7, 1] = np.nan
    pq.write_table(pa.table([*X.T, y], names=["a", "b", "c", "y"]), path / "rows.parquet", row_group_size=50)
    return Dataset(path / "rows.parquet", target="y", block_rows=50)


NAMES = np.array(["u", "vv", "www"])


def test_of_many_blocks_of_numbers_a_few_are_read_for_the_sample(tmp_path):
    y = NAMES[np.random.default_rng(21).integers(0, 3, 4000)].astype(object)
    y[3170], y[20] = "last", None
    data = numbers_in_parquet(tmp_path, y.astype(str))
    with pytest.warns(UserWarning, match="1 rows"):
        model = GaussianNB(loss="nll").fit(data)
    found = data.surveyed
    assert len(found.drawn) == 17  # 16 blocks, and the one with the lone label
    data.read_whole()
    whole = data.survey(Threads(1))
    assert len(whole.drawn) == 80
    for name in ("n_rows", "n_bytes", "labels", "n_unlabelled", "weight", "columns", "kinds", "width"):
        assert getattr(found, name) == getattr(whole, name), name
    assert model.classes_.tolist() == ["last", "u", "vv", "www"]
    assert model.class_count_.tolist() == [1.0, *(float((y == name).sum()) for name in NAMES)]


def test_sorted_labels_are_sampled_from_all_blocks(tmp_path):
    data = numbers_in_parquet(tmp_path, np.sort(np.array([f"c{i % 40:02}" for i in range(4000)])))
    GaussianNB(loss="nll").fit(data)
    assert len(data.surveyed.drawn) == 80


@pytest.mark.parametrize(
    "model", [GaussianNB(loss="nll"), GaussianDiscriminant(loss="nll"), GaussianMixture(2, random_state=0)]
)
def test_a_gap_that_the_file_does_not_tell_of_is_met_and_looked_for(model, tmp_path):
    y = NAMES[np.random.default_rng(21).integers(0, 3, 4000)]
    data = numbers_in_parquet(tmp_path, y, gap=3)
    found = digest(model.fit(data))
    assert len(data.surveyed.drawn) == 80
    again = numbers_in_parquet(tmp_path, y, gap=3)
    again.read_whole()
    assert digest(clone(model).fit(again)) == found


def test_a_column_that_is_numbers_in_some_blocks_only(tmp_path):
    rows = table(600, seed=6)
    rows["code"] = ["7"] * 590 + ["x"] * 10
    rows.to_csv(tmp_path / "rows.csv", index=False)
    data = Dataset(tmp_path / "rows.csv", target="y", block_bytes=4000)
    model = MixedNB(loss="nll").fit(data)
    assert data.layout.kinds["code"] == "categorical"
    assert model.categories_["code"] == ["7", "x"]


def test_svmlight_in_blocks_begins_where_the_whole_does(tmp_path):
    generator = np.random.default_rng(0)
    lines = [
        f"{i % 2} " + " ".join(f"{j}:1" for j in sorted(generator.choice(np.arange(1, 30), 4, False)))
        for i in range(300)
    ]
    (tmp_path / "rows.svm").write_text("\n".join(lines) + "\n")
    model = BernoulliNB(loss="nll").fit(Dataset(tmp_path / "rows.svm", block_bytes=500))
    assert model.n_features_in_ == 29
    assert model.classes_.tolist() == ["0", "1"]


def test_what_cannot_be_done_is_said(folder, tmp_path):
    with pytest.raises(DataError, match="names no file"):
        Dataset(tmp_path / "*.parquet")
    with pytest.raises(DataError, match="is a folder"):
        Dataset(folder)
    with pytest.raises(DataError, match="there is no column 'z'"):
        Dataset(f"{folder}/p*.parquet", target="z")
    data = Dataset(f"{folder}/p*.parquet", target="y")
    with pytest.raises(ValueError, match="has its own labels"):
        GaussianNB().fit(data, ["u"])
    with pytest.raises(TypeError, match="learns from rows in memory only"):
        GaussianMixture(2, algorithm="variational").fit(Dataset(f"{folder}/p*.parquet", ignore=["y"]))
    with pytest.raises(ValueError, match="has no labels"):
        GaussianNB().fit(Dataset(f"{folder}/p*.parquet", ignore=["y"]))
    with pytest.raises(TypeError, match="give suffice"), suffice.engine(3):
        pass


def invoked(given: list[str]) -> None:
    """The command line, in this process."""
    from typer.testing import CliRunner

    from suffice.cli.app import app

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("name", FITS)
def test_the_command_line_gives_the_same_bits(name, folder, tmp_path):
    out, case = tmp_path / "m.sfc", FITS[name]
    invoked(["train", f"{folder}/{case.files}".replace("docs", "doc*"), *case.command.split(), "-o", str(out)])
    found = suffice.load(out)
    found = getattr(found, "model", found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = clone(case.model).fit(
            Dataset(f"{folder}/{case.files}", **{**case.data, "block_rows": 1 << 17, "block_bytes": 1 << 24})
        )
    assert digest(found) == digest(own)


def test_two_places_to_work_at_are_refused(folder, tmp_path):
    from typer.testing import CliRunner

    from suffice.cli.app import app

    given = ["train", f"{folder}/p*.parquet", "--target", "y", "-o", str(tmp_path / "m.sfc")]
    both = CliRunner().invoke(app, [*given, "--workers", "2", "--scheduler", "tcp://127.0.0.1:1"])
    assert both.exit_code != 0


# -- dual rounds -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sources:
    sources: tuple

    def place(self, engine, prepare, n_bytes):
        return engine.place(self.sources, prepare, n_bytes)


def dual_fit(
    engine, n_blocks: int, rounds: int = 4, copies: int = 1, factor: float = 1.0, seconds: float = 0.0, log: str = ""
):
    """((moments, duals), history) of rounds over blocks of one table, or over copies of it."""
    rows = table(400, seed=12).dropna()
    X, y = np.ascontiguousarray(rows[COLUMNS].to_numpy()), pd.factorize(rows["y"], sort=True)[0]
    parts = [np.arange(len(y))] * copies if copies > 1 else np.array_split(np.arange(len(y)), n_blocks)
    blocks = [Held(Block(X[own], y[own], np.ones(len(own))), 0, seconds) for own in parts]
    sources = tuple(Slow(block, number, 0.0, log) for number, block in enumerate(blocks))
    model = Joint.of(GaussianDiagonal.for_data(X, 3))
    prior = priors.interior(model, model.statistics(X, y, np.ones(len(y))))
    prior = prior * (60.0 / float(prior.mass.sum()))
    data = BlockRows(engine, Sources(sources), None, 0, model)
    problem = Problem(model, X, y, np.ones(len(y)), loss_named("ncll"), prior, data)
    fit = run(
        Shardwise(1e-4, factor), problem, prior, np.random.default_rng(0), max_epochs=rounds, tol=0.0, keep_best=False
    )
    found = np.concatenate([shard.multipliers for shard in fit.memory.following.values])
    return (fit.memory.moments, found), fit.history


def test_the_gap_of_dual_rounds_bounds_what_is_left():
    history = dual_fit(Threads(1), 4, rounds=25)[1]
    F, gap = np.array(history["objective"]), np.array(history["gap"])
    assert (F[:-1] - F[-1] <= gap[:-1] + 1e-9).all()
    assert gap[-1] < 1e-2 * F[-1]


def test_the_safe_factor_is_needed():
    """The same rows in four blocks: with the factor rounds go on; without it the sum of the changes leaves the domain at once."""
    assert len(dual_fit(Threads(1), 4, rounds=6, copies=4)[1]["objective"]) == 6
    assert len(dual_fit(Threads(1), 4, rounds=6, copies=4, factor=0.25)[1]["objective"]) == 1


# -- the rounded hinge -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("softness", [0.05, 1.0, 3.0])
def test_the_rounded_hinge_is_its_definition_and_its_weights_are_its_gradient(softness):
    generator, loss = np.random.default_rng(0), SoftHinge(1.0, softness)
    scores, y = generator.normal(size=(40, 4)) * 2, generator.integers(0, 4, 40)
    values, weights = loss.labelled_values(scores, y), loss.labelled_weights(scores, y)
    for i in range(40):
        h = np.delete(1.0 - scores[i, y[i]] + scores[i], y[i])

        def lost(b, h=h):
            return -(b @ h - softness / 2 * (b @ b + b.sum() ** 2))

        best = minimize(
            lost, np.zeros(3), bounds=[(0, 1)] * 3, constraints={"type": "ineq", "fun": lambda b: 1 - b.sum()},
            method="SLSQP", options={"ftol": 1e-13},
        )  # fmt: skip
        assert values[i] == pytest.approx(-best.fun, abs=1e-7)
    step = 1e-6
    for k in range(4):
        up, down = (loss.labelled_values(scores + sign * step * np.eye(4)[k], y) for sign in (1, -1))
        np.testing.assert_allclose((up - down) / (2 * step), -weights[:, k], atol=1e-6)


# -- faults ------------------------------------------------------------------------------------------------------------

CHILD = """
import sys, warnings
sys.path.insert(0, {tests!r})
from test_scale import interrupted
warnings.simplefilter("ignore")
interrupted({log!r}, {folder!r}, {kind!r}, 26)
"""


def interrupted(log: str, folder: str, kind: str, ends_at: int = 0):
    """A fit on blocks whose process dies at some call; begun again, it goes on."""
    rows = table(2000, seed=8)
    y = rows["y"].to_numpy()
    data = cut(rows[COLUMNS], None if kind == "mixture" else y, 2, log=log, ends_at=ends_at)
    model = (
        GaussianMixture(3, random_state=0, tol=0.0, max_iter=15)
        if kind == "mixture"
        else GaussianNB(loss=kind, random_state=0, prior=1.0)
    )
    model.checkpoint_minutes = 0
    with suffice.engine(Threads(1, checkpoint=folder or None, keep=False)):
        return model.fit(data)


@pytest.mark.parametrize("kind", ["mixture", "hinge"])
def test_a_process_that_was_killed_goes_on_from_its_checkpoint(kind, tmp_path):
    log, folder = tmp_path / "log", tmp_path / "checkpoints"
    code = CHILD.format(tests=str(Path(__file__).parent), log=str(log), folder=str(folder), kind=kind)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(suffice.__file__).parents[1]), *sys.path])}
    ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 3, ended.stderr
    assert len(list(folder.glob("*.checkpoint"))) == 1
    before = len(log.read_text().split())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        resumed = interrupted(str(log), str(folder), kind)
        plain = interrupted(str(tmp_path / "other"), "", kind)
    assert digest(resumed) == digest(plain)
    after = len(log.read_text().split()) - before
    assert after < len((tmp_path / "other").read_text().split())  # it did not begin at the beginning


# -- a cluster ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="dask is an extra: pip install 'suffice[dask]'")
    import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with (
        contextlib.suppress(KeyError),  # of distributed, as it closes workers that tests have killed
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            host="127.0.0.1",
            memory_limit="1500MB",
            silence_logs=50,
        ) as found,
        distributed.Client(found) as client,
    ):
        yield found, client


def slowed(data: Blocks, seconds: float = 0.0, log: str = "") -> Blocks:
    """The blocks with sources that dawdle."""
    data.sources = [Slow(source, number, seconds, log) for number, source in enumerate(data.sources)]
    return data


@dataclass(frozen=True)
class Slow:
    source: object
    number: int
    seconds: float
    log: str

    def load(self):
        if self.log:
            with open(self.log, "a") as file:
                file.write(f"{self.number} {os.getpid()}\n")
        time.sleep(self.seconds * np.random.default_rng().random())
        return self.source.load()


def have_workers(cluster, n: int) -> None:
    """Wait until the cluster has so many workers; of those that a test killed, one may not have come back: then all begin anew."""
    found, client = cluster
    try:
        client.wait_for_workers(n, timeout=60)
    except TimeoutError:
        found.scale(0)
        found.scale(n)
        client.wait_for_workers(n, timeout=120)


def test_workers_change_no_bit(cluster, folder, digests, tmp_path):
    found, client = cluster
    for n_workers in (2, 3, 1):
        found.scale(n_workers)
        have_workers(cluster, n_workers)
        for _ in range(300):
            if len(client.scheduler_info(n_workers=-1)["workers"]) == n_workers:
                break
            time.sleep(0.1)
        chosen = suffice.DaskEngine(client, keep=n_workers != 3)  # if not, every task reads, and sleeps
        with suffice.engine(chosen):
            for name, case in FITS.items():
                data = slowed(case.dataset(folder), 0.03)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    assert digest(clone(case.model).fit(data)) == digests[name], (name, n_workers)
        assert len(chosen.processes) == n_workers
        assert os.getpid() not in chosen.processes
    found.scale(2)
    have_workers(cluster, 2)


@pytest.mark.parametrize("name", ["nll", "ncll", "hinge", "mixture", "text", "sequences", "topics"])
def test_the_command_line_on_a_cluster_gives_the_same_bits(name, cluster, folder, tmp_path):
    client, case = cluster[1], FITS[name]
    have_workers(cluster, 2)
    given = ["train", f"{folder}/{case.files}".replace("docs", "doc*"), *case.command.split()]
    for out, where in (("here.sfc", []), ("there.sfc", ["--scheduler", client.scheduler.address])):
        invoked([*given, "-o", str(tmp_path / out), *where])
    here, there = (suffice.load(tmp_path / out) for out in ("here.sfc", "there.sfc"))
    assert digest(getattr(here, "model", here)) == digest(getattr(there, "model", there))


@pytest.mark.parametrize("name", ["mixture", "ncll"])
def test_a_killed_worker_costs_time_only(name, cluster, folder, digests, tmp_path):
    """In the middle of EM, and of L-BFGS: some blocks are read once more than without it, and the bits are the same."""
    import signal
    import threading

    _, client = cluster
    have_workers(cluster, 2)
    case, plain, log = FITS[name], tmp_path / "plain", tmp_path / "log"

    def kill() -> None:
        for _ in range(6000):
            if log.exists() and len(log.read_text().splitlines()) >= len(plain.read_text().splitlines()) // 2:
                break
            time.sleep(0.01)
        os.kill(int(log.read_text().splitlines()[-1].split()[1]), signal.SIGKILL)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suffice.engine(Threads(1, keep=False)):
            clone(case.model).fit(slowed(case.dataset(folder), 0.0, str(plain)))
        killer = threading.Thread(target=kill)
        killer.start()
        with suffice.engine(suffice.DaskEngine(client, keep=False)):
            found = digest(clone(case.model).fit(slowed(case.dataset(folder), 0.05, str(log))))
        killer.join()
    assert found == digests[name]
    assert len(log.read_text().splitlines()) > len(plain.read_text().splitlines())


CLIENT = """
import os, sys, warnings
sys.path.insert(0, {tests!r})
from test_scale import begun_on_a_cluster
warnings.simplefilter("ignore")
begun_on_a_cluster({address!r}, {folder!r}, {checkpoints!r})
"""


def begun_on_a_cluster(address: str, folder: str, checkpoints: str) -> None:
    """A fit whose process dies after some rounds, when the state of one was written."""
    from distributed import Client

    class Mortal(suffice.DaskEngine):
        def _noted(self, found):
            if self.rounds == 9:
                os._exit(3)
            return super()._noted(found)

    with Client(address) as client, suffice.engine(Mortal(client, checkpoints)):
        model = clone(FITS["ncll"].model)
        model.checkpoint_minutes = 0
        model.fit(FITS["ncll"].dataset(Path(folder)))


def test_a_client_that_was_killed_goes_on_from_its_checkpoint(cluster, folder, digests, tmp_path):
    client = cluster[1]
    have_workers(cluster, 2)
    given = {"tests": str(Path(__file__).parent), "address": client.scheduler.address, "folder": str(folder)}
    code = CLIENT.format(**given, checkpoints=str(tmp_path))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(suffice.__file__).parents[1]), *sys.path])}
    ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 3, ended.stderr
    assert len(list(tmp_path.glob("*.checkpoint"))) == 1
    whole, rest = suffice.DaskEngine(client), suffice.DaskEngine(client, tmp_path)
    for chosen in (whole, rest):
        with suffice.engine(chosen), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(FITS["ncll"].model)
            model.checkpoint_minutes = 0
            assert digest(model.fit(FITS["ncll"].dataset(folder))) == digests["ncll"]
    assert rest.rounds < whole.rounds  # it did not begin at the beginning


def test_dask_collections_are_fitted_and_answered(cluster):
    dd = pytest.importorskip("dask.dataframe")
    import dask
    import dask.array as da

    rows = table(1500, seed=10)
    X, y = rows[COLUMNS], rows["y"]
    plain = GaussianNB(loss="nll").fit(cut(X, y.to_numpy(), 3))
    frame = dd.from_pandas(rows, npartitions=3)
    assert digest(GaussianNB(loss="nll").fit(frame[COLUMNS], frame["y"])) == digest(plain)
    parts = [dask.delayed(lambda a, b: (a, b))(X.iloc[i : i + 500], y.iloc[i : i + 500]) for i in (0, 500, 1000)]
    assert digest(GaussianNB(loss="nll").fit(parts)) == digest(plain)
    chunks = da.from_array(X.fillna(0.0).to_numpy(), chunks=(500, 2))
    labels = da.from_array(y.to_numpy(), chunks=400)
    assert GaussianNB(loss="nll").fit(chunks, labels).class_count_.sum() == 1500


def test_a_worker_killed_in_the_dual_rounds_changes_neither_parameters_nor_duals(cluster, tmp_path):
    import signal
    import threading

    _, client = cluster
    have_workers(cluster, 2)
    plain, log = str(tmp_path / "plain"), tmp_path / "log"
    (moments, duals), _ = dual_fit(Threads(2, keep=False), 4, log=plain)

    def kill() -> None:
        for _ in range(6000):
            if log.exists() and len(log.read_text().split()) >= 2 * 9:  # in the third round
                break
            time.sleep(0.01)
        os.kill(int(log.read_text().splitlines()[-1].split()[1]), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    (found, there), _ = dual_fit(suffice.DaskEngine(client, keep=False), 4, seconds=0.2, log=str(log))
    killer.join()
    np.testing.assert_array_equal(found.flat(), moments.flat())
    np.testing.assert_array_equal(there, duals)
    assert len(log.read_text().splitlines()) > len(Path(plain).read_text().splitlines())


def test_answers_about_collections_are_lazy(cluster):
    dd, da = pytest.importorskip("dask.dataframe"), pytest.importorskip("dask.array")
    rows = table(900, seed=11)
    X, y = rows[COLUMNS], rows["y"]
    model = GaussianNB(loss="nll").fit(X, y)
    frame = dd.from_pandas(rows, npartitions=3)
    found = model.predict_proba(frame[COLUMNS])
    assert isinstance(found, da.Array)
    np.testing.assert_array_equal(found.compute(), model.predict_proba(X))
    assert model.predict(frame[COLUMNS]).compute().tolist() == model.predict(X).tolist()
    assert model.score(frame[COLUMNS], frame["y"]) == pytest.approx(model.score(X, y), rel=1e-12)
    numbers = X.fillna(0.0).to_numpy()
    mixture, chunks = GaussianMixture(2, random_state=0).fit(numbers), da.from_array(numbers, chunks=(400, 2))
    assert mixture.predict(chunks).shape == (900,)
    np.testing.assert_array_equal(mixture.score_samples(chunks).compute(), mixture.score_samples(numbers))
    assert mixture.score(chunks) == pytest.approx(mixture.score(numbers), rel=1e-12)


def test_answers_about_files_come_block_by_block(folder):
    model, data = fitted("nll", folder), FITS["nll"].dataset(folder)
    rows = table(4000)
    found = model.predict(data)
    assert len(next(found)) == 500
    assert [*next(found)] == model.predict(rows[COLUMNS])[500:1000].tolist()
    assert model.score(data) == pytest.approx(model.score(rows[COLUMNS], rows["y"]), rel=1e-12)
    chain, steps_of_file = fitted("sequences", folder), FITS["sequences"].dataset(folder)
    assert np.concatenate(list(chain.predict(steps_of_file))).tolist() == chain.predict(steps()).tolist()
    assert chain.score(steps_of_file) == pytest.approx(chain.score(steps()), rel=1e-10)
    trained = FITS["text"].dataset(folder)
    words = clone(FITS["text"].model).fit(trained)
    again = Dataset(f"{folder}/docs.txt", block_bytes=5000, like=trained)
    assert words.score(again) == pytest.approx(words.score(trained), rel=1e-12)
    with pytest.raises(DataError, match="like="):
        words.score(Dataset(f"{folder}/docs.txt"))
    topics = fitted("topics", folder)
    assert np.concatenate(list(topics.transform(trained))).shape == (800, 3)


def test_a_limit_too_small_is_refused_in_a_sentence(cluster):
    _, client = cluster
    data = cut(table(100)[COLUMNS], None, 2)
    data.sources = [Large(source) for source in data.sources]
    began = time.monotonic()
    with (
        suffice.engine(suffice.DaskEngine(client)),
        pytest.raises(MemoryError, match="start workers with a higher --memory-limit"),
    ):
        GaussianMixture(2).fit(data)
    assert time.monotonic() - began < 5


@dataclass(frozen=True)
class Deadly:
    source: object
    n_bytes: int = 7 << 20

    def __repr__(self) -> str:
        return "Deadly"

    def load(self):
        os._exit(1)  # as a worker that is out of memory


def test_a_block_that_kills_its_workers_is_named(cluster):
    _, client = cluster
    have_workers(cluster, 2)
    data = cut(table(100)[COLUMNS], None, 3)
    data.sources[1] = Deadly(data.sources[1])
    with (
        suffice.engine(suffice.DaskEngine(client)),
        pytest.raises(RuntimeError, match=r"^block 1 \(.*7 MB\).* ended the workers"),
    ):
        GaussianMixture(2).fit(data)


@dataclass(frozen=True)
class Large:
    source: object
    n_bytes: int = 1 << 30

    def load(self):
        return self.source.load()


def test_workers_that_differ_are_named():
    pytest.importorskip("distributed")
    from suffice.engines.dask import about_here, warn_of_others

    with pytest.warns(UserWarning, match=r"worker tcp://here has numpy 0\.1"):
        warn_of_others({"tcp://here": replaced(about_here(), numpy="0.1"), "tcp://there": about_here()})


def replaced(values: dict, **others) -> dict:
    return {**values, **others}


def test_fitted_estimators_are_ordinary_ones(folder, tmp_path):
    """Saved, loaded and asked where dask cannot be imported."""
    for name in ("nll", "mixture", "text", "sequences", "topics"):
        suffice.save(fitted(name, folder), tmp_path / f"{name}.sfc")
    code = (
        "import sys; sys.modules['dask'] = sys.modules['distributed'] = None\n"
        f"import numpy, pandas, suffice; folder = {str(tmp_path)!r}\n"
        "given = {name: numpy.ones((4, width)) for name, width in (('nll', 5), ('mixture', 5), ('text', 60), ('topics', 60))}\n"
        "given['sequences'] = pandas.DataFrame({'a': 1.0, 'b': 2.0, 'name': 's', 't': range(4)})\n"
        "for name, X in given.items():\n"
        "    model = suffice.load(f'{folder}/{name}.sfc')\n"
        "    print(name, len(model.transform(X) if name == 'topics' else model.predict(X)))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(suffice.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["nll", "4", "mixture", "4", "text", "4", "topics", "4", "sequences", "4"], (
        done.stderr
    )


def test_what_blocks_cannot_do_is_said(tmp_path):
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc"))
    y = np.where(rows["a"] + rows["b"] > 0, "yes", "no").astype(object)
    y[:5] = None
    rows.assign(y=y).to_parquet(tmp_path / "part.parquet")
    data = Dataset(str(tmp_path / "*.parquet"), target="y")
    with pytest.warns(UserWarning, match="5 rows .* have no label"):
        model = GaussianDiscriminant(prior=1.0).fit(data)  # correlated columns settle on the sample
    assert model.class_count_.sum() == 55
    with pytest.raises(ValueError, match="ComplementNB"):
        ComplementNB().fit(data)
