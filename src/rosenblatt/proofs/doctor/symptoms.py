"""Findings that need no proof: duplicates, column scales, long rows, small classes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...certificates.statements import Certificate, Separable
from ...reporting.text import join_and, plural, short
from ..inputs import LabeledRows
from .column_statistics import Columns, lengths
from .duplicates import Duplicates
from .findings import Finding

MIN_SCALE_RATIO = 100.0  # ratio of two column ranges
MIN_OFFSET_RATIO = 10.0  # ratio of a column's distance from zero to its range
MIN_LENGTH_RATIO = 10.0  # ratio of the length of a row to the median length
MAX_LONG_SHARE = 0.01  # share of long rows up to which they are exceptions
SMALL_CLASS_SHARE = 0.05  # share of the rows with two classes; proportionally less with more classes
MIN_ROWS_FOR_SINGLETON = 8  # a class with a single row is reported from this number of rows on


@dataclass(frozen=True)
class ColumnNames:
    """Names of columns in sentences: the given names quoted, or numbers from 1."""

    names: Sequence[str] | None

    def short(self, c: int) -> str:
        return str(c + 1) if self.names is None else repr(self.names[c])

    def __call__(self, c: int, start: str = "column") -> str:
        return f"{start} {self.short(c)}"

    def for_program(self, c: int) -> str:
        """The name in the evidence, where positions count from 0."""
        return f"column {c if self.names is None else self.short(c)}"


def duplicate_rows(duplicates: Duplicates, given: LabeledRows) -> Iterator[Finding]:
    """Equal rows with different labels."""
    if not duplicates.groups:
        return
    n_rows, outvoted = sum(len(group) for group in duplicates.groups), duplicates.outvoted
    forced = len(outvoted)
    examples = [f"rows {join_and([row + 1 for row in group], limit=4)}" for group in duplicates.groups[:3]]
    if len(duplicates.groups) > 3:
        examples.append(f"{len(duplicates.groups) - 3:,} more")
    groups = "in one group" if len(duplicates.groups) == 1 else f"in {len(duplicates.groups):,} groups"
    sentence = (
        f"{plural(n_rows, 'row')} have the same features as another row with a different label, {groups}: "
        f"{'; '.join(examples)}. No function of these columns separates them: every classifier misclassifies at least "
        f"{forced:,} of them."
    )
    labels = [given.classes[given.codes[group]].tolist() for group in duplicates.groups]
    evidence = {"groups": duplicates.groups, "labels": labels, "rows": n_rows, "least_errors": forced, "outvoted": outvoted}
    yield Finding("duplicates", sentence, evidence)


def column_scales(columns: Columns, name: ColumnNames, intercept: bool, possible: bool) -> Iterator[Finding]:
    """Columns of very different range; constant columns; with an intercept, columns far from zero.

    `possible`: whether the rows may be separable, so that there may be a bound on updates.
    """
    ranges = columns.ranges
    varied = np.flatnonzero(~columns.constant)
    if len(varied) > 1:
        large, small = (int(varied[pick(ranges[varied])]) for pick in (np.argmax, np.argmin))
        with np.errstate(over="ignore"):
            ratio = float(ranges[large] / ranges[small])
        if ratio >= MIN_SCALE_RATIO:
            yield _scales(columns, name, large, small, ratio, possible)
    if len(constant := np.flatnonzero(columns.constant & (intercept | (columns.minimum == 0)))):
        listed = join_and([name.short(c) for c in constant.tolist()], limit=5)
        start, them = (f"Column {listed} has", "it") if len(constant) == 1 else (f"Columns {listed} have", "them")
        sentence = f"{start} the same value in every row and cannot separate classes: remove {them}."
        yield Finding("constant", sentence, {"columns": constant.tolist(), "values": columns.minimum[constant].tolist()})
    middles = abs(columns.minimum / 2 + columns.maximum / 2)
    far = np.flatnonzero(~columns.constant & (middles / MIN_OFFSET_RATIO > ranges))
    if intercept and len(far):
        ratios = middles[far] / ranges[far]
        worst = int(far[ratios.argmax()])
        others = {1: "", 2: ", and another column is similar"}.get(len(far), f", and {len(far) - 1:,} more columns are similar")
        sentence = (
            f"{name(worst, 'Column')} ranges {_range(columns, worst)}: its distance from zero is "
            f"{short(float(ratios.max()))} times its range{others}. This lengthens every row without adding information: "
            "subtract the mean."
        )
        evidence = {"columns": far.tolist(), "worst": worst, "times": float(ratios.max())}
        yield Finding("offset", sentence, evidence | {"range": [float(columns.minimum[worst]), float(columns.maximum[worst])]})


def _scales(columns: Columns, name: ColumnNames, large: int, small: int, ratio: float, possible: bool) -> Finding:
    factor = short(ratio) if math.isfinite(ratio) else "more than 1e308"
    bound = ", and its bound R^2/gamma^2 can be larger by up to the square of that factor" if possible else ""
    sentence = (
        f"Column ranges differ by a factor of {factor}: {name(large)} ranges {_range(columns, large)}, {name(small)} "
        f"{_range(columns, small)}. The updates of a perceptron then change almost only weights of large columns{bound}."
    )
    span = {which: [float(columns.minimum[c]), float(columns.maximum[c])] for which, c in (("large", large), ("small", small))}
    evidence = {"ratio": ratio, "largest": large, "smallest": small, "ranges": span}
    return Finding("scales", sentence, evidence | {"names": [name.for_program(large), name.for_program(small)]})


def long_rows(given: LabeledRows, certificate: Certificate) -> Iterator[Finding]:
    """A few rows that alone determine R."""
    sizes, exponent = lengths(given.X, certificate.about.intercept)
    median = float(np.median(sizes))
    long = np.flatnonzero(sizes > MIN_LENGTH_RATIO * median)
    if not (median > 0 and 0 < len(long) <= MAX_LONG_SHARE * len(sizes)):
        return
    order = long[np.argsort(-sizes[long], kind="stable")]
    rest = float(np.delete(sizes, long).max())
    longest, others, middle = (float(np.ldexp(size, exponent)) for size in (sizes[order[0]], rest, median))
    rows = f"Row {order[0] + 1} is" if len(long) == 1 else f"Rows {join_and((order + 1).tolist(), limit=3)} are"
    sentence = f"{rows} over {MIN_LENGTH_RATIO:.0f} times as long as the median row: {short(longest)} against {short(middle)}"
    evidence = {"rows": order.tolist(), "longest": longest, "median": middle, "longest_of_the_others": others}
    if isinstance(certificate, Separable):
        before = certificate.mistake_bound.upper
        after = before * (others / longest) ** 2 * (1 + 1e-12)
        evidence |= {"bound": before, "bound_without": after}
        sentence += (
            f". Without {'it' if len(long) == 1 else 'them'} R is {short(others)}, and the bound on updates falls from "
            f"{short(before)} to at most {short(after)}"
        )
    else:
        sentence += ". A single update by such a row outweighs many others"
    yield Finding("long rows", sentence + ".", evidence)


def class_imbalance(given: LabeledRows, separable: bool) -> Iterator[Finding]:
    """A class with few rows."""
    counts = np.bincount(given.codes)
    n, least, most = len(given.codes), int(counts.argmin()), int(counts.argmax())
    few = int(counts[least])
    if few * len(counts) > 2 * SMALL_CLASS_SHARE * n and not (few == 1 and n >= MIN_ROWS_FOR_SINGLETON):
        return
    labels = given.classes.tolist()
    rest = n - int(counts[most])
    sentence = f"Class {labels[least]!r} has only {plural(few, 'row')} of {n:,}"
    if rest <= 2 * SMALL_CLASS_SHARE * n:
        sentence += f"; always predicting {labels[most]!r} misclassifies only {rest:,}, so accuracy is not informative"
    if few == 1:
        sentence += ". Everything learned about that class depends on a single row."
    elif separable:
        sentence += ". This does not prevent convergence: the bound does not depend on the number of rows."
    else:
        sentence += ". If that class matters, give its rows more weight: class_weight='balanced'."
    evidence = {"class": labels[least], "rows": few, "of": n, "most_frequent": labels[most], "others": rest}
    yield Finding("imbalance", sentence, evidence)


def _range(columns: Columns, c: int) -> str:
    return f"from {short(float(columns.minimum[c]))} to {short(float(columns.maximum[c]))}"
