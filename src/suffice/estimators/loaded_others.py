"""Models from a file that are not one structure with its moments: sequences with labels, tagged steps, regressors, wrapped models.

What `loaded` says of the others holds here too: every part is held to the one that the estimator would build itself.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..choosing.recipes.base import Choice
from ..families.records import Record
from ..learners.chain_stream import ChainStream
from ..reading.inputs import Inputs
from ..reading.tokens import Tokens
from ..saving.schema import described, fulfils, require
from ..structures.chain import Chain, topology_cells
from ..structures.chain_classes import ChainClasses
from ..structures.committee import Committee, Member
from ..structures.design import NumberCells, design_of
from ..structures.experts import ExpertMoments, Experts
from ..structures.hinges import HingeCells
from ..structures.joint import Joint
from ..structures.line import Line, family_of
from .loaded import (
    CLASSIFIED,
    FITTED,
    NUMBERS,
    check_alike,
    check_classes,
    check_columns,
    check_numbers,
    check_reader,
    check_record,
    check_stream,
    is_unfitted,
)

LONGEST_PATTERN = 200  # characters of a regular expression
MOST_WORDS = 10  # of an n-gram


def check_sequences(model: Any) -> None:
    """An `HMMClassifier` from a file."""
    if is_unfitted(model, (*FITTED, *CLASSIFIED, "family_", "typical_length_", "_takes_series")):
        return
    model._check_parameters()
    n_classes, classes = check_classes(model), model._stored_model
    check_columns(model)
    require(isinstance(classes, ChainClasses), f"_stored_model must be of chains, and is {described(classes)}")
    check_numbers(model, {**NUMBERS, "typical_length_": "int 1..100000", "_takes_series": "bool", "family_": "str"})
    check_family(model)
    n = getattr(classes.plain, "n_features", 0)
    require(model._takes_series or n == model.n_features_in_, "_stored_model has another number of columns than X")
    require(not model._takes_series or n == 1, "_stored_model must be of series of single values")
    check_reader(model, n)
    check_chains(model, classes, n_classes, n)
    check_record("moments_", model.moments_, classes)
    require(len(model.class_count_) == n_classes, f"class_count_ must be {n_classes} numbers")
    require(isinstance(model.choice_, Choice), f"choice_ must be a Choice, and is {described(model.choice_)}")
    model._answering, model._multipliers = classes, None
    require(isinstance(model._stream, ChainStream), f"_stream must be a stream, and is {described(model._stream)}")
    check_chain_stream(model)
    with np.errstate(all="ignore"):
        model._expose(classes, model.moments_)


def check_family(model: Any) -> None:
    """The family is one that there is, and not another than was asked for."""
    from .hmm.class_reading import FAMILIES

    require(
        model.family_ in FAMILIES, f"family_ must be one of {', '.join(FAMILIES)}, and is {described(model.family_)}"
    )
    require(model.family in ("auto", model.family_), "family_ is not the family that was asked for")


def check_chains(model: Any, classes: ChainClasses, n_classes: int, n: int) -> None:
    """The chains of the classes have the shape that is said, of families that the estimator would make."""
    shape = classes.shape
    require(classes.n_outcomes == n_classes, f"_stored_model must be of {n_classes} classes")
    require(
        fulfils(shape.n_states, "int 1..", None) and all(isinstance(flag, bool) for flag in shape[2:]),
        "_stored_model.shape must be a number of states, a topology, and whether there are ends and changes",
    )
    arrays = model.moments_.arrays() if isinstance(model.moments_, Record) else []
    total = sum(array.size for array in arrays if isinstance(array, np.ndarray))
    require(shape.n_states <= total and n_classes <= total and n <= max(total, 1), "moments_ are of too few numbers")
    one, has_changes = model._one_hmm(1), model.family_ == "gaussian"
    check_alike("_stored_model.plain", classes.plain, one._emissions(model._reader_, np.zeros((2, n))))
    require((classes.changed is not None) == has_changes, "_stored_model.changed is of numbers, and only of them")
    if has_changes:
        check_alike("_stored_model.changed", classes.changed, one._emissions(model._reader_, np.zeros((2, 2 * n))))
    require(has_changes or not shape.has_changes, "_stored_model.shape cannot have changes")
    check_cells("_stored_model.chain", classes.chain, classes.at_shape(shape).chain)


def check_cells(name: str, chain: Any, template: Chain) -> None:
    """A chain like another one, cells that are fixed included."""
    check_alike(name, chain, template)
    same = all(
        np.array_equal(getattr(chain, cells), getattr(template, cells), equal_nan=True)
        for cells in ("start_cells", "cells")
    )
    require(same and chain.has_end == template.has_end, f"{name} has other cells than its shape says")


def check_chain_stream(model: Any) -> None:
    """Moments of the model's shapes, and coordinates as long as its chart."""
    stream, moments = model._stream, model.moments_
    for part in ("stepped", "base", "moments"):
        own = getattr(stream, part)
        require(own is None or type(own) is type(moments), f"_stream.{part} must be moments, and is {described(own)}")
        if own is not None:
            check_record(f"_stream.{part}", own, model._stored_model)
    require(stream.moments is not None, "_stream.moments are missing")
    if stream.average is not None:
        require(stream.base is not None, "_stream.base is missing")
        with np.errstate(all="ignore"):
            size = len(model._stored_model.chart(stream.base).vector(stream.base))
        require(fulfils(stream.average, f"float[{size}]", None), f"_stream.average must be {size} numbers")
    check_stream("_stream.em", stream.em, model)


def check_tagger(model: Any) -> None:
    """An `HMMTagger` or a `TextTagger` from a file."""
    if is_unfitted(
        model, ("moments_", "classes_", "n_features_in_", "_reader_", "_stored_model", "choice_", "history_")
    ):
        return
    model._check_parameters()
    n_tags, chain, reader = check_classes(model), model._stored_model, model._reader_
    n = check_columns(model)
    check_reader(model, n)
    if isinstance(reader, Tokens):
        n = len(reader.columns)
    require(isinstance(chain, Chain), f"_stored_model must be a chain, and is {described(chain)}")
    arrays = model.moments_.arrays() if isinstance(model.moments_, Record) else []
    total = sum(array.size for array in arrays if isinstance(array, np.ndarray))
    require(n_tags <= total and n <= max(total, 1), "moments_ are of too few numbers")
    cells = topology_cells("ergodic", n_tags)
    check_cells("_stored_model", chain, Chain(model._emissions(reader, np.zeros((2, n)), n_tags), *cells, True))
    check_record("moments_", model.moments_, chain)
    require(isinstance(model.choice_, Choice), f"choice_ must be a Choice, and is {described(model.choice_)}")
    with np.errstate(all="ignore"):
        model.startprob_, model.transmat_ = chain.start_of(model.moments_), chain.transitions_of(model.moments_)
        model.endprob_ = chain.end_of(model.moments_)
    if isinstance(reader, Tokens):
        model.columns_, model.categories_ = reader.columns, reader.categories


def check_regressor(model: Any) -> None:
    """A regressor from a file."""
    if is_unfitted(model, ("committees_", "chain_", "n_targets_", "n_features_in_", "_reader_", "_seen")):
        return
    model._check_parameters()
    n, reader = check_columns(model), model._reader_
    check_reader(model, n)
    require(isinstance(reader, Inputs), f"_reader_ must be of inputs, and is {described(reader)}")
    numbers = len(reader.named[0])
    for name, rule in {"location": f"float[{numbers}]", "scale": f"float[{numbers}] (0.."}.items():
        require(fulfils(getattr(reader, name), rule, None), f"_reader_.{name} must be {numbers} numbers")
    check_numbers(model, {"n_targets_": "int 1..", "_seen": "number 0.."})
    require(type(model.committees_) is list and type(model.chain_) is list, "committees_ and chain_ must be lists")
    wanted = model.n_targets_ if model.n_targets_ > 1 else 0
    require(len(model.committees_) == model.n_targets_, f"committees_ must be {model.n_targets_}")
    require(len(model.chain_) == wanted, f"chain_ must be {wanted}")
    model.kinds_ = reader.kinds
    for number, own in enumerate(model.committees_):
        check_committee(f"committees_[{number}]", own, model, 0)
    for number, own in enumerate(model.chain_):
        check_committee(f"chain_[{number}]", own, model, number)


def check_committee(name: str, found: Any, model: Any, n_more: int) -> None:
    """What answers for one target, beside `n_more` others."""
    gates = model._gates(n_more)
    kind = Committee if hasattr(model, "n_components") else Line
    require(type(found) is kind, f"{name} must be a {kind.__name__}, and is {described(found)}")
    for field, rule in {
        "location": "number -1e300..1e300",
        "scale": "number (0..1e300",
        "width": "number (0..1e300",
    }.items():
        require(fulfils(getattr(found, field), rule, None), f"{name}.{field} must be a number")
    if isinstance(found, Line):
        check_line(name, found, gates)
        return
    require(type(found.members) is list and len(found.members) > 0, f"{name}.members must be a list")
    for number, member in enumerate(found.members):
        check_member(f"{name}.members[{number}]", member, gates, model)
        each = zip(member.structure.design.parts, found.members[0].structure.design.parts, strict=True)
        pairs = [[getattr(part, f, 0.0) for part in both] for both in each for f in ("knots", "centre", "scale")]
        alike = all(np.array_equal(one, other, equal_nan=True) for one, other in pairs)
        require(alike, f"{name}.members[{number}] sees other numbers of a row than the first member")


def check_design(name: str, design: Any, gates: Joint) -> None:
    """The vectors of rows with the columns of the gates."""
    template = design_of(gates.families, gates.split(np.zeros((2, gates.n_features))))
    parts = getattr(design, "parts", None)
    require(isinstance(parts, tuple) and len(parts) == len(template.parts), f"{name} has other parts")
    for own, wanted in zip(parts, template.parts, strict=True):  # type: ignore[arg-type]
        bends = type(wanted) is NumberCells and type(own) is HingeCells
        require(bends or type(own) is type(wanted), f"{name} has other parts")
        require(own.n_columns == wanted.n_columns, f"{name} has other columns")
        if bends:
            require(
                fulfils(own.knots, "float?[n_columns, *]", wanted), f"{name}.knots must have a row for every column"
            )
        if hasattr(wanted, "n_categories"):
            require(
                np.array_equal(own.n_categories, wanted.n_categories), f"{name} has other n_categories than the reader"
            )
        for field, rule in {"centre": "float[n_columns]", "scale": "float[n_columns] (0.."}.items():
            if hasattr(wanted, field):
                require(
                    fulfils(getattr(own, field), rule, wanted), f"{name}.{field} must be {wanted.n_columns} numbers"
                )


def check_line(name: str, line: Line, gates: Joint) -> None:
    check_design(f"{name}.design", line.design, gates)
    require(line.cuts == gates.cuts, f"{name}.cuts must be {gates.cuts}")
    size = line.design.size
    shapes = {
        "mean": f"[{size}]",
        "slope": f"[{size}]",
        "covariance": f"[{size}, {size}]",
        "posterior": f"[{size}, {size}]",
    }
    for field, shape in shapes.items():
        require(
            fulfils(getattr(line, field), f"float{shape}", None), f"{name}.{field} must be numbers of the shape {shape}"
        )
    for field, rule in {
        "centre": "number -1e300..1e300",
        "noise": "number (0..1e300",
        "strength": "number (0..1e300",
    }.items():
        require(fulfils(getattr(line, field), rule, None), f"{name}.{field} must be a number")
    wanted = [
        array.shape for array in family_of(size + 1).statistics(np.zeros((1, size + 1)), np.ones((1, 1))).arrays()
    ]
    arrays = line.statistics.arrays() if isinstance(line.statistics, Record) else []
    good = [np.shape(array) for array in arrays] == wanted and line.statistics.is_finite()
    require(good and float(line.statistics.weight.min()) > 0, f"{name}.statistics must be of the shapes {wanted}")


def check_member(name: str, member: Any, gates: Joint, model: Any) -> None:
    require(type(member) is Member, f"{name} must be a Member, and is {described(member)}")
    structure, moments = member.structure, member.moments
    require(
        isinstance(structure, Experts) and isinstance(moments, ExpertMoments),
        f"{name} must be experts and their moments",
    )
    require(isinstance(structure.gates, Joint), f"{name}.structure.gates must be a joint distribution of columns")
    require(fulfils(member.weight, "number 0..1.000001", None), f"{name}.weight must be a share")
    K = structure.gates.n_outcomes
    require(
        fulfils(moments.intercept, "float[*]", None) and moments.intercept.shape == (K,),
        f"{name}.moments are of other shapes",
    )
    check_alike(f"{name}.structure.gates", structure.gates, gates.with_outcomes(K))
    check_design(f"{name}.structure.design", structure.design, gates)
    require(type(structure.target) is model._target, f"{name}.structure.target is of another family")
    check_record(f"{name}.moments.gates", moments.gates, structure.gates)
    size = structure.design.size
    good = fulfils(moments.slope, f"float[{K}, {size}]", None) and fulfils(moments.spread, f"float[{K}] (0..", None)
    require(good, f"{name}.moments must have {K} slopes of {size} numbers and {K} spreads above 0")


def check_wrapped(model: Any, kinds: tuple[type, ...], wanted: int) -> None:
    """A fitted model inside of another one, of so many columns."""
    require(
        isinstance(model, kinds) and hasattr(model, "moments_"), f"model_ must be fitted, and is {described(model)}"
    )
    require(model.n_features_in_ == wanted, f"model_ must be of {wanted} columns")


def check_table(model: Any) -> None:
    """A `TableClassifier` from a file."""
    from .classifier import GenerativeClassifier

    if is_unfitted(model, ("model_", "others_", "classes_", "n_features_in_", "dropped_")):
        return
    model._check_parameters()
    n = check_columns(model)
    require(type(model.others_) is list and type(model.dropped_) is list, "others_ and dropped_ must be lists")
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    require(all(str(name) in names for name in model.dropped_), "dropped_ must be names of columns")
    for own in (model.model_, *model.others_):
        check_wrapped(own, (GenerativeClassifier,), n - len(model.dropped_))
        require(np.array_equal(own.classes_, model.model_.classes_), "others_ have other classes_ than model_")
    model.classes_ = model.model_.classes_


def check_text(model: Any) -> None:
    """A `TextClassifier` from a file."""
    from .naive_bayes import MultinomialNB

    if is_unfitted(model, ("model_", "vocabulary_", "idf_", "classes_")):
        return
    words = model.vocabulary_
    require(isinstance(words, np.ndarray) and words.ndim == 1 and len(words) > 0, "vocabulary_ must be a list of words")
    found = words.tolist()
    require(
        all(isinstance(word, str) for word in found) and len(set(found)) == len(found),
        "vocabulary_ must be different words",
    )
    check_wrapped(model.model_, (MultinomialNB,), len(words))
    require(
        model.idf_ is None or fulfils(model.idf_, f"float[{len(words)}] 0..", None),
        f"idf_ must be {len(words)} numbers",
    )
    ngrams = model.ngrams
    good = (
        isinstance(ngrams, (tuple, list))
        and len(ngrams) == 2
        and all(fulfils(n, f"int 1..{MOST_WORDS}", None) for n in ngrams)
    )
    require(
        good and ngrams[0] <= ngrams[1], f"ngrams must be two numbers up to {MOST_WORDS}, and is {described(ngrams)}"
    )
    pattern = model.token_pattern
    require(
        isinstance(pattern, str) and len(pattern) <= LONGEST_PATTERN,
        f"token_pattern must be of at most {LONGEST_PATTERN} characters",
    )
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        require(False, "token_pattern must be a regular expression")
    require(
        isinstance(model.lowercase, bool) and model.weighing in ("tfidf", "count", "binary"),
        "lowercase or weighing is unknown",
    )
    stop = model.stop_words
    plain = (
        stop is None
        or isinstance(stop, str)
        or (isinstance(stop, (list, set, frozenset)) and all(isinstance(w, str) for w in stop))
    )
    require(plain, f"stop_words must be words, and is {described(stop)}")
    model.classes_ = model.model_.classes_
