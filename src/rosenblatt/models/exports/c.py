"""A model as one C99 file that allocates no memory and includes <math.h> only. Numbers are hexadecimal and therefore exact.

    void rosenblatt_scores(const double *x, double *scores);     x has ROSENBLATT_INPUTS numbers, scores ROSENBLATT_SCORES
                                                                 NaN is a missing number; dates are days since 1970-01-01,
                                                                 times are fractions of a day
    int rosenblatt_class(const double *scores);                  index of the label in rosenblatt_labels
    const char *rosenblatt_predict(const double *x);             label of a row
    void rosenblatt_probabilities(const double *scores, double *probabilities);     of ROSENBLATT_CLASSES, if the model has them

A score is summed from the first term to the last, then the intercept is added, as for sparse rows in the library. The bits are
the same if products are rounded before they are added (-std=c99, or -ffp-contract=off).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...preprocessing.date_parts import PARTS, cycle_of
from ...reporting.text import count
from ..model import Model
from .export import ExportError, Formula, formula_of
from .probabilities import c_function, c_prototype

MAX_WEIGHTS = 1 << 20


def to_c(model: Model) -> str:
    """Return the text of the C file."""
    formula = formula_of(model, "C")
    if formula.weights.size > MAX_WEIGHTS:
        raise ExportError(f"C export supports up to {count(MAX_WEIGHTS)} weights, the model has {count(formula.weights.size)}")
    k = len(formula.classes)
    scores = 1 if k == 2 else k
    longest = max((len(term) for term in formula.terms), default=1) if formula.factors is not None else 1
    lines = [
        "/* A linear model, written by Rosenblatt, in C99. Sums go from the first term to the last. */",
        "#include <math.h>",
        "",
        f"#define ROSENBLATT_INPUTS {len(formula.columns)}",
        f"#define ROSENBLATT_SCORES {scores}",
        f"#define ROSENBLATT_CLASSES {k}",
        "",
        *_strings("rosenblatt_inputs", formula.columns),
        *_strings("rosenblatt_labels", [str(label) for label in formula.classes]),
        f"static const double rosenblatt_intercept[{formula.heads}] = {_row(formula.intercept)};",
        f"static const double rosenblatt_weights[{formula.heads}][{formula.weights.shape[1]}] = {{",
        *(f"    {_row(row)}," for row in formula.weights),
        "};",
    ]
    if formula.fill is not None:
        lines.append(f"static const double rosenblatt_fill[{len(formula.columns)}] = {_row(formula.fill)};")
    if formula.shift is not None:
        lines.append(f"static const double rosenblatt_shift[{len(formula.shift)}] = {_row(formula.shift)};")
    if formula.inputs is not None:
        for name, numbers in zip(("column", "part"), zip(*formula.inputs, strict=True), strict=True):
            lines.append(f"static const int rosenblatt_{name}[{len(numbers)}] = {{{', '.join(map(str, numbers))}}};")
    if formula.indicator_weights is not None:
        m = len(formula.indicators)
        lines += [
            f"static const int rosenblatt_indicators[{m}] = {{{', '.join(map(str, formula.indicators))}}};",
            f"static const double rosenblatt_missing[{formula.heads}][{m}] = {{",
            *(f"    {_row(row)}," for row in formula.indicator_weights),
            "};",
        ]
    if formula.factors is not None:
        places = ("{" + ", ".join(map(str, [*term, *[-1] * (longest - len(term))])) + "}" for term in formula.factors)
        lines += [
            f"static const int rosenblatt_factors[{len(formula.factors)}][{longest}] = {{",
            *(f"    {p}," for p in places),
            "};",
        ]
    prototypes = (
        "void rosenblatt_scores(const double *x, double *scores);",
        "int rosenblatt_class(const double *scores);",
        "const char *rosenblatt_predict(const double *x);",
        *c_prototype(model.probability_map),
    )
    body = [*_cell(formula), *_planes(formula, longest), *(_pair_votes(k) if formula.pairs else []), *_class(k), *_PREDICT]
    body += ["", *c_function(model.probability_map, k)] if model.probability_map is not None else []
    return "\n".join([*lines, "", *prototypes, "", *body]) + "\n"


def _cell(formula: Formula) -> list[str]:
    filled = "isnan(x[j]) ? rosenblatt_fill[j] : x[j]" if formula.fill is not None else "x[j]"
    lines = ["static double rosenblatt_cell(const double *x, int j) {", f"    return {filled};", "}", ""]
    if formula.inputs is None:
        return lines
    cell = "rosenblatt_cell(x, rosenblatt_column[i])"
    if not formula.has_dates:
        return [*lines, "static double rosenblatt_input(const double *x, int i) {", f"    return {cell};", "}", ""]
    return [
        *lines,
        "static double rosenblatt_input(const double *x, int i) {",
        f"    double t = {cell}, turns;",
        "    switch (rosenblatt_part[i]) {",
        *(f"    {line}" for part in range(1, len(PARTS), 2) for line in _turns(part)),
        "    default: return t;",
        "    }",
        "    turns = 2.0 * 3.141592653589793 * (turns - floor(turns));",
        "    return rosenblatt_part[i] % 2 ? sin(turns) : cos(turns);",
        "}",
        "",
    ]


def _turns(part: int) -> list[str]:
    """The cases of the sine and the cosine of a cycle."""
    cycle, _ = cycle_of(part)
    day = "floor(t)" if cycle.whole else "t"
    turns = f"({day} + {cycle.offset.hex()}) / {cycle.period.hex()}"
    return [f"case {part}:", f"case {part + 1}: turns = {turns}; break;"]


def _planes(formula: Formula, longest: int) -> list[str]:
    name = "rosenblatt_planes" if formula.pairs else "rosenblatt_scores"
    read = "rosenblatt_cell" if formula.inputs is None else "rosenblatt_input"
    if formula.factors is None:
        product = [f"            double term = {read}(x, t);"]
    else:
        product = [
            f"            double term = {read}(x, rosenblatt_factors[t][0]);",
            f"            for (int f = 1; f < {longest} && rosenblatt_factors[t][f] >= 0; f++)",
            f"                term *= {read}(x, rosenblatt_factors[t][f]);",
        ]
    if formula.shift is not None:
        product.append("            term -= rosenblatt_shift[t];")
    marked = [
        f"        for (int i = 0; i < {len(formula.indicators)}; i++)",
        "            if (isnan(x[rosenblatt_indicators[i]])) sum += rosenblatt_missing[h][i];",
    ]
    return [
        f"{'static ' if formula.pairs else ''}void {name}(const double *x, double *scores) {{",
        f"    for (int h = 0; h < {formula.heads}; h++) {{",
        "        double sum = 0.0;",
        f"        for (int t = 0; t < {formula.weights.shape[1]}; t++) {{",
        *product,
        "            sum += term * rosenblatt_weights[h][t];",
        "        }",
        *(marked if formula.indicators else []),
        "        scores[h] = sum + rosenblatt_intercept[h];",
        "    }",
        "}",
        "",
    ]


def _pair_votes(k: int) -> list[str]:
    return [
        "void rosenblatt_scores(const double *x, double *scores) {",
        f"    double pairs[{k * (k - 1) // 2}], votes[{k}], duels[{k}], lost[{k}];",
        "    int h = 0;",
        "    rosenblatt_planes(x, pairs);",
        f"    for (int c = 0; c < {k}; c++) votes[c] = duels[c] = lost[c] = 0.0;",
        f"    for (int a = 0; a < {k}; a++)",
        f"        for (int b = a + 1; b < {k}; b++, h++) {{",
        "            votes[pairs[h] > 0.0 ? b : a] += 1.0;",
        "            lost[pairs[h] > 0.0 ? a : b] += fabs(pairs[h]);",
        "        }",
        "    h = 0;",
        f"    for (int a = 0; a < {k}; a++)",
        f"        for (int b = a + 1; b < {k}; b++, h++)",
        "            if (votes[a] == votes[b]) duels[pairs[h] > 0.0 ? b : a] += 1.0;",
        f"    for (int c = 0; c < {k}; c++) scores[c] = votes[c] + (duels[c] + 0.5 / (lost[c] + 1.0)) / {k}.0;",
        "}",
        "",
    ]


def _class(k: int) -> list[str]:
    if k == 2:
        return ["int rosenblatt_class(const double *scores) {", "    return scores[0] > 0.0;", "}", ""]
    return [
        "int rosenblatt_class(const double *scores) {",
        "    int best = 0;",
        f"    for (int c = 1; c < {k}; c++)",
        "        if (scores[c] > scores[best]) best = c;",
        "    return best;",
        "}",
        "",
    ]


_PREDICT = [
    "const char *rosenblatt_predict(const double *x) {",
    "    double scores[ROSENBLATT_SCORES];",
    "    rosenblatt_scores(x, scores);",
    "    return rosenblatt_labels[rosenblatt_class(scores)];",
    "}",
]


def _row(numbers: Iterable[float]) -> str:
    return "{" + ", ".join(float(number).hex() for number in numbers) + "}"


def _strings(name: str, texts: Sequence[str]) -> list[str]:
    return [f"const char *const {name}[{len(texts)}] = {{", *(f"    {_quoted(text)}," for text in texts), "};"]


def _quoted(text: str) -> str:
    """A C string of the UTF-8 bytes. Other bytes than plain letters, digits and marks are octal, so that no byte ends the
    string early or starts a trigraph."""
    plain = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+.,:;=()[]{}<>/*&|!#$@^~'")
    return (
        '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in text.encode("utf-8", "surrogateescape")) + '"'
    )
