"""`doctor`: why a perceptron did not converge, in sentences that are proved or counted."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ...certificates.data import label_text
from ...certificates.statements import About, Certificate, Inseparable, Pair, Separable
from ...certificates.verify import verify
from ...data.polynomials import count_monomials
from ...data.problem import make_problem
from ...validation import flag, number
from ..certify import certify
from ..inputs import Labelled, labelled
from ..minimum_errors.exact_signs import plane_of
from ..minimum_errors.minimum_errors import MinimumErrors, minimum_errors
from . import verdicts
from .columns import Columns, columns_of, standardised
from .duplicates import Duplicates, OneLabel, Rest, duplicates
from .findings import Diagnosis, Finding, advice, imbalance, long_rows, many, repeated, scales, updates
from .polynomials import MOST_COLUMNS, MOST_VALUES, affordable, expanded, holds, n_values

DEGREES = (2, 3)
WORTH = 1_000  # updates from which on it is worth a look whether scaling saves some
LEAST = 0.05  # seconds: with less than that nothing is begun
SHARES = {"verdict": 0.4, "rest": 0.3, "scaling": 0.4, "degree": 0.4, "errors": 0.5}  # of all time, if so much is left


def doctor(
    X: Any, y: Any, *, fit_intercept: bool = True, time_limit: float | None = 30.0, feature_names: Sequence[str] | None = None
) -> Diagnosis:
    """Find out why a perceptron does not converge on these rows, or is slow to.

    X : array, data frame or sparse matrix of shape (rows, features).
    y : labels of two or more classes.
    fit_intercept : False: planes go through the origin.
    time_limit : seconds for all of it; a step that is under way may take longer. What there was no time for says so.
        None: no limit; the search for the fewest errors of any plane then goes on until it is proved, which may be never.
    feature_names : what to call the columns; a data frame brings its own names.

    Returns a `Diagnosis`: print it for a report, or read its `findings`, each a sentence with its evidence. Whether planes
    separate the classes is proved, and so is whether features of degree 2 or 3 would.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> found = rb.doctor([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    >>> print(found)  # doctest: +ELLIPSIS
    4 rows, 2 columns, 2 classes: not separable.
    - No plane separates the classes, proved: these 4 rows cannot be separated: the segment between rows
      0 and 3 meets that between rows 1 and 2.
    ...
    >>> found.of("degree")[0].evidence["verdict"]
    'separable'
    """
    flag("fit_intercept", fit_intercept)
    seconds = math.inf if time_limit is None else number("time_limit", time_limit)
    names = _names(X, feature_names)
    given = labelled(X, y, "doctor")
    if names is not None and len(names) != given.X.shape[1]:
        raise ValueError(f"feature_names must name the {given.X.shape[1]} columns of X, got {len(names)} names")
    return _Visit(given, bool(fit_intercept), names, seconds).diagnosis()


def _names(X: Any, feature_names: Any) -> list[str] | None:
    if feature_names is None:
        return [str(name) for name in X.columns] if hasattr(X, "columns") else None
    if isinstance(feature_names, str) or not hasattr(feature_names, "__iter__"):
        raise TypeError(f"feature_names must be a list of names, got {feature_names!r}")
    return [str(name) for name in feature_names]


@dataclass(frozen=True)
class _Case:
    """Rows to speak of, where they are among all rows, and how to call them."""

    given: Labelled
    positions: Any
    words: str


class _Visit:
    """One set of rows, what has been found of it so far, and the clock."""

    def __init__(self, given: Labelled, intercept: bool, names: list[str] | None, seconds: float) -> None:
        self.given, self.intercept = given, intercept
        self.classes = given.classes.tolist()
        self.name: Callable[[int], str] = (lambda c: f"column {c}") if names is None else (lambda c: f"column {names[c]!r}")
        self.begun, self.seconds = time.monotonic(), seconds
        self.findings: list[Finding] = []

    def left(self, part: str) -> float:
        return min(SHARES[part] * self.seconds, self.begun + self.seconds - time.monotonic())

    def certify(self, X: Any, y: Any, part: str) -> Certificate | None:
        left = self.left(part)
        return None if left < LEAST else certify(X, y, self.intercept, time_limit=_limit(left))

    def diagnosis(self) -> Diagnosis:
        given, findings = self.given, self.findings
        twins = duplicates(given.X, given.codes)
        certificate = self._clash(twins.groups[0]) if twins.groups else self._decided()
        findings.append(verdicts.verdict(certificate, self.classes))
        rest = self._rest(twins) if twins.groups else None
        if rest is not None:
            twins = replace(twins, outvoted=rest.left_out)  # ties as the planes break them
        findings += repeated(twins, given)
        findings += [] if rest is None else [verdicts.rest(rest, self.classes)]
        columns = columns_of(given.X)
        findings += scales(columns, self.name, self.intercept, not isinstance(certificate, Inseparable))
        findings += long_rows(given, certificate)
        if isinstance(certificate, Separable):
            findings += self._scaled(certificate, columns)
        findings += imbalance(given, isinstance(certificate, Separable))
        if not isinstance(certificate, Separable):
            # Proofs about degrees often end early, the search for the fewest errors seldom does: it has what they leave.
            case = self._case(twins, rest)
            degrees = [] if case is None else list(self._degrees(case))
            findings += self._errors(certificate, twins, rest)
            findings += degrees
        findings += advice(findings, certificate, self.intercept and given.dense)
        return Diagnosis(findings, certificate, time.monotonic() - self.begun)

    # --- the verdict -------------------------------------------------------------------------------------------------------

    def _decided(self) -> Certificate:
        return certify(self.given.X, self.given.y, self.intercept, time_limit=_limit(max(LEAST, self.left("verdict"))))

    def _clash(self, group: list[int]) -> Certificate:
        """Two rows that are the same point are a proof that needs no search."""
        given, codes = self.given, self.given.codes
        i, j = group[0], next(row for row in group if codes[row] != codes[group[0]])
        names = tuple(label_text(label) for label in self.classes)
        about = About(given.X.shape[0], given.X.shape[1], names, given.data.sha256(), self.intercept)
        half = Fraction(1, 2)
        certificate = Inseparable(about, (Pair(i, int(codes[j]), half), Pair(j, int(codes[i]), half)))
        if not (check := verify(certificate, given.X, given.y)):
            raise AssertionError(f"a proof of ours is wrong, please report it: {check}")
        return certificate

    # --- what is left without duplicates -----------------------------------------------------------------------------------

    def _rest(self, twins: Duplicates) -> Rest | None:
        if self.given.X.size > MOST_VALUES:  # it would be a copy
            return None
        return OneLabel(self.given, twins, lambda X, y: self.certify(X, y, "rest")).rest()

    def _case(self, twins: Duplicates, rest: Rest | None) -> _Case | None:
        """The rows that features of higher degree could separate, if any: with ties, those that are none, as what is not
        possible for them is so however ties are broken."""
        given = self.given
        if not twins.groups:
            return _Case(given, np.arange(len(given.codes)), "the rows")
        if rest is None or rest.separable:
            return None
        ties = len(rest.sure) < len(rest.kept) and len(np.unique(given.codes[rest.sure])) == given.n_classes
        rows = rest.sure if ties else rest.kept
        words = f"the {many(len(rows), 'row')} left without ties" if ties else f"the other {many(len(rows), 'row')}"
        return _Case(labelled(given.X[rows], given.y[rows], "doctor"), rows, words)

    # --- scaling -----------------------------------------------------------------------------------------------------------

    def _scaled(self, certificate: Separable, columns: Columns) -> Iterator[Finding]:
        """The bound on updates before and after each column is scaled, where it could matter."""
        before = certificate.mistake_bound.upper
        if before < WORTH and not {"scales", "offset"} & {finding.kind for finding in self.findings}:
            return
        centred = self.intercept and self.given.dense
        way = "to mean 0 and spread 1" if centred else "to at most 1"
        evidence: dict[str, Any] = {"before": before, "centred": centred, "after": None}
        small = self.given.X.size <= MOST_VALUES
        after = self.certify(standardised(self.given.X, columns, centred), self.given.y, "scaling") if small else None
        if not isinstance(after, Separable):
            why = "there was no time to prove it" if small else f"with over {MOST_VALUES:,} values it was not tried"
            yield Finding("scaling", f"What scaling each column {way} would change is not known: {why}.", evidence)
            return
        bound = after.mistake_bound.upper
        evidence |= {"after": bound, "margin": after.geometric.lower, "certificate": after}
        if bound < before:
            change = f"brings the bound from {updates(before)} down to {updates(bound)}"
        else:
            change = f"would not help: the bound would go from {updates(before)} to {updates(bound)}"
        yield Finding("scaling", f"Scaling each column {way} {change}, proved on the scaled rows.", evidence)

    # --- the fewest errors -------------------------------------------------------------------------------------------------

    def _errors(self, certificate: Certificate, twins: Duplicates, rest: Rest | None) -> Iterator[Finding]:
        if (least := self._forced(rest)) is not None:
            yield least
            return
        given, positions, between, forced = self.given, None, "", len(twins.outvoted)
        rivals = sorted({pair.rival for pair in certificate.clash}) if isinstance(certificate, Inseparable) else []
        if given.n_classes > 2 and len(rivals) != 2:
            return
        left = self.left("errors")
        if given.X.shape[1] > MOST_COLUMNS or given.X.size > MOST_VALUES:
            words = f"The fewest errors of any plane were not looked for: there are over {MOST_COLUMNS:,} columns or "
            yield Finding("errors", f"{words}{MOST_VALUES:,} values.", {"errors": None})
            return
        if given.n_classes > 2:
            positions = np.flatnonzero(np.isin(given.codes, rivals))
            between, forced = f" between classes {self.classes[rivals[0]]!r} and {self.classes[rivals[1]]!r}", 0
            given = labelled(given.X[positions], given.y[positions], "doctor")
        if left < LEAST:
            yield Finding("errors", "There was no time to look for the fewest errors of any plane.", {"errors": None})
        else:
            found = minimum_errors(given.X, given.y, fit_intercept=self.intercept, time_limit=_limit(left))
            yield verdicts.errors(found, max(int(found.lower), forced), len(given.codes), between, positions)

    def _forced(self, rest: Rest | None) -> Finding | None:
        """Duplicates force as many errors as rows are left out, and a plane for the rest makes no others."""
        if rest is None or self.given.n_classes > 2 or not isinstance(rest.certificate, Separable):
            return None
        problem = make_problem(self.given.X, self.given.codes, 2, x0=float(self.intercept))
        plane = plane_of(problem, np.array(rest.certificate.coef[0]), rest.certificate.intercept[0])
        if plane.wrong.tolist() != rest.left_out:  # floats do not hold the plane
            return None
        forced, how = plane.errors, "duplicates force so many errors, and the plane gets all other rows right"
        found = MinimumErrors(forced, forced, True, plane.coef, plane.bias, plane.wrong, True, how, [], 0.0)
        return verdicts.errors(found, forced, problem.n_rows, "", None, by_duplicates=True)

    # --- features of higher degree -----------------------------------------------------------------------------------------

    def _degrees(self, case: _Case) -> Iterator[Finding]:
        X, d = case.given.X, case.given.X.shape[1]
        columns = columns_of(X)
        for k in DEGREES:
            width = count_monomials(d, k)
            if not affordable(X, k):
                yield _not_tried(X, k, width)
                return
            wide = expanded(X, columns, k, self.intercept) if self.left("degree") > LEAST else None
            certificate = None if wide is None else self.certify(wide.X, case.given.y, "degree")
            exact = wide is not None and (
                wide.exact or (isinstance(certificate, Separable) and holds(wide.X, certificate.geometric, k))
            )
            yield verdicts.degree(certificate, k, exact, wide, d, case.words, case.positions)
            if not isinstance(certificate, Inseparable):
                return


def _limit(seconds: float) -> float | None:
    return None if seconds == math.inf else seconds


def _not_tried(X: Any, k: int, width: int) -> Finding:
    many_columns = width > MOST_COLUMNS
    size, most = (width, MOST_COLUMNS) if many_columns else (n_values(X, k), MOST_VALUES)
    what = "columns" if many_columns else "values"
    words = f"Features of degree {k} were not tried: they would be {size:,} {what}, and {most:,} are the most that are tried."
    return Finding("degree", words, {"degree": k, "columns": width, "verdict": None, what: size, "most": most})
