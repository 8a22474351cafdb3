"""Readers: every format gives the same rows whatever the chunk size, and every bad file a named place."""

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

from suffice.files import DataError, read
from suffice.files import table as table_module

CSV = "age,job,y\n39,clerk,no\n?,driver,yes\n50,,no\n28,clerk,?\n61.5,baker,yes\n"
FUZZ = int(os.environ.get("SUFFICE_FUZZ", "1"))  # `make fuzz` raises it


def whole(path, target=None, **options):
    tables = list(read(path, target, **options))
    first = tables[0]
    if sp.issparse(first.X):
        X = sp.vstack([table.X for table in tables])
    else:
        X = pd.concat(
            [table.X.astype({n: object for n, k in first.kinds.items() if k == "categorical"}) for table in tables]
        )
        X = X.reset_index(drop=True)
    assert [table.first_row for table in tables] == list(np.cumsum([0, *[table.n_rows for table in tables[:-1]]]))
    return X, None if first.y is None else np.concatenate([table.y for table in tables])


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(CSV)
    return path


@pytest.mark.parametrize("chunk_rows", [1, 2, 3, 100])
def test_csv_of_any_chunk_size(csv, chunk_rows):
    X, y = whole(csv, "y", chunk_rows=chunk_rows)
    np.testing.assert_array_equal(X["age"], [39, np.nan, 50, 28, 61.5])
    assert X["job"].where(X["job"].notna(), None).tolist() == ["clerk", "driver", None, "clerk", "baker"]
    assert y.tolist() == ["no", "yes", "no", None, "yes"]


def test_codes_keep_their_meaning(csv):
    meanings: dict = {}
    for table in read(csv, "y", chunk_rows=1):
        job = table.X["job"].cat
        for code in job.codes[job.codes >= 0]:
            assert meanings.setdefault(code, job.categories[code]) == job.categories[code]
    assert meanings == {0: "clerk", 1: "driver", 2: "baker"}
    known = next(read(csv, "y", categories={"job": ["baker", "smith"]})).X["job"].cat
    assert known.categories.tolist()[:2] == ["baker", "smith"]


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, bz2.compress])
def test_compression_is_found_by_content(tmp_path, csv, compress):
    for name in ("a.csv.gz", "b"):  # whatever the name
        (tmp_path / name).write_bytes(compress(CSV.encode()))
        X, _ = whole(tmp_path / name, "y")
        pd.testing.assert_frame_equal(X, whole(csv, "y")[0])
    (tmp_path / "cut.csv.gz").write_bytes(compress(CSV.encode() * 50)[:-20])
    with pytest.raises(DataError, match="decompress"):
        whole(tmp_path / "cut.csv.gz", "y")


def test_target_by_name_and_position(csv):
    for target in ("y", "last", -1, "-1", 2, "2"):
        assert next(read(csv, target)).columns == ("age", "job")
    assert next(read(csv)).columns == ("age", "job", "y") and next(read(csv)).y is None
    assert next(read(csv, "y", ignore=["job"])).columns == ("age",)
    assert next(read(csv, "y", columns=["job"])).columns == ("job",)
    with pytest.raises(DataError, match=r"no column 'income'; the columns are 'age', 'job', 'y'"):
        next(read(csv, "income"))
    with pytest.raises(DataError, match="no column 'pay'"):
        next(read(csv, "y", columns=["pay"]))


def test_header_is_inferred_and_can_be_set(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("39, State-gov, <=50K\n50, ?, >50K\n")
    table = next(read(path, -1))
    assert table.columns == ("x0", "x1") and table.y.tolist() == ["<=50K", ">50K"]
    assert table.X["x1"].tolist() == ["State-gov", np.nan]
    path.write_text("p,x\ne,x\n")
    assert next(read(path, 0)).columns == ("x",)
    assert next(read(path, 0, header=False)).n_rows == 2
    path.write_text("p,x,x\ne,x,x\n")
    assert next(read(path, 0)).n_rows == 2
    with pytest.raises(DataError, match="'x' twice"):
        next(read(path, 0, header=True))


@pytest.mark.parametrize(
    "text", ["a;b;y\n1;u;0\n", "\ufeffa,b,y\r\n1,u,0\r\n", "a\tb\ty\n1\tu\t0\n", '"a",b,y\n"1","u","0"\n']
)
def test_dialects(tmp_path, text):
    (tmp_path / "a").write_bytes(text.encode())
    table = next(read(tmp_path / "a", "y"))
    assert table.columns == ("a", "b") and table.y.tolist() == ["0"]
    assert dict(table.kinds) == {"a": "numeric", "b": "categorical"} and table.X.iloc[0].tolist() == [1.0, "u"]


def test_kinds_are_kept_and_can_be_set(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,y\n1,u\n2,u\nred,v\n")
    with pytest.raises(DataError, match=r"line 4, column 'a' holds 'red'.*categorical"):
        whole(path, "y", chunk_rows=2)
    X, _ = whole(path, "y", chunk_rows=2, kinds={"a": "categorical"})
    assert X["a"].tolist() == ["1", "2", "red"]
    X, _ = whole(path, "y", chunk_rows=1, missing=["red"])
    np.testing.assert_array_equal(X["a"], [1, 2, np.nan])
    with pytest.raises(DataError, match="holds 'red'"):
        whole(path, "y", kinds={"a": "numeric"})
    with pytest.raises(DataError, match="not one of 'numeric'"):
        whole(path, "y", kinds={"a": "number"})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("a,y\n", "no rows"),
        ("a,y\n1,2\n1,2,3\n", "line 3.*delimiter"),
        ("a,y\n1,2,3\n1,2\n", "line 2 has 3 cells, line 1 2"),
        ('a,y\n"1,2\n', "quotes"),
        ("a\n1\n", "no column is left"),
    ],
)
def test_bad_csv(tmp_path, text, says):
    (tmp_path / "a.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=says):
        whole(tmp_path / "a.csv", -1)


def test_bytes_that_are_not_utf8_are_western_european_with_a_warning(tmp_path):
    (tmp_path / "a.csv").write_bytes("a,y\ncafé,2\nthé,3\n".encode("latin-1"))
    with pytest.warns(UserWarning, match="cp1252"):
        X, _ = whole(tmp_path / "a.csv", -1)
    assert X["a"].tolist() == ["café", "thé"]
    with pytest.raises(DataError, match="--encoding"):
        whole(tmp_path / "a.csv", -1, encoding="utf-8")


def test_an_identifier_column_is_an_error_not_memory(csv, monkeypatch):
    monkeypatch.setattr(table_module, "MAX_CATEGORIES", 2)
    with pytest.raises(DataError, match=r"'job' has more than 2.*--drop"):
        whole(csv, "y", chunk_rows=2)


def test_other_errors_name_the_argument(csv, tmp_path):
    with pytest.raises(ValueError, match="chunk_rows=0"):
        read(csv, chunk_rows=0)
    with pytest.raises(ValueError, match="format='xls'"):
        read(csv, format="xls")
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.csv")
    with pytest.raises(DataError, match="folder"):
        read(tmp_path)
    (tmp_path / "binary").write_bytes(b"\x00\x01\x02")
    with pytest.raises(DataError, match="binary"):
        read(tmp_path / "binary")


def test_parquet_equals_csv(csv, tmp_path):
    frame = pd.read_csv(csv, na_values=["?"])
    frame["job"] = frame["job"].astype("category")
    frame.to_parquet(tmp_path / "a.parquet")
    for chunk_rows in (2, 100):
        X, y = whole(tmp_path / "a.parquet", "y", chunk_rows=chunk_rows)
        X_csv, y_csv = whole(csv, "y")
        pd.testing.assert_frame_equal(X, X_csv)
        assert y.tolist() == y_csv.tolist()
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(DataError, match="Parquet"):
        whole(tmp_path / "bad.parquet")
    with pytest.raises(DataError, match="'job' cannot be read as numeric"):
        whole(tmp_path / "a.parquet", "y", kinds={"job": "numeric"})


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("chunk_rows", [1, 7, 1000])
def test_svmlight(tmp_path, zero_based, chunk_rows):
    rng = np.random.default_rng(0)
    X = sp.random(40, 9, density=0.4, random_state=rng, format="lil")
    X[0, 0] = X[39, 8] = 1.0  # both ends are there
    y = rng.choice([-1, 1], size=40)
    dump_svmlight_file(X.tocsr(), y, str(tmp_path / "a.svm"), zero_based=zero_based)
    got, labels = whole(tmp_path / "a.svm", chunk_rows=chunk_rows)
    np.testing.assert_allclose(got.toarray(), X.toarray())
    assert labels.tolist() == [str(label) for label in y]


def test_bad_svmlight_names_the_line(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 1:2 3:4\n-1 2:x\n")
    with pytest.raises(DataError, match=r"line 2.*2:x"):
        whole(path)
    path.write_text("1 1:2 3:4\n1 9:1\n")
    assert whole(path, n_features=3)[0].toarray().tolist() == [[2, 0, 4], [0, 0, 0]]
    path.write_text("1 0:2 3:4\n")
    with pytest.raises(DataError, match=r"line 1.*indices from 1"):
        whole(path, zero_based=False)
    path.write_text("1 1:2 3:4\n1 9:1\n")
    assert whole(path)[0].shape == (2, 9)


def test_text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("earn\tprofit rose\n\ncrude\toil\tgas ü\n", encoding="utf-8")
    X, y = whole(path, chunk_rows=1)
    assert X["text"].tolist() == ["profit rose", "oil\tgas ü"] and y.tolist() == ["earn", "crude"]
    path.write_text("earn\tprofit\nno label\n")
    with pytest.raises(DataError, match=r"text 2 has no tab"):
        whole(path)
    path.write_text("no label\n")
    assert next(read(path)).y is None


STDIN = """
from suffice.files import read
for table in read("-", -1, chunk_rows=2):
    print(table.n_rows, table.y.tolist())
"""


def test_formats_from_standard_input(tmp_path, csv):
    pd.read_csv(csv).to_parquet(tmp_path / "a.parquet")
    inputs = [
        CSV.encode(),
        gzip.compress(CSV.encode()),
        (tmp_path / "a.parquet").read_bytes(),
        CSV.replace(",", "\t").encode(),
    ]
    outputs = {
        subprocess.run([sys.executable, "-c", STDIN], input=content, capture_output=True, check=True).stdout
        for content in inputs
    }
    assert outputs == {b"2 ['no', 'yes']\n2 ['no', None]\n1 ['yes']\n"}


def test_memory_does_not_grow_with_the_file(tmp_path):
    def peak(n_rows):
        path = tmp_path / "a.csv"
        block = "".join(f"{i}.5,c{i % 7},{i % 2}\n" for i in range(1000))
        path.write_text("a,b,y\n" + block * (n_rows // 1000))
        for _ in read(path, "y", chunk_rows=1000):
            pass
        tracemalloc.start()
        for _ in read(path, "y", chunk_rows=1000):
            pass
        result = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return result

    assert peak(400_000) < 1.5 * peak(200_000)


def test_fraction_goes_from_0_to_1(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,y\n" + "1,2\n" * 400_000)
    with read(path, "y", chunk_rows=10_000) as reader:
        fractions = [reader.fraction for _ in reader]
    assert fractions == sorted(fractions) and 0 < fractions[0] < 0.9 and fractions[-1] == 1


@settings(max_examples=150 * FUZZ, deadline=None)
@given(
    content=st.binary(max_size=200) | st.text(alphabet='12.,;\t\n"ab?:', max_size=80).map(str.encode),
    n=st.integers(1, 3),
)
def test_any_bytes_are_read_or_refused(tmp_path_factory, content, n):
    path = tmp_path_factory.getbasetemp() / "fuzz"
    path.write_bytes(content)
    for format in (None, "csv", "svmlight", "text"):
        try:
            rows = sum(table.n_rows for table in read(path, chunk_rows=n, format=format))
            assert rows > 0
        except DataError:
            pass


@settings(max_examples=60 * FUZZ, deadline=None)
@given(
    cells=st.lists(
        st.tuples(st.floats(allow_nan=False) | st.none(), st.sampled_from(["u", "v,w", 'q"', "é", None])),
        min_size=1,
        max_size=9,
    ),
    n=st.integers(1, 4),
)
def test_what_pandas_writes_comes_back(tmp_path_factory, cells, n):
    path = tmp_path_factory.getbasetemp() / "round.csv"
    frame = pd.DataFrame(cells, columns=["a", "b"]).astype({"a": float})
    frame.to_csv(path, index=False)
    X, _ = whole(path, chunk_rows=n, header=True, kinds={"a": "numeric", "b": "categorical"})
    np.testing.assert_array_equal(X["a"], frame["a"])
    assert [None if pd.isna(v) else v for v in X["b"]] == [None if pd.isna(v) else v for v in frame["b"]]


def test_reading_from_a_closed_terminal_is_not_an_open_file(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(DataError, match="<stdin> is empty"):
        read("-")


DAYS_OF_TWO = [17_897.0, np.nan, 17_898.0]  # 2019-01-01, nothing, 2019-01-02


@pytest.mark.parametrize(
    ("cells", "days"),
    [
        (["2019-01-01", "", "2019-01-02"], DAYS_OF_TWO),
        (["01.01.2019", "NA", "2.1.2019"], DAYS_OF_TWO),
        (["2019-01-01 12:00", "", "2019-01-02T06:00:00Z"], [17_897.5, np.nan, 17_898.25]),
        (["2019-01-01", "2019-02-31", "2019-01-02"], DAYS_OF_TWO),  # a day that does not exist
    ],
)
def test_dates_are_days_also_beside_points_that_group_thousands(tmp_path, cells, days):
    path = tmp_path / "dates.csv"
    path.write_text("when;much;y\n" + "".join(f"{cell};1.234,5;a\n" for cell in cells))
    with read(path, target="y", bad_cells="missing") as reader:
        table = next(reader)
    assert table.kinds["when"] == "numeric" and table.dates == ("when",)
    np.testing.assert_array_equal(table.X["when"], days)
    assert (table.X["much"] == 1234.5).all()


@pytest.mark.parametrize(
    "dtype", ["datetime64[ns]", "datetime64[s]", "date32[pyarrow]", "timestamp[ms, tz=UTC][pyarrow]"]
)
def test_dates_of_parquet_are_days(tmp_path, dtype):
    path = tmp_path / "dates.parquet"
    when = pd.Series(pd.to_datetime(["2019-01-01", None, "2019-01-02"])).astype(dtype)
    pd.DataFrame({"when": when, "y": ["a", "b", "a"]}).to_parquet(path)
    with read(path, target="y") as reader:
        table = next(reader)
    assert table.kinds["when"] == "numeric" and table.dates == ("when",)
    np.testing.assert_array_equal(table.X["when"], DAYS_OF_TWO)


def test_dates_of_which_nobody_knows_the_month_are_categories(tmp_path):
    path = tmp_path / "slashes.csv"
    path.write_text("when,y\n03/04/2019,a\n04/03/2019,b\n")
    with read(path, target="y") as reader:
        assert next(reader).kinds["when"] == "categorical"
