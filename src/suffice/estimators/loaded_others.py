"""Models from a file that are not one structure with its moments: regressors, wrapped models.

What `loaded` says of the others holds here too: every part is held to the one that the estimator would build itself.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..families.records import Record
from ..reading.date_parts import PARTS
from ..reading.inputs import Inputs
from ..saving.schema import described, fulfils, require
from ..structures.committee import Committee, Member
from ..structures.design import NumberCells, design_of
from ..structures.experts import ExpertMoments, Experts
from ..structures.hinges import HingeCells
from ..structures.joint import Joint
from ..structures.line import Line, family_of
from ..structures.targets import GaussianTarget
from .loaded import (
    check_columns,
    check_numbers,
    check_reader,
    is_unfitted,
)
from .loaded_parts import check_alike, check_record

LONGEST_PATTERN = 200  # characters of a regular expression
MOST_WORDS = 10  # of an n-gram


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
    if isinstance(found, Line):
        check_line(name, found, gates)
        return
    check_units(name, found)
    require(type(found.members) is list and len(found.members) > 0, f"{name}.members must be a list")
    for number, member in enumerate(found.members):
        check_member(f"{name}.members[{number}]", member, gates, model)
        each = zip(member.structure.design.parts, found.members[0].structure.design.parts, strict=True)
        pairs = [[getattr(part, f, 0.0) for part in both] for both in each for f in ("knots", "centre", "scale")]
        alike = all(np.array_equal(one, other, equal_nan=True) for one, other in pairs)
        require(alike, f"{name}.members[{number}] sees other numbers of a row than the first member")
    if found.line is not None:
        require(type(found.line) is Line, f"{name}.line must be a Line, and is {described(found.line)}")
        require(fulfils(found.line_weight, "number (0..1.000001", None), f"{name}.line_weight must be a share")
        require(model._target is GaussianTarget, f"{name}.line is of a target of another family")
        check_line(f"{name}.line", found.line, gates)


def check_units(name: str, found: Any) -> None:
    rules = {"location": "number -1e300..1e300", "scale": "number (0..1e300", "width": "number (0..1e300"}
    for field, rule in rules.items():
        require(fulfils(getattr(found, field), rule, None), f"{name}.{field} must be a number")


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
    check_units(name, line)
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
    good = [np.shape(array) for array in arrays] == wanted and all(array.dtype == np.float64 for array in arrays)
    good = good and line.statistics.is_finite()
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
    parts = getattr(model, "date_parts_", {})  # none in older files
    require(type(parts) is dict and all(name in names for name in parts), "date_parts_ must be of columns")
    known = all(type(own) is list and set(own) <= set(PARTS) for own in parts.values())
    require(known, f"date_parts_ must be lists of {', '.join(PARTS)}")
    n_learned = n - len(model.dropped_) + sum(len(own) for own in parts.values())
    for own in (model.model_, *model.others_):
        check_wrapped(own, (GenerativeClassifier,), n_learned)
        require(np.array_equal(own.classes_, model.model_.classes_), "others_ have other classes_ than model_")
    shares = getattr(model, "shares_", np.ones(1))  # none in older files
    require(
        isinstance(shares, np.ndarray) and shares.ndim == 1 and bool((shares > 0).all()), "shares_ must be positive"
    )
    require(abs(float(shares.sum()) - 1.0) < 1e-6, "shares_ must add up to one")
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
