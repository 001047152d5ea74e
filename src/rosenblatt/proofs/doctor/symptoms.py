"""What can be seen without a proof: duplicates, scales, long rows, small classes; each a finding, where it matters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from ...certificates.statements import Certificate, Separable
from ..inputs import Labelled
from .columns import Columns, lengths
from .duplicates import Duplicates
from .findings import Finding, many, short, some

SCALES = 100.0  # columns whose ranges differ by this factor are worth a word
FAR = 10.0  # so are columns so many times as far from zero as their range is wide
LONG = 10.0  # and rows so many times as long as the median
FEW = 0.01  # as long as no more than this share of the rows are
SMALL = 0.05  # of two classes, one with this share of the rows; of more, accordingly less

Name = Callable[[int], str]


def repeated(found: Duplicates, given: Labelled) -> Iterator[Finding]:
    if not found.groups:
        return
    rows = sum(len(group) for group in found.groups)
    forced = len(found.outvoted)
    told = [f"rows {some(group, 4)}" for group in found.groups[:3]]
    if len(found.groups) > 3:
        told.append(f"{len(found.groups) - 3:,} more")
    one = len(found.groups) == 1
    sentence = (
        f"{many(rows, 'row')} have the same features as another row with a different label, "
        f"{'which is one group' if one else f'in {len(found.groups):,} groups'}: {'; '.join(told)}. "
        f"No features made of these columns, of whatever degree, tell them apart: every classifier gets at least {forced:,} of "
        f"them wrong."
    )
    labels = [given.classes[given.codes[group]].tolist() for group in found.groups]
    evidence = {"groups": found.groups, "labels": labels, "rows": rows, "least_errors": forced, "outvoted": found.outvoted}
    yield Finding("duplicates", sentence, evidence)


def scales(columns: Columns, name: Name, intercept: bool, possible: bool) -> Iterator[Finding]:
    """Columns of very different range; and, where there is an intercept, such as say nothing and such as are far from zero.

    possible : whether the rows may be separable, so that there is a bound on updates to speak of.
    """
    ranges = columns.ranges
    varied = np.flatnonzero(~columns.constant)
    if len(varied) > 1:
        large, small = (int(varied[pick(ranges[varied])]) for pick in (np.argmax, np.argmin))
        with np.errstate(over="ignore"):
            ratio = float(ranges[large] / ranges[small])
        if ratio >= SCALES:
            sentence = (
                f"Scales differ by a factor of {_factor(ratio)}: {name(large)} goes {_range(columns, large)}, {name(small)} "
                f"{_range(columns, small)}. A perceptron's updates then go almost only into the large columns"
                f"{', and its bound R^2/gamma^2 can be larger by up to the square of that factor' if possible else ''}."
            )
            span = {
                which: [float(columns.least[c]), float(columns.most[c])] for which, c in (("large", large), ("small", small))
            }
            evidence = {"ratio": ratio, "largest": large, "smallest": small, "ranges": span}
            yield Finding("scales", sentence, evidence | {"names": [name(large), name(small)]})
    if len(constant := np.flatnonzero(columns.constant & (intercept | (columns.least == 0)))):
        told = some([name(c).removeprefix("column ") for c in constant.tolist()])
        start, them = (f"Column {told} is", "it") if len(constant) == 1 else (f"Columns {told} are", "them")
        sentence = f"{start} the same in every row and can tell no classes apart: leave {them} out."
        yield Finding("constant", sentence, {"columns": constant.tolist(), "values": columns.least[constant].tolist()})
    middles = abs(columns.least / 2 + columns.most / 2)
    far = np.flatnonzero(~columns.constant & (middles / FAR > ranges))
    if intercept and len(far):
        times = middles[far] / ranges[far]
        worst = int(far[times.argmax()])
        others = f", and so do {len(far) - 1:,} more columns" if len(far) > 2 else ", and so does another column"
        sentence = (
            f"{_upper(name(worst))} goes {_range(columns, worst)}, {short(float(times.max()))} times as far from zero as its "
            f"range is wide{others if len(far) > 1 else ''}. That lengthens every row and tells nothing: subtract the mean."
        )
        evidence = {"columns": far.tolist(), "worst": worst, "times": float(times.max())}
        yield Finding("offset", sentence, evidence | {"range": [float(columns.least[worst]), float(columns.most[worst])]})


def long_rows(given: Labelled, certificate: Certificate) -> Iterator[Finding]:
    """A few rows that set R alone."""
    intercept = certificate.about.intercept
    sizes, exponent = lengths(given.X, intercept)
    median = float(np.median(sizes))
    long = np.flatnonzero(sizes > LONG * median)
    if not (median > 0 and 0 < len(long) <= FEW * len(sizes)):
        return
    order = long[np.argsort(-sizes[long], kind="stable")]
    rest = float(np.delete(sizes, long).max())
    longest, others, middle = (float(np.ldexp(size, exponent)) for size in (sizes[order[0]], rest, median))
    rows = f"Row {order[0]} is" if len(long) == 1 else f"Rows {some(order.tolist(), 3)} are"
    sentence = f"{rows} over {LONG:.0f} times as long as most: {short(longest)} against a median of {short(middle)}"
    evidence = {"rows": order.tolist(), "longest": longest, "median": middle, "longest_of_the_others": others}
    if isinstance(certificate, Separable):
        before = certificate.mistake_bound.upper
        after = before * (others / longest) ** 2 * (1 + 1e-12)
        evidence |= {"bound": before, "bound_without": after}
        sentence += (
            f". Without {'it' if len(long) == 1 else 'them'} R falls to {short(others)}, and the bound on updates from "
            f"{short(before)} to {short(after)} at most"
        )
    else:
        sentence += ": a single update by such a row outweighs many others"
    yield Finding("long rows", sentence + ".", evidence)


def imbalance(given: Labelled, separable: bool) -> Iterator[Finding]:
    counts = np.bincount(given.codes)
    n, least, most = len(given.codes), int(counts.argmin()), int(counts.argmax())
    few = int(counts[least])
    if few * len(counts) > 2 * SMALL * n and not (few == 1 and n >= 8):
        return
    labels = given.classes.tolist()
    rest = n - int(counts[most])
    sentence = f"Class {labels[least]!r} has only {many(few, 'row')} of {n:,}"
    if rest <= 2 * SMALL * n:
        sentence += f": answering {labels[most]!r} throughout gets all but {rest:,} right, so that accuracy says little"
    if few == 1:
        sentence += ". What is learnt of that class rests on a single row."
    elif separable:
        sentence += ". That does not keep a perceptron from converging: its bound does not count rows."
    else:
        sentence += ". Where that class matters, give its rows more weight: class_weight='balanced'."
    evidence = {"class": labels[least], "rows": few, "of": n, "most_frequent": labels[most], "others": rest}
    yield Finding("imbalance", sentence, evidence)


def _range(columns: Columns, c: int) -> str:
    return f"from {short(float(columns.least[c]))} to {short(float(columns.most[c]))}"


def _factor(ratio: float) -> str:
    return short(ratio) if math.isfinite(ratio) else "more than 1e308"


def _upper(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
