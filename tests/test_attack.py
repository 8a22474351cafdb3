"""Short attacks: numbers, inputs and forged files (`make attack` runs the long ones, under bounds checks)."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from attack.forge import File, forge
from attack.inputs import inputs
from attack.signals import signals
from attack.storm import storm
from attack.zips import zips
from scipy import sparse

import suffice
from suffice.saving import ArchiveError, load, save

SEED = 11
TOOLS = Path(__file__).parent.parent / "tools"


@pytest.mark.parametrize(
    ("attack", "count"), [(storm, 80), (inputs, 400), (forge, 200)], ids=lambda value: getattr(value, "__name__", "")
)
def test_nothing_is_found(attack, count):
    report = attack(count, SEED)
    assert not report.bad, report.bad[:5]


def saved(model) -> bytes:
    buffer = io.BytesIO()
    save(model, buffer)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def model():
    return suffice.GaussianNB(loss="nll", random_state=np.random.RandomState(0)).fit(
        [[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1]
    )


def test_a_file_brings_no_paths(tmp_path):
    model = suffice.GaussianNB(loss="nll", checkpoint=str(tmp_path / "c")).fit(
        [[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1]
    )
    model.resume = str(tmp_path / "c")
    again = load(io.BytesIO(saved(model)))
    assert again.checkpoint is None
    assert again.resume is None


def test_a_generator_outside_of_its_state_is_refused(model):
    file = File(saved(model))
    text = json.dumps(file.head["object"])
    text, times = re.subn(r'\["pos", \d+\]', '["pos", 2000000]', text)
    assert times == 1
    file.head["object"] = json.loads(text)
    with pytest.raises(ArchiveError, match="pos"):
        load(io.BytesIO(file.bytes()))


@pytest.mark.parametrize(
    "text",
    [
        "[" + "[]," * 2_000_000 + "[]]",
        '{"$": "set", "items": [' + ",".join(str(k * (2**61 - 1)) for k in range(30_000)) + "]}",
    ],
)
def test_headers_that_take_long_are_refused(model, text):
    file = File(saved(model))
    head = json.dumps(file.head | {"object": None}).replace('"object": null', f'"object": {text}')
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", head)
        for name, content in file.members.items():
            archive.writestr(name, content)
    buffer.seek(0)
    with pytest.raises(ArchiveError):
        load(buffer)


def test_the_field_is_named(model):
    file = File(saved(model))
    location = next(name for name, said in file.head["members"].items() if said["shape"] == [1])
    file.put(location, np.zeros(3))
    with pytest.raises(ArchiveError, match=r"\w+\.?\w*_? "):
        load(io.BytesIO(file.bytes()))


def test_zip_tricks_are_refused():
    """Headers that disagree, members over each other, links, bytes before and behind, lists of millions in a few bytes."""
    report = zips(300, SEED)
    assert not report.bad, report.bad[:5]


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("is_piped", [False, True])
def test_files_packed_anew_are_read(model, compression, is_piped):
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

        def seek(self, *_):
            raise OSError

        tell = seek

    buffer, source = Pipe() if is_piped else io.BytesIO(), zipfile.ZipFile(io.BytesIO(saved(model)))
    with source, zipfile.ZipFile(buffer, "w", compression) as archive:
        for name in source.namelist():
            archive.writestr(name, source.read(name))
    again = load(io.BytesIO(buffer.getvalue()))
    assert again.predict([[0.5], [4.5]]).tolist() == [0, 1]


def test_files_are_read_without_the_library(model, tmp_path):
    """The proof that models outlive us: Python's library and numpy are enough."""
    path = tmp_path / "m.sfc"
    path.write_bytes(saved(model))
    script = f"""
import sys
sys.path.insert(0, {str(TOOLS)!r})
import read_model
assert not any(name.split('.')[0] in ('suffice', 'sklearn', 'scipy', 'numba') for name in sys.modules)
model = read_model.read({str(path)!r})
print(model['class'], model['attributes']['classes_'].tolist(), model['attributes']['moments_']['fields']['mass'].tolist())
"""
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "GaussianNB"
    assert str(model.moments_.mass.tolist()) in done.stdout


def test_what_the_attacks_found_in_sequences_texts_and_regressors():
    """One line each: damaged sparse matrices, a single row, sums of masses beyond all numbers."""
    damaged = sparse.csr_matrix(np.eye(3))
    damaged.indices[0] = 10**6
    for model, y in (
        (suffice.TextTagger(), [["a"]]),
        (suffice.TableClassifier(), [0, 1, 0]),
        (suffice.TextClassifier(), [0, 1, 0]),
    ):
        with pytest.raises((TypeError, ValueError)):
            model.fit(damaged, y)
    one_row = suffice.MixtureRegressor(3, n_members=2, max_iter=2, random_state=0).fit(np.ones((4, 1)), np.ones(4))
    assert np.isfinite(one_row.predict([[1.0], [2.0]])).all()
    one_target = suffice.MixtureRegressor(2, n_members=2, max_iter=2, random_state=0).fit(np.eye(2), [1.0, np.nan])
    assert np.isfinite(one_target.predict(np.eye(2))).all()
    X = [np.arange(6.0).reshape(3, 2) + k for k in range(6)]
    model = suffice.HMMClassifier(1, prior=1.0, changes=False, max_epochs=1, random_state=0).fit(X, [0, 1] * 3)
    object.__setattr__(model.moments_, "mass", np.array([1e308, 1.5e308]))
    assert set(model.sample(4, random_state=0)[1]) <= {0, 1}


def test_forged_lengths_are_refused():
    X = [np.arange(6.0).reshape(3, 2) + k for k in range(6)]
    made = suffice.HMMClassifier(1, prior=1.0, max_epochs=1, random_state=0).fit(X, [0, 1] * 3)
    made.typical_length_ = 10**9
    with pytest.raises(ArchiveError, match="typical_length_"):
        load(io.BytesIO(saved(made)))


@pytest.mark.parametrize(
    ("place", "value", "named"),
    [
        (
            ("attributes", "moments_", "fields", "columns", "items", 0, "fields", "first", "$"),
            7,
            r"moments_\.columns\[0\]\.first",
        ),
        (("attributes", "moments_", "fields", "mass"), {"$": "array"}, r"at moments_\.mass \(KeyError: 'member'"),
        (("class",), "Moments of nobody", "the model: the class 'Moments of nobody'"),
        (("params", "class_prior"), -1, "class_prior=-1 must be 2 probabilities"),
    ],
)
def test_a_refusal_says_where(model, place, value, named):
    """A quarter of the forged files was refused without the field: "the header holds an unknown kind 7"."""
    file = File(saved(model))
    holder = file.head["object"]
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    with pytest.raises(ArchiveError, match=named):
        load(io.BytesIO(file.bytes()))


def test_parameters_set_to_nonsense_are_named_by_every_answer():
    X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), [0, 0, 1, 1]
    model = suffice.GaussianNB(loss="nll").fit(X, y)
    with pytest.raises(ValueError, match="n_jobs='x' is neither None"):
        model.set_params(n_jobs="x").predict(X)
    with pytest.raises(ValueError, match="class_prior='x' must be 2 probabilities"):
        model.set_params(n_jobs=None, class_prior="x").partial_fit(X, y)
    topics = suffice.LatentDirichletAllocation(2, max_iter=2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="prior='x' is not a positive number"):
        topics.set_params(prior="x").transform(X)


@pytest.mark.parametrize(
    ("seed", "number"),
    [
        (201, 2382),
        (202, 2514),
        (202, 4254),
        (203, 4575),
        (521, 2403),
        (524, 1800),
        (601, 1757),
        (801, 176),
        (811, 10524),
        (841, 9532),
        (841, 10405),
        (851, 3432),
        (851, 19434),
        (1003, 13495),
        (1003, 15687),
    ],
)
def test_what_the_storm_found_once(seed, number):
    """Weights beside which a prior is nothing, squares of 1e166, flags that BLAS raises for no number of its answer; a column of 1e99
    whose mean is 1e83 off it, components whose counts of 1e-300 vanish, rows too far away for a score; a covariance of 1e362; a weight
    of 1e30, beside which a variance vanishes; room for a step, a gradient and a pass beyond all numbers; a row 1e190 deviations off; a
    constant column of 1e99 among gaps.
    """
    report = storm(1, seed, number)
    assert not report.bad, report.bad


@pytest.mark.parametrize("class_prior", ["x", [0.5, 0.5], np.full(100_000, 1e-5)], ids=["text", "short", "long"])
def test_class_prior_set_after_fit_is_refused_by_sequences(class_prior):
    """It was taken: `predict` could not broadcast, `sample` drew the class 413 of 3."""
    X, y = [np.arange(6.0).reshape(3, 2) + k for k in range(6)], [0, 1, 2] * 2
    model = suffice.HMMClassifier(1, prior=1.0, max_epochs=1, random_state=0)
    with pytest.raises(ValueError, match="class_prior"):
        model.set_params(class_prior=class_prior).partial_fit(X, y, classes=[0, 1, 2])
    model.set_params(class_prior=None).fit(X, y).set_params(class_prior=class_prior)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="class_prior"):
        model.partial_fit(X, y)
    assert all(vars(model)[key] is value for key, value in before.items())


@pytest.mark.parametrize("labels", [[0], [0, 1], ["a", "b", "b"], [0, 1, None] * 4], ids=len)
def test_a_table_of_few_rows_is_fitted(labels):
    """Folds without rows: "Found array with 0 samples" was said of a table that had one; numbers beside None were no labels."""
    X = np.random.default_rng(0).normal(size=(len(labels), 2))
    model = suffice.TableClassifier(random_state=0).fit(X, np.array(labels, dtype=object if None in labels else None))
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1.0)


def forged(model, change) -> io.BytesIO:
    """The file of a model whose header `change` has changed; the checksums are right."""
    file = File(saved(model))
    change(file, file.head["object"]["attributes"])
    return io.BytesIO(file.bytes())


def test_parts_of_a_stream_are_of_their_own_classes():
    """Moments in the place of a prior, a choice in the place of moments: `partial_fit` raised an AttributeError."""
    X, y = np.random.default_rng(0).poisson(2.0, (12, 2)).astype(float), np.arange(12) % 2
    chain = suffice.PoissonHMM(2, max_iter=1, random_state=0).partial_fit([X])
    with pytest.raises(ArchiveError, match=r"_stream\.prior must be ChainPrior"):
        load(forged(chain, lambda _, held: held["_stream"]["fields"].update(prior=held["_stream"]["fields"]["mean"])))
    groups = suffice.MixtureClassifier(2, prior=1.0, max_epochs=1, random_state=0).fit(X, y)
    with pytest.raises(ArchiveError, match=r"_stream\.stepped must be Moments or None"):
        load(forged(groups, lambda _, held: held["_stream"]["fields"].update(stepped=held["choice_"])))


def test_numbers_of_a_file_fit_into_arrays():
    """A setting of -1, an amount of 2**70 and a scale of 1e300: `partial_fit` and `predict` failed otherwise than by a ValueError."""
    X = [np.arange(6.0).reshape(3, 2) + k for k in range(6)]
    chains = suffice.HMMClassifier(1, prior=1.0, max_epochs=1, random_state=0).fit(X, [0, 1] * 3)
    with pytest.raises(ArchiveError, match=r"choice_\.setting must be of chains"):
        load(forged(chains, lambda _, held: held["choice_"]["fields"].update(setting=-1)))
    chain = suffice.PoissonHMM(2, max_iter=1, random_state=0).partial_fit([X[0]])
    with pytest.raises(ArchiveError, match=r"ChainPrior\.amount"):
        load(forged(chain, lambda _, held: held["_stream"]["fields"]["prior"]["fields"].update(amount=2**70)))
    line = suffice.GaussianRegressor().fit(X[0], [0.0, 1.0, 2.0])
    again = load(forged(line, lambda _, held: held["committees_"][0]["fields"].update(scale=1e300)))
    assert np.isfinite(again.predict(X[0], return_std=True)[1]).all()


def test_arrays_of_bins_and_categories_are_numbers():
    """Dates as the edges of a histogram and complex numbers of categories got as far as `score_samples` and `sample_y`."""
    X = np.random.default_rng(0).integers(0, 3, (12, 1)).astype(float)

    def dated(file, held):
        families = held["_stored_model"]["fields"]["families"]["items"]
        name = next(own["fields"]["right"]["member"] for own in families if "right" in own["fields"])
        file.put(name, np.zeros(file.array(name).shape, "M8[s]"))

    def complex_sizes(file, held):
        parts = held["committees_"][0]["fields"]["design"]["fields"]["parts"]["items"]
        name = next(own["fields"]["n_categories"]["member"] for own in parts if "n_categories" in own["fields"])
        file.put(name, file.array(name).astype(complex))

    bins = suffice.MixedNB("histogram", prior=1.0, max_epochs=1).fit(X, X[:, 0] > 0)
    with pytest.raises(ArchiveError, match=r"Histogram\.right must be float"):
        load(forged(bins, dated))
    line = suffice.GaussianRegressor(kinds="categorical").fit(X, X[:, 0])
    with pytest.raises(ArchiveError, match="n_categories"):
        load(forged(line, complex_sizes))

    def dated_sums(file, held):
        name = held["committees_"][0]["fields"]["statistics"]["fields"]["second"]["member"]
        file.put(name, np.zeros(file.array(name).shape, "M8[s]"))

    with pytest.raises(ArchiveError, match=r"committees_\[0\]\.statistics"):
        load(forged(suffice.GaussianRegressor().fit(X, X[:, 0]), dated_sums))


def test_a_file_cannot_ask_for_hours():
    model = suffice.SigmoidBeliefNetwork((2,), max_iter=1, n_temperatures=3, random_state=0).fit(np.eye(4))
    with pytest.raises(ArchiveError, match="n_temperatures"):
        load(io.BytesIO(saved(model.set_params(n_temperatures=10**6))))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize("name", ["GaussianNB", "TextClassifier", "GaussianMixture"])
def test_signals_and_full_disks(name):
    """A short form of `python -m attack.signals`. (Ctrl-C while a prior was chosen was lost where maximum likelihood was kept.)"""
    report = signals(2, SEED, name)
    assert not report.bad, report.bad
