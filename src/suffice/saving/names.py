"""What classes are called in files: short names that do not depend on where a class lives, from a table. A file cannot name code.

A class is called by its own name, or by its module's and its own where several share it (`families.gaussian_diagonal.Moments`).
Classes of other packages (a family of your own) take part after `register`.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from importlib import import_module
from typing import Any

PLACES = {
    "choosing.candidates": "Candidate",
    "choosing.components": "Candidate HeldOut",
    "choosing.folds": "Deal",
    "choosing.priors": "Setting",
    "choosing.race": "Race",
    "choosing.recipes.base": "Choice Fold HeldOut Options Recipe Trained Warm",
    "choosing.recipes.experts": "LineSetting StackedExperts",
    "choosing.recipes.groups": "Groups",
    "choosing.recipes.in_blocks": "Pseudo",
    "choosing.recipes.linear": "Linear",
    "choosing.recipes.sequence_search": "ChainSetting Wanted",
    "choosing.recipes.sequences": "Sequences",
    "choosing.recipes.table_setting": "TableSetting",
    "choosing.recipes.tables": "Tables",
    "choosing.recipes.topics": "Topics",
    "choosing.recipes.views": "Reading View",
    "choosing.recipes.words": "Words",
    "choosing.search": "Axis Plan",
    "choosing.stacking": "Stack",
    "choosing.taggers": "TagOptions TagSolution",
    "estimators.belief_network": "SigmoidBeliefNetwork",
    "estimators.classifier": "GenerativeClassifier",
    "estimators.discriminant": "GaussianDiscriminant",
    "estimators.explaining": "Explanation",
    "estimators.families": "Kind",
    "estimators.hmm.base": "HMM",
    "estimators.hmm.classifier": "HMMClassifier",
    "estimators.hmm.families": "BernoulliHMM CategoricalHMM GaussianHMM MixedHMM PoissonHMM",
    "estimators.hmm.scale": "SequencesOf",
    "estimators.hmm.tagger": "HMMTagger",
    "estimators.hmm.tagger_text": "TextTagger",
    "estimators.lazily": "Asked",
    "estimators.mixture.base": "Mixture",
    "estimators.mixture.cells": "ValueShares",
    "estimators.mixture.classifier": "MixtureClassifier",
    "estimators.mixture.families": "BernoulliMixture CategoricalMixture MixedMixture MultinomialMixture PoissonMixture",
    "estimators.mixture.family": "FamilyMixture",
    "estimators.mixture.gaussian": "GaussianMixture",
    "estimators.naive_bayes.bernoulli": "BernoulliNB",
    "estimators.naive_bayes.categorical": "CategoricalNB",
    "estimators.naive_bayes.complement": "ComplementNB",
    "estimators.naive_bayes.family": "FamilyNB",
    "estimators.naive_bayes.gaussian": "GaussianNB",
    "estimators.naive_bayes.mixed": "MixedNB",
    "estimators.naive_bayes.multinomial": "MultinomialNB",
    "estimators.naive_bayes.poisson": "PoissonNB",
    "estimators.regression.base": "Regressor",
    "estimators.regression.gaussian": "GaussianRegressor",
    "estimators.regression.mixture": "MixtureRegressor",
    "estimators.scale": "LabelledRowsOf RowsOf Scaled",
    "estimators.table": "TableClassifier",
    "estimators.text": "TextClassifier",
    "estimators.topic.allocation": "LatentDirichletAllocation",
    "estimators.topic.classifier": "LDAClassifier",
    "estimators.topic.scale": "DocumentsOf",
    "estimators.warm": "Last",
    "evaluation.bins": "Reliability",
    "evaluation.densities": "ColumnDensity",
    "evaluation.perplexity": "Perplexity",
    "evaluation.results": "Estimate",
    "evaluation.topic_map": "TopicMap",
    "engines.blocks": "Kept",
    "families.base": "Change Family",
    "families.bernoulli": "Bernoulli",
    "families.categorical": "Categorical Moments Natural",
    "families.columns": "Columns Moments Natural",
    "families.complement": "Complement",
    "families.conjugates": "Conjugate Dirichlets Gammas NormalGamma NormalWishart",
    "families.gaussian_correlated": "GaussianCorrelated Moments Natural",
    "families.gaussian_diagonal": "GaussianDiagonal Moments Natural",
    "families.gaussian_full": "GaussianFull",
    "families.gaussian_levels": "GaussianLevels",
    "families.gaussian_spherical": "GaussianSpherical",
    "families.gaussian_tied": "GaussianTied",
    "families.histogram": "Histogram",
    "families.lone_words": "Join JoinedRows",
    "families.multinomial": "Moments Multinomial Natural",
    "families.poisson": "Moments Natural Poisson",
    "families.records": "Record",
    "families.words": "ScaledRows",
    "files.collections": "DelayedPart Opener",
    "files.dataset": "Layout Steps",
    "files.first_pass": "Numbered Outline Outlined",
    "files.joined": "Joined",
    "files.layout": "Layout",
    "files.pieces": "Part Piece",
    "files.profile": "Profile",
    "files.survey": "Drawn Question Survey",
    "files.table": "Columns Options Table",
    "files.trained": "Trained",
    "learners.accelerated": "AcceleratedEM Leaps",
    "learners.batch": "Batch",
    "learners.blocks": "Block BlockForm BlockRows ByMoments Curved Labelled Placing Sums",
    "learners.chain_blocks": "BlockSteps SequenceBlock",
    "learners.chain_classes": "ClassProblem ClassRows",
    "learners.chain_em": "ChainProblem OnlineChainEM VariationalChainProblem",
    "learners.chain_steps": "ChainSteps ExpectedSteps Part",
    "learners.chain_stream": "ChainStream",
    "learners.driver": "Record Snapshot",
    "learners.em": "BatchEM Expectations MixtureProblem",
    "learners.expectation": "Expected Kernel Rows Sums",
    "learners.experts": "ExpertProblem ExpertSetting",
    "learners.group_stream": "GroupStream",
    "learners.incremental": "Dual Incremental Warm",
    "learners.linear.blocks": "BlockClassSums BlockConditional Plan",
    "learners.linear.cells": "BinsPart CategoriesPart",
    "learners.linear.conditional": "Conditional",
    "learners.linear.design": "ClassSums ColumnLayout Design",
    "learners.linear.parts": "CountsPart NumbersPart PseudoRows",
    "learners.linear.settle": "Settling Tellers",
    "learners.linear.sums": "ClassSums FoldSums",
    "learners.network.expectation": "Expectation",
    "learners.network.m_step": "LayerStatistics Limits",
    "learners.network.passes": "Memory NetworkProblem Staged",
    "learners.network.settings": "Settings Stage",
    "learners.online": "OnlineEM OnlineProblem Stream",
    "learners.paper": "Paper Raw",
    "learners.problem": "Measure Problem",
    "learners.quasi_newton": "Evaluations GroupProblem QuasiNewton",
    "learners.shardwise": "Change Rounds Shard Shardwise Work",
    "learners.state": "Fit State",
    "learners.step_sizes": "Constant InverseTime Power",
    "learners.stochastic": "Rate Stochastic",
    "learners.stream": "OutcomeStream",
    "learners.structured": "Expected Structured StructuredProblem",
    "learners.surrogate": "Surrogate Tilted Told",
    "learners.tag_data": "TagData",
    "learners.tag_margin": "MarginDual MarginProblem Multipliers",
    "learners.tag_problem": "TagProblem TagSteps",
    "learners.topics.allocation": "Allocation Tokens",
    "learners.topics.allocation_blocks": "BlockAllocation BlockDocuments Counted",
    "learners.topics.allocation_passes": "AllocationProblem BatchAllocation OnlineAllocation Position SampledAllocation Shapes Sweeps",
    "learners.topics.gibbs": "Counts OnlineGibbs",
    "learners.topics.passes": "Documents EM IncrementalTopics",
    "learners.topics.stream": "TopicStream",
    "learners.variational": "VariationalEM VariationalProblem",
    "learners.watch": "Entry Journal",
    "reading.base": "Reader",
    "reading.bins": "Cuts",
    "reading.documents": "Documents",
    "reading.frames": "Column",
    "reading.frames_back": "Schema",
    "reading.inputs": "Inputs",
    "reading.mixed": "Mixed",
    "reading.ordered": "Ordered",
    "reading.sequences": "Sequences",
    "reading.tables": "Codes Counts Flags Numbers",
    "reading.tags": "Frequent",
    "reading.tokens": "Tokens",
    "reading.words": "Words",
    "saving.checkpoints": "Checkpoint",
    "structures.base": "Expectation Moments Natural",
    "structures.chain": "Chain ChainMoments ChainPrior Parameters",
    "structures.chain_classes": "ChainClasses ClassMember ClassParameters ClassesMoments ClassesPrior SequenceRows Shape",
    "structures.chain_plan": "Shard",
    "structures.chain_posterior": "ChainConjugate ChainPosterior",
    "structures.committee": "Committee Member",
    "structures.component_prior": "ComponentPrior",
    "structures.design": "CategoryCells Cells CountCells Design NumberCells",
    "structures.expert_prior": "ExpertPrior",
    "structures.experts": "ExpertMoments ExpertRows Experts",
    "structures.gaps": "CorrelatedGaps",
    "structures.groups": "Groups",
    "structures.hinges": "HingeCells",
    "structures.joint": "Joint",
    "structures.line": "Line",
    "structures.network": "Network",
    "structures.occupied": "Occupied",
    "structures.posterior": "ConjugatePrior Posterior",
    "structures.predictive": "Predictive",
    "structures.tag_patterns": "Patterns",
    "structures.tag_weights": "TagWeights Tagging",
    "structures.targets": "BernoulliTarget GaussianTarget NegativeBinomialTarget PoissonTarget Rated Target",
    "structures.topics": "Moments Natural Topics",
    "structures.topics_document": "Document",
    "structures.words": "BernoulliWords ComplementWords Words",
}
_REGISTERED: dict[str, type] = {}


@cache
def _homes() -> dict[str, tuple[str, str]]:
    """{name: (module, class)} of the table."""
    pairs = [(module, name) for module, names in PLACES.items() for name in names.split()]
    times = Counter(name for _, name in pairs)
    return {name if times[name] == 1 else f"{module}.{name}": (f"suffice.{module}", name) for module, name in pairs}


@cache
def _names() -> dict[tuple[str, str], str]:
    return {home: name for name, home in _homes().items()}


def register(cls: type) -> type:
    """The class, from now on known to model files by its module and name (also as a decorator): one that you trust, of your own."""
    _REGISTERED[f"{cls.__module__}:{cls.__qualname__}"] = cls
    return cls


def name_of(cls: type) -> str | None:
    """The name of a class in files; None: files may not hold it."""
    place = f"{cls.__module__}:{cls.__qualname__}"
    return place if _REGISTERED.get(place) is cls else _names().get((cls.__module__, cls.__qualname__))


def class_named(name: str) -> Any:
    """The class of that name; None if there is none."""
    if name in _REGISTERED:
        return _REGISTERED[name]
    if name not in _homes():
        return None
    module, own = _homes()[name]
    return vars(import_module(module)).get(own)
