"""Parts of a model from a file, held to the structure that its estimator builds: structures, records of arrays, streams."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from ..families.records import Record
from ..learners.chain_stream import ChainStream
from ..learners.group_stream import GroupStream
from ..learners.online import Stream
from ..learners.stream import OutcomeStream
from ..learners.topics.stream import TopicStream
from ..saving.schema import described, require, rules_of
from ..structures.chain import Chain, ChainPrior
from ..structures.chain_classes import ChainClasses, ClassesPrior
from ..structures.component_prior import ComponentPrior
from ..structures.joint import Joint

FAMILY_SIZES = ("n_outcomes", "n_features", "n_topics")
HOLDERS = (Stream, GroupStream, ChainStream, OutcomeStream, TopicStream, ChainPrior, ClassesPrior)


def check_alike(name: str, structure: Any, template: Any) -> None:
    """The same classes of the same sizes."""
    require(
        type(structure) is type(template), f"{name} must be a {type(template).__name__}, and is {described(structure)}"
    )
    sizes = [size for size in FAMILY_SIZES if hasattr(template, size)]
    different = [size for size in sizes if getattr(structure, size) != getattr(template, size)]
    require(not different, f"{name} has another {', '.join(different)} than the model")
    if isinstance(template, Chain):
        check_alike(f"{name}.emissions", structure.emissions, template.emissions)
        for part in ("n_mixtures", "emission_of", "row_ties"):
            own, wanted = getattr(structure, part), getattr(template, part)
            require((own is None) == (wanted is None) and np.array_equal(own, wanted), f"{name}.{part} is another one")
    if isinstance(template, Joint):
        require(
            len(structure.families) == len(template.families), f"{name} must have {len(template.families)} families"
        )
        for own, wanted in zip(structure.families, template.families, strict=True):
            check_alike(f"{name}.families", own, wanted)
    if hasattr(template, "n_categories"):
        require(
            np.array_equal(structure.n_categories, template.n_categories),
            f"{name} has other n_categories than the reader",
        )


def check_record(name: str, record: Any, structure: Any) -> None:
    """Arrays of the shapes of the structure's statistics, finite, with masses that are masses."""
    template = structure.no_statistics()
    shapes, found = [array.shape for array in template.arrays()], [np.shape(array) for array in record.arrays()]
    require(
        same_types(record, template) and found == shapes,
        f"{name} has parameters of the shapes {found}; they must be {shapes}",
    )
    good = all(array.dtype == np.float64 for array in record.arrays())
    require(good and record.is_finite(), f"{name} has parameters that are not finite numbers")
    mass = getattr(record, "mass", None)
    require(
        mass is None or ((mass >= 0).all() and mass.sum() > 0) or not name.startswith("moments_"),
        f"{name} has masses below 0",
    )


def same_types(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same_types, one, other))
    if isinstance(one, Record):
        return all(same_types(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    return True


def check_stream(name: str, value: Any, estimator: Any, depth: int = 0) -> None:
    """Whatever a stream holds: records of the structure's shapes, structures like the model's, priors of them."""
    structure = estimator._stored_model
    require(depth < 6, f"{name} is nested too deeply")
    if value is None:
        return
    if isinstance(value, Record):
        check_streamed(name, value, estimator)
    elif isinstance(value, (Joint, Chain)):
        chain = getattr(structure, "chain", structure)  # that of every class, where there are classes
        check_alike(name, value, chain.emissions if isinstance(chain, Chain) and isinstance(value, Joint) else chain)
    elif isinstance(value, ComponentPrior):
        check_stream(f"{name}.model", value.model, estimator, depth + 1)
        check_typical(name, value)
    else:
        require(isinstance(value, HOLDERS), f"{name} must not be {described(value)}")
        kind: Any = type(value)
        for field in fields(value):
            if field.name in rules_of(kind):  # it has been held to its rule
                continue
            path, part = f"{name}.{field.name}", getattr(value, field.name)
            wanted = needed(value, field.name, estimator)
            said = " or ".join(kind.__name__ for kind in wanted)
            require(
                type(part) in wanted or isinstance(part, wanted[0]), f"{path} must be {said}, and is {described(part)}"
            )
            check_stream(path, part, estimator, depth + 1)


def needed(holder: Any, field: str, estimator: Any) -> tuple[type, ...]:
    """The classes that a field of a stream or of a prior may have."""
    structure = estimator._stored_model
    if field == "prior":
        kinds = {ChainClasses: ClassesPrior, Chain: ChainPrior}
        return (kinds.get(type(structure), ComponentPrior),)
    fixed: dict[str, type] = {"em": Stream, "emissions": ComponentPrior, "model": Joint}
    fixed["chain"] = ChainPrior if isinstance(holder, ClassesPrior) else Chain
    if field in fixed:
        return (fixed[field],)
    moments = type(structure.no_statistics())
    if isinstance(holder, Stream):
        return (moments,)
    if field in ("natural", "average"):
        return (type(getattr(estimator, "natural_", None)), type(None))
    return (moments, type(None))


def check_streamed(name: str, value: Record, estimator: Any) -> None:
    """A record of a stream: moments, or natural parameters, of the model's shapes."""
    structure, natural = estimator._stored_model, getattr(estimator, "natural_", None)
    if natural is None or type(value) is not type(natural):
        wanted = type(structure.no_statistics())
        require(type(value) is wanted, f"{name} must be a {wanted.__name__}, and is {described(value)}")
        check_record(name, value, structure)
        return
    shapes = [array.shape for array in natural.arrays()]
    alike = same_types(value, natural) and [np.shape(array) for array in value.arrays()] == shapes
    require(alike, f"{name} has other shapes")
    require(all(array.dtype == np.float64 for array in value.arrays()), f"{name} must be floats")


def check_typical(name: str, prior: ComponentPrior) -> None:
    """What is typical of every family's columns, in the shapes that the family asks for."""
    parts = zip(prior.model.families, prior.model.no_statistics().columns, strict=True)
    with np.errstate(all="ignore"):  # of no rows: only the shapes matter
        wanted = [np.shape(family.typical(own)) for family, own in parts]
    good = isinstance(prior.typical, tuple) and [np.shape(part) for part in prior.typical] == wanted
    require(
        good and all(np.asarray(part).dtype == np.float64 and np.isfinite(part).all() for part in prior.typical),
        f"{name}.typical must be numbers of the shapes {wanted}",
    )
