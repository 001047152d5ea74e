"""A model as an ONNX graph in double precision: input `rows` (float64, N x columns), outputs `label` and `scores`, and
`probabilities` (N x classes) if the model has them.

Two classes have one score, above 0 for the second class. More classes have one score each; the largest wins, the first one if
tied. The metadata entry `columns` is a JSON list of the column names.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ... import __version__
from ...array_types import Array
from ..model import Model
from .export import ExportError, Formula, formula_of
from .probabilities import add_to_graph

OPSET_VERSION, IR_VERSION = 17, 8


def to_onnx(model: Model) -> bytes:
    """Return the bytes of the ONNX file; needs the extra `rosenblatt[onnx]`."""
    formula = formula_of(model, "ONNX")
    try:
        from onnx import checker, helper
    except ImportError:
        raise ImportError("ONNX export needs the package onnx: pip install 'rosenblatt[onnx]'") from None

    graph = Graph()
    rows = "rows"
    if formula.fill is not None:
        missing = graph.add("IsNaN", [rows])
        rows = graph.add("Where", [missing, graph.constant("fill", np.asarray(formula.fill, np.float64)), rows])
    features = _products(graph, formula, rows)
    product = graph.add("MatMul", [features, graph.constant("weights", np.ascontiguousarray(formula.weights.T))])
    pairs = formula.pairs
    planes = graph.add("Add", [product, graph.constant("intercept", formula.intercept)], "planes" if pairs else "scores")
    if pairs:
        _pair_votes(graph, formula, planes)
    label_type, k = _label(graph, formula), len(formula.classes)
    outputs = [
        helper.make_tensor_value_info("label", label_type, ["N"]),
        helper.make_tensor_value_info("scores", _double(), ["N", 1 if k == 2 else k]),
    ]
    if model.probability_map is not None:
        add_to_graph(graph, model.probability_map, k)
        outputs.append(helper.make_tensor_value_info("probabilities", _double(), ["N", k]))
    made = helper.make_graph(
        graph.nodes, "rosenblatt",
        [helper.make_tensor_value_info("rows", _double(), ["N", len(formula.inputs)])],
        outputs,
        graph.constants,
    )  # fmt: skip
    exported = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET_VERSION)], ir_version=IR_VERSION)
    exported.producer_name, exported.producer_version = "rosenblatt", __version__
    helper.set_model_props(exported, {"columns": json.dumps(list(formula.inputs)), "kind": model.kind})
    checker.check_model(exported)
    return bytes(exported.SerializeToString())


class Graph:
    """Collects the nodes and constants of a graph."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operation: str, inputs: list[str], output: str | None = None, **attributes: Any) -> str:
        from onnx import helper

        output = output or f"{operation.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operation, inputs, [output], **attributes))
        return output

    def constant(self, name: str, array: Array) -> str:
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name


def _double() -> int:
    from onnx import TensorProto

    return int(TensorProto.DOUBLE)


def _products(graph: Graph, formula: Formula, rows: str) -> str:
    """Add the terms of each row: its columns, or products of them, multiplied factor by factor."""
    if formula.factors is None:
        return rows
    longest = max(map(len, formula.factors))
    ones = len(formula.inputs)  # index of a column of ones, for terms with fewer factors
    padded = np.array([[*term, *[ones] * (longest - len(term))] for term in formula.factors], np.int64)
    first = graph.add("Slice", [rows, graph.constant("from", np.array([0])), graph.constant("to", np.array([1])),
                                graph.constant("axis", np.array([1]))])  # fmt: skip
    nothing = graph.add("Sub", [first, first])
    one = graph.add("Add", [nothing, graph.constant("one", np.ones(1))])
    wide = graph.add("Concat", [rows, one], axis=1)
    terms = graph.add("Gather", [wide, graph.constant("factors_0", padded[:, 0])], axis=1)
    for f in range(1, longest):
        factor = graph.add("Gather", [wide, graph.constant(f"factors_{f}", padded[:, f])], axis=1)
        terms = graph.add("Mul", [terms, factor])
    return terms


def _pair_votes(graph: Graph, formula: Formula, planes: str) -> None:
    """Add the votes of pairs, with a fraction that decides between equal votes, as `scores.votes_of_pairs` does."""
    k = len(formula.classes)
    sides = np.zeros((2, formula.heads, k))
    for h, (a, b) in enumerate(formula.class_pairs()):
        sides[0, h, a] = sides[1, h, b] = 1.0
    first, second = graph.constant("first", sides[0]), graph.constant("second", sides[1])
    zero, one = graph.constant("zero", np.zeros(())), graph.constant("unit", np.ones(()))
    half, number = graph.constant("half", np.full((), 0.5)), graph.constant("number", np.full((), float(k)))

    def by_class(of_first: str, of_second: str) -> str:
        return graph.add("Add", [graph.add("MatMul", [of_first, first]), graph.add("MatMul", [of_second, second])])

    won = graph.add("Cast", [graph.add("Greater", [planes, zero])], to=_double())
    missed = graph.add("Sub", [one, won])
    votes = by_class(missed, won)
    lead = graph.add("Abs", [graph.add("MatMul", [votes, graph.constant("leads", (sides[1] - sides[0]).T.copy())])])
    equal = graph.add("Cast", [graph.add("Less", [lead, half])], to=_double())
    duels = by_class(graph.add("Mul", [missed, equal]), graph.add("Mul", [won, equal]))
    lost = by_class(graph.add("Max", [planes, zero]), graph.add("Max", [graph.add("Neg", [planes]), zero]))
    share = graph.add("Add", [duels, graph.add("Div", [half, graph.add("Add", [lost, one])])])
    graph.add("Add", [votes, graph.add("Div", [share, number])], "scores")


def _label(graph: Graph, formula: Formula) -> int:
    """Add the label's node; returns the ONNX type of the labels."""
    from onnx import TensorProto

    if len(formula.classes) == 2:
        over = graph.add("Greater", ["scores", graph.constant("plane", np.zeros(()))])
        flat = graph.add("Reshape", [over, graph.constant("flat", np.array([-1]))])
        place = graph.add("Cast", [flat], to=int(TensorProto.INT64))
    else:
        place = graph.add("ArgMax", ["scores"], axis=1, keepdims=0)
    classes: list[Any] = formula.classes
    first = classes[0]
    if isinstance(first, str):
        labels, kind = np.array(classes, object), TensorProto.STRING
    elif isinstance(first, bool):
        labels, kind = np.array(classes, bool), TensorProto.BOOL
    elif isinstance(first, int):
        if max(classes) >= 1 << 63:
            raise ExportError(f"ONNX export does not support the label {max(classes)}: it exceeds 63 bits")
        labels, kind = np.array(classes, np.int64), TensorProto.INT64
    else:
        labels, kind = np.array(classes, np.float64), TensorProto.DOUBLE
    graph.add("Gather", [graph.constant("labels", labels), place], "label")
    return int(kind)
