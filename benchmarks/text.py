"""Text: us and the peers in one run. `python -m benchmarks text`, or with fewer sets: `python -m benchmarks.text r8 webkb`.

Accuracy, log-loss and calibration error on the test documents; CPU seconds of `fit` (model selection included where there is one) and
of prediction; peak memory that the fit allocated. Peers choose C by 5-fold cross-validation on the training documents.
`growth()` draws fit time while documents (10^4 to 10^7 non-zeros), words or classes double.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import ComplementNB
from sklearn.naive_bayes import MultinomialNB as PlainNB
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from suffice import MultinomialNB, datasets
from suffice.families.multinomial import Multinomial
from suffice.losses import loss_named
from suffice.structures.words import Words

SETS = ("webkb", "r8", "r52", "20ng", "imdb")
STRENGTHS = {"counts": [0.001, 0.003, 0.01, 0.03, 0.1], "l2": [0.1, 0.3, 1, 3, 10], "tfidf": [0.1, 0.3, 1, 3, 10]}


class VowpalWabbit:
    """One-against-all logistic regression of Vowpal Wabbit, ten passes, its own defaults; only for this comparison."""

    def fit(self, X, y):
        from vowpalwabbit import Workspace

        self.n_classes = int(y.max()) + 1
        self.machine = Workspace(f"--oaa {self.n_classes} --probabilities --loss_function logistic -b 20 --quiet")
        lines = [f"{label + 1} {words(row)}" for label, row in zip(y, rows_of(X), strict=True)]
        for epoch in range(10):
            for i in np.random.default_rng(epoch).permutation(len(lines)):
                self.machine.learn(lines[i])
        return self

    def predict_proba(self, X):
        found = np.array([self.machine.predict(words(row)) for row in rows_of(X)])
        return found / found.sum(axis=1, keepdims=True)


def rows_of(X):
    return ((X.indices[a:b], X.data[a:b]) for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True))


def words(row) -> str:
    return "| " + " ".join(f"{word}:{value:.4g}" for word, value in zip(*row, strict=True))


def calibration_error(probabilities: np.ndarray, y: np.ndarray, n_bins: int = 15) -> float:
    """Mean gap between confidence and accuracy over bins of confidence."""
    confidence, correct = probabilities.max(axis=1), probabilities.argmax(axis=1) == y
    place = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    share = [(place == k).mean() for k in range(n_bins)]
    gaps = [abs(correct[place == k].mean() - confidence[place == k].mean()) if share[k] else 0.0 for k in range(n_bins)]
    return float(np.dot(share, gaps))


def machines(features: str, n_classes: int) -> dict:
    strengths = STRENGTHS[features]
    found = {
        "suffice hinge": MultinomialNB(loss="hinge", random_state=0),
        "suffice ncll": MultinomialNB(loss="ncll", random_state=0),
        "suffice hinge, fixed prior": MultinomialNB(loss="hinge", prior=100.0, random_state=0),
        "LinearSVC, 5 C x 5 folds": GridSearchCV(LinearSVC(random_state=0), {"C": strengths}, cv=5),
        "LinearSVC, C = 1": LinearSVC(random_state=0),
        "SGDClassifier": SGDClassifier(loss="log_loss", random_state=0),
        "MultinomialNB": PlainNB(),
        "ComplementNB": ComplementNB(),
    }
    if n_classes <= 8:  # minutes otherwise
        machine = LogisticRegression(max_iter=200)
        found["LogisticRegression, 5 C x 5 folds"] = GridSearchCV(machine, {"C": [10 * c for c in strengths]}, cv=5)
    else:
        found["LogisticRegression"] = LogisticRegression(C=30 * strengths[2], max_iter=200)
    try:
        import vowpalwabbit  # noqa: F401

        found["Vowpal Wabbit"] = VowpalWabbit()
    except ImportError:
        print("Vowpal Wabbit is not installed: pip install vowpalwabbit")
    return found


def measure(machine, train, y, test, y_test) -> dict:
    began = time.process_time()
    machine.fit(train, y)
    fit = time.process_time() - began
    began = time.process_time()
    said = machine.predict_proba(test).argmax(axis=1) if hasattr(machine, "predict_proba") else machine.predict(test)
    line = {"accuracy": float(np.mean(said == y_test)), "fit": fit, "predict": time.process_time() - began}
    if hasattr(machine, "predict_proba"):
        probabilities = np.clip(machine.predict_proba(test), 1e-15, 1.0)
        line["log_loss"] = float(log_loss(y_test, probabilities, labels=np.arange(probabilities.shape[1])))
        line["calibration"] = calibration_error(probabilities, y_test)
    return line


def peak_memory(machine, train, y) -> float:
    """MiB that a fit allocates at most at a time (NumPy's arrays are traced)."""
    tracemalloc.start()
    machine.fit(train, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def run(names=SETS, features=("counts", "tfidf")) -> list[dict]:
    """Print a table a set and return its rows."""
    warnings.filterwarnings("ignore")
    table = []
    for name in names:
        data = datasets.load(name)
        classes, y = np.unique(data.y_train, return_inverse=True)
        y_test = np.searchsorted(classes, data.y_test)
        for kind in features:
            train, test = rows_as(kind, data)
            for warm in ("hinge", "ncll"):  # compile before the clock starts
                MultinomialNB(loss=warm, random_state=0).fit(train[::10], y[::10])
            print(
                f"\n{name}, {kind}: {train.shape[0]} documents, {train.nnz} non-zeros ({train.nnz * 12 / 2**20:.0f} MiB)"
            )
            first = None
            for label, machine in machines(kind, len(classes)).items():
                line = {"set": name, "features": kind, "machine": label} | measure(machine, train, y, test, y_test)
                if label.startswith("suffice"):
                    line["peak MiB"] = peak_memory(machine, train, y)
                first = first or line["fit"]
                line["time ratio"] = line["fit"] / first
                table.append(line)
                print(
                    f"  {label:36s}" + "  ".join(f"{key} {line[key]:.4g}" for key in line if key not in NAMES),
                    flush=True,
                )
    return table


NAMES = ("set", "features", "machine")


def seeds(names=SETS, n_seeds: int = 5) -> None:
    """The default settings over several seeds: the table of docs/notes/text.md."""
    warnings.filterwarnings("ignore")
    for name in names:
        data = datasets.load(name)
        classes, y = np.unique(data.y_train, return_inverse=True)
        y_test = np.searchsorted(classes, data.y_test)
        for kind in ("tfidf", "counts"):
            train, test = rows_as(kind, data)
            lines = []
            for seed in range(n_seeds):
                machine = MultinomialNB(random_state=seed)
                lines.append(list(measure(machine, train, y, test, y_test).values()))
            accuracy, _, _, loss, calibration = np.mean(lines, axis=0)
            fit = np.min(lines, axis=0)[1]
            print(f"| {name}, {kind} | {accuracy:.4f} | {loss:.4f} | {calibration:.4f} | {fit:.2f} |", flush=True)


def liblinear(names=SETS, features=("counts", "l2", "tfidf")) -> None:
    """LIBLINEAR's SVM and logistic regression (one class against the rest), C by 5-fold accuracy on the training documents."""
    warnings.filterwarnings("ignore")
    for name in names:
        data = datasets.load(name)
        classes, y = np.unique(data.y_train, return_inverse=True)
        y_test = np.searchsorted(classes, data.y_test)
        for kind in features:
            train, test = rows_as(kind, data)
            logistic = OneVsRestClassifier(LogisticRegression(solver="liblinear", random_state=0))
            svm = GridSearchCV(LinearSVC(random_state=0), {"C": STRENGTHS[kind]}, cv=5).fit(train, y)
            lr = GridSearchCV(logistic, {"estimator__C": [10 * c for c in STRENGTHS[kind]]}, cv=5).fit(train, y)
            found = [
                f"{100 * machine.score(test, y_test):.2f} (C = {min(machine.best_params_.values())})"
                for machine in (svm, lr)
            ]
            print(f"| {name}, {kind} | SVM {found[0]} | LR {found[1]} |", flush=True)


def times(names=SETS, features=("counts", "l2", "tfidf"), repeats: int = 3) -> None:
    """CPU seconds in one run: the choice of a prior against the choice of C, and one fit at each choice."""
    warnings.filterwarnings("ignore")
    for name in names:
        data = datasets.load(name)
        for kind in features:
            (X, _), y = rows_as(kind, data), data.y_train
            auto = MultinomialNB(random_state=0).fit(X, y)  # compiles
            given = auto.choice_.setting.strength * auto.row_norm_**2
            one = MultinomialNB(prior=given, random_state=0)
            grid = GridSearchCV(LinearSVC(random_state=0), {"C": STRENGTHS[kind]}, cv=5)
            ours, search = seconds(auto, X, y, repeats), seconds(grid, X, y)
            fit, peer = seconds(one, X, y, repeats), seconds(grid.best_estimator_, X, y, repeats)
            print(
                f"| {name}, {kind} | {ours:.2f} | {search:.2f} | {search / ours:.1f} | {fit:.3f} | {peer:.3f} | {peer / fit:.1f} |",
                flush=True,
            )


def epochs(name: str = "20ng", n_passes: int = 10, repeats: int = 5) -> None:
    """A stochastic pass in scipy products `X @ W` of the same run: from maximum likelihood with prior .1, mean over ten passes."""
    data = datasets.load(name)
    X, y = data.X_train, np.unique(data.y_train, return_inverse=True)[1]
    K, weights = int(y.max()) + 1, np.ones(X.shape[0])
    W = np.random.default_rng(0).random((X.shape[1], K))
    model = Words((Multinomial.for_data(X, K),))
    start = model.statistics(X, y, weights)
    start = start + model.pseudo_counts(start, 0.1)
    for loss in ("hinge", "ncll"):
        product, passes = np.inf, np.full(n_passes, np.inf)
        for _ in range(repeats):
            state, generator = model.state_of(start), np.random.default_rng(0)
            for t in range(n_passes):
                product = min(product, spent(lambda: X @ W))
                order = generator.permutation(len(y))
                rates = 1.0 / (1.0 + 1e-5 * np.arange(t * len(y), (t + 1) * len(y)))
                took = spent(model.stochastic_pass, X, y, weights, order, rates, state, loss_named(loss))
                passes[t] = min(passes[t], took)
        print(
            f"{name}, {loss}: pass {1e3 * passes.mean():.1f} ms, product {1e3 * product:.1f} ms, ratio {passes.mean() / product:.2f}"
        )


def spent(call, *arguments) -> float:
    began = time.process_time()
    call(*arguments)
    return time.process_time() - began


def seconds(machine, X, y, repeats: int = 1) -> float:
    """Least CPU seconds of a fit."""
    return min(spent(machine.fit, X, y) for _ in range(repeats))


def rows_as(kind: str, data) -> tuple:
    """Training and test documents as counts, rows of length one, or sublinear tf-idf."""
    train, test = data.X_train, data.X_test
    if kind == "l2":
        return normalize(train), normalize(test)
    if kind == "tfidf":
        weigher = TfidfTransformer(sublinear_tf=True).fit(train)
        return weigher.transform(train), weigher.transform(test)
    return train, test


def generated(n_documents: int, n_words: int, n_classes: int, length: int = 100, seed: int = 0):
    """Documents of a mixture: words by Zipf's law, a tenth of them the class's own."""
    generator = np.random.default_rng(seed)
    y = generator.integers(n_classes, size=n_documents)
    common = (n_words * generator.random((n_documents, length)) ** 3).astype(np.int64)
    own = (common * 31 + 7 * y[:, None]) % n_words
    columns = np.where(generator.random((n_documents, length)) < 0.1, own, common).ravel()
    rows = np.repeat(np.arange(n_documents), length)
    X = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(n_documents, n_words))
    X.sum_duplicates()
    return X, y


GROWTH = {  # what doubles, and the other two
    "documents": [{"n_documents": 100 * 2**j, "n_words": 50_000, "n_classes": 10} for j in range(11)],
    "vocabulary": [{"n_documents": 10_000, "n_words": 2000 * 2**j, "n_classes": 10} for j in range(8)],
    "classes": [{"n_documents": 10_000, "n_words": 20_000, "n_classes": 2**j} for j in range(1, 8)],
}


def growth(folder: Path = Path("out"), repeats: int = 5) -> dict[str, list[tuple[float, float, float]]]:
    """Fit time at a fixed prior while documents (10^4 to 10^7 non-zeros), words or classes double; a picture and the points.

    Ten passes each, however many are needed: how fast a pass is, not how easy the documents are.
    """
    warnings.filterwarnings("ignore")
    for n_classes in (2, 10):  # compile before the clock starts
        MultinomialNB(loss="hinge", prior=100.0, max_epochs=2).fit(*generated(2000, 1000, n_classes))
    points: dict[str, list[tuple[float, float, float]]] = {}
    for kind, sizes in GROWTH.items():
        points[kind] = []
        for size in sizes:
            X, y = generated(**size)
            seconds = np.inf
            for seed in range(repeats):
                machine = MultinomialNB(loss="hinge", prior=100.0, random_state=seed, max_epochs=10, tol=0.0)
                began = time.process_time()
                machine.fit(X, y)
                seconds = min(seconds, time.process_time() - began)
            before = points[kind][-1][2] if points[kind] else np.nan
            points[kind].append((float(size["n_" + {"vocabulary": "words"}.get(kind, kind)]), float(X.nnz), seconds))
            print(
                f"{kind} {points[kind][-1][0]:.0f}, {X.nnz} non-zeros: {seconds:.3f} s, {seconds / before:.2f} times the last",
                flush=True,
            )
    draw_growth(points, folder)
    return points


def draw_growth(points: dict, folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 3, figsize=(12, 4), sharey=True, constrained_layout=True)
    for panel, (kind, line) in zip(panels, points.items(), strict=True):
        numbers = np.array(line)
        across = numbers[:, 1] if kind == "documents" else numbers[:, 0]
        panel.loglog(across, numbers[:, 2], "o-", label="fit at a fixed prior, ten passes")
        panel.loglog(across, numbers[-1, 2] * across / across[-1], "k:", label="proportional")
        panel.set(xlabel="non-zeros (more documents)" if kind == "documents" else kind)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("CPU seconds")
    panels[0].legend()
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "text-growth.png", dpi=120)


if __name__ == "__main__":
    if sys.argv[1:] == ["growth"]:
        growth()
    elif sys.argv[1:2] == ["seeds"]:
        seeds(sys.argv[2:] or SETS)
    elif sys.argv[1:2] == ["liblinear"]:
        liblinear(sys.argv[2:] or SETS)
    elif sys.argv[1:2] == ["times"]:
        times(sys.argv[2:] or SETS)
    elif sys.argv[1:] == ["epochs"]:
        epochs()
    else:
        run(sys.argv[1:] or SETS)
