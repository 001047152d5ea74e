"""Findings of the doctor: the report of them all, those that need no proof, and the advice at its end.

Findings without a proof are duplicates and long rows here, those about single columns in `column_findings.py`, and those about
labels in `label_findings.py`. Those with a proof are in `verdicts.py`.
"""

from __future__ import annotations

import math
import re
import shlex
import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ...certificates.files import certificate_to_dict
from ...certificates.statements import Certificate, Inseparable, Separable, Undecided
from ...reporting.text import count, count_bound, join_and, plural, short
from ..certify import LabeledRows
from .column_statistics import lengths
from .duplicates import Duplicates

FindingKind = Literal[
    "verdict", "duplicates", "without_duplicates", "identifiers", "leak", "marker", "day_numbers", "equal_columns", "scales",
    "constant", "offset", "long_rows", "scaling", "spellings", "quantities", "lists", "mark", "imbalance", "copied_rows",
    "errors", "weighted_probabilities", "degree", "no_time", "advice",
]  # fmt: skip

REPORT_WIDTH = 100  # characters
HEADLINES = {"separable": "separable", "inseparable": "not separable", "undecided": "not decided within the time limit"}
MIN_LENGTH_RATIO = 10.0  # ratio of the length of a row to the median length
MAX_LONG_SHARE = 0.01  # share of long rows up to which they are exceptions
MAX_UPDATES_TO_WAIT = 1e7  # this many updates take seconds, not hours
MIN_SCALING_GAIN = 2.0  # scaling is suggested if it reduces the bound by this factor
MAX_ROWS_TO_INSPECT = 5  # rows that the user can check by hand
MAX_MISLABELED_SHARE = 0.02  # share of the rows; more errors are not explained by wrong labels
UNNAMED = re.compile(r"column [0-9]+")  # a column of a file without a header
Advice = tuple[str, list[str]]  # the text, and the tools that it names
# Learners of the advice: as a Python call, and as options of `rosenblatt train`.
LEARNERS = {
    "Perceptron": ("Perceptron(max_iter=None)", "-a perceptron --max-iter none --holdout 0"),
    "pocket": ("Perceptron(keep='pocket')", "-a pocket"),
    "average": ("Perceptron(keep='average')", "-a average"),
    "MaxMargin": ("MaxMargin()", "-a max-margin"),
    "SoftMargin": ("SoftMargin()", "-a soft-margin"),
}
SCALES = {"StandardScaler": "standard", "MaxAbsScaler": "max"}  # the option --scale of `rosenblatt train`


@dataclass(frozen=True)
class Finding:
    """One finding of the doctor.

    Parameters
    ----------
    kind : str
        The kind of the finding, one of "verdict", "duplicates", "without_duplicates", "identifiers", "leak", "marker",
        "day_numbers", "equal_columns", "scales", "constant", "offset", "long_rows", "scaling", "spellings", "mark",
        "imbalance", "errors", "degree", "no_time" and "advice". Training also has "quantities", "lists",
        "weighted_probabilities" and "copied_rows".
    sentence : str
        The finding as text. It counts rows from 1, and columns without names from 0.
    evidence : dict
        The numbers of the finding: row and column positions from 0, ranges, certificates.

    See Also
    --------
    rosenblatt.doctor : Examine rows.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> rb.doctor([[0], [1], [2]], [0, 1, 0]).findings[0].kind
    'verdict'
    """

    kind: FindingKind
    sentence: str
    evidence: dict[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, ready for JSON.

        Returns
        -------
        dict
            The keys "kind", "sentence" and "evidence".
        """
        return {"kind": self.kind, "sentence": self.sentence, "evidence": plain_evidence(self.evidence)}


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """The findings of the doctor; printed, they are a report.

    Parameters
    ----------
    findings : list of Finding
        The findings, in the order of the report.
    certificate : Separable, Inseparable or Undecided
        The proof of the verdict, as `rosenblatt.certify` returns it.
    seconds : float
        The time that the examination took.

    Attributes
    ----------
    verdict : str
        "separable", "inseparable" or "undecided".

    See Also
    --------
    rosenblatt.doctor : Examine rows.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> diagnosis = rb.doctor([[0], [1], [2]], [0, 1, 0])
    >>> diagnosis.verdict, [finding.kind for finding in diagnosis.findings]
    ('inseparable', ['verdict', 'errors', 'degree', 'advice'])
    """

    findings: list[Finding]
    certificate: Certificate
    seconds: float

    @property
    def verdict(self) -> str:
        """The verdict of the certificate: "separable", "inseparable" or "undecided"."""
        return self.certificate.verdict

    def of(self, kind: FindingKind) -> list[Finding]:
        """Return the findings of one kind.

        Parameters
        ----------
        kind : str
            The kind, such as "degree"; see `Finding`.

        Returns
        -------
        list of Finding
            The findings, in the order of the report.
        """
        return [finding for finding in self.findings if finding.kind == kind]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON.

        Returns
        -------
        dict
            The keys "verdict", "findings", "certificate" and "seconds". Certificates have the form of their files.
        """
        findings = [finding.to_dict() for finding in self.findings]
        content = {"verdict": self.verdict, "findings": findings, "certificate": plain_evidence(self.certificate)}
        return content | {"seconds": self.seconds}

    def __str__(self) -> str:
        about = self.certificate.about
        shape = [plural(about.n_rows, "row"), plural(about.n_columns, "column"), plural(len(about.classes), "class", "classes")]
        wrap = textwrap.TextWrapper(REPORT_WIDTH, "- ", "  ", break_long_words=False, break_on_hyphens=False)
        bullets = [wrap.fill(finding.sentence) for finding in self.findings]
        return "\n".join([f"{', '.join(shape)}: {HEADLINES[self.verdict]}.", *bullets])

    __repr__ = __str__


def plain_evidence(value: object) -> object:
    """A value of the evidence of a finding, ready for JSON."""
    if isinstance(value, Separable | Inseparable | Undecided):
        return certificate_to_dict(value)
    if isinstance(value, dict):
        return {str(key): plain_evidence(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_evidence(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def update_count(bound: float) -> str:
    """A bound on a number of updates.

    >>> update_count(41.2), update_count(3.21e12)
    ('41 updates', 'about 3.21e12 updates')
    """
    if bound == math.inf:
        return "more than 1e308 updates"
    return f"{count_bound(bound)} {'updates' if math.floor(bound) != 1 else 'update'}"


# --- findings without a proof ----------------------------------------------------------------------------------------------


def describe_column(key: str | int) -> str:
    """A column in a sentence after the word "column": its name quoted, or its number from 0.

    >>> describe_column("age"), describe_column(3), describe_column("column 3")
    ("'age'", '3', '3')
    """
    text = str(key)
    return text.removeprefix("column ") if isinstance(key, int) or UNNAMED.fullmatch(text) else repr(text)


@dataclass(frozen=True)
class ColumnNames:
    """Names of columns in sentences: the given names quoted, or numbers from 0.

    files : the columns of a file, of which the columns are features; None: they are the columns themselves.
    """

    names: Sequence[str] | None
    files: Collection[str] | None = None

    def column(self, c: int) -> str | int:
        """The column that can be excluded: that of the file, for a feature such as color=red."""
        if self.names is None:
            return c
        name = self.names[c]
        if self.files is None or name in self.files:
            return name
        return max((each for each in self.files if name.startswith(f"{each}=")), key=len, default=name)

    def short(self, c: int) -> str:
        return describe_column(c if self.names is None else self.names[c])

    def __call__(self, c: int, start: str = "column") -> str:
        return f"{start} {self.short(c)}"


@dataclass(frozen=True)
class AdviceForm:
    """How sentences name parameters and learners: in Python or, with the beginning of a `train` command, as options."""

    train: str | None = None

    def parameter(self, python: str, option: str) -> str:
        return python if self.train is None else option

    def exclusion(self, columns: Sequence[str | int]) -> str:
        """How to exclude columns, given by their names, or by their positions from 0 if they have none."""
        if self.train is not None:
            return f"--ignore {shlex.quote(','.join(str(column).removeprefix('column ') for column in columns))}"
        which = repr(list(columns) if len(columns) > 1 else columns[0])
        return f"X.drop(columns={which})" if isinstance(columns[0], str) else f"np.delete(X, {which}, axis=1)"

    def learner(self, name: str) -> str:
        return self.parameter(*LEARNERS[name])

    def call(self, name: str, scaler: str | None = None, degree: int = 1) -> str:
        """A Python expression that makes the learner after a scaler and polynomial features, or a command that trains it."""
        if self.train is None:
            steps = [f"{scaler}()"] if scaler else []
            steps += [f"PolynomialFeatures({degree})"] if degree > 1 else []
            return f"make_pipeline({', '.join([*steps, self.learner(name)])})" if steps else self.learner(name)
        scale = SCALES[scaler] if scaler else "none" if name == "Perceptron" else None  # its bound is that of unscaled rows
        options = [f"--scale {scale}"] if scale else []
        options += [f"--degree {degree}"] if degree > 1 else []
        return f"`{' '.join([self.train, *options, self.learner(name)])}`"


def duplicate_rows(duplicates: Duplicates, given: LabeledRows) -> Iterator[Finding]:
    """Equal rows with different labels."""
    if not duplicates.groups:
        return
    n_rows, outvoted = sum(len(group) for group in duplicates.groups), duplicates.outvoted
    forced = len(outvoted)
    examples = [f"rows {join_and([row + 1 for row in group], limit=4)}" for group in duplicates.groups[:3]]
    if len(duplicates.groups) > 3:
        examples.append(f"{count(len(duplicates.groups) - 3)} more")
    groups = "in one group" if len(duplicates.groups) == 1 else f"in {count(len(duplicates.groups))} groups"
    sentence = (
        f"{plural(n_rows, 'row')} have the same features as another row with a different label, {groups}: "
        f"{'; '.join(examples)}. No function of these columns separates them: every classifier misclassifies at least "
        f"{count(forced)} of them."
    )
    labels = [given.classes[given.codes[group]].tolist() for group in duplicates.groups]
    evidence = {"groups": duplicates.groups, "labels": labels, "rows": n_rows, "least_errors": forced, "outvoted": outvoted}
    yield Finding("duplicates", sentence, evidence)


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
    times = f"over {count(MIN_LENGTH_RATIO)} times as long as the median row"
    sentence = f"{rows} {times}: {short(longest)} against {short(middle)}"
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
    yield Finding("long_rows", sentence + ".", evidence)


# --- advice ----------------------------------------------------------------------------------------------------------------


def advice(
    findings: list[Finding], certificate: Certificate, centered: bool, form: AdviceForm, rest: AdviceForm
) -> Iterator[Finding]:
    """What to try next.

    centered : whether columns can be centered, with an intercept and dense rows.
    rest : the form where nothing is claimed about the rows, so that columns may be left out.
    """
    evidence: dict[str, dict[str, Any]] = {finding.kind: finding.evidence for finding in findings}
    scaler = "StandardScaler" if centered else "MaxAbsScaler"
    if isinstance(certificate, Separable):
        words, tools = _if_separable(evidence, certificate, scaler, form)
    else:
        parts = [*_if_not_separable(evidence, [f.evidence for f in findings if f.kind == "degree"], scaler, form, rest)]
        if not isinstance(certificate, Inseparable):
            parts.insert(0, (f"allow more time ({form.parameter('time_limit', '--time-limit')})", ["time_limit"]))
        words, tools = "; or ".join(part for part, _ in parts), [tool for _, named in parts for tool in named]
    yield Finding("advice", f"Try: {words}.", {"tools": tools})


def _if_separable(evidence: dict[str, Any], certificate: Separable, scaler: str, form: AdviceForm) -> Advice:
    bound, first = certificate.mistake_bound.upper, None
    after = evidence.get("scaling", {}).get("after")
    if after is not None and after * MIN_SCALING_GAIN < bound:
        bound, first = after, scaler
    tools = [] if first is None else [first]
    if bound <= MAX_UPDATES_TO_WAIT:
        return f"{form.call('Perceptron', first)}, which stops after at most {update_count(bound)}", [*tools, "Perceptron"]
    return f"{form.call('MaxMargin', first)}, which solves for the widest margin directly", [*tools, "MaxMargin"]


def _if_not_separable(
    evidence: dict[str, Any], degrees: list[Any], scaler: str, form: AdviceForm, rest: AdviceForm
) -> Iterator[Advice]:
    if "duplicates" in evidence:
        yield "check the labels of the duplicates, or add a feature in which they differ", ["labels"]
    elif wrong := _suspicious_rows(evidence.get("errors", {})):
        rows = join_and([row + 1 for row in wrong], limit=5)
        yield f"check the {f'labels of rows {rows}' if len(wrong) > 1 else f'label of row {rows}'}", ["labels"]
    won = next((found for found in degrees if found["verdict"] == "separable"), None)
    if won is not None:
        if "duplicates" in evidence:
            learner = "SoftMargin"
        else:
            learner = "Perceptron" if won["bound"] <= MAX_UPDATES_TO_WAIT else "MaxMargin"
        first = "StandardScaler" if any(won["shifts"]) else "MaxAbsScaler"
        yield form.call(learner, first, won["degree"]), [first, "PolynomialFeatures", learner]
    uneven = bool({"scales", "offset"} & evidence.keys())
    before = scaler if uneven and won is None and form.train is None else None  # the command scales by default
    others = f"(or {form.learner('average')} or {form.learner('SoftMargin')})"
    tools = [*([scaler] if before else []), "pocket", "average", "SoftMargin"]
    yield f"{rest.call('pocket', before)} {others}, which do not need separable rows", tools


def _suspicious_rows(errors: dict[str, Any]) -> list[int]:
    """The rows that the best plane misclassifies, if they are few enough to be mislabeled."""
    wrong: list[int] = errors.get("wrong", [])
    return wrong if wrong and len(wrong) <= min(MAX_ROWS_TO_INSPECT, MAX_MISLABELED_SHARE * errors["of"]) else []
