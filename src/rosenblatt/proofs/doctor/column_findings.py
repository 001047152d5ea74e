"""Findings about single columns: identifiers, leaks of the label, ranges, constants, and distances from zero."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Container, Iterator, Mapping

import numpy as np

from ...array_types import Array, FloatArray, IntArray
from ...reporting.text import count, join_and, percent, plural, short
from .column_statistics import Columns
from .findings import UNNAMED, AdviceForm, ColumnNames, Finding, describe_column
from .identifiers import Identifier, identifier
from .leaks import find_copies, find_leaks
from .markers import are_day_numbers, find_marker, written_marker

MIN_SCALE_RATIO = 100.0  # ratio of two column ranges
MIN_OFFSET_RATIO = 10.0  # ratio of a column's distance from zero to its range
MAX_LISTED = 5
CELLS_COMPARED_FIRST = 100  # of columns that may be equal


# --- identifiers and leaks --------------------------------------------------------------------------------------------------


def identifiers_and_leaks(columns: Mapping[str | int, Array], codes: IntArray, form: AdviceForm) -> Iterator[Finding]:
    """Columns that number or identify the rows, that predict the label alone, or have numbers for missing cells.

    `columns` are the cells by name, or by position from 0 if the column has no name, as for `identifier` and `find_leaks`.
    """
    found: dict[Identifier, list[str | int]] = {"row numbers": [], "ids": []}
    for place, (key, cells) in enumerate(columns.items()):
        name = None if isinstance(key, int) or UNNAMED.fullmatch(key) else key
        first = place == 0 if isinstance(key, int) else key == "column 0"
        number = cells.dtype.kind == "f" and not are_day_numbers(cells)
        kind = identifier(cells, name, first=first) if number else None
        if kind is not None:
            found[kind].append(key)
    for of, keys in found.items():
        if keys:
            verb = "number" if of == "row numbers" else "identify"
            singular = "numbers" if of == "row numbers" else "identifies"
            sentence = f"{_subject(keys)} {verb if len(keys) > 1 else singular} the rows: exclude {_them(keys, form)}."
            yield Finding("identifiers", sentence, {"kind": of, "columns": keys})
    rest = {key: cells for key, cells in columns.items() if key not in found["row numbers"] + found["ids"]}
    copied = [*copies(rest, codes, form)]
    yield from copied
    yield from no_quantities(rest)
    yield from equal_columns(rest, form)
    known = {finding.evidence["column"] for finding in copied}
    for leak in find_leaks({key: cells for key, cells in rest.items() if key not in known}, codes):
        sentence = (
            f"{_subject([leak.column])} alone predicts the label ({count(leak.errors)} of {count(leak.rows)} rows wrong; "
            f"all other columns together: {percent(leak.other_error, 0)}). If it is not known before the label, exclude "
            f"{_them([leak.column], form)}."
        )
        evidence = {"column": leak.column, "errors": leak.errors, "rows": leak.rows, "other_error": leak.other_error}
        yield Finding("leak", sentence, evidence)


def no_quantities(columns: Mapping[str | int, Array]) -> Iterator[Finding]:
    """Columns with numbers that mark missing cells, and columns of days that are written as numbers."""
    for key, cells in columns.items():
        marker = find_marker(cells) if cells.dtype.kind == "f" else None
        if marker is not None:
            value, low, high = written_marker(marker)
            sentence = (
                f"{_subject([key])} has {value} in {plural(marker.cells, 'row')}, far from all others "
                f"({low} to {high}): if it marks missing cells, leave them empty."
            )
            yield Finding("marker", sentence, {"column": key, **marker._asdict()})
        elif cells.dtype.kind == "f" and are_day_numbers(cells):
            day = str(int(cells[np.isfinite(cells)][0]))
            written = f"{day[:4]}-{day[4:6]}-{day[6:]}"
            sentence = (
                f"{_subject([key])} has dates as numbers, such as {day}: write them as {written} to have them read as dates."
            )
            yield Finding("day_numbers", sentence, {"column": key, "first": int(day)})


def copies(columns: Mapping[str | int, Array], codes: IntArray, form: AdviceForm) -> Iterator[Finding]:
    """Columns that repeat the label."""
    for key, by_missing in find_copies(columns, codes).items():
        fact = "is filled in the rows of one class alone" if by_missing else "repeats the label: each class has its own value"
        sentence = f"{_subject([key])} {fact}. If it is not known before the label, exclude {_them([key], form)}."
        yield Finding("leak", sentence, {"column": key, "errors": 0, "rows": len(codes), "copy": True})


def equal_columns(columns: Mapping[str | int, Array], form: AdviceForm) -> Iterator[Finding]:
    """Columns with the same cells as an earlier one; numbers of two values, such as rare flags, may be equal by chance."""
    alike: dict[bytes, list[str | int]] = {}
    for key, cells in columns.items():
        alike.setdefault(_digest(cells[:CELLS_COMPARED_FIRST]), []).append(key)
    shared = {key for keys in alike.values() if len(keys) > 1 for key in keys}
    firsts: dict[bytes, list[str | int]] = {}
    for key, cells in columns.items():
        if key in shared:
            firsts.setdefault(_digest(cells), []).append(key)
    for keys in firsts.values():
        if len(keys) > 1 and _varies(columns[keys[0]]):
            others = "others" if len(keys) > 2 else "other"
            option = form.exclusion(keys[1 : 1 + MAX_LISTED])
            sentence = f"{_subject(keys)} are equal, and one of them is enough: exclude the {others} ({option})."
            yield Finding("equal_columns", sentence, {"columns": keys})


def _digest(cells: Array) -> bytes:
    values = cells.tolist() if cells.dtype.kind == "O" else (cells + 0.0).tobytes()  # 0.0 for -0.0
    return hashlib.sha256(repr(values).encode() if isinstance(values, list) else values).digest()


def _varies(cells: Array) -> bool:
    if cells.dtype.kind == "O":
        return len(set(cells.tolist())) > 1
    return len(np.unique(cells[~np.isnan(cells)])) > 2


def _subject(keys: list[str | int]) -> str:
    names = list(map(describe_column, keys))
    return f"Column{'s' if len(keys) > 1 else ''} {join_and(names, limit=MAX_LISTED)}"


def _them(keys: list[str | int], form: AdviceForm) -> str:
    return f"{'them' if len(keys) > 1 else 'it'} ({form.exclusion(keys[:MAX_LISTED])})"


# --- scales ----------------------------------------------------------------------------------------------------------------


def column_scales(
    columns: Columns, name: ColumnNames, intercept: bool, possible: bool, form: AdviceForm, excluded: Container[str | int] = ()
) -> Iterator[Finding]:
    """Columns of very different range; constant columns; with an intercept, columns far from zero.

    possible : whether the rows may be separable, so that there may be a bound on updates.
    excluded : columns that are to be excluded anyway.
    """
    ranges = columns.ranges
    used = ~columns.constant & [name.column(c) not in excluded for c in range(len(ranges))]
    ratio = range_ratio(ranges[used])
    if ratio >= MIN_SCALE_RATIO:
        varied = np.flatnonzero(used)
        large, small = (int(varied[pick(ranges[varied])]) for pick in (np.argmax, np.argmin))
        yield _scales(columns, name, large, small, ratio, possible, form)
    if len(constant := np.flatnonzero(columns.constant & (intercept | (columns.minimum == 0)))):
        keys = list(dict.fromkeys(map(name.column, constant.tolist())))
        have = "have" if len(keys) > 1 else "has"
        sentence = (
            f"{_subject(keys)} {have} the same value in every row and cannot separate classes: exclude {_them(keys, form)}."
        )
        yield Finding("constant", sentence, {"columns": constant.tolist(), "values": columns.minimum[constant].tolist()})
    middles = abs(columns.minimum / 2 + columns.maximum / 2)
    far = np.flatnonzero(used & (middles / MIN_OFFSET_RATIO > ranges))
    if intercept and len(far):
        ratios = middles[far] / ranges[far]
        worst = int(far[ratios.argmax()])
        more = f", and {count(len(far) - 1)} more columns are similar"
        others = {1: "", 2: ", and another column is similar"}.get(len(far), more)
        sentence = (
            f"{name(worst, 'Column')} ranges {_range(columns, worst)}: its distance from zero is "
            f"{short(float(ratios.max()))} times its range{others}. This lengthens every row without adding information: "
            f"{form.parameter('subtract the mean', 'training subtracts the mean unless --scale none is given')}."
        )
        evidence = {"columns": far.tolist(), "worst": worst, "times": float(ratios.max())}
        yield Finding("offset", sentence, evidence | {"range": [float(columns.minimum[worst]), float(columns.maximum[worst])]})


def range_ratio(ranges: FloatArray) -> float:
    """The widest range of a column over the narrowest; constant columns do not count."""
    varied = ranges[ranges > 0]
    with np.errstate(over="ignore"):
        return float(varied.max() / varied.min()) if len(varied) else 1.0


def _scales(
    columns: Columns, name: ColumnNames, large: int, small: int, ratio: float, possible: bool, form: AdviceForm
) -> Finding:
    factor = short(ratio) if math.isfinite(ratio) else "more than 1e308"
    bound = ", and its bound R^2/gamma^2 can be larger by up to the square of that factor" if possible else ""
    sentence = (
        f"Column ranges differ by a factor of {factor}: {name(large)} ranges {_range(columns, large)}, {name(small)} "
        f"{_range(columns, small)}. The updates of a perceptron then change almost only weights of large columns{bound}."
        f"{'' if form.train is None else ' Training scales columns unless --scale none is given.'}"
    )
    span = {which: [float(columns.minimum[c]), float(columns.maximum[c])] for which, c in (("large", large), ("small", small))}
    evidence = {"ratio": ratio, "largest": large, "smallest": small, "ranges": span}
    return Finding("scales", sentence, evidence | {"names": [name(large), name(small)]})


def _range(columns: Columns, c: int) -> str:
    low, high = float(columns.minimum[c]), float(columns.maximum[c])
    digits = next((n for n in (3, 6, 9, 12) if short(low, n) != short(high, n)), 17)
    return f"from {short(low, digits)} to {short(high, digits)}"
