"""A graph of ONNX operators, written node by node. The package `onnx` is imported when a model is made."""

from __future__ import annotations

from typing import Any

import numpy as np

OPSET, IR = 18, 9  # onnxruntime 1.14 and later read these


class Graph:
    """Nodes and constants; a call adds a node and gives the name of its output.

    graph("Add", x, np.ones(3)) is the name of x + 1: inputs are names or arrays, which become constants.
    """

    def __init__(self) -> None:
        from onnx import helper, numpy_helper

        self._helper: Any = helper
        self._numpy: Any = numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def __call__(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        names = [value if isinstance(value, str) else self.constant(np.asarray(value)) for value in inputs]
        output = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(operator, names, [output], **attributes))
        return output

    def constant(self, array: np.ndarray) -> str:
        """The name of an array. A parameter that is not finite is refused: the graph would give NaN for it."""
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise ValueError("a parameter of the model is NaN: it has no ONNX form")
        name = f"constant_{len(self.constants)}"
        self.constants.append(self._numpy.from_array(np.ascontiguousarray(array), name))
        return name

    def text_constant(self, texts: list[str]) -> str:
        """The name of an array of texts."""
        from onnx import TensorProto

        name = f"constant_{len(self.constants)}"
        encoded: Any = [text.encode() for text in texts]
        self.constants.append(self._helper.make_tensor(name, TensorProto.STRING, [len(texts)], encoded))
        return name

    def model(self, n_features: int, outputs: dict[str, tuple[str, Any, list[Any]]], about: dict[str, str]) -> Any:
        """The checked model of an input X (n, n_features) of doubles and outputs {name: (tensor, dtype of ONNX, shape)}."""
        from onnx import TensorProto, checker

        info = self._helper.make_tensor_value_info
        given = [info("X", TensorProto.DOUBLE, ["n", n_features])]
        nodes = list(self.nodes)
        for name, (tensor, _, _) in outputs.items():
            nodes.append(self._helper.make_node("Identity", [tensor], [name]))
        found = [info(name, kind, shape) for name, (_, kind, shape) in outputs.items()]
        graph = self._helper.make_graph(nodes, "suffice", given, found, self.constants)
        model = self._helper.make_model(
            graph, producer_name="suffice", opset_imports=[self._helper.make_opsetid("", OPSET)], ir_version=IR
        )
        self._helper.set_model_props(model, about)
        checker.check_model(model, full_check=True)
        return model
