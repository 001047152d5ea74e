"""Findings from proofs: the verdict, the rows without duplicates, the fewest errors, features of higher degree."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array_types import IntArray
from ...certificates.sentences import describe_ceilings, describe_clash
from ...certificates.statements import Certificate, Inseparable, Separable
from ...data.polynomials import count_monomials
from ...reporting.text import count, join_and, plural, short
from ..minimum_errors.minimum_errors import MinimumErrors
from .duplicates import Deduplicated
from .findings import AdviceForm, Finding, FindingKind, update_count
from .polynomial_rows import PolynomialRows

LONG_RUN_UPDATES = 10_000  # a run of this length may look as if it did not end
MAX_ERRORS_LISTED = 5


def clash_clause(proof: Inseparable, classes: list[Any], positions: IntArray | None = None) -> tuple[str, list[int]]:
    """The clash as a reason, and its rows; `positions` are those of the rows of the proof among all rows."""
    if positions is not None:
        pairs = (pair._replace(row=int(positions[pair.row])) for pair in proof.clash)
        proof = Inseparable(proof.about, tuple(pairs))
    names = [repr(classes[c]) for c in proof.rivals] if len(classes) > 2 else []
    return describe_clash(proof, class_names=names, reason=True), proof.rows


def verdict(certificate: Certificate, classes: list[Any], form: AdviceForm) -> Finding:
    """Whether planes separate the classes."""
    evidence: dict[str, Any] = {"verdict": certificate.verdict, "certificate": certificate}
    about = certificate.about
    through = "" if about.intercept else " through the origin"
    if isinstance(certificate, Inseparable):
        words, rows = clash_clause(certificate, classes)
        start = f"No plane{through} separates" if about.n_planes == 1 else f"No {about.n_planes} planes{through} separate"
        limit, norm = form.parameter("max_iter", "--max-iter"), form.parameter("w_max", "--w-max")
        endless = (
            f"A perceptron run ends only at a limit, such as {limit}; the weights stay bounded and may never reach {norm}."
        )
        sentence = f"{start} the classes (proved): {words}. {endless}"
        evidence |= {"rows": rows, "weights": [str(weight) for weight in certificate.weights]}
    elif isinstance(certificate, Separable):
        bound, spaces = certificate.mistake_bound, {"margin": certificate.geometric, "augmented_margin": certificate.augmented}
        evidence |= {name: [space.lower, space.upper] for name, space in spaces.items()}
        evidence |= {"radius": certificate.radius, "bound": list(bound), "easy": _is_easy(certificate)}
        start = f"A plane{through} separates" if about.n_planes == 1 else f"{about.n_planes} planes{through} separate"
        width, other = short(certificate.geometric.lower), short(certificate.augmented.lower)
        counted = f" ({other} if the intercept counts as a weight)" if other != width else ""
        sentence = (
            f"{start} the classes (proved). The widest margin is {width}{counted} and the longest row "
            f"R = {short(certificate.radius)}, so a perceptron that starts from zero makes at most R^2/gamma^2 = "
            f"{update_count(bound.upper)}."
        )
        sentence += " It may be slow, but it is not stuck." if bound.upper >= LONG_RUN_UPDATES else ""
        sentence += _cover_note(certificate) if evidence["easy"] else ""
    else:
        ceilings = {"geometric": certificate.geometric, "augmented": certificate.augmented}
        evidence |= {f"{name}_margin_at_most": space.upper for name, space in ceilings.items()}
        planes = f"a plane{through}" if about.n_planes == 1 else f"{about.n_planes} planes{through}"
        sentence = f"Whether {planes} can separate the classes was not decided within the time limit. Proved so far: "
        sentence += f"{describe_ceilings(certificate)}."
    return Finding("verdict", sentence, evidence)


def _is_easy(certificate: Separable) -> bool:
    """Whether more than half of all labelings of this many rows in general position are separable (Cover 1965)."""
    about = certificate.about
    return about.n_planes == 1 and about.n_rows < 2 * (about.n_columns + about.intercept)


def _cover_note(certificate: Separable) -> str:
    about = certificate.about
    columns, rows = plural(about.n_columns, "column separates", "columns separate"), plural(about.n_rows, "row")
    return f" However, {columns} {rows} for most labelings, right or wrong (Cover 1965): test on other rows."


def without_duplicates(deduplicated: Deduplicated, classes: list[Any]) -> Finding:
    """Whether the rows are separable once every point has one label."""
    certificate, n, left_out = deduplicated.certificate, len(deduplicated.kept), deduplicated.left_out
    removed = f"({plural(len(left_out), 'row')} removed: {join_and([row + 1 for row in left_out], limit=5)})"
    start = f"With one label per point {removed}, the other {plural(n, 'row')}"
    evidence: dict[str, Any] = {
        "rows": n,
        "left_out": left_out,
        "certificate": certificate,
        "holds_for": deduplicated.holds_for,
    }
    evidence["verdict"] = None if certificate is None else certificate.verdict
    if isinstance(certificate, Separable):
        evidence["margin"] = certificate.geometric.lower
        sentence = f"{start} are separable (proved), with margin {short(certificate.geometric.lower)}."
    elif isinstance(certificate, Inseparable):
        words, evidence["clash"] = clash_clause(certificate, classes, deduplicated.proved)
        if deduplicated.holds_for == "any":
            sentence = f"{start} are not separable either, whichever labels are kept (proved): {words}."
        elif deduplicated.holds_for == "majority":
            majority = f"With the most frequent label of each point {removed}, the other {plural(n, 'row')}"
            sentence = f"{majority} are not separable either (proved): {words}."
        else:
            sentence = f"{start} are not separable either (proved): {words}. Not all ways to break ties were tried."
    else:
        sentence = f"{start} may be separable or not: there was no time to decide."
    return Finding("without_duplicates", sentence, evidence)


def no_time(kind: FindingKind, task: str) -> Finding:
    """That there was no time to look for findings of a kind."""
    return Finding("no_time", f"There was no time {task}.", {"kind": kind})


def degree(
    certificate: Certificate | None,
    k: int,
    exact: bool,
    expanded: PolynomialRows | None,
    d: int,
    rows: str,
    positions: IntArray,
) -> Finding:
    """Whether features of degree k separate; `exact`: whether the proof holds for the unrounded products too."""
    width = count_monomials(d, k)
    evidence: dict[str, Any] = {"degree": k, "columns": width, "instead_of": d, "certificate": certificate}
    evidence["verdict"] = None if certificate is None else certificate.verdict
    features = f"Features of degree {k} ({count(width)} instead of {plural(d, 'column')})"
    proved = "proved" if exact else "proved for products rounded to floats"
    if expanded is None or not isinstance(certificate, Separable | Inseparable):
        return Finding("degree", f"{features} may separate {rows} or not: there was no time to decide.", evidence)
    evidence |= {"exact": exact, "shifts": expanded.shifts.tolist(), "exponents": expanded.exponents.tolist()}
    evidence["product_exponents"] = expanded.product_exponents.tolist()
    if isinstance(certificate, Inseparable):
        evidence["clash"] = positions[certificate.rows].tolist()
        return Finding("degree", f"{features} do not separate {rows} ({proved}).", evidence)
    margin, bound = certificate.geometric.lower, certificate.mistake_bound.upper
    evidence |= {"margin": margin, "bound": bound, "easy": _is_easy(certificate)}
    centered = "centered columns, and " if expanded.shifts.any() else ""
    sentence = (
        f"{features} separate {rows} ({proved}). With {centered}columns and products scaled to at most 1 by powers of two, the "
        f"margin is {short(margin)} and a perceptron makes at most {update_count(bound)}."
    )
    return Finding("degree", sentence + (_cover_note(certificate) if evidence["easy"] else ""), evidence)


def errors(
    result: MinimumErrors, lower: int, n: int, between: str, positions: IntArray | None, by_duplicates: bool = False
) -> Finding:
    """The fewest errors of any plane, with a lower bound that may come from duplicates."""
    fewest, wrong = int(result.errors), np.asarray(result.wrong, np.intp)
    wrong = (wrong if positions is None else positions[wrong]).tolist()
    if by_duplicates or lower > result.lower:
        proof = "proved by the duplicates"
    else:
        proof = "proved" if result.exact else "bound of HiGHS, computed in floats"
    start = f"{between} misclassifies {count(fewest)} of {plural(n, 'row')}"
    if fewest == 0:
        sentence = f"A plane{between} classifies all {plural(n, 'row')} correctly; there was no time to certify its margin."
    elif fewest <= lower:
        sentence = f"The best plane{start}; no plane misclassifies fewer ({proof})."
    elif lower:
        sentence = f"The best plane found{start}; every plane misclassifies at least {count(lower)} ({proof})."
    else:
        sentence = f"The best plane found{start}; no lower bound is known."
    if 0 < fewest <= MAX_ERRORS_LISTED:
        sentence += f" Misclassified: {'row' if fewest == 1 else 'rows'} {join_and([row + 1 for row in wrong], limit=5)}."
    evidence = {"errors": fewest, "lower": lower, "optimal": fewest <= lower, "of": n, "wrong": wrong, "how": str(result.how)}
    evidence |= {"coef": np.asarray(result.coef).ravel().tolist(), "intercept": float(np.asarray(result.intercept).ravel()[0])}
    return Finding("errors", sentence, evidence)
