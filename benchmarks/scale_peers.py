"""The same table on two workers: ours, Spark MLlib, dask-ml, LightGBM and XGBoost on dask. Seconds, accuracy, lines of user code.

python -m benchmarks.scale_peers [ROWS [NAMES]], and a part of `python -m benchmarks scale`. Peers that are not installed are left out
with a sentence (pyspark needs Java 17, too). The sessions of Spark and dask are started before the clock, and each has fitted a small
table there (imports, compiled code); Parquet is read inside of it.
"""

from __future__ import annotations

import inspect
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable

import numpy as np

ROWS, COLUMNS, CLASSES, FILES = 400_000, 20, 5, 16


def make(folder: str, n_rows: int) -> None:
    """Skewed, correlated columns; the last file is the test's."""
    import pandas as pd

    shift = np.random.default_rng(99).normal(size=(CLASSES, COLUMNS))
    for number in range(FILES + 1):
        generator = np.random.default_rng(number)
        y = generator.integers(0, CLASSES, n_rows // FILES)
        X = generator.gamma(2.0, size=(len(y), COLUMNS)) + 0.7 * shift[y]
        X[:, 1::2] += X[:, ::2]
        name = "test" if number == FILES else f"part{number:03}"
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(COLUMNS)]).assign(y=y)
        frame.to_parquet(f"{folder}/{name}.parquet", index=False)


def names() -> list[str]:
    return [f"x{j}" for j in range(COLUMNS)]


# -- what a user writes ------------------------------------------------------------------------------------------------


def ours(folder, test, client):
    import suffice

    with suffice.engine(suffice.DaskEngine(client)):
        model = suffice.GaussianNB().fit(suffice.files.Dataset(f"{folder}/part*.parquet", target="y"))
    return model.predict(test[names()]).astype(int)


def ours_likelihood(folder, test, client):
    import suffice

    with suffice.engine(suffice.DaskEngine(client)):
        model = suffice.GaussianNB(loss="nll").fit(suffice.files.Dataset(f"{folder}/part*.parquet", target="y"))
    return model.predict(test[names()]).astype(int)


def dask_ml(folder, test, client):
    import dask
    import dask.dataframe as dd
    from dask_ml.naive_bayes import GaussianNB

    rows = dd.read_parquet(f"{folder}/part*.parquet").persist()  # else X and y may have other partitions
    model = GaussianNB().fit(rows[names()].to_dask_array(lengths=True), rows["y"].to_dask_array(lengths=True))
    return np.asarray(dask.compute(model.predict(test[names()].to_numpy()))[0])


def lightgbm(folder, test, client):
    import dask.dataframe as dd
    from lightgbm import DaskLGBMClassifier

    rows = dd.read_parquet(f"{folder}/part*.parquet").persist()  # else X and y may have other partitions
    model = DaskLGBMClassifier(client=client, verbose=-1).fit(rows[names()], rows["y"])
    return model.to_local().predict(test[names()])


def xgboost(folder, test, client):
    import dask.dataframe as dd
    from xgboost.dask import DaskXGBClassifier

    rows = dd.read_parquet(f"{folder}/part*.parquet").persist()  # else X and y may have other partitions
    model = DaskXGBClassifier(tree_method="hist")
    model.client = client
    model.fit(rows[names()], rows["y"])
    return model.get_booster().inplace_predict(test[names()].to_numpy()).argmax(axis=1)


def spark_bayes(folder, test, spark):
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.feature import VectorAssembler

    assemble = VectorAssembler(inputCols=names(), outputCol="features")
    rows = assemble.transform(spark.read.parquet(f"{folder}/part*.parquet"))
    model = NaiveBayes(modelType="gaussian", labelCol="y").fit(rows)
    found = model.transform(assemble.transform(spark.read.parquet(f"{folder}/test.parquet")))
    return found.select("prediction").toPandas()["prediction"].to_numpy().astype(int)


def spark_logistic(folder, test, spark):
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import VectorAssembler

    assemble = VectorAssembler(inputCols=names(), outputCol="features")
    rows = assemble.transform(spark.read.parquet(f"{folder}/part*.parquet"))
    model = LogisticRegression(labelCol="y").fit(rows)
    found = model.transform(assemble.transform(spark.read.parquet(f"{folder}/test.parquet")))
    return found.select("prediction").toPandas()["prediction"].to_numpy().astype(int)


# -- who runs it -------------------------------------------------------------------------------------------------------


def shown(function: Callable, folder: str, test, session) -> None:
    try:
        function(f"{folder}/small", test, session)
        began = time.perf_counter()
        found = function(folder, test, session)
        seconds, accuracy = time.perf_counter() - began, float(np.mean(found == test["y"].to_numpy()))
    except ModuleNotFoundError as error:
        print(f"{function.__name__:16} left out: {error.name} is not installed", flush=True)
        return
    except Exception as error:  # a peer that fails is a line of the table
        print(f"{function.__name__:16} failed: {type(error).__name__}: {str(error)[:120]}", flush=True)
        return
    lines = len([line for line in inspect.getsource(function).splitlines()[1:] if line.strip()])
    print(f"{function.__name__:16} {seconds:7.1f} s  accuracy {accuracy:.4f}  {lines} lines", flush=True)


def chosen(names: tuple[str, ...], *functions: Callable) -> list[Callable]:
    return [function for function in functions if not names or function.__name__ in names]


def compare(n_rows: int = ROWS, *only: str) -> None:
    """All, or those that are named."""
    import pandas as pd

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        make(folder, n_rows)
        os.mkdir(f"{folder}/small")
        make(f"{folder}/small", 20 * FILES * CLASSES)
        test = pd.read_parquet(f"{folder}/test.parquet")
        try:
            from distributed import Client, LocalCluster
        except ModuleNotFoundError:
            print("dask is not installed: pip install 'suffice[dask]'")
        else:
            options = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
            with LocalCluster(**options, silence_logs=50) as cluster, Client(cluster) as client:
                for function in chosen(only, ours_likelihood, ours, dask_ml, lightgbm, xgboost):
                    shown(function, folder, test, client)
        try:
            from pyspark.sql import SparkSession
        except ModuleNotFoundError:
            print("spark            left out: pyspark is not installed")
            return
        spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
        for function in chosen(only, spark_bayes, spark_logistic):
            shown(function, folder, test, spark)
        spark.stop()


if __name__ == "__main__":
    compare(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS, *sys.argv[2:])
