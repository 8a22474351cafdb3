"""A model from a file is what its estimator would have made: structure, moments, units and streams fit onto each other.

Every stored object has been held to its own class (`saving.schema`); here they are held to each other. The structure must be the one
that the estimator builds itself for so many columns and outcomes, moments must have the shapes of its statistics, and attributes that
follow from the moments are computed again and not taken from the file. So nothing that passes makes compiled code leave an array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..choosing.recipes.base import Choice
from ..families.records import Record
from ..learners.online import Stream
from ..reading.base import Reader
from ..reading.frames_back import Schema
from ..reading.mixed import Mixed
from ..reading.tables import Codes, Counts
from ..reading.words import Words
from ..saving.schema import described, fulfils, require
from ..structures.groups import Groups
from ..structures.network import Network
from ..structures.posterior import Posterior
from .checks import check_class_prior
from .loaded_parts import check_alike, check_record, check_stream

FITTED = ("moments_", "n_features_in_", "_reader_", "_stored_model", "_stream")
CLASSIFIED = (
    "classes_",
    "class_count_",
    "choice_",
    "history_",
    "temperature_",
    "background_",
    "unlabelled_weight_",
    "_answering",
)
NUMBERS = {
    "class_count_": "float[*] 0..", "temperature_": "number (0..", "rivalry_": "number 1..", "background_": "number 0..1",
    "unlabelled_weight_": "number 0..",
}  # fmt: skip


def check_classifier(model: Any) -> None:
    """A `GenerativeClassifier` from a file."""
    if is_unfitted(model, FITTED + CLASSIFIED):
        return
    model._check_parameters()
    n_classes, n_features = check_classes(model), check_columns(model)
    require(isinstance(model._answering, Groups), f"_answering must be a Groups, and is {described(model._answering)}")
    check_reader(model, n_features)
    check_structure(model, n_classes * model._answering.width, model._reader_.n_placed(n_features))
    check_alike("_answering.structure", model._answering.structure, model._stored_model)
    check_numbers(model, NUMBERS)
    require(len(model.class_count_) == n_classes, f"class_count_ must be {n_classes} numbers")
    require(isinstance(model.choice_, Choice), f"choice_ must be a Choice, and is {described(model.choice_)}")
    lists = isinstance(model.history_, dict) and all(isinstance(values, list) for values in model.history_.values())
    require(lists, "history_ must be a dict of lists")
    model._multipliers = None  # they are of rows that the file does not have
    with np.errstate(all="ignore"):
        model.natural_ = model._stored_model.natural_of(model.moments_)
        model._expose(model._stored_model, model.moments_)
    kind = model._recipe(model._reader_, model._stored_model).stream_kind
    require(type(model._stream) is kind, f"_stream must be a {kind.__name__}, and is {described(model._stream)}")
    if hasattr(model._stream, "statistics"):
        whole = isinstance(model._stream.statistics, Record) and isinstance(model._stream.moments, Record)
        require(whole, "_stream must have statistics and moments")
    check_stream("_stream", model._stream, model)


def check_mixture(model: Any) -> None:
    """A `Mixture` from a file."""
    if is_unfitted(model, FITTED):
        return
    model._check_parameters()
    n_features = check_columns(model)
    check_reader(model, n_features)
    check_structure(model, model._size(), n_features)
    posterior = getattr(model, "posterior_", None)
    require(
        posterior is None or isinstance(posterior, Posterior),
        f"posterior_ must be a Posterior, and is {described(posterior)}",
    )
    with np.errstate(all="ignore"):
        model._finish(model._stored_model)
    require(
        model._stream is None or isinstance(model._stream, Stream),
        f"_stream must be a stream, and is {described(model._stream)}",
    )
    check_stream("_stream", model._stream, model)


def check_chain(model: Any) -> None:
    """An `HMM` from a file."""
    if is_unfitted(model, FITTED):
        return
    require(model.n_states == np.size(getattr(model.moments_, "start", ())), "n_states is not that of moments_")
    model._check_parameters()
    n_features = check_columns(model)
    check_reader(model, n_features)
    check_structure(model, int(model.n_states), n_features)
    require(model._stored_model.has_end == bool(model.has_end), "_stored_model.has_end is not has_end")
    with np.errstate(all="ignore"):
        model._finish()
    require(
        model._stream is None or isinstance(model._stream, Stream),
        f"_stream must be a stream, and is {described(model._stream)}",
    )
    check_stream("_stream", model._stream, model)


def check_allocation(model: Any) -> None:
    """A `LatentDirichletAllocation` from a file."""
    if is_unfitted(model, ("components_", "n_features_in_", "history_", "_n_steps", "_n_seen")):
        return
    model._check_parameters()
    shape = (int(model.n_topics), check_columns(model))
    rules = {
        "components_": "float[*, *] (0..",
        "history_": "list of number",
        "_n_steps": "int 0..",
        "_n_seen": "number 0..",
    }
    check_numbers(model, rules)
    require(model.components_.shape == shape, f"components_ has shape {model.components_.shape}; it must be {shape}")
    model.components_ = np.ascontiguousarray(model.components_)
    model.topics_ = np.ascontiguousarray((model.components_.T / model.components_.T.sum(axis=0)).T)


def check_network(model: Any) -> None:
    """A `SigmoidBeliefNetwork` from a file."""
    if is_unfitted(model, ("network_", "n_features_in_")):
        return
    model._validate_params()
    model._check_settings()
    network, n = model.network_, check_columns(model)
    require(isinstance(network, Network), f"network_ must be a Network, and is {described(network)}")
    n += check_classes(model) if model.with_labels else 0
    sizes = [n, *map(int, model.hidden)]
    require(network.sizes == sizes, f"network_ has layers of {network.sizes} units; they must be {sizes}")
    require(network.data == model.data, "network_.data is not data")
    model.weights_, model.biases_, model.top_bias_ = network.weights, network.biases, network.top_bias
    model.components_ = network.weights[0]


def check_columns(estimator: Any) -> int:
    """The number of columns, with names where it has some."""
    n = getattr(estimator, "n_features_in_", None)
    require(fulfils(n, "int 1..", None), f"n_features_in_ must be a whole number, and is {described(n)}")
    names = getattr(estimator, "feature_names_in_", None)
    require(
        names is None or (isinstance(names, np.ndarray) and names.shape == (n,)), f"feature_names_in_ must be {n} names"
    )
    built = getattr(estimator, "_built_with", {})
    known = isinstance(built, dict) and all(isinstance(name, str) and hasattr(estimator, name) for name in built)
    require(known and all(isinstance(value, str) for value in built.values()), "_built_with must say parameters")
    schema = getattr(estimator, "_schema", None)
    require(schema is None or isinstance(schema, Schema), f"_schema must be of a frame, and is {described(schema)}")
    return int(n)  # type: ignore[arg-type]


def check_reader(estimator: Any, n_features: int) -> None:
    """Units and categories of as many columns, read as the estimator reads them."""
    reader, own = estimator._reader_, estimator._reader()
    require(
        isinstance(reader, Reader) and type(reader) is type(own),
        f"_reader_ must be a {type(own).__name__}, and is {described(reader)}",
    )
    if isinstance(reader, Codes):
        require(
            len(reader.categories) == n_features,
            f"_reader_ has categories of {len(reader.categories)} columns, the model {n_features}",
        )
    if isinstance(reader, Words):
        require(reader.is_copied == own.is_copied, "_reader_.is_copied is not the estimator's")
        plain = hasattr(estimator, "classes_") or (reader.power, reader.norm, reader.unit) == (
            own.power,
            own.norm,
            own.unit,
        )
        require(plain, "_reader_ has another power, norm or unit than the estimator's")
    if isinstance(reader, Mixed):
        require(
            len(reader.columns) == n_features, f"_reader_ has {len(reader.columns)} columns, the model {n_features}"
        )
    if isinstance(reader, Counts):
        require(
            reader.unit is None or reader.unit.shape == (n_features,), f"_reader_.unit must be {n_features} numbers"
        )


def check_sizes(structure: Any, n_outcomes: int, n_features: int, moments: Any) -> None:
    """Numbers that arrays are made of, against the arrays there are: nothing huge is made before this."""
    require(isinstance(moments, Record), f"moments_ must be a record of arrays, and is {described(moments)}")
    arrays = moments.arrays()
    good = all(type(array) is np.ndarray and array.dtype == np.float64 for array in arrays)
    require(good, "moments_ must be arrays of floats")
    total = sum(array.size for array in arrays)  # of all: columns of several kinds lie in several arrays
    found = (getattr(structure, "n_outcomes", None), getattr(structure, "n_features", None))
    require(
        found == (n_outcomes, n_features),
        f"_stored_model is of {found} outcomes and columns, the model of {(n_outcomes, n_features)}",
    )
    require(
        n_features <= max(total, 1) and n_outcomes <= total,
        "moments_ are of fewer numbers than the model has columns and outcomes",
    )


def check_structure(estimator: Any, n_outcomes: int, n_features: int) -> None:
    """`_stored_model` is the structure that the estimator itself would build."""
    structure = estimator._stored_model
    check_sizes(structure, n_outcomes, n_features, estimator.moments_)
    rows: Any = np.zeros((2, n_features))
    if getattr(structure, "takes_sparse", False) or (
        estimator._reader_.is_positive and not hasattr(estimator._reader_, "unit")
    ):
        rows = sparse.csr_matrix((2, n_features))
    template = estimator._template(rows)
    check_alike("_stored_model", structure, template)
    check_record("moments_", estimator.moments_, structure)


def is_unfitted(estimator: Any, needs: tuple[str, ...]) -> bool:
    """Whether there is nothing of a fit; where there is, all that answers need must be there."""
    params = estimator.get_params(deep=False)
    if not any(name.endswith("_") and name not in params for name in vars(estimator)):
        return True
    missing = [name for name in needs if not hasattr(estimator, name)]
    require(not missing, f"the model lacks {', '.join(missing)} of its fit")
    return False


def check_classes(estimator: Any) -> int:
    """The number of classes, which are in order."""
    classes = getattr(estimator, "classes_", None)
    require(
        isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > 0, "classes_ must be a list of labels"
    )
    require(np.array_equal(np.unique(classes), classes), "classes_ must be different labels in order")  # type: ignore[arg-type]
    check_class_prior(getattr(estimator, "class_prior", None), classes)  # type: ignore[arg-type]
    return len(classes)  # type: ignore[arg-type]


def check_numbers(estimator: Any, rules: dict[str, str]) -> None:
    """Attributes that are a number or an array each."""
    for name, rule in rules.items():
        value = getattr(estimator, name, None)
        require(fulfils(value, rule, estimator), f"{name} must be {rule}, and is {described(value)}")
