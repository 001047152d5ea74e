"""Maps from scores to probabilities in exports: data for JSON and JavaScript, nodes for ONNX, a function in C. SQL has none.

Values are those of `probabilities/maps.py` up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...array_types import FloatArray
from ...probabilities.maps import Isotonic, ProbabilityMap, Sigmoid, Temperature
from ...scores import LARGEST_SHARE, SMALLEST_SHARE

if TYPE_CHECKING:
    from .onnx import Graph

LARGEST_LOGIT = 1e300  # of sums that overflow
# Languages whose exports have the probabilities of a model.
WITH_PROBABILITIES = ("c", "js", "json", "onnx")

_PAIRS = (
    "First replace each score[h] by min(0, 1 - 0.5/f), where f is the fraction of k * score[h] for k classes, or 1e-12 if the "
    "fraction is less than that or exceeds 0.75: this is minus the sum of the pair scores that the class lost. "
)
_SIGMOID = "p[h] = 1/(1 + exp(-(a[h] * score[h] + b[h])))"
_ISOTONIC = (
    "p[h] = the value at score[h] on the line through the points (scores[h][i], values[h][i]), "
    "before the first and after the last of them that point's value"
)
_TWO = "; the probabilities of the classes are 1 - p[0] and p[0]."
_MORE = "; the probability of classes[h] is p[h] divided by the sum of all p, or 1/(number of classes) if all are 0."
_HOW = {
    ("sigmoid", True): _SIGMOID + _TWO,
    ("sigmoid", False): _SIGMOID + _MORE,
    ("isotonic", True): _ISOTONIC + _TWO,
    ("isotonic", False): _ISOTONIC + _MORE,
    ("temperature", True): "p[0] = 1/(1 + exp(-score[0] / temperature))" + _TWO,
    ("temperature", False): "p[h] = exp((score[h] - the largest score) / temperature)" + _MORE,
}


def corners_of(found: Isotonic) -> list[tuple[FloatArray, FloatArray]]:
    """Return the scores and the values of each head."""
    ends = np.cumsum(found.counts)[:-1]
    return list(zip(np.split(found.scores, ends), np.split(found.values, ends), strict=True))


def as_json(found: ProbabilityMap | None, n_classes: int, pairs: bool) -> dict[str, Any] | None:
    """Return the map as JSON, with an instruction of how to use it. `score[h]` of pairs is the sum that decides the vote."""
    if found is None:
        return None
    how: dict[str, Any] = {"how": _PAIRS * pairs + _HOW[found.kind, n_classes == 2], "map": found.kind}
    if isinstance(found, Sigmoid):
        return how | {"a": found.a.tolist(), "b": found.b.tolist()}
    if isinstance(found, Temperature):
        return how | {"temperature": found.temperature}
    assert isinstance(found, Isotonic)
    corners = corners_of(found)
    return how | {"scores": [x.tolist() for x, _ in corners], "values": [y.tolist() for _, y in corners]}


# --- ONNX ------------------------------------------------------------------------------------------------------------------


def add_to_graph(graph: Graph, found: ProbabilityMap, n_classes: int, pairs: bool) -> None:
    """Add the output `probabilities`, N x classes, made of `scores`."""
    scores = _lost_pairs(graph, n_classes) if pairs else "scores"
    if isinstance(found, Isotonic):
        _isotonic_nodes(graph, found, scores)
        return
    if isinstance(found, Sigmoid):
        product = graph.add("Mul", [scores, graph.constant("sigmoid_a", found.a[None])])
        logits = _limited(graph, graph.add("Add", [product, graph.constant("sigmoid_b", found.b[None])]))
    else:
        assert isinstance(found, Temperature)
        logits = _limited(graph, graph.add("Div", [scores, graph.constant("temperature", np.array([found.temperature]))]))
    if n_classes == 2:
        half = graph.add("Mul", [logits, graph.constant("half_a_logit", np.full((1, 1), 0.5))])
        logits = graph.add("Concat", [graph.add("Neg", [half]), half], axis=1)
    elif isinstance(found, Sigmoid):  # log P = min(z, 0) - log(1 + exp(-|z|))
        rest = graph.add("Exp", [graph.add("Neg", [graph.add("Abs", [logits])])])
        rest = graph.add("Log", [graph.add("Add", [rest, graph.constant("sigmoid_unit", np.ones((1, 1)))])])
        low = graph.add("Min", [logits, graph.constant("sigmoid_zero", np.zeros((1, 1)))])
        logits = graph.add("Sub", [low, rest])
    graph.add("Softmax", [logits], "probabilities", axis=1)


def _limited(graph: Graph, logits: str) -> str:
    low, high = (graph.constant(name, np.full((1, 1), end)) for name, end in (("low", -LARGEST_LOGIT), ("high", LARGEST_LOGIT)))
    return graph.add("Max", [graph.add("Min", [logits, high]), low])


def _lost_pairs(graph: Graph, n_classes: int) -> str:
    """Add what `scores.lost_pairs` computes."""

    def number(name: str, value: float) -> str:
        return graph.constant(name, np.full((1, 1), value))

    whole = graph.add("Mul", ["scores", number("lost_classes", float(n_classes))])
    share, least = graph.add("Sub", [whole, graph.add("Floor", [whole])]), number("lost_smallest", SMALLEST_SHARE)
    over = graph.add("Greater", [share, number("lost_largest", LARGEST_SHARE)])
    share = graph.add("Where", [over, least, graph.add("Max", [share, least])])
    lost = graph.add("Sub", [number("lost_unit", 1.0), graph.add("Div", [number("lost_half", 0.5), share])])
    return graph.add("Min", [lost, number("lost_zero", 0.0)])


def _isotonic_nodes(graph: Graph, found: Isotonic, scores: str) -> None:
    """p = first value + the sum of all rises, each times the share of its interval that is below the score."""
    zero, one = graph.constant("isotonic_zero", np.zeros((1, 1))), graph.constant("isotonic_unit", np.ones((1, 1)))
    corners, heads = corners_of(found), []
    for h, (x, y) in enumerate(corners):
        score = scores
        if len(corners) > 1:
            score = graph.add("Gather", [scores, graph.constant(f"isotonic_{h}", np.array([h]))], axis=1)
        x, y = (x, y) if len(x) > 1 else (np.array([x[0], x[0] + 1.0]), np.repeat(y, 2))
        with np.errstate(over="ignore"):
            width = np.minimum(np.diff(x), LARGEST_LOGIT)
        past = graph.add("Sub", [score, graph.constant(f"isotonic_start_{h}", x[None, :-1])])
        share = graph.add("Div", [past, graph.constant(f"isotonic_width_{h}", width[None])])
        share = graph.add("Min", [graph.add("Max", [share, zero]), one])
        rise = graph.add("MatMul", [share, graph.constant(f"isotonic_rise_{h}", np.diff(y)[:, None])])
        heads.append(graph.add("Add", [rise, graph.constant(f"isotonic_first_{h}", np.full((1, 1), y[0]))]))
    if len(heads) == 1:
        graph.add("Concat", [graph.add("Sub", [one, heads[0]]), heads[0]], "probabilities", axis=1)
        return
    each = graph.add("Concat", heads, axis=1)
    total = graph.add("ReduceSum", [each, graph.constant("isotonic_axis", np.array([1]))], keepdims=1)
    none = graph.add("Not", [graph.add("Greater", [total, zero])])
    each = graph.add("Where", [none, one, each])
    total = graph.add("Where", [none, graph.constant("isotonic_classes", np.full((1, 1), float(len(heads)))), total])
    graph.add("Div", [each, total], "probabilities")


# --- C ---------------------------------------------------------------------------------------------------------------------


def c_prototype(found: ProbabilityMap | None) -> list[str]:
    """Return the declaration of the function."""
    return [] if found is None else ["void rosenblatt_probabilities(const double *scores, double *probabilities);"]


def c_function(found: ProbabilityMap | None, n_classes: int, pairs: bool) -> list[str]:
    """Return the lines of a function that turns scores into the probabilities of all classes; it needs exp of math.h."""
    if found is None:
        return []
    heads = 1 if n_classes == 2 else n_classes
    head = _C_HEAD[found.kind]
    lines = [*_c_numbers(found), "static double rosenblatt_head(const double *scores, int h) {", *head, "}", ""]
    given = "found" if pairs else "scores"
    lines += [f"void rosenblatt_probabilities(const double *{given}, double *probabilities) {{"]
    if heads == 1:
        lines += [
            "    probabilities[1] = rosenblatt_head(scores, 0);",
            "    probabilities[0] = 1.0 - probabilities[1];",
            "}",
            "",
        ]
        return lines
    return [
        *lines,
        *(_c_lost_pairs(heads) if pairs else []),
        "    double sum = 0.0;",
        f"    for (int h = 0; h < {heads}; h++) sum += probabilities[h] = rosenblatt_head(scores, h);",
        f"    for (int h = 0; h < {heads}; h++) probabilities[h] = sum > 0.0 ? probabilities[h] / sum : 1.0 / {heads}.0;",
        "}",
        "",
    ]


def _c_lost_pairs(heads: int) -> list[str]:
    """The lines of what `scores.lost_pairs` computes."""
    return [
        f"    double scores[{heads}];",
        f"    for (int h = 0; h < {heads}; h++) {{",
        f"        double share = {heads}.0 * found[h] - floor({heads}.0 * found[h]);",
        f"        if (share > {LARGEST_SHARE} || share < {SMALLEST_SHARE}) share = {SMALLEST_SHARE};",
        "        scores[h] = share < 0.5 ? 1.0 - 0.5 / share : 0.0;",
        "    }",
    ]


_C_EXPIT = "    return z < 0.0 ? exp(z) / (1.0 + exp(z)) : 1.0 / (1.0 + exp(-z));"
_C_HEAD = {
    "sigmoid": ["    double z = rosenblatt_a[h] * scores[h] + rosenblatt_b[h];", _C_EXPIT],
    "temperature": [
        "    double top = scores[0], z = scores[h] / rosenblatt_temperature;",
        "    if (ROSENBLATT_SCORES == 1)",
        f"    {_C_EXPIT}",
        "    for (int c = 1; c < ROSENBLATT_SCORES; c++)",
        "        if (scores[c] > top) top = scores[c];",
        "    return exp((scores[h] - top) / rosenblatt_temperature);",
    ],
    "isotonic": [
        "    int i = rosenblatt_ends[h], end = rosenblatt_ends[h + 1] - 1;",
        "    const double *x = rosenblatt_corners, *y = rosenblatt_values;",
        "    while (i < end && scores[h] > x[i + 1]) i++;",
        "    if (i == end || scores[h] <= x[i]) return y[i];",
        "    return y[i] + (y[i + 1] - y[i]) * ((scores[h] - x[i]) / (x[i + 1] - x[i]));",
    ],
}


def _c_numbers(found: ProbabilityMap) -> list[str]:
    if isinstance(found, Temperature):
        return [f"static const double rosenblatt_temperature = {found.temperature.hex()};"]
    if isinstance(found, Sigmoid):
        return [_c_array("rosenblatt_a", found.a), _c_array("rosenblatt_b", found.b)]
    assert isinstance(found, Isotonic)
    ends = ", ".join(map(str, [0, *np.cumsum(found.counts).tolist()]))
    return [
        f"static const int rosenblatt_ends[{len(found.counts) + 1}] = {{{ends}}};",
        _c_array("rosenblatt_corners", found.scores),
        _c_array("rosenblatt_values", found.values),
    ]


def _c_array(name: str, numbers: Iterable[float]) -> str:
    listed = [float(number).hex() for number in numbers]
    return f"static const double {name}[{len(listed)}] = {{{', '.join(listed)}}};"
