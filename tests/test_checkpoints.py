"""Fits that are killed, interrupted or stopped at any moment go on as if nothing had happened.

SUFFICE_KILLS says how often each fit is killed before it may end (2 unless told).
"""

from __future__ import annotations

import functools
import hashlib
import io
import itertools
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import suffice
from suffice.learners import driver
from suffice.learners.quasi_newton import QuasiNewton
from suffice.saving.checkpoints import Keeper, load_checkpoint
from suffice.saving.tree import Encoder

KILLS = int(os.environ.get("SUFFICE_KILLS", "2"))
TINY = 0.02 / 60  # minutes between checkpoints


# -- fits, and what they come to ---------------------------------------------------------------------------------------


@functools.cache
def words(n=2500, n_words=150):
    """Documents of three classes of two topics each."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(n_words, 0.2), 6)
    y = np.concatenate([np.arange(3), rng.integers(0, 3, n - 3)])
    X = np.array([rng.multinomial(30, rng.dirichlet([1, 1]) @ topics[2 * k : 2 * k + 2]) for k in y], float)
    X[:, 0] += 1
    return sparse.csr_matrix(X), y


@functools.cache
def corpus(n=2000, n_words=1500, n_classes=8):
    """Documents of which most words are common to all classes."""
    rng = np.random.default_rng(3)
    common = 1.0 / np.arange(1, n_words + 1)
    shares = common * rng.lognormal(0.0, 0.5, (n_classes, n_words))
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    X = sparse.csr_matrix(np.array([rng.multinomial(40, p) for p in (shares / shares.sum(axis=1)[:, None])[y]], float))
    return X, y


@functools.cache
def numbers(n=4000):
    rng = np.random.default_rng(1)
    y = np.concatenate([np.arange(3), rng.integers(0, 3, n - 3)])
    return rng.normal(size=(n, 4)) * rng.uniform(0.5, 2.0, 4) + 1.2 * y[:, None], y


def fewest_numbers():
    X, y = numbers()
    return X[:40], y[:40]


@functools.cache
def texts():
    X, y = corpus()
    X, y = X[:1500], y[:1500]
    return [" ".join(f"word{j}" for j, times in enumerate(row) for _ in range(int(times))) for row in X.toarray()], y


def flags(n=1000):
    rng = np.random.default_rng(2)
    return (rng.random((n, 30)) < rng.uniform(0.1, 0.9, (4, 30))[rng.integers(0, 4, n)]).astype(float), None


def some_unlabelled():
    X, y = numbers(2000)
    return X, np.where(np.arange(len(y)) % 3 == 1, np.nan, y)


CASES = {
    "GaussianMixture": (suffice.GaussianMixture(6, tol=1e-9, max_iter=300, n_init=3), numbers),
    "MultinomialNB": (suffice.MultinomialNB(loss="ncll", tol=1e-6), corpus),
    "MultinomialNB, two threads": (suffice.MultinomialNB(loss="hinge", n_jobs=2), corpus),
    "TextClassifier": (suffice.TextClassifier(), texts),
    "TableClassifier": (suffice.TableClassifier(), fewest_numbers),
    "GaussianNB, unlabelled": (suffice.GaussianNB(), some_unlabelled),
    "LDAClassifier": (suffice.LDAClassifier(loss="hinge", n_topics=4, tol=1e-6), words),
    "MixtureClassifier": (suffice.MixtureClassifier(n_components=4), numbers),
    "LatentDirichletAllocation, online": (suffice.LatentDirichletAllocation(8, max_iter=60), words),
    "LatentDirichletAllocation, batch": (suffice.LatentDirichletAllocation(8, algorithm="batch", tol=1e-9), words),
    "LatentDirichletAllocation, gibbs": (suffice.LatentDirichletAllocation(8, inference="gibbs", max_iter=300), words),
    "SigmoidBeliefNetwork": (suffice.SigmoidBeliefNetwork((20, 8), max_iter=40, batch_size=100), flags),
}


def case(name, **parameters):
    model, data = CASES[name]
    return clone(model).set_params(**{"random_state": 0, **parameters}), data()


def fitted(name, **parameters):
    model, data = case(name, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)


def bits(model):
    """A tree that is equal for two fits if all that they learned is equal in every bit; times do not count."""
    model = getattr(model, "model_", model)

    def put(array):
        return f"{array.dtype}{array.shape}{hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()}"

    learned = {k: v for k, v in sorted(vars(model).items()) if k.endswith("_") and k != "history_"}
    history = model.history_
    lines = [{k: v for k, v in line.items() if "seconds" not in k} for line in history if isinstance(line, dict)]
    if isinstance(history, dict):
        lines = [{k: v for k, v in history.items() if k != "seconds"}]
    return Encoder(put).encode({**learned, "history": lines or history})


@functools.cache
def uninterrupted(name):
    """The bits of a fit without checkpoints, and how long it takes."""
    fitted(name)  # loads the compiled loops
    began = time.monotonic()
    return bits(fitted(name)), time.monotonic() - began


# -- killed --------------------------------------------------------------------------------------------------------------


def killed(name, path, seconds):
    """Let a process begin or resume the fit and kill it after this time; whether it was still at work."""
    child = os.fork()
    if child == 0:
        try:
            fitted(name, checkpoint=path, checkpoint_minutes=TINY, resume=True)
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize("name", CASES)
def test_a_killed_fit_goes_on_to_the_same_bits(name, tmp_path):
    want, length = uninterrupted(name)
    rng, path = np.random.default_rng(), tmp_path / "checkpoint"
    kills = 0  # that a checkpoint survived
    for _ in range(10 * KILLS):
        was_killed = killed(name, path, rng.uniform(0.05, 1.0) * length)
        if path.exists():
            load_checkpoint(path)  # always whole
            kills += was_killed
        if kills == KILLS:
            break
        if not was_killed:  # it ended: begin anew
            assert bits(fitted(name, resume=path)) == want
            path.unlink()
    assert kills == KILLS, "the fit ends too soon to be killed"
    rest = fitted(name, checkpoint=path, checkpoint_minutes=TINY, resume=True)
    assert bits(rest) == want
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint"]  # nothing is left of the killed ones
    again = fitted(name, resume=path)  # of a fit that is complete: no pass is made
    assert bits(again) == want


@pytest.mark.parametrize("prior", [1.0, "auto"])
def test_every_checkpoint_leads_to_the_same_bits(prior, tmp_path, monkeypatch):
    """(A search that its gradient had ended after the last checkpoint took more steps when it was taken up again.)"""
    X, y, write, n = np.random.default_rng(0).normal(size=(90, 3)), np.arange(90) % 3, Keeper.write, itertools.count()
    X += 0.7 * y[:, None]

    def kept(self, *name):
        write(self, *name)
        shutil.copy(tmp_path / "c", tmp_path / f"{next(n)}")

    with monkeypatch.context() as patch:
        patch.setattr(Keeper, "write", kept)
        want = bits(
            suffice.MixedNB(prior=prior, random_state=0, checkpoint=tmp_path / "c", checkpoint_minutes=0.0).fit(X, y)
        )
    n_written = next(n)
    assert n_written > 5
    for number in {*range(0, n_written, 40), *range(n_written - 4, n_written)}:
        assert bits(suffice.MixedNB(prior=prior, random_state=0, resume=tmp_path / f"{number}").fit(X, y)) == want, (
            number
        )


@pytest.mark.parametrize("name", ["MultinomialNB", "GaussianNB, unlabelled", "MixtureClassifier"])
def test_writing_checkpoints_changes_nothing(name, tmp_path):
    """Every run of a choice has a name of its own. (They shared one: the first setting's fit was every setting's.)"""
    assert bits(fitted(name, checkpoint=tmp_path / "c", checkpoint_minutes=10.0)) == uninterrupted(name)[0]


def test_another_process_goes_on_whatever_the_seed(tmp_path):
    """Without a `random_state` the checkpoint knows the seed: two processes that resume from it agree."""
    path = tmp_path / "c"
    code = (
        "import sys, tests_of_checkpoints as t\n"
        "m = t.fitted('GaussianMixture', random_state=None, n_init=1, checkpoint=sys.argv[1], checkpoint_minutes=t.TINY, resume=True)\n"
        "print(t.hashlib.sha256(repr(t.bits(m)).encode()).hexdigest())"
    )
    shutil.copy(__file__, tmp_path / "tests_of_checkpoints.py")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}

    def process(checkpoint):
        return subprocess.Popen([sys.executable, "-c", code, str(checkpoint)], env=environment, stdout=subprocess.PIPE)

    first = process(path)
    while not path.exists() and first.poll() is None:
        time.sleep(0.01)
    time.sleep(0.2)
    first.kill()
    first.wait()
    shutil.copy(path, tmp_path / "copy")
    found = [each.communicate()[0] for each in [process(path), process(tmp_path / "copy")]]
    assert found[0] and found[0] == found[1]


# -- interrupted ---------------------------------------------------------------------------------------------------------


def few_numbers():
    X, y = numbers()
    return X[:150], y[:150]


def few_words():
    X, y = words()
    return X[:300], y[:300]


LEARNERS = {
    **{f"GaussianNB {a}": (suffice.GaussianNB(algorithm=a, prior=1.0, tol=0.0, max_epochs=12), few_numbers)
       for a in ("incremental", "stochastic", "batch")},
    "GaussianNB paper": (suffice.GaussianNB(loss="nll", algorithm="paper"), few_numbers),
    "MultinomialNB incremental": (suffice.MultinomialNB(prior=1.0, tol=0.0, max_epochs=12), few_words),
    **{f"GaussianMixture {a}": (suffice.GaussianMixture(3, algorithm=a, tol=0.0, max_iter=12), few_numbers)
       for a in ("em", "accelerated", "online", "variational")},
    "MixtureClassifier": (suffice.MixtureClassifier(n_components=2, prior=1.0), few_numbers),
    "LDAClassifier likelihood": (suffice.LDAClassifier(loss="nll", tol=0.0, max_epochs=12), few_words),
    "LDAClassifier map": (suffice.LDAClassifier(tol=0.0, max_epochs=12), few_words),
    "LDAClassifier gibbs": (suffice.LDAClassifier(inference="gibbs", max_epochs=6), few_words),
    "LatentDirichletAllocation online": (suffice.LatentDirichletAllocation(4), few_words),
    "LatentDirichletAllocation batch": (suffice.LatentDirichletAllocation(4, algorithm="batch", tol=0.0, max_iter=12), few_words),
    "LatentDirichletAllocation gibbs": (suffice.LatentDirichletAllocation(4, inference="gibbs", max_iter=12), few_words),
    **{f"SigmoidBeliefNetwork {a}": (suffice.SigmoidBeliefNetwork((5,), learner=a, max_iter=8, batch_size=200), flags)
       for a in ("mcem", "rec-mcem", "sgd", "gibbs", "vb", "nvil")},
}  # fmt: skip


@pytest.mark.parametrize("name", LEARNERS)
def test_an_interruption_keeps_the_best_state_and_the_fit_can_go_on(name, tmp_path, monkeypatch):
    model, data = LEARNERS[name]
    model = clone(model).set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = clone(model).fit(*data())
    passed, interrupted, records = driver.Watch.passed, driver.Record.interrupted, []

    def interrupt(self, number, line, state):
        is_part = self.name or self is driver.SILENT  # such as the EM before
        if number == 3 and not is_part and not records:
            raise KeyboardInterrupt
        return passed(self, number, line, state)

    def spy(self):
        interrupted(self)
        records.append(self)

    monkeypatch.setattr(driver.Watch, "passed", interrupt)
    monkeypatch.setattr(driver.Record, "interrupted", spy)
    model.set_params(checkpoint=tmp_path / "c", checkpoint_minutes=0.0)
    with (
        pytest.warns(UserWarning, match="interrupted; the best state so far was kept"),
        pytest.raises(KeyboardInterrupt, match="it is fitted"),
    ):
        model.fit(*data())
    (record,) = records
    assert model.stopped_.startswith("interrupted") and model.n_iter_ == 3
    objectives = [record.fit.first.objective, *record.fit.history["objective"]]
    assert record.fit.measure.objective <= min(objectives)  # less where the last pass was measured only now
    assert record.fit.measure.objective == min(objectives) or not record.fit.history["measured"][-1]
    answers = getattr(model, "predict_proba", getattr(model, "transform", None))(data()[0][:20])
    assert np.isfinite(answers).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rest = model.set_params(resume=True).fit(*data())
    assert bits(rest) == bits(whole)


def test_an_interrupted_classifier_of_texts_is_fitted_too(monkeypatch):
    passed = driver.Watch.passed

    def interrupt(self, number, line, state):
        if number == 2 and not self.name and self is not driver.SILENT:
            raise KeyboardInterrupt
        return passed(self, number, line, state)

    monkeypatch.setattr(driver.Watch, "passed", interrupt)
    texts, labels = (
        ["a good film", "a fine good plot", "dull and bad", "a bad film"] * 20,
        ["up", "up", "down", "down"] * 20,
    )
    model = suffice.TextClassifier(prior=1.0, tol=0.0, random_state=0)
    with pytest.warns(UserWarning, match="interrupted"), pytest.raises(KeyboardInterrupt, match="TextClassifier"):
        model.fit(texts, labels)
    assert model.stopped_.startswith("interrupted") and model.predict(["a good plot"]) == ["up"]


def test_an_interrupted_comparison_says_so(monkeypatch):
    """What is compared after Ctrl-C is left out; `TableClassifier` did not say that it was."""
    passed, calls = driver.Watch.passed, itertools.count()

    def interrupt(self, number, line, state):
        if next(calls) == 5:
            raise KeyboardInterrupt
        return passed(self, number, line, state)

    monkeypatch.setattr(driver.Watch, "passed", interrupt)
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    model = suffice.TableClassifier()
    with warnings.catch_warnings(), pytest.raises(KeyboardInterrupt, match="TableClassifier was interrupted"):
        warnings.simplefilter("ignore")
        model.fit(X, y)
    assert (
        model.stopped_.startswith("interrupted") and not model.converged_ and np.isfinite(model.predict_proba(X)).all()
    )


def test_an_interruption_before_any_line_of_the_guard_leaves_later_ones_alone(monkeypatch):
    """One that came just before the fit, or after it, made every later fit of the process swallow KeyboardInterrupt."""
    X, y = np.arange(6.0)[:, None], np.arange(6) % 2
    fit = suffice.GaussianNB.fit
    while fit.__code__.co_name != "guarded":  # whatever else is around it
        fit = fit.__wrapped__

    def interrupted(line: int) -> bool:
        """Whether a fit was interrupted before that line of the guard (the lines that run are counted)."""
        lines = iter(range(line + 1))

        def trace(frame, event, argument):
            if frame.f_code is fit.__code__ and event == "line" and next(lines, None) == line:
                raise KeyboardInterrupt
            return trace if frame.f_code is fit.__code__ else None

        model = suffice.GaussianNB(loss="nll")
        before = dict(vars(model))
        outer = sys.gettrace()
        sys.settrace(trace)
        try:
            model.fit(X, y)
        except KeyboardInterrupt:
            assert vars(model) == before or len(model.classes_) == 2  # as it was, or whole
            return True
        finally:
            sys.settrace(outer)
        return False

    def ended(*_):
        raise KeyboardInterrupt

    n_lines = 0
    while interrupted(n_lines):
        n_lines += 1
        with (
            monkeypatch.context() as patch,
            pytest.warns(UserWarning, match="interrupted"),
            pytest.raises(KeyboardInterrupt),
        ):
            patch.setattr(driver.Watch, "passed", ended)
            suffice.GaussianMixture(2, tol=0.0, random_state=0).fit(X)
    assert n_lines > 8


@pytest.mark.parametrize("cause", [KeyboardInterrupt(), ValueError("no signal")])
@pytest.mark.parametrize("place", ["a pass", "the choice"])
def test_an_interruption_that_compiled_code_hands_on(monkeypatch, cause, place):
    """Ctrl-C while a kernel hands an array to Python is a SystemError: it is taken for what it is, and no other is."""

    def broken(*_):
        raise SystemError("returned a result with an exception set") from cause

    X, y = np.arange(40.0)[:, None], np.arange(40) % 2
    monkeypatch.setattr(
        *((driver.Watch, "passed") if place == "a pass" else ("suffice.choosing.train.chosen",)), broken
    )
    model = suffice.GaussianMixture(2, tol=0.0, random_state=0) if place == "a pass" else suffice.GaussianNB()
    before = dict(vars(model))
    with warnings.catch_warnings(), pytest.raises(type(cause) if isinstance(cause, KeyboardInterrupt) else SystemError):
        warnings.simplefilter("ignore")
        model.fit(X, y)
    if place == "a pass" and isinstance(cause, KeyboardInterrupt):
        assert model.stopped_.startswith("interrupted") and np.isfinite(model.means_).all()
    else:
        assert vars(model) == before


def test_an_interruption_of_the_first_step_keeps_the_start(monkeypatch):
    """`fit` raised KeyError: 'objective', and the estimator was not fitted."""

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(QuasiNewton, "_evaluated", interrupt)
    model = suffice.GaussianNB(prior=1.0)
    with pytest.warns(UserWarning, match="interrupted"), pytest.raises(KeyboardInterrupt, match="it is fitted"):
        model.fit(np.arange(6.0)[:, None], np.arange(6) % 2)
    assert model.stopped_.startswith("interrupted") and len(model.history_["objective"]) == 1


def test_an_interruption_of_the_first_pass_keeps_the_start(monkeypatch):
    """`fit` of a mixture raised KeyError: 'nll', of a network 'bound'."""

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("suffice.learners.em.BatchEM.step", interrupt)
    model = suffice.PoissonMixture(2, random_state=0)
    with pytest.warns(UserWarning, match="interrupted"), pytest.raises(KeyboardInterrupt, match="it is fitted"):
        model.fit(np.arange(12.0).reshape(6, 2))
    network = suffice.SigmoidBeliefNetwork((2,), max_iter=3, random_state=0)
    monkeypatch.setattr("suffice.learners.network.passes.Passes._measure", interrupt)
    with pytest.warns(UserWarning, match="interrupted"), pytest.raises(KeyboardInterrupt, match="it is fitted"):
        network.fit(np.eye(6))
    assert network.history_ == [] and all(np.isfinite(each).all() for each in network.weights_)
    assert len(set(model.lower_bounds_)) == 1 and model.n_iter_ == 0 and np.isfinite(model.rates_).all()


# -- refused -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["GaussianMixture", "MultinomialNB", "LatentDirichletAllocation, online"])
def test_the_checkpoint_of_another_fit_is_refused_by_name(name, tmp_path):
    path = tmp_path / "c"
    model, (X, y) = case(name, checkpoint=path)
    limit = "max_iter" if hasattr(model, "max_iter") else "max_epochs"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_params(**{limit: 2}).fit(X[:100], y[:100])
    model.set_params(resume=True, n_jobs=2, verbose=0).fit(X[:100], y[:100])  # these do not matter
    before = bits(model)
    with pytest.raises(ValueError, match="is the checkpoint of another fit: data differ"):
        model.fit(X[:101], y[:101])
    with pytest.raises(ValueError, match=rf"another fit: {limit} differ \({limit} was '2', is '3'\)"):
        model.set_params(**{limit: 3}).fit(X[:100], y[:100])
    other = suffice.PoissonMixture(2, checkpoint=path, resume=True)
    with pytest.raises(ValueError, match="is the checkpoint of another fit: estimator"):
        other.fit(X[:100].toarray() if sparse.issparse(X) else np.abs(X[:100]).round())
    assert bits(model) == before


@pytest.mark.parametrize("name", CASES)
def test_a_path_that_cannot_be_written_is_refused_before_training(name, tmp_path, monkeypatch):
    monkeypatch.setattr(driver, "run", None)
    for path, reason in (
        (tmp_path / "missing" / "c", "the folder .* does not exist"),
        (tmp_path, "not a regular file"),
    ):
        model, data = case(name, checkpoint=path)
        with pytest.raises(ValueError, match=f"checkpoint=.* cannot be written: .*{reason}"):
            model.fit(*data)
        assert not [attribute for attribute in vars(model) if attribute.endswith("_")]
    model, data = case(name, resume=tmp_path / "c")
    with pytest.raises(FileNotFoundError, match=r"resume=.*c' does not exist"):
        model.fit(*data)


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path):
    X, y = numbers()
    suffice.save(suffice.GaussianNB(loss="nll").fit(X, y), tmp_path / "model")
    with pytest.raises(ValueError, match="is a GaussianNB and not a checkpoint of a fit"):
        suffice.GaussianMixture(2, resume=tmp_path / "model").fit(X)
    with pytest.raises(ValueError, match="checkpoint_minutes='often' is not a number >= 0"):
        suffice.GaussianMixture(2, checkpoint_minutes="often").fit(X)


def test_a_full_disk_costs_the_checkpoint_and_not_the_fit(tmp_path, monkeypatch):
    def full(value, file):
        if not isinstance(file, io.BytesIO):  # that parameters can be stored is tried in memory
            raise OSError("no space left on device")

    monkeypatch.setattr("suffice.saving.archive.save", full)
    X, _ = numbers()
    with pytest.warns(UserWarning, match="could not be written: no space left"):
        model = suffice.GaussianMixture(2, checkpoint=tmp_path / "c", checkpoint_minutes=0.0).fit(X)
    assert model.converged_
