"""Classifiers of sequences and taggers from a file: every part is held to the one that the estimator would build itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..choosing.recipes.base import Choice
from ..choosing.recipes.sequence_search import ChainSetting
from ..families.records import Record
from ..learners.chain_stream import ChainStream
from ..reading.tokens import Tokens
from ..saving.schema import described, fulfils, require
from ..structures.chain import Chain, topology_cells
from ..structures.chain_classes import ChainClasses, ClassMember
from .loaded import (
    CLASSIFIED,
    FITTED,
    NUMBERS,
    check_classes,
    check_columns,
    check_numbers,
    check_reader,
    is_unfitted,
)
from .loaded_parts import check_alike, check_record, check_stream


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
    check_chains(model, classes, n_classes, n, model.moments_)
    check_record("moments_", model.moments_, classes)
    require(len(model.class_count_) == n_classes, f"class_count_ must be {n_classes} numbers")
    require(isinstance(model.choice_, Choice), f"choice_ must be a Choice, and is {described(model.choice_)}")
    setting = model.choice_.setting
    require(
        setting is None or isinstance(setting, ChainSetting),
        f"choice_.setting must be of chains, and is {described(setting)}",
    )
    check_members(model, n_classes, n)
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


def check_members(model: Any, n_classes: int, n: int) -> None:
    """The models that answer with the first one; a file of before there were some has none."""
    members, settings = vars(model).setdefault("members_", []), model.choice_.members
    require(type(members) is list and type(settings) is tuple, "members_ must be a list, and choice_.members a tuple")
    require(len(settings) == (len(members) + 1 if members else 0), "members_ must be as many as choice_.members says")
    good = all(type(own) is tuple and len(own) == 2 and fulfils(own[1], "number (0..", None) for own in settings)
    require(good, "choice_.members must be settings and temperatures")
    for number, member in enumerate(members):
        name = f"members_[{number}]"
        require(type(member) is ClassMember, f"{name} must be a ClassMember, and is {described(member)}")
        require(isinstance(member.structure, ChainClasses), f"{name}.structure must be of chains")
        check_chains(model, member.structure, n_classes, n, member.moments, f"{name}.structure")
        check_record(f"{name}.moments", member.moments, member.structure)


def check_chains(
    model: Any, classes: ChainClasses, n_classes: int, n: int, moments: Any, name: str = "_stored_model"
) -> None:
    """The chains of the classes have the shape that is said, of families that the estimator would make."""
    shape = classes.shape
    require(classes.n_outcomes == n_classes, f"{name} must be of {n_classes} classes")
    require(
        fulfils(shape.n_states, "int 1..", None) and all(isinstance(flag, bool) for flag in shape[2:]),
        f"{name}.shape must be a number of states, a topology, and whether there are ends and changes",
    )
    arrays = moments.arrays() if isinstance(moments, Record) else []
    total = sum(array.size for array in arrays if isinstance(array, np.ndarray))
    require(shape.n_states <= total and n_classes <= total and n <= max(total, 1), "moments_ are of too few numbers")
    one, has_changes = model._one_hmm(1), model.family_ == "gaussian"
    check_alike(f"{name}.plain", classes.plain, one._emissions(model._reader_, np.zeros((2, n))))
    require((classes.changed is not None) == has_changes, f"{name}.changed is of numbers, and only of them")
    if has_changes:
        check_alike(f"{name}.changed", classes.changed, one._emissions(model._reader_, np.zeros((2, 2 * n))))
    require(has_changes or not shape.has_changes, f"{name}.shape cannot have changes")
    check_cells(f"{name}.chain", classes.chain, classes.at_shape(shape).chain)


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
