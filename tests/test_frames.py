"""Any frame, the same answer: pandas, polars and pyarrow give the bits of each other, and get back what they gave."""

import datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import suffice
from suffice.reading.frames import columns_of, side_by_side
from suffice.reading.frames_back import framed, schema_of
from suffice.saving import load, save

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

LIBRARIES = ("pandas", "nullable", "polars", "pyarrow")


def frames(columns: dict, n: int) -> dict:
    """The same table in every library; a value is a list of Python objects with None for what is missing."""
    polars = pl.DataFrame({name: pl.Series(name, values) for name, (values, _) in columns.items()})
    polars = polars.with_columns(
        pl.col(name).cast(pl.Categorical) for name, (_, kind) in columns.items() if kind == "c"
    )
    pandas = pd.DataFrame({name: values for name, (values, _) in columns.items()})
    pandas = pandas.astype({name: "category" for name, (_, kind) in columns.items() if kind == "c"})
    nullable = pandas.convert_dtypes()
    arrow = pa.table({name: pa.array(values) for name, (values, _) in columns.items()})
    for place, (values, kind) in enumerate(columns.values()):
        if kind == "c":
            arrow = arrow.set_column(place, arrow.schema.names[place], pa.array(values).dictionary_encode())
    return {"pandas": pandas, "nullable": nullable, "polars": polars, "pyarrow": arrow}


def mixed_columns(seed: int, n: int = 60) -> tuple[dict, np.ndarray]:
    generator = np.random.default_rng(seed)
    y = generator.choice(["no", "yes"], n)
    on = y == "yes"

    def holes(values):
        missing = generator.random(n) < generator.choice([0.0, 0.3])
        return [None if out else value for value, out in zip(values, missing, strict=True)]

    day = datetime.date(2024, 1, 1)
    columns = {
        "float": (holes((generator.normal(size=n) + on).tolist()), "n"),
        "few": (holes(generator.integers(0, 4, n).tolist()), "n"),
        "many": (holes(generator.integers(0, 400, n).tolist()), "n"),
        "text": (holes(np.where(generator.random(n) < 0.3 + 0.4 * on, "rouge", "bleu").tolist()), "t"),
        "category": (holes(generator.choice(["a", "b", "ç"], n).tolist()), "c"),
        "flag": (holes((generator.random(n) < 0.5).tolist()), "t"),
        "date": (holes([day + datetime.timedelta(days=int(k)) for k in generator.integers(0, 900, n)]), "t"),
        "time": (
            holes([datetime.datetime(2024, 1, 1) + datetime.timedelta(microseconds=int(k)) for k in generator.integers(0, 10**14, n)]),
            "t",
        ),
    }  # fmt: skip
    return columns, y


def number_columns(seed: int, n: int = 60) -> tuple[dict, np.ndarray]:
    """Counts, whole numbers with holes and booleans: for those who take numbers only."""
    generator = np.random.default_rng(seed)
    y = np.concatenate([[0, 1, 2], generator.integers(0, 3, n - 3)])
    columns = {f"c{j}": ((generator.poisson(2 + (y == j)) * 1.0).tolist(), "n") for j in range(2)}
    columns["whole"] = ([int(value) for value in generator.poisson(3 - y)], "n")
    columns["flag"] = ((generator.random(n) < 0.5).tolist(), "t")
    return columns, y


TABLES = {
    "MixedNB": lambda: suffice.MixedNB(prior=1.0, random_state=0),
    "MixedNB nll": lambda: suffice.MixedNB(loss="nll"),
    "MixedNB hinge": lambda: suffice.MixedNB(loss="hinge", prior=1.0, random_state=0),
    "MixtureClassifier": lambda: suffice.MixtureClassifier(2, family="mixed", prior=1.0, max_epochs=5, random_state=0),
}
NUMBERS = {
    name: lambda name=name: getattr(suffice, name)(loss="nll")
    for name in ("GaussianNB", "BernoulliNB", "CategoricalNB", "PoissonNB", "MultinomialNB", "ComplementNB", "GaussianDiscriminant")
} | {
    "LDAClassifier": lambda: suffice.LDAClassifier(n_topics=2, max_epochs=2, prior=1.0, random_state=0),
    "FamilyNB": lambda: suffice.FamilyNB(family="gaussian", loss="nll"),
}  # fmt: skip
MIXTURES = ("GaussianMixture", "BernoulliMixture", "CategoricalMixture", "MultinomialMixture", "PoissonMixture")
OTHERS = ("MixedMixture", "LatentDirichletAllocation", "SigmoidBeliefNetwork", "MixedHMM", "GaussianHMM")


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
@pytest.mark.parametrize("name", TABLES)
def test_every_library_gives_the_same_bits(name, seed):
    columns, y = mixed_columns(seed)
    kinds = frames(columns, len(y))
    found = {library: TABLES[name]().fit(X, y).predict_proba(X) for library, X in kinds.items()}
    for library in LIBRARIES:
        np.testing.assert_array_equal(found[library], found["pandas"], err_msg=library)
    model = TABLES[name]().fit(kinds["pandas"], y)
    for library, X in kinds.items():  # trained on one, asked with another
        np.testing.assert_array_equal(model.predict_proba(X), found["pandas"], err_msg=library)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_in_every_library_give_the_same_bits(name):
    columns, y = number_columns(3)
    kinds = frames(columns, len(y))
    array = np.column_stack([np.asarray(values, dtype=float) for values, _ in columns.values()])
    labels = {
        "pandas": pd.Series(y),
        "nullable": pd.Series(y, dtype="Int64"),
        "polars": pl.Series(y),
        "pyarrow": pa.chunked_array([y]),
    }
    ours = NUMBERS[name]().fit(array, y).predict_proba(array)
    for library, X in kinds.items():
        model = NUMBERS[name]().fit(X, labels[library])
        assert list(model.feature_names_in_) == list(columns)
        np.testing.assert_array_equal(model.predict_proba(X), ours, err_msg=library)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*MIXTURES, *OTHERS])
def test_models_without_labels(name):
    columns, y = mixed_columns(5) if name.startswith("Mixed") else number_columns(5)
    settings = {"random_state": 0}
    if name == "SigmoidBeliefNetwork":
        settings |= {"hidden": (2,), "max_iter": 1}
    elif name == "LatentDirichletAllocation":
        settings |= {"n_topics": 2, "max_iter": 2}
    else:
        settings |= {"n_states" if name.endswith("HMM") else "n_components": 2, "max_iter": 3}
        settings |= {"binarize": 0.5} if name == "BernoulliMixture" else {}
    method = "transform" if name in ("SigmoidBeliefNetwork", "LatentDirichletAllocation") else "predict_proba"
    found = []
    for X in frames(columns, len(y)).values():
        model = getattr(suffice, name)(**settings).fit(X)
        found.append(getattr(model, method)(X))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


ANSWERS = {  # of models of tables with other answers than probabilities of classes
    "GaussianRegressor": (lambda X, y: suffice.GaussianRegressor(random_state=0).fit(X, y), lambda m, X, y: m.log_density(X, y)),
    "MixtureRegressor": (
        lambda X, y: suffice.MixtureRegressor(2, n_members=1, max_iter=5, random_state=0).fit(X, y),
        lambda m, X, y: np.column_stack(m.predict(X, return_std=True)),
    ),
    "TableClassifier": (
        lambda X, y: suffice.TableClassifier(random_state=0).fit(X, y > np.median(y)),
        lambda m, X, y: m.predict_proba(X),
    ),
    "completion": (
        lambda X, y: suffice.MixedMixture(2, max_iter=5, random_state=0).fit(X),
        lambda m, X, y: np.column_stack([m.score_cells(X), m.conditional(X, "text"), m.predict_column(X, "float")]),
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ANSWERS)
def test_other_models_of_tables_give_the_same_bits_and_refuse_another_order(name):
    columns, y = mixed_columns(int(np.random.default_rng().integers(10**6)), 30)
    y = np.random.default_rng(0).normal(size=len(y)) + (y == "yes")
    make, ask = ANSWERS[name]
    found = {}
    for library, X in frames(columns, len(y)).items():
        model = make(X, y)
        found[library] = np.asarray(ask(model, X, y), dtype=float)
        np.testing.assert_array_equal(found[library], found["pandas"], err_msg=library)
        with pytest.raises(ValueError, match="feature names should match"):
            ask(model, shuffled(X, library), y)


def shuffled(X, library):
    names = [*list(X.columns)[1:], X.columns[0]] if library != "pyarrow" else [*X.schema.names[1:], X.schema.names[0]]
    return X.select(names) if library in ("polars", "pyarrow") else X[names]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    "name", ["MixedNB nll", "GaussianNB", "MultinomialNB", "GaussianMixture", "LatentDirichletAllocation"]
)
def test_columns_in_another_order_are_refused(name, library):
    columns, y = mixed_columns(1) if name in TABLES else number_columns(1)
    X = frames(columns, len(y))[library]
    if name in TABLES or name in NUMBERS:
        model = (TABLES | NUMBERS)[name]().fit(X, y)
        ask = model.predict
    else:
        model = getattr(suffice, name)(2, random_state=0, max_iter=2).fit(X)
        ask = model.predict if hasattr(model, "predict") else model.transform
    with pytest.raises(ValueError, match="feature names should match"):
        ask(shuffled(X, library))


def types_of(X, library):
    return X.schema if library in ("polars", "pyarrow") else dict(X.dtypes)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_filled_or_drawn_has_the_dtypes_that_came_in(library, tmp_path):
    columns, y = mixed_columns(7)
    columns["float"] = ([None, *columns["float"][0][1:]], "n")
    columns["many"] = ([None, *columns["many"][0][1:]], "n")
    columns["category"] = ([None, *columns["category"][0][1:]], "c")
    columns["date"] = ([None, *columns["date"][0][1:]], "t")
    columns["time"] = ([None, *columns["time"][0][1:]], "t")
    X = frames(columns, len(y))[library]
    model = suffice.MixedNB(loss="nll", random_state=0).fit(X, y)
    save(model, tmp_path / "model.sfc")
    for machine in (model, load(tmp_path / "model.sfc")):
        filled, drawn = machine.impute(X), machine.sample_missing(X, random_state=1)
        rows, _ = machine.sample(30, random_state=2)
        for made in (filled, drawn, rows):
            assert type(made) is type(X)
            assert types_of(made, library) == types_of(X, library)
        for made in (filled, drawn):
            for before, after in zip(columns_of(X), columns_of(made), strict=True):
                assert not after.missing.any()
                seen = ~before.missing
                if before.numbers is not None:
                    np.testing.assert_array_equal(after.numbers[seen], before.numbers[seen])
                else:
                    both = zip(before.codes[seen], after.codes[seen], strict=True)
                    assert all(before.values[a] == after.values[b] for a, b in both)
        assert not any(column.missing.any() for column in columns_of(rows))


@pytest.mark.parametrize("library", LIBRARIES)
def test_filled_numbers_come_as_the_frame(library):
    columns, y = number_columns(2)
    columns["c0"] = ([None, *columns["c0"][0][1:]], "n")
    X = frames(columns, len(y))[library]
    model = suffice.GaussianNB(loss="nll").fit(X, y)
    filled = model.impute(X)
    assert type(filled) is type(X) and types_of(filled, library) == types_of(X, library)
    assert types_of(model.sample(3)[0], library) == types_of(X, library)


def test_lists_of_rows_keep_numbers():
    rows = [[1.5, "a", True], [None, "b", False], [2.5, None, True], [0.5, "a", None]] * 5
    y = [0, 1, 1, 0] * 5
    model = suffice.MixedNB(loss="nll").fit(rows, y)
    assert list(model.kinds_.values()) == ["gaussian", "categorical", "categorical"]
    again = suffice.MixedNB(loss="nll").fit(pd.DataFrame(rows), y)
    np.testing.assert_array_equal(model.predict_proba(rows), again.predict_proba(pd.DataFrame(rows)))


def test_texts_for_those_who_take_numbers_are_refused_by_name():
    for X in frames({"size": ([1.0, 2.0], "n"), "hue": (["red", "blue"], "t")}, 2).values():
        with pytest.raises(ValueError, match=r"'hue'.*could not convert"):
            suffice.GaussianNB().fit(X, [0, 1])


def test_labels_of_every_library():
    X, y = np.arange(8.0)[:, None], ["a", "b", None, "a"] * 2
    wanted = suffice.GaussianNB(loss="nll", random_state=0).fit(X, y).predict_proba(X)
    for series in (pd.Series(y), pl.Series(y), pa.array(y), pa.chunked_array([y]), pl.Series(y, dtype=pl.Categorical)):
        model = suffice.GaussianNB(loss="nll", random_state=0).fit(X, series)
        np.testing.assert_array_equal(model.predict_proba(X), wanted)


@pytest.mark.parametrize("n_columns", [1, 7, 8, 9, 20])
def test_columns_side_by_side_are_the_same_by_compiled_copies(n_columns, monkeypatch):
    X = np.random.default_rng(0).normal(size=(9000, n_columns))
    columns = [X[:, j] if j % 3 else np.ascontiguousarray(X[:, j]) for j in range(n_columns)]
    for many in (10**9, 0):
        monkeypatch.setattr("suffice.reading.frames.MANY", many)
        np.testing.assert_array_equal(side_by_side(columns, 9000), X)


def test_a_dtype_that_pandas_does_not_know_is_named():
    schema = schema_of(pd.DataFrame({"a": [1.0]}))
    schema.dtypes = ["float1180591620717411303424"]
    with pytest.raises(ValueError, match="dtype 'float1180591620717411303424', which pandas"):
        framed(schema, np.zeros((1, 1)))
