"""A model as an ONNX graph in double precision: input `rows` (float64, N x columns), with categorical columns also `categories`
(strings, N x columns); outputs `label` and `scores`, and `probabilities` (N x classes) if the model
has them.

Two classes have one score, above 0 for the second class. More classes have one score each; the largest wins, the first one if
tied. A cell is missing if it is NaN, "" or a word such as "NA". If the model refuses it, computing the label fails: the place
of the label is out of range then. The metadata entries `columns` and `categories` are JSON lists of the column names, and
`units` is an object that says what the numbers of some columns are.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ... import __version__
from ...array_types import Array, FloatArray
from ...preprocessing.date_parts import cycle_of
from ..model import Model
from .cells import MISSING_WORDS, units_of
from .formula import Category, ExportError, Formula, formula_of
from .probabilities import add_to_graph
from .reduction import Reduction

OPSET_VERSION, ML_OPSET_VERSION, IR_VERSION = 17, 3, 8


def to_onnx(model: Model, reduction: Reduction | None = None) -> bytes:
    """Return the bytes of the ONNX file; needs the extra `rosenblatt[onnx]`."""
    formula = formula_of(model, "ONNX", reduction).without_text("ONNX", "export to JSON")
    try:
        from onnx import TensorProto, checker, helper
    except ImportError:
        raise ImportError("ONNX export needs the package onnx: pip install 'rosenblatt[onnx]'") from None

    graph, pairs, k = Graph(), formula.pairs, len(formula.classes)
    parts = [*_numbers(graph, formula), *_categories(graph, formula)]
    total = parts[0]
    for part in parts[1:]:
        total = graph.add("Add", [total, part])
    planes = graph.add("Add", [total, graph.constant("intercept", formula.intercept)], "planes" if pairs else "scores")
    if pairs:
        _pair_votes(graph, formula, planes)
    inputs, outputs = [], [
        helper.make_tensor_value_info("label", _label(graph, formula, planes), ["N"]),
        helper.make_tensor_value_info("scores", _double(), ["N", 1 if k == 2 else k]),
    ]  # fmt: skip
    if formula.columns or not formula.blocks:
        inputs.append(helper.make_tensor_value_info("rows", _double(), ["N", len(formula.columns)]))
    names = [category.column for category in formula.categories]
    if names:
        inputs.append(helper.make_tensor_value_info("categories", TensorProto.STRING, ["N", len(names)]))
    if model.probability_map is not None:
        add_to_graph(graph, model.probability_map, k, pairs)
        outputs.append(helper.make_tensor_value_info("probabilities", _double(), ["N", k]))
    made = helper.make_graph(graph.nodes, "rosenblatt", inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid("", OPSET_VERSION)]
    opsets += [helper.make_opsetid("ai.onnx.ml", ML_OPSET_VERSION)] if names else []
    exported = helper.make_model(made, opset_imports=opsets, ir_version=IR_VERSION)
    exported.producer_name, exported.producer_version = "rosenblatt", __version__
    properties = {"columns": json.dumps(list(formula.columns)), "kind": model.kind}
    units = units_of(model, formula)
    properties |= {"units": json.dumps(units)} if units else {}
    helper.set_model_props(exported, properties | ({"categories": json.dumps(names)} if names else {}))
    checker.check_model(exported)
    return bytes(exported.SerializeToString())


def _numbers(graph: Graph, formula: Formula) -> list[str]:
    """Add what the numeric columns add to the planes."""
    if not formula.columns and formula.blocks:
        return []
    rows, missing, found = "rows", "", []
    if formula.fill is not None:
        missing = graph.add("IsNaN", [rows])
        rows = graph.add("Where", [missing, graph.constant("fill", np.asarray(formula.fill, np.float64)), rows])
    if formula.terms:
        features = _products(graph, formula, _inputs(graph, formula, rows))
        if formula.shift is not None:
            features = graph.add("Sub", [features, graph.constant("shift", formula.shift)])
        if formula.divide is not None:
            features = graph.add("Div", [features, graph.constant("divide", formula.divide)])
        found.append(_product(graph, formula, features, "weights", formula.weights))
    if formula.indicator_weights is not None and formula.indicators:
        chosen = graph.add("Gather", [missing, graph.constant("indicators", np.array(formula.indicators, np.int64))], axis=1)
        marks = graph.add("Cast", [chosen], to=_double())
        found.append(_product(graph, formula, marks, "indicator_weights", formula.indicator_weights))
    return found


def _categories(graph: Graph, formula: Formula) -> list[str]:
    """Add what the categorical columns add to the planes: for each, the row of a table that its cell selects."""
    return [_category(graph, formula, place, category) for place, category in enumerate(formula.categories)]


def _category(graph: Graph, formula: Formula, place: int, category: Category) -> str:
    n, nothing = len(category.values), np.zeros(formula.heads)
    lost = np.full(formula.heads, np.nan) if formula.refuses else nothing if category.missing is None else category.missing
    keys = dict.fromkeys(MISSING_WORDS, n) | {value: at for at, value in enumerate(category.values)}
    cells = graph.add("Gather", ["categories", graph.constant(f"category_{place}", np.array(place))], axis=1)
    codes = graph.add(
        "LabelEncoder", [cells], domain="ai.onnx.ml",
        keys_strings=list(keys), values_int64s=list(keys.values()), default_int64=n + 1,
    )  # fmt: skip
    table = np.vstack([category.weights.T, lost, nothing])
    return graph.add("Gather", [_weights(graph, formula, f"category_weights_{place}", table), codes], axis=0)


def _product(graph: Graph, formula: Formula, features: str, name: str, weights: FloatArray) -> str:
    """Add the products of features and weights, heads x features.

    onnxruntime joins the product with a factor or divisor that is a single number, and rounds that number to single precision.
    A single feature is therefore doubled, with weight 0.
    """
    if weights.shape[1] == 1:
        features = graph.add("Concat", [features, features], axis=1)
        weights = np.column_stack([weights, np.zeros(formula.heads)])
    return graph.add("MatMul", [features, _weights(graph, formula, name, weights.T)])


def _weights(graph: Graph, formula: Formula, name: str, weights: FloatArray) -> str:
    """Add some weights: doubles, or numbers of 16 bits that become doubles, times a power of two."""
    if formula.exponent is None:
        return graph.constant(name, np.ascontiguousarray(weights))
    doubles = graph.add("Cast", [graph.constant(name, np.ascontiguousarray(formula.halves(weights)))], to=_double())
    if formula.exponent == 0:
        return doubles
    power = np.full((len(weights), 1), np.ldexp(1.0, formula.exponent))
    return graph.add("Mul", [doubles, graph.constant(f"{name}_power", power)])


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


def _inputs(graph: Graph, formula: Formula, rows: str) -> str:
    """Add the inputs of each row: its columns, or parts of columns of dates."""
    if formula.inputs is None:
        return rows
    columns, parts = np.array(formula.inputs, np.int64).reshape(-1, 2).T
    if not formula.has_dates:
        return graph.add("Gather", [rows, graph.constant("columns", columns.copy())], axis=1)
    groups, order = [], np.argsort(parts, kind="stable")
    for part in np.unique(parts).tolist():
        cells = graph.add("Gather", [rows, graph.constant(f"columns_{part}", columns[parts == part])], axis=1)
        groups.append(cells if part == 0 else _part(graph, cells, part))
    grouped = graph.add("Concat", groups, axis=1) if len(groups) > 1 else groups[0]
    return graph.add("Gather", [grouped, graph.constant("places", np.argsort(order).astype(np.int64))], axis=1)


def _part(graph: Graph, days: str, part: int) -> str:
    """Add the sine or cosine of the position of each date in a cycle."""
    cycle, wave = cycle_of(part)
    constants = {"offset": cycle.offset, "period": cycle.period, "turn": 2.0 * np.pi}
    offset, period, turn = (graph.constant(f"{name}_{part}", np.array(value)) for name, value in constants.items())
    day = graph.add("Floor", [days]) if cycle.whole else days
    turns = graph.add("Div", [graph.add("Add", [day, offset]), period])
    angle = graph.add("Mul", [graph.add("Sub", [turns, graph.add("Floor", [turns])]), turn])
    return graph.add("Sin" if wave == "sin" else "Cos", [angle])


def _products(graph: Graph, formula: Formula, rows: str) -> str:
    """Add the terms of each row: its inputs, or products of them, multiplied factor by factor."""
    if formula.factors is None:
        return rows
    longest = max(map(len, formula.factors))
    # Terms with fewer factors have the index of a column of ones.
    ones = len(formula.columns if formula.inputs is None else formula.inputs)
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


def _label(graph: Graph, formula: Formula, planes: str) -> int:
    """Add the label's node; returns the ONNX type of the labels."""
    from onnx import TensorProto

    if len(formula.classes) == 2:
        over = graph.add("Greater", ["scores", graph.constant("plane", np.zeros(()))])
        flat = graph.add("Reshape", [over, graph.constant("flat", np.array([-1]))])
        place = graph.add("Cast", [flat], to=int(TensorProto.INT64))
    else:
        place = graph.add("ArgMax", ["scores"], axis=1, keepdims=0)
    if formula.fill is None or formula.refuses:  # the place of a row with a score of NaN is beyond the last label
        lost = graph.add("Cast", [graph.add("IsNaN", [planes])], to=int(TensorProto.INT64))
        beyond = graph.add("Mul", [lost, graph.constant("beyond", np.array(len(formula.classes)))])
        place = graph.add("Add", [place, graph.add("ReduceMax", [beyond], axes=[1], keepdims=0)])
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
