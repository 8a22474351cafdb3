"""Parts of speech, UD English EWT, 17 tags: TextTagger (the prior chosen by itself) and python-crfsuite (where installed) in one run.

CPU seconds of one thread, reading of the words included on both sides. python-crfsuite has the columns of the recipe (word, last 1 to 3
letters, first 2, shape) at its better setting c1 = c2 = 0.1, and then our columns. `python -m benchmarks tagger`.
"""

from __future__ import annotations

import importlib
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from suffice.datasets import tagged
from suffice.reading.tokens import COLUMNS
from suffice.text import TextTagger

FEW = ("word", "last 1", "last 2", "last 3", "first 2", "shape")


def features(sentence: list[str], names: tuple[str, ...], has_neighbours: bool) -> list[list[str]]:
    """Texts "column=value" of every word, as crfsuite takes them."""
    found = [[f"{name}={COLUMNS[name](word)}" for name in names] for word in sentence]
    if has_neighbours:
        lower = ["<edge>", *(word.lower() for word in sentence), "<edge>"]
        for t, own in enumerate(found):
            own += [f"before={lower[t]}", f"after={lower[t + 2]}"]
    return found


def theirs(peer: Any, data: Any, names: tuple[str, ...], has_neighbours: bool) -> tuple[float, float]:
    """(CPU seconds, test accuracy)."""
    began = time.process_time()
    trainer = peer.Trainer(verbose=False)
    trainer.set_params({"c1": 0.1, "c2": 0.1})
    for sentence, tags in zip(*data.train, strict=True):
        trainer.append(features(sentence, names, has_neighbours), tags)
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "model.crf")
        trainer.train(file)
        seconds = time.process_time() - began
        tagger = peer.Tagger()
        tagger.open(file)
        found = [tagger.tag(features(sentence, names, has_neighbours)) for sentence in data.test[0]]
        tagger.close()
    right = [
        one == other
        for mine, own in zip(found, data.test[1], strict=True)
        for one, other in zip(mine, own, strict=True)
    ]
    return seconds, float(np.mean(right))


def run() -> None:
    warnings.simplefilter("ignore")
    data = tagged.load()
    with threadpool_limits(1):
        for loss in ("ncll", "hinge", "nll"):
            TextTagger(loss=loss, random_state=0).fit(data.train[0][:200], data.train[1][:200])  # compiles
        ours = {}
        for loss in ("ncll", "hinge", "nll"):
            began = time.process_time()
            tagger = TextTagger(loss=loss, random_state=0).fit(*data.train)
            ours[loss] = time.process_time() - began
            print(f"TextTagger {loss}: {ours[loss]:.1f} s, test accuracy {tagger.score(*data.test):.4f}", flush=True)
        try:
            peer: Any = importlib.import_module("pycrfsuite")
        except ImportError:
            print("python-crfsuite is not installed: ours alone")
            return
        for name, columns, has_neighbours in (("its columns", FEW, False), ("our columns", tuple(COLUMNS), True)):
            seconds, accuracy = theirs(peer, data, columns, has_neighbours)
            share = f"ours takes {ours['ncll'] / seconds:.2f} of its time"
            print(f"python-crfsuite, {name}: {seconds:.1f} s, test accuracy {accuracy:.4f}; {share}", flush=True)


if __name__ == "__main__":
    run()
