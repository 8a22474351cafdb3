"""Tables and figures of the papers, rerun: `suffice reproduce NAME`.

One file a table or figure, in a folder named after the author and year. Each has a function `run(options) -> Report`; this
module is the list of them. A module is imported only when its experiment runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path


@dataclass(frozen=True)
class Options:
    """What the command line passes to every experiment."""

    quick: bool = False  # a run of seconds, for tests
    seeds: int | None = None  # None: as many as the experiment needs
    minutes: float | None = None  # a budget for long training; None: the experiment's own
    folder: Path = Path("out")  # where pictures go
    say: Callable[[str], None] = print  # progress


@dataclass(frozen=True)
class Row:
    """One figure of the paper beside ours (mean and spread over `n_seeds`)."""

    name: str
    paper: float | None
    ours: float
    std: float | None = None
    n_seeds: int = 1

    def as_json(self) -> dict:
        return asdict(self)


@dataclass
class Report:
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(
        default_factory=list
    )  # what the reader must know: definitions, substitutions, data missing
    pictures: list[Path] = field(default_factory=list)


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    minutes: float  # expected, on two cores
    module: str  # below suffice.experiments; its `run(options)` returns a Report

    def run(self, options: Options) -> Report:
        return import_module(f"{__name__}.{self.module}").run(options)


DEMO = Experiment("demo", "Our three losses beside scikit-learn's classifiers", 0.5, "demo")

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in [
        Experiment("lecture-auxiliary", "Likelihood and auxiliary function of a mixture", 0.5, "lectures.auxiliary"),
        Experiment(
            "lecture-discriminants", "Generative, conditional, margin: which is better?", 2, "lectures.discriminants"
        ),
        Experiment("lecture-strings", "A mixture of string patterns, learned by EM", 0.5, "lectures.strings"),
        Experiment("hmm-lecture", "A hidden Markov model with states observed and hidden", 0.5, "lectures.chains"),
        Experiment("hmm-classifiers", "Hidden Markov models as classifiers of sequences", 30, "sequences.classifiers"),
        Experiment(
            "hmm-taggers", "Parts of speech by taggers with three losses, UD English EWT", 2, "sequences.taggers"
        ),
        Experiment("mixture-classifiers", "Mixtures inside classifiers on five data sets", 8, "mixture.classifiers"),
        Experiment("masegosa2014-toy", "Section 4.1, Figure 1: three losses on the toy data", 1, "masegosa2014.toy"),
        Experiment("song2016-best", "Table 1 with our best settings: OCR letters and MNIST", 110, "song2016.best"),
        Experiment("song2016-fig1", "Figure 1: Q against time, three M-steps", 1, "song2016.fig1"),
        Experiment("song2016-fig2", "Figure 2: lower bound against time, MNIST", 20, "song2016.fig2"),
        Experiment("song2016-fig3", "Figure 3: dictionaries and synthesised digits", 12, "song2016.fig3"),
        Experiment("song2016-fig4", "Figure 4: lower bound against time, OCR letters", 20, "song2016.fig4"),
        Experiment("song2016-fig5", "Figure 5: perplexity against time, 20 Newsgroups", 5, "song2016.fig5"),
        Experiment(
            "song2016-throughput", "Gibbs kernel: image-sweeps a second against NumPy", 1, "song2016.throughput"
        ),
        Experiment("song2016-table1", "Table 1: test log-likelihood by annealing", 100, "song2016.table1"),
        Experiment("song2016-table2", "Table 2: test variational lower bound", 70, "song2016.table2"),
        Experiment("song2016-table3", "Table 3: nearest words, 20 Newsgroups", 5, "song2016.table3"),
        Experiment("song2016-table4", "Table 4: perplexities, 20 Newsgroups", 20, "song2016.table4"),
        Experiment("masegosa2014-table3", "Table 3: the text data sets", 1, "masegosa2014.table3"),
        Experiment("masegosa2014-fig2", "Figure 2: hinge against NCLL and perplexity", 1, "masegosa2014.fig2"),
        Experiment("masegosa2014-fig3", "Figure 3: accuracy per pass beside LIBLINEAR", 3, "masegosa2014.fig3"),
        Experiment("masegosa2014-fig4", "Figure 4: accuracy per pass of LDA classifiers", 20, "masegosa2014.fig4"),
        Experiment("masegosa2014-fig9", "Figure 9: losses and perplexity of LDA classifiers", 12, "masegosa2014.fig9"),
        Experiment("masegosa2014-fig5", "Figure 5: convergence of NCLL-MNB, priors P1 and P2", 3, "masegosa2014.fig5"),
        Experiment("masegosa2014-fig6", "Figure 6: convergence of Hinge-MNB, priors P1 and P2", 3, "masegosa2014.fig6"),
        Experiment("masegosa2014-fig7", "Figure 7: NCLL-SGD and NCLL-MNB at five rates, imdb", 3, "masegosa2014.fig7"),
        Experiment(
            "masegosa2014-fig8", "Figure 8: Hinge-SGD and Hinge-MNB at five rates, imdb", 3, "masegosa2014.fig8"
        ),
        Experiment("scale-rounds", "Rounds over 2 to 1,024 blocks, three ways of learning", 3, "scale.rounds"),
        Experiment("uci-regression", "Twenty splits of six UCI tables: densities of the target", 60, "regression.uci"),
        Experiment(
            "table-completion",
            "Holes and wrong cells of four tables: any column given the others",
            25,
            "data.table_completion",
        ),
        Experiment("missing-data", "Cells removed from test rows: MixedNB beside imputation", 4, "data.missing_data"),
        Experiment(
            "semi-supervised", "What unlabelled rows change, with few labels a class", 5, "data.semi_supervised"
        ),
    ]
}
