"""A model as one C99 file that allocates no memory. Numbers are hexadecimal and therefore exact.

    void rosenblatt_scores(const double *x, double *scores);     x has ROSENBLATT_INPUTS numbers, scores ROSENBLATT_SCORES
                                                                 NaN is a missing number; dates are days since 1970-01-01,
                                                                 times are fractions of a day
    int rosenblatt_class(const double *scores);                  index of the label in rosenblatt_labels
    const char *rosenblatt_predict(const double *x);             label of a row
    void rosenblatt_probabilities(const double *scores, double *probabilities);     of ROSENBLATT_CLASSES, if the model has them

With categorical columns, `names` follows `x`: ROSENBLATT_CATEGORIES strings in UTF-8, of which NULL, "" and words such as "NA"
are missing cells. `rosenblatt_units` says what the numbers of columns of percentages, dates, true and false are.
If the model refuses a cell that is missing, the scores are NaN, the class is -1 and the label is NULL.

A score is summed from the first term to the last, then the intercept is added, as for sparse rows in the library. The bits are
the same if products are rounded before they are added (-std=c99, or -ffp-contract=off).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ...array_types import FloatArray
from ...preprocessing.date_parts import PARTS, cycle_of
from ...reporting.text import count
from ..model import Model
from .cells import MISSING_WORDS, units_of
from .formula import Category, ExportError, Formula, formula_of
from .probabilities import c_function, c_prototype
from .reduction import Reduction

MAX_WEIGHTS = 1 << 20


def to_c(model: Model, reduction: Reduction | None = None) -> str:
    """Return the text of the C file."""
    formula = formula_of(model, "C", reduction).without_text("C", "export to JSON")
    if formula.n_weights > MAX_WEIGHTS:
        raise ExportError(f"C export supports up to {count(MAX_WEIGHTS)} weights, the model has {count(formula.n_weights)}")
    k = len(formula.classes)
    row, cells = ("const double *x", "x") if not formula.blocks else ("const double *x, const char *const *names", "x, names")
    prototypes = (
        f"void rosenblatt_scores({row}, double *scores);",
        "int rosenblatt_class(const double *scores);",
        f"const char *rosenblatt_predict({row});",
        *c_prototype(model.probability_map),
    )
    lines = [
        "/* A linear model, written by Rosenblatt, in C99. Sums go from the first term to the last. */",
        "#include <math.h>",
        *(["#include <string.h>"] if formula.blocks else []),
        "",
        f"#define ROSENBLATT_INPUTS {len(formula.columns)}",
        *([f"#define ROSENBLATT_CATEGORIES {len(formula.blocks)}"] if formula.blocks else []),
        f"#define ROSENBLATT_SCORES {1 if k == 2 else k}",
        f"#define ROSENBLATT_CLASSES {k}",
        "",
        *_strings("rosenblatt_inputs", formula.columns),
        *(_strings("rosenblatt_categories", [block.column for block in formula.blocks]) if formula.blocks else []),
        *_units(units_of(model, formula), formula.columns),
        *_strings("rosenblatt_labels", [str(label) for label in formula.classes]),
        *_numbers(formula),
        *(line for place, category in enumerate(formula.categories) for line in _category(formula, place, category)),
        "",
        *prototypes,
        "",
        *(_half(formula.exponent) if formula.exponent is not None else []),
        *_cell(formula),
        *(_lookup() if formula.blocks else []),
        *_planes(formula, row),
        *(_pair_votes(k, row, cells) if formula.pairs else []),
        *_class(k),
        *_predict(row, cells),
    ]
    lines += ["", *c_function(model.probability_map, k, formula.pairs)] if model.probability_map is not None else []
    return "\n".join(lines) + "\n"


def _units(units: Mapping[str, str], columns: Sequence[str]) -> list[str]:
    """What the numbers of each column are, "" for those of the file; nothing if no column has other ones."""
    return _strings("rosenblatt_units", [units.get(name, "") for name in columns]) if units else []


def _numbers(formula: Formula) -> list[str]:
    """The tables of the numeric columns."""
    lines = [
        *_table("double", "intercept", formula.intercept),
        *_weights(formula, "weights", formula.weights),
        *_table("double", "fill", formula.fill if formula.terms else None),
        *_table("double", "shift", formula.shift),
        *_table("double", "divide", formula.divide),
    ]
    if formula.inputs is not None:
        for name, place in (("column", 0), ("part", 1)):
            lines += _table("int", name, np.array([each[place] for each in formula.inputs], np.int64))
    if formula.indicator_weights is not None and formula.indicators:
        lines += _table("int", "indicators", np.array(formula.indicators, np.int64))
        lines += _weights(formula, "missing", formula.indicator_weights)
    if formula.factors is not None:
        longest = _longest(formula)
        places = [[*term, *[-1] * (longest - len(term))] for term in formula.factors]
        lines += _table("int", "factors", np.array(places, np.int64).reshape(-1, longest))
    return lines


def _category(formula: Formula, place: int, category: Category) -> list[str]:
    """The values of a categorical column, sorted by their bytes, and the weights of each; then those of missing cells."""
    for value in category.values:
        if "\0" in value:
            raise ExportError(f"C export does not support the category {value!r:.60}: strings in C end at a zero byte")
    order = sorted(range(len(category.values)), key=lambda at: _utf8(category.values[at]))
    missing = category.missing if category.missing is not None else np.zeros(formula.heads)
    lost = np.full(formula.heads, np.nan) if formula.refuses else missing
    return [
        *_strings(f"rosenblatt_values_{place}", [category.values[at] for at in order]),
        *_weights(formula, f"values_{place}_weights", np.column_stack([category.weights[:, order], lost])),
    ]


def _weights(formula: Formula, name: str, weights: FloatArray) -> list[str]:
    """The table of some weights: doubles, or the bits of 16-bit numbers."""
    if formula.exponent is None:
        return _table("double", name, weights)
    return _table("unsigned short", name, formula.halves(weights).view(np.uint16))


def _half(exponent: int) -> list[str]:
    return [
        "/* A weight of 16 bits: an IEEE 754 half, times a power of two. The result is exact. */",
        "static double rosenblatt_half(unsigned short bits) {",
        "    int power = bits >> 10 & 31;",
        f"    double size = ldexp((bits & 1023) + (power ? 1024 : 0), (power ? power : 1) - 25 + {exponent});",
        "    return power == 31 ? NAN : bits >> 15 ? -size : size;",
        "}",
        "",
    ]


def _lookup() -> list[str]:
    words = ", ".join(map(_quoted, MISSING_WORDS))
    return [
        "/* Cells that are missing, unless they are values of their column. */",
        f"static const char *const rosenblatt_words[] = {{{words}, 0}};",
        "",
        "/* The place of a cell among sorted values, n if it is missing, -1 if it is none of them. */",
        "static int rosenblatt_find(const char *cell, const char *const *values, int n) {",
        "    int low = 0, high = n;",
        "    while (cell && low < high) {",
        "        int middle = low + (high - low) / 2, order = strcmp(cell, values[middle]);",
        "        if (order == 0) return middle;",
        "        if (order < 0) high = middle; else low = middle + 1;",
        "    }",
        "    for (low = 0; cell && rosenblatt_words[low]; low++)",
        "        if (!strcmp(cell, rosenblatt_words[low])) return n;",
        "    return cell ? -1 : n;",
        "}",
        "",
    ]


def _cell(formula: Formula) -> list[str]:
    if not formula.columns:
        return []
    filled = "isnan(x[j]) ? rosenblatt_fill[j] : x[j]" if formula.fill is not None else "x[j]"
    lines = ["static double rosenblatt_cell(const double *x, int j) {", f"    return {filled};", "}", ""]
    if formula.inputs is None:
        return lines if formula.terms else []
    if not formula.inputs:
        return []
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


def _longest(formula: Formula) -> int:
    return max((len(term) for term in formula.terms), default=1)


def _planes(formula: Formula, row: str) -> list[str]:
    name = "rosenblatt_planes" if formula.pairs else "rosenblatt_scores"
    read = "rosenblatt_cell" if formula.inputs is None else "rosenblatt_input"
    product = [f"            double term = {read}(x, t);"]
    if formula.factors is not None:
        product = [
            f"            double term = {read}(x, rosenblatt_factors[t][0]);",
            f"            for (int f = 1; f < {_longest(formula)} && rosenblatt_factors[t][f] >= 0; f++)",
            f"                term *= {read}(x, rosenblatt_factors[t][f]);",
        ]
    product += ["            term -= rosenblatt_shift[t];"] if formula.shift is not None else []
    product += ["            term /= rosenblatt_divide[t];"] if formula.divide is not None else []

    def weight(place: str) -> str:
        return f"rosenblatt_{place}" if formula.exponent is None else f"rosenblatt_half(rosenblatt_{place})"

    terms = [
        f"        for (int t = 0; t < {formula.weights.shape[1]}; t++) {{",
        *product,
        f"            sum += term * {weight('weights[h][t]')};",
        "        }",
    ]
    marked = [
        f"        for (int i = 0; i < {len(formula.indicators)}; i++)",
        f"            if (isnan(x[rosenblatt_indicators[i]])) sum += {weight('missing[h][i]')};",
    ]
    chosen = [
        f"        if (codes[{place}] >= 0) sum += {weight(f'values_{place}_weights[h][codes[{place}]]')};"
        for place in range(len(formula.blocks))
    ]
    codes = [
        f"        rosenblatt_find(names[{place}], rosenblatt_values_{place}, {len(category.values)}),"
        for place, category in enumerate(formula.categories)
    ]
    return [
        f"{'static ' if formula.pairs else ''}void {name}({row}, double *scores) {{",
        *(["    int codes[] = {", *codes, "    };"] if formula.blocks else []),
        *([] if formula.columns else ["    (void)x;"]),
        f"    for (int h = 0; h < {formula.heads}; h++) {{",
        "        double sum = 0.0;",
        *(terms if formula.terms else []),
        *(marked if formula.indicators else []),
        *chosen,
        "        scores[h] = sum + rosenblatt_intercept[h];",
        "    }",
        "}",
        "",
    ]


def _pair_votes(k: int, row: str, cells: str) -> list[str]:
    return [
        f"void rosenblatt_scores({row}, double *scores) {{",
        f"    double pairs[{k * (k - 1) // 2}], votes[{k}], duels[{k}], lost[{k}];",
        "    int h = 0;",
        f"    rosenblatt_planes({cells}, pairs);",
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
        return ["int rosenblatt_class(const double *scores) {", "    return isnan(scores[0]) ? -1 : scores[0] > 0.0;", "}", ""]
    return [
        "int rosenblatt_class(const double *scores) {",
        "    int best = 0;",
        f"    for (int c = 0; c < {k}; c++) {{",
        "        if (isnan(scores[c])) return -1;",
        "        if (scores[c] > scores[best]) best = c;",
        "    }",
        "    return best;",
        "}",
        "",
    ]


def _predict(row: str, cells: str) -> list[str]:
    return [
        f"const char *rosenblatt_predict({row}) {{",
        "    double scores[ROSENBLATT_SCORES];",
        f"    rosenblatt_scores({cells}, scores);",
        "    int found = rosenblatt_class(scores);",
        "    return found < 0 ? 0 : rosenblatt_labels[found];",
        "}",
    ]


def _table(kind: str, name: str, array: np.ndarray | None) -> list[str]:
    """The lines of an array of one or two dimensions; nothing if it is empty, which C does not allow."""
    if array is None or not array.size:
        return []
    start = f"static const {kind} rosenblatt_{name}" + "".join(f"[{n}]" for n in array.shape)
    if array.ndim == 1:
        return [f"{start} = {_row(array)};"]
    return [f"{start} = {{", *(f"    {_row(row)}," for row in array), "};"]


def _row(numbers: Iterable[float]) -> str:
    return "{" + ", ".join(map(_number, numbers)) + "}"


def _number(number: float | np.generic) -> str:
    if isinstance(number, np.integer):
        return str(number)
    return "NAN" if number != number else float(number).hex()


def _strings(name: str, texts: Sequence[str]) -> list[str]:
    listed = [f"    {_quoted(text)}," for text in texts] or ["    0,"]
    return [f"const char *const {name}[{len(listed)}] = {{", *listed, "};"]


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _quoted(text: str) -> str:
    """A C string of the UTF-8 bytes. Other bytes than plain letters, digits and marks are octal, so that no byte ends the
    string early or starts a trigraph."""
    plain = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+.,:;=()[]{}<>/*&%|!#$@^~'")
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in _utf8(text)) + '"'
