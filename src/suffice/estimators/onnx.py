r"""Classifiers as ONNX graphs: the scores of the classes by the estimator's own `_onnx_scores`, then what calibrates them.

    s_k = temperature * log p(x, k)
    p = softmax(s), or with rivalry r > 1 the nested logit of `choosing.calibration`
    p <- (1 - background) p + background * class frequencies

Cells that are NaN are integrated out where columns are independent. Elsewhere the runtime raises, also for tied and full
discriminants, which take NaN in Python: the graph asks for a class that does not exist.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..choosing.calibration import shares
from ..saving.onnx import Graph


def to_onnx(model: Any, path: Any = None) -> Any:
    """A fitted classifier as an ONNX model, for any runtime of ONNX. Needs the extra `suffice[onnx]`.

    The model has one input, "X" of doubles with shape (n, n_features), and two outputs: "label" with shape (n,) and "probabilities"
    with shape (n, n_classes), in the order of `classes_`. They are those of `predict` and `predict_proba`, calibration included.

    NaN is a missing cell for GaussianNB, BernoulliNB, CategoricalNB, PoissonNB and GaussianDiscriminant(covariance="diag"). The others
    refuse it: the runtime raises an error.

    Parameters
    ----------
    model : a fitted GaussianNB, BernoulliNB, CategoricalNB, PoissonNB, MultinomialNB, ComplementNB or GaussianDiscriminant
    path : str or path, default=None
        Also write the model to this file.

    Returns
    -------
    onnx.ModelProto

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GaussianNB, to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianNB(loss="nll").fit(X, y)
    >>> found = to_onnx(model)
    >>> [output.name for output in found.graph.output]
    ['label', 'probabilities']
    """
    if not hasattr(model, "_onnx_scores"):
        raise TypeError(
            f"{type(model).__name__} has no ONNX form. GaussianNB, BernoulliNB, CategoricalNB, PoissonNB, MultinomialNB, ComplementNB "
            "and GaussianDiscriminant have one"
        )
    check_is_fitted(model)
    try:
        from onnx import TensorProto, save
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("to_onnx needs the package onnx: pip install 'suffice[onnx]'", name="onnx") from error
    graph, K = Graph(), len(model.classes_)
    scores = graph("Mul", model._onnx_scores(graph, "X"), float(model.temperature_))
    probabilities = calibrated(graph, scores, K, float(model.rivalry_), float(model.background_), model.class_count_)
    place = graph("ArgMax", probabilities, axis=1, keepdims=0)
    bad = graph("IsNaN", graph("ReduceSum", probabilities, np.array([1]), keepdims=0))
    place = graph("Where", bad, np.int64(K), place)  # no such class: `Gather` raises
    classes, kind = labels_of(graph, model.classes_)
    outputs: dict[str, Any] = {
        "label": (graph("Gather", classes, place), kind, ["n"]),
        "probabilities": (probabilities, TensorProto.DOUBLE, ["n", K]),
    }
    about = {"estimator": type(model).__name__, "classes": json.dumps([str(label) for label in model.classes_])}
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        about["columns"] = json.dumps([str(name) for name in names])
    found = graph.model(model.n_features_in_, outputs, about)
    if path is not None:
        save(found, str(path))
    return found


def calibrated(graph: Graph, scores: str, K: int, rivalry: float, background: float, class_count: np.ndarray) -> str:
    """(n, K): probabilities of scores that the temperature is in."""
    if rivalry == 1.0 or K < 3:
        p = graph("Softmax", scores, axis=1)
    else:
        best = graph("ReduceMax", scores, np.array([1]), keepdims=1)
        is_best = graph("Equal", graph("ArgMax", scores, axis=1, keepdims=1), np.arange(K))
        ahead = graph("Mul", graph("Sub", scores, best), rivalry)
        rivals = graph("Where", is_best, -np.inf, ahead)
        top = graph("ReduceMax", rivals, np.array([1]), keepdims=1)
        share = graph("Exp", graph("Sub", rivals, top))
        share_sum = graph("ReduceSum", share, np.array([1]), keepdims=1)
        total = graph("Add", graph("Log", share_sum), top)
        p_best = graph("Div", 1.0, graph("Add", 1.0, graph("Exp", graph("Div", total, rivalry))))
        p_rivals = graph("Mul", graph("Sub", 1.0, p_best), graph("Div", share, share_sum))
        p = graph("Where", is_best, p_best, p_rivals)
    if background:
        p = graph("Add", graph("Mul", p, 1.0 - background), background * shares(class_count))
    return p


def labels_of(graph: Graph, classes: np.ndarray) -> tuple[str, Any]:
    """The classes as a constant, and its ONNX type."""
    from onnx import TensorProto

    if classes.dtype.kind in "iu":
        return graph.constant(classes.astype(np.int64)), TensorProto.INT64
    if classes.dtype.kind == "f":
        return graph.constant(classes.astype(float)), TensorProto.DOUBLE
    if classes.dtype.kind == "b":
        return graph.constant(classes), TensorProto.BOOL
    if all(isinstance(label, str) for label in classes.tolist()):
        return graph.text_constant(classes.tolist()), TensorProto.STRING
    raise TypeError(f"classes {classes[:3]!r} are neither numbers nor texts: ONNX has no labels of other kinds")


def observed(graph: Graph, X: str, offset: Any = 0.0) -> tuple[str, str]:
    """(n, D) each: X - offset with 0 where a cell is missing, and 1 where it is there."""
    missing = graph("IsNaN", X)
    values = graph("Where", missing, 0.0, graph("Sub", X, np.asarray(offset, dtype=float)))
    return values, graph("Cast", graph("Not", missing), to=11)


def linear(graph: Graph, terms: list[tuple[str, np.ndarray]], constant: Any) -> str:
    """(n, K): the sum of values (n, D) @ weights (K, D).T over terms, plus a constant (K,)."""
    total = ""
    for values, weights in terms:
        if not np.isfinite(weights).all():
            raise ValueError(
                "the model gives some value of a column probability 0 in some class, which has no ONNX form: train with prior='auto'"
            )
        part = graph("MatMul", values, np.ascontiguousarray(weights.T, dtype=float))
        total = graph("Add", total, part) if total else part
    return graph("Add", total, np.asarray(constant, dtype=float))


def gaussian_scores(graph: Graph, X: str, mean: np.ndarray, variance: np.ndarray, log_prior: np.ndarray) -> str:
    """(n, K): log p(x, k) of independent Gaussian columns; mean and variance are (K, D)."""
    middle = mean.mean(axis=0)
    values, seen = observed(graph, X, middle)
    z = mean - middle
    constant = -0.5 * (np.log(2 * np.pi * variance) + z**2 / variance)
    square = graph("Mul", values, values)
    return linear(graph, [(values, z / variance), (square, -0.5 / variance), (seen, constant)], log_prior)
