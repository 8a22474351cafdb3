"""Parts of speech by taggers: counting, the conditional likelihood and the margin, on Universal Dependencies English EWT (17 tags).

Everything is chosen on the training sentences; the test part is looked at once. CPU seconds are of one thread and include the choice.
"""

from __future__ import annotations

import time
import warnings

import numpy as np

from ...datasets import tagged
from ...estimators.hmm import TextTagger
from .. import Options, Report, Row

RECIPE = {
    "counting": 0.8985,
    "ncll": 0.9341,
}  # of the prototype (six columns); and python-crfsuite's, which ncll is to reach
MODELS = {
    "counting": {"loss": "nll", "prior": 1.0},
    "nll": {"loss": "nll"},
    "ncll": {"loss": "ncll"},
    "hinge": {"loss": "hinge"},
}


def log_loss(tagger: TextTagger, sentences: list, tags: list) -> float:
    """Mean minus log p(tag | sentence) of a word, with probabilities not below 1e-15."""
    proba, own = np.concatenate(tagger.predict_proba(sentences)), np.concatenate([np.array(part) for part in tags])
    known = np.isin(own, tagger.classes_)
    places = np.searchsorted(tagger.classes_, own[known])
    return float(-np.log(np.maximum(proba[known][np.arange(len(places)), places], 1e-15)).mean())


def run(options: Options) -> Report:
    report, data = Report(), tagged.load()
    n = 500 if options.quick else None
    sentences, tags = (part[:n] for part in data.train)
    test, truth = (part[:n] for part in data.test)
    for name, parameters in MODELS.items():
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tagger = TextTagger(random_state=0, **parameters).fit(sentences, tags)
        seconds = time.process_time() - began
        accuracy, loss = tagger.score(test, truth), log_loss(tagger, test, truth)
        options.say(
            f"{name}: accuracy {accuracy:.4f}, log-loss {loss:.3f}, {seconds:.1f} s, prior {tagger.prior_:g} ({tagger.choice_.reason})"
        )
        report.rows.append(Row(f"{name}, accuracy", None if options.quick else RECIPE.get(name), accuracy))
        report.rows.append(Row(f"{name}, log-loss", None, loss))
        report.rows.append(Row(f"{name}, CPU seconds of fit", None, seconds))
    report.notes.append(
        "'paper' is the prototype's counting, and for ncll what python-crfsuite reaches with c1 = c2 = 0.1; seconds include the choice "
        "of the prior"
    )
    if options.quick:
        report.notes.append("quick: the first 500 sentences of train and test only")
    return report
