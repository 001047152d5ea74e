"""`doctor`: why a perceptron does not converge, in findings that are proved or counted."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from ...array_types import Array, IntArray, Matrix, MatrixLike
from ...certificates.exact_arrays import canonical_label
from ...certificates.statements import About, Certificate, Inseparable, Pair, Separable
from ...certificates.time_limit import OutOfTimeError, check_time, run_until
from ...certificates.verify import check_certificate
from ...data.polynomials import count_monomials
from ...data.problem import make_problem
from ...reporting.text import count, plural
from ...validation import check_flag, check_number
from ..certify import LabeledRows, certify, validated_rows
from ..minimum_errors.clashes import LowerBoundProof
from ..minimum_errors.exact_signs import plane_with_errors
from ..minimum_errors.minimum_errors import MinimumErrors, minimum_errors
from . import verdicts
from .column_findings import column_scales, copies, identifiers_and_leaks
from .column_statistics import Columns, columns_of, standardized
from .duplicates import Deduplicated, Deduplication, Duplicates, find_duplicates
from .findings import (
    AdviceForm,
    ColumnNames,
    Diagnosis,
    Finding,
    advice,
    duplicate_rows,
    long_rows,
    update_count,
)
from .label_findings import class_imbalance, label_marks, label_spellings
from .polynomial_rows import MAX_COLUMNS, MAX_VALUES, affordable, expand, holds_unrounded, n_values

DEGREES = (2, 3)
MIN_BOUND_TO_SCALE = 1_000  # scaling is not examined if the bound on updates is smaller
MIN_STEP_S = 0.05  # no step is started with less time left
Result = TypeVar("Result")
Step = Literal["verdict", "without_duplicates", "scaling", "degree", "errors"]
# Shares of the time limit; a step gets less if less is left.
TIME_SHARES: dict[Step, float] = {"verdict": 0.4, "without_duplicates": 0.3, "scaling": 0.4, "degree": 0.4, "errors": 0.5}


def doctor(
    X: MatrixLike,
    y: npt.ArrayLike,
    *,
    fit_intercept: bool = True,
    time_limit: float | None = 30.0,
    feature_names: Sequence[str] | None = None,
) -> Diagnosis:
    """Find out why a perceptron does not converge on these rows, or converges slowly.

    Separability is proved, and so is whether features of degree 2 or 3 make the rows separable. Further findings are about
    duplicates with different labels, column scales, long rows, class sizes and the fewest errors of any plane.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        The rows.
    y : array-like of shape (n_rows,)
        Labels of two or more classes.
    fit_intercept : bool, default=True
        Whether planes have an intercept. If False, they go through the origin.
    time_limit : float or None, default=30.0
        Seconds for the whole examination. A finding states if there was no time for it. Reading the rows and single
        operations on matrices are not interrupted. None: no limit; the search for the fewest errors of any plane then
        continues until it is proved, possibly forever.
    feature_names : sequence of str or None, default=None
        Names of the columns. None: those of a data frame, otherwise numbers.

    Returns
    -------
    Diagnosis
        Print it for a report, or read its `findings`, each a sentence with its evidence.

    See Also
    --------
    rosenblatt.certify : The proof of separability alone.
    rosenblatt.minimum_errors : The fewest errors of any plane alone.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> found = rb.doctor([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> print(found)  # doctest: +ELLIPSIS
    4 rows, 2 columns, 2 classes: not separable.
    - No plane separates the classes (proved): the segment between rows 1 and 4 intersects the segment
      between rows 2 and 3, which have another label. A perceptron run ends only at a limit, such as
      max_iter; the weights stay bounded and may never reach w_max.
    ...
    >>> found.of("degree")[0].evidence["verdict"]
    'separable'
    """
    return diagnose(X, y, fit_intercept=fit_intercept, time_limit=time_limit, feature_names=feature_names)


def diagnose(
    X: MatrixLike,
    y: npt.ArrayLike,
    *,
    fit_intercept: bool = True,
    time_limit: float | None,
    feature_names: Sequence[str] | None,
    train: str | None = None,
    columns: Mapping[str | int, Array] | None = None,
    dates: Collection[str] = (),
) -> Diagnosis:
    """The diagnosis of `doctor`. `train` is the beginning of a command that the advice completes; None: advice in Python.

    `columns` are the cells of a file before they became features; `dates` those that are times, which ascend by nature.
    """
    started = time.monotonic()
    check_flag("fit_intercept", fit_intercept)
    seconds = math.inf if time_limit is None else check_number("time_limit", time_limit)
    names = _feature_names(X, feature_names)
    given = validated_rows(X, y, "doctor")
    if names is not None and len(names) != given.X.shape[1]:
        raise ValueError(f"feature_names must name the {given.X.shape[1]} columns of X, got {len(names)} names")
    cells: dict[str | int, Array] = {}
    if columns is not None:
        cells.update(columns)
    elif isinstance(given.X, np.ndarray):
        cells.update((c if names is None else names[c], given.X[:, c]) for c in range(given.X.shape[1]))
    return _Examination(given, bool(fit_intercept), names, AdviceForm(train), started, seconds, cells, dates).diagnosis()


def _feature_names(X: MatrixLike, feature_names: Sequence[str] | None) -> list[str] | None:
    if feature_names is None:
        return [str(name) for name in X.columns] if hasattr(X, "columns") else None
    if isinstance(feature_names, str) or not hasattr(feature_names, "__iter__"):
        raise TypeError(f"feature_names must be a list of names, got {feature_names!r}")
    return [str(name) for name in feature_names]


@dataclass(frozen=True)
class _Selection:
    """Some of the rows, their positions among all rows, and the words for them in a sentence."""

    given: LabeledRows
    positions: IntArray
    words: str


class _Examination:
    """The examination of one set of rows: the findings so far, and the time left."""

    def __init__(
        self,
        given: LabeledRows,
        intercept: bool,
        names: list[str] | None,
        form: AdviceForm,
        started: float,
        seconds: float,
        columns: Mapping[str | int, Array],
        dates: Collection[str],
    ) -> None:
        self.columns, self.dates = columns, dates
        self.given, self.intercept = given, intercept
        self.names = ColumnNames(names, [key for key in columns if isinstance(key, str)] if columns else None)
        self.classes, self.form = given.classes.tolist(), form
        self.started, self.seconds, self.deadline = started, seconds, started + seconds
        self.findings: list[Finding] = []

    def time_left(self, step: Step) -> float:
        return min(TIME_SHARES[step] * self.seconds, self.deadline - time.monotonic())

    def certify(self, X: Matrix, y: Array, step: Step) -> Certificate | None:
        """The certificate of some rows; None if there is no time."""
        left = self.time_left(step)
        return None if left < MIN_STEP_S else certify(X, y, fit_intercept=self.intercept, time_limit=_limit(left))

    def diagnosis(self) -> Diagnosis:
        given, findings = self.given, self.findings
        duplicates = self._in_time(lambda: find_duplicates(given.X, given.codes))
        if duplicates is None:
            duplicates = Duplicates([], [])
            findings.append(verdicts.no_time("duplicates", "to look for equal rows with different labels"))
        certificate = self._duplicate_clash(duplicates.groups[0]) if duplicates.groups else self._certificate()
        findings.insert(0, verdicts.verdict(certificate, self.classes, self.form))
        rest, separately = self._without_duplicates(duplicates) if duplicates.groups else (None, [])
        if rest is not None:
            duplicates = replace(duplicates, outvoted=rest.left_out)  # with ties broken as in `rest`
        findings += duplicate_rows(duplicates, given)
        findings += separately
        findings += self._about_columns(certificate)
        findings += label_spellings(self.classes)
        findings += label_marks(self.classes, np.bincount(given.codes))
        findings += class_imbalance(given, isinstance(certificate, Separable), self.form)
        if not isinstance(certificate, Separable):
            # Proofs about degrees often end early, the search for the fewest errors rarely does, so it gets the remaining time.
            selection = self._expandable_rows(duplicates, rest)
            degrees = [] if selection is None else [*self._degrees(selection)]
            findings += self._errors(certificate, duplicates, rest)
            findings += degrees
        findings += advice(findings, certificate, self.intercept and given.dense, self.form, self._form_of_the_rest(findings))
        return Diagnosis(findings, certificate, time.monotonic() - self.started)

    def _in_time(self, step: Callable[[], Result]) -> Result | None:
        """The result of a step; None if the time is up before its end."""
        with contextlib.suppress(OutOfTimeError), run_until(self.deadline):
            check_time()
            return step()
        return None

    # --- the verdict -------------------------------------------------------------------------------------------------------

    def _certificate(self) -> Certificate:
        limit = _limit(max(MIN_STEP_S, self.time_left("verdict")))
        return certify(self.given.X, self.given.y, fit_intercept=self.intercept, time_limit=limit)

    def _duplicate_clash(self, group: list[int]) -> Certificate:
        """The certificate from two equal rows with different labels, which needs no search."""
        given, codes = self.given, self.given.codes
        i, j = group[0], next(row for row in group if codes[row] != codes[group[0]])
        names = tuple(canonical_label(label) for label in self.classes)
        about = About(given.X.shape[0], given.X.shape[1], names, given.data.sha256, self.intercept)
        half = Fraction(1, 2)
        certificate = Inseparable(about, (Pair(i, int(codes[j]), half), Pair(j, int(codes[i]), half)))
        if not (check := check_certificate(certificate, lambda: given.data)):
            raise AssertionError(f"doctor found an incorrect proof; please report this error: {check}")
        return certificate

    # --- rows without duplicates -------------------------------------------------------------------------------------------

    def _without_duplicates(self, duplicates: Duplicates) -> tuple[Deduplicated | None, list[Finding]]:
        """The rows with one label per point, and the finding about them."""
        if self.given.X.size > MAX_VALUES:  # it would be copied
            return None, []
        try:
            certify = partial(self.certify, step="without_duplicates")
            found = Deduplication(self.given, duplicates, certify, self.deadline).result()
        except OutOfTimeError:
            return None, [verdicts.no_time("without_duplicates", "to examine the rows with one label per point")]
        return found, [] if found is None else [verdicts.without_duplicates(found, self.classes)]

    def _expandable_rows(self, duplicates: Duplicates, rest: Deduplicated | None) -> _Selection | None:
        """The rows that features of higher degree might separate, if any.

        If there are ties, these are the rows without ties. If they are not separable, no way to break the ties makes all rows
        separable.
        """
        given = self.given
        if not duplicates.groups:
            return _Selection(given, np.arange(len(given.codes)), "the rows")
        if rest is None or rest.separable:
            return None
        ties = len(rest.untied) < len(rest.kept) and len(np.unique(given.codes[rest.untied])) == given.n_classes
        rows = rest.untied if ties else rest.kept
        words = f"the {plural(len(rows), 'row')} without ties" if ties else f"the other {plural(len(rows), 'row')}"
        return _Selection(validated_rows(given.X[rows], given.y[rows], "doctor"), rows, words)

    # --- columns -----------------------------------------------------------------------------------------------------------

    def _form_of_the_rest(self, findings: list[Finding]) -> AdviceForm:
        """The form of advice that excludes the columns that identify the rows, unless all do."""
        keys = [key for finding in findings if finding.kind == "identifiers" for key in finding.evidence["columns"]]
        if self.form.train is None or not 0 < len(keys) < len(self.columns):
            return self.form
        return AdviceForm(f"{self.form.train} {self.form.exclusion(keys)}")

    def _about_columns(self, certificate: Certificate) -> Iterator[Finding]:
        columns = self._in_time(lambda: columns_of(self.given.X))
        if columns is None:
            yield verdicts.no_time("scales", "to compare the scales of the columns and the lengths of the rows")
            return
        possible = not isinstance(certificate, Inseparable)
        cells = {key: cells for key, cells in self.columns.items() if key not in self.dates}
        found = self._in_time(lambda: [*identifiers_and_leaks(cells, self.given.codes, self.form)]) or []
        excluded = {key for finding in found if finding.kind == "identifiers" for key in finding.evidence["columns"]}
        yield from found
        dates = {key: cells for key, cells in self.columns.items() if key in self.dates}
        yield from self._in_time(lambda: [*copies(dates, self.given.codes, self.form)]) or []
        yield from column_scales(columns, self.names, self.intercept, possible, self.form, excluded)
        yield from self._in_time(lambda: [*long_rows(self.given, certificate)]) or []
        if isinstance(certificate, Separable):
            yield from self._scaling(certificate, columns)

    def _scaling(self, certificate: Separable, columns: Columns) -> Iterator[Finding]:
        """The bound on updates before and after scaling each column, if scaling could matter."""
        before = certificate.mistake_bound.upper
        if before < MIN_BOUND_TO_SCALE and not {"scales", "offset"} & {finding.kind for finding in self.findings}:
            return
        centered = self.intercept and self.given.dense
        target = "to mean 0 and standard deviation 1" if centered else "to at most 1"
        evidence: dict[str, Any] = {"before": before, "centered": centered, "after": None}
        small = self.given.X.size <= MAX_VALUES
        scaled = self._in_time(lambda: standardized(self.given.X, columns, centered)) if small else None
        after = None if scaled is None else self.certify(scaled, self.given.y, "scaling")
        if not isinstance(after, Separable):
            subject = self.form.parameter("X has", "there are")
            why = "there was no time for the proof" if small else f"{subject} more than {count(MAX_VALUES)} values"
            yield Finding("scaling", f"The effect of scaling each column {target} was not determined: {why}.", evidence)
            return
        bound = after.mistake_bound.upper
        evidence |= {"after": bound, "margin": after.geometric.lower, "certificate": after}
        if bound < before:
            change = f"reduces the bound from {update_count(before)} to {update_count(bound)}"
        else:
            change = f"does not help: the bound changes from {update_count(before)} to {update_count(bound)}"
        yield Finding("scaling", f"Scaling each column {target} {change} (proved on the scaled rows).", evidence)

    # --- the fewest errors -------------------------------------------------------------------------------------------------

    def _errors(self, certificate: Certificate, duplicates: Duplicates, rest: Deduplicated | None) -> Iterator[Finding]:
        if (least := self._forced_errors(rest)) is not None:
            yield least
            return
        given, positions, between, forced = self.given, None, "", len(duplicates.outvoted)
        rivals = certificate.rivals if isinstance(certificate, Inseparable) else []
        if given.n_classes > 2 and len(rivals) != 2:
            return
        left = self.time_left("errors")
        if given.X.shape[1] > MAX_COLUMNS or given.X.size > MAX_VALUES:
            subject = self.form.parameter("X has", "there are")
            reason = f"{subject} more than {count(MAX_COLUMNS)} columns or {count(MAX_VALUES)} values"
            yield Finding("errors", f"The fewest errors of any plane were not computed: {reason}.", {"errors": None})
            return
        if given.n_classes > 2:
            positions = np.flatnonzero(np.isin(given.codes, rivals))
            between, forced = f" between classes {self.classes[rivals[0]]!r} and {self.classes[rivals[1]]!r}", 0
            given = validated_rows(given.X[positions], given.y[positions], "doctor")
        if left < MIN_STEP_S:
            yield Finding("errors", "There was no time to compute the fewest errors of any plane.", {"errors": None})
        else:
            found = minimum_errors(given.X, given.y, fit_intercept=self.intercept, time_limit=_limit(left))
            yield verdicts.errors(found, max(int(found.lower), forced), len(given.codes), between, positions)

    def _forced_errors(self, rest: Deduplicated | None) -> Finding | None:
        """The errors that duplicates force, if a plane for the other rows makes no more."""
        if rest is None or self.given.n_classes > 2 or not isinstance(rest.certificate, Separable):
            return None
        problem = make_problem(self.given.X, self.given.codes, 2, x0=float(self.intercept))
        plane = plane_with_errors(problem, np.array(rest.certificate.coef[0]), rest.certificate.intercept[0])
        if plane.wrong.tolist() != rest.left_out:  # the plane is not exact in floats
            return None
        forced, how = plane.errors, "duplicates force these errors, and the plane classifies all other rows correctly"
        kind = LowerBoundProof.DUPLICATES
        found = MinimumErrors(forced, forced, True, plane.coef, plane.bias, plane.wrong, True, how, [], 0.0, kind)
        return verdicts.errors(found, forced, problem.n_rows, "", None, by_duplicates=True)

    # --- features of higher degree -----------------------------------------------------------------------------------------

    def _degrees(self, selection: _Selection) -> Iterator[Finding]:
        X, d = selection.given.X, selection.given.X.shape[1]
        for k in DEGREES:
            if not affordable(X, k):
                yield _not_tried(X, k, count_monomials(d, k))
                return
            in_time = self.time_left("degree") > MIN_STEP_S
            expanded = self._in_time(partial(expand, X, columns_of(X), k, self.intercept)) if in_time else None
            certificate = None if expanded is None else self.certify(expanded.X, selection.given.y, "degree")
            exact = expanded is not None and (
                expanded.exact or (isinstance(certificate, Separable) and holds_unrounded(expanded.X, certificate.geometric, k))
            )
            yield verdicts.degree(certificate, k, exact, expanded, d, selection.words, selection.positions)
            if not isinstance(certificate, Inseparable):
                return


def _limit(seconds: float) -> float | None:
    return None if seconds == math.inf else seconds


def _not_tried(X: Matrix, k: int, width: int) -> Finding:
    what, size, most = ("columns", width, MAX_COLUMNS) if width > MAX_COLUMNS else ("values", n_values(X, k), MAX_VALUES)
    sentence = f"Features of degree {k} were not tried: they have {count(size)} {what}, and the limit is {count(most)}."
    return Finding("degree", sentence, {"degree": k, "columns": width, "verdict": None, what: size, "most": most})
