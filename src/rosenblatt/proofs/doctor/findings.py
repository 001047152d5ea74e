"""What the doctor says: findings, each a sentence with its evidence, and the report of them all."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...certificates.files import certificate_to_dict
from ...certificates.statements import Certificate, Inseparable, Separable, Undecided
from ..inputs import Labelled
from .columns import Columns, lengths
from .duplicates import Duplicates

WIDTH = 100
HEADLINES = {"separable": "separable", "inseparable": "not separable", "undecided": "undecided in the time allowed"}


@dataclass(frozen=True)
class Finding:
    """One thing that was found.

    kind : a word, such as "verdict", "duplicates" or "scales".
    sentence : plain English, with the numbers in it.
    evidence : the numbers: row positions, columns, ranges, certificates.
    """

    kind: str
    sentence: str
    evidence: dict[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """What `rb.doctor` found, the most useful first; printed, it is a report.

    findings : a list of `Finding`.
    certificate : the proof of the verdict, as `rb.certify` gives it.
    seconds : how long it took.
    """

    findings: list[Finding]
    certificate: Certificate
    seconds: float

    @property
    def verdict(self) -> str:
        """The word of the certificate: separable, inseparable or undecided."""
        return self.certificate.verdict

    def of(self, kind: str) -> list[Finding]:
        """The findings of one kind."""
        return [finding for finding in self.findings if finding.kind == kind]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON; certificates as `rb.save_certificate` writes them."""
        findings = [{"kind": f.kind, "sentence": f.sentence, "evidence": _plain(f.evidence)} for f in self.findings]
        told = {"verdict": self.verdict, "findings": findings, "certificate": _plain(self.certificate)}
        return told | {"seconds": self.seconds}

    def __str__(self) -> str:
        about = self.certificate.about
        headline = (
            f"{many(about.n_rows, 'row')}, {many(about.n_columns, 'column')}, {many(len(about.classes), 'class', 'classes')}: "
            f"{HEADLINES[self.verdict]}."
        )
        wrap = textwrap.TextWrapper(WIDTH, "- ", "  ", break_long_words=False, break_on_hyphens=False)
        bullets = [wrap.fill(finding.sentence) for finding in self.findings]
        return "\n".join([headline, *bullets])

    __repr__ = __str__  # who asks at the prompt wants to read it


def _plain(value: Any) -> Any:
    if isinstance(value, Separable | Inseparable | Undecided):
        return certificate_to_dict(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


# --- numbers in words ------------------------------------------------------------------------------------------------------


def many(n: int, thing: str, things: str = "") -> str:
    return f"{n:,} {thing if n == 1 else things or thing + 's'}"


def short(x: float) -> str:
    """Three digits, or all before the point."""
    return f"{x:,.0f}" if 1000 <= abs(x) < 1e7 else _exponent(f"{x:.3g}")


def updates(bound: float) -> str:
    """A bound on a whole number: to the last digit where a person would read them all."""
    if bound == math.inf:
        return "more than 1e308 updates"
    return many(math.floor(bound), "update") if bound < 1e9 else f"about {_exponent(f'{bound:.1e}')} updates"


def _exponent(text: str) -> str:
    """1e+07 as 1e7."""
    number, e, power = text.partition("e")
    return f"{number}{e}{int(power)}" if e else text


def some(values: Any, most: int = 5) -> str:
    """1, 2 and 3; or the first few and how many more."""
    words = [str(value) for value in values[:most]]
    if len(values) > most:
        return f"{', '.join(words)} and {len(values) - most:,} more"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


# --- What can be seen without a proof: duplicates, scales, long rows, small classes; each a finding, where it matters.

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


# --- What to try next, from what was found: one finding, the last.

PATIENT = 1e7  # updates that take seconds, not hours
GAIN = 2.0  # a bound this many times smaller is worth scaling for
ROWS_TO_INSPECT = 5  # rows that a person can look at
RARE = 0.02  # the share of rows up to which errors may be slips

Advice = tuple[str, list[str]]  # the words, and the tools they name


def advice(findings: list[Finding], certificate: Certificate, centred: bool) -> Iterator[Finding]:
    """centred : whether columns can be moved: there is an intercept, and rows are not sparse."""
    evidence = {finding.kind: finding.evidence for finding in findings}
    scaler = "StandardScaler" if centred else "MaxAbsScaler"
    if isinstance(certificate, Separable):
        words, tools = _when_separable(evidence, certificate, scaler)
    else:
        parts = [*_when_not(evidence, [f.evidence for f in findings if f.kind == "degree"], scaler)]
        if not isinstance(certificate, Inseparable):
            parts.insert(0, ("give it more time (time_limit)", ["time_limit"]))
        words, tools = "; or ".join(part for part, _ in parts), [tool for _, named in parts for tool in named]
    yield Finding("advice", f"Try: {words}.", {"tools": tools})


def _when_separable(evidence: dict[str, Any], certificate: Separable, scaler: str) -> Advice:
    bound, before, tools = certificate.mistake_bound.upper, "", []
    after = evidence.get("scaling", {}).get("after")
    if after is not None and after * GAIN < bound:
        bound, before, tools = after, f"{scaler}, then ", [scaler]
    if bound <= PATIENT:
        return f"{before}Perceptron(max_iter=None), which stops by itself within {updates(bound)}", [*tools, "Perceptron"]
    return f"{before}MaxMargin, which solves for the widest margin instead of waiting for mistakes to end", [
        *tools,
        "MaxMargin",
    ]


def _when_not(evidence: dict[str, Any], degrees: list[dict[str, Any]], scaler: str) -> Iterator[Advice]:
    if "duplicates" in evidence:
        yield "check the labels of the duplicates, or add a feature that tells them apart", ["labels"]
    elif wrong := _suspects(evidence.get("errors", {})):
        them = f"rows {some(wrong)}" if len(wrong) > 1 else f"row {wrong[0]}"
        yield f"look at {them}, whether the {'labels are' if len(wrong) > 1 else 'label is'} right", ["labels"]
    won = next((found for found in degrees if found["verdict"] == "separable"), None)
    if won is not None:
        learner = "Perceptron(max_iter=None)" if won["bound"] <= PATIENT else "MaxMargin"
        if "duplicates" in evidence:
            learner = "SoftMargin"
        first = "StandardScaler" if any(won["shifts"]) else "MaxAbsScaler"
        words = f"{first} and PolynomialFeatures({won['degree']}), then {learner}"
        yield words, [first, "PolynomialFeatures", learner.partition("(")[0]]
    uneven = bool({"scales", "offset"} & evidence.keys())
    first = f"{scaler}, then " if uneven and won is None else ""
    words = f"{first}Perceptron(keep='pocket') or keep='average', or SoftMargin, none of which needs separable rows"
    yield words, [*([scaler] if first else []), "pocket", "average", "SoftMargin"]


def _suspects(errors: dict[str, Any]) -> list[int]:
    """The rows that the best plane gets wrong, if they are few enough to be slips."""
    wrong: list[int] = errors.get("wrong", [])
    return wrong if wrong and len(wrong) <= min(ROWS_TO_INSPECT, RARE * errors["of"]) else []
