"""The verdict, what is left without duplicates, the fewest errors and the degrees, each as a finding."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...certificates.statements import Certificate, Inseparable, Separable, clash_in_words
from ...data.polynomials import count_monomials
from .duplicates import Rest
from .findings import Finding, many, short, some, updates
from .polynomials import Expanded

SLOW = 10_000  # updates that a person would not wait for without being told


def clash(proof: Inseparable, classes: list[Any], positions: Any = None) -> tuple[str, list[int]]:
    """The clash in words, and its rows; `positions`: where the rows of the proof are among all rows."""
    if positions is not None:
        pairs = (pair._replace(row=int(positions[pair.row])) for pair in proof.clash)
        proof = Inseparable(proof.about, tuple(pairs))
    words, rivals = clash_in_words(proof).removesuffix(", ..."), sorted({pair.rival for pair in proof.clash})
    between = f" of classes {some([repr(classes[c]) for c in rivals])}" if len(classes) > 2 else ""
    more = f" and {len(proof.rows) - 12:,} more" if len(proof.rows) > 12 else ""
    return words.replace(" rows cannot", f" rows{between} cannot", 1) + more, proof.rows


def verdict(certificate: Certificate, classes: list[Any]) -> Finding:
    evidence: dict[str, Any] = {"verdict": certificate.verdict, "certificate": certificate}
    about = certificate.about
    through = "" if about.intercept else " through the origin"
    planes = f"plane{through}" if about.n_planes == 1 else f"{about.n_planes} planes{through}"
    if isinstance(certificate, Inseparable):
        words, rows = clash(certificate, classes)
        sentence = f"No {planes} {'separates' if about.n_planes == 1 else 'separate'} the classes, proved: {words}."
        evidence |= {"rows": rows, "weights": [str(weight) for weight in certificate.weights]}
    elif isinstance(certificate, Separable):
        bound, spaces = certificate.mistake_bound, {"margin": certificate.geometric, "augmented_margin": certificate.augmented}
        evidence |= {name: [space.lower, space.upper] for name, space in spaces.items()}
        evidence |= {"radius": certificate.radius, "bound": list(bound), "easy": _easy(certificate)}
        start = f"A {planes} separates" if about.n_planes == 1 else f"{planes} separate"
        width, other = short(certificate.geometric.lower), short(certificate.augmented.lower)
        counted = f" ({other} where the intercept counts as a weight)" if other != width else ""
        sentence = (
            f"{start} the classes, proved row by row. The widest margin is {width}{counted}, the "
            f"longest row R = {short(certificate.radius)}: a perceptron from zero makes at most R^2/gamma^2 = "
            f"{updates(bound.upper)}, then stops."
        )
        sentence += " So it may be slow, but it is not stuck." if bound.upper >= SLOW else ""
        sentence += _cover(certificate) if evidence["easy"] else ""
    else:
        ceilings = {"geometric": certificate.geometric, "augmented": certificate.augmented}
        evidence |= {f"{name}_margin_at_most": space.upper for name, space in ceilings.items() if space is not None}
        sentence = f"Whether {planes} can separate the classes is {certificate}"
    return Finding("verdict", sentence, evidence)


def _easy(certificate: Separable) -> bool:
    """Whether more than half of all ways to label so many rows in general position are separable (Cover 1965)."""
    about = certificate.about
    return about.n_planes == 1 and about.n_rows < 2 * (about.n_columns + about.intercept)


def _cover(certificate: Separable) -> str:
    about = certificate.about
    return (
        f" But {many(about.n_columns, 'column')} separate {many(about.n_rows, 'row')} with most labels, right or wrong (Cover "
        f"1965): test it on other rows."
    )


def rest(found: Rest, classes: list[Any]) -> Finding:
    """What holds once every point has one label."""
    certificate, n, left_out = found.certificate, len(found.kept), found.left_out
    without = f"these points ({many(len(left_out), 'row')} left out: {some(left_out)}), the other {many(n, 'row')}"
    start = f"With one label for each of {without}"
    evidence: dict[str, Any] = {"rows": n, "left_out": left_out, "certificate": certificate, "whose": found.whose}
    evidence["verdict"] = None if certificate is None else certificate.verdict
    if isinstance(certificate, Separable):
        evidence["margin"] = certificate.geometric.lower
        sentence = f"{start} are separable, proved, with margin {short(certificate.geometric.lower)}."
    elif isinstance(certificate, Inseparable):
        words, evidence["clash"] = clash(certificate, classes, found.proved)
        if found.whose == "any":
            sentence = f"{start} are not separable either, whichever labels these are, proved: {words}."
        elif found.whose == "majority":
            sentence = f"With the most frequent label of each of {without} are not separable either, proved: {words}."
        else:
            sentence = f"{start} are not separable either, proved: {words}; not all ways to break ties were tried."
    else:
        sentence = f"{start} may be separable or not: there was no time to decide."
    return Finding("rest", sentence, evidence)


def degree(
    certificate: Certificate | None, k: int, exact: bool, wide: Expanded | None, d: int, rows: str, positions: Any
) -> Finding:
    """Whether features of degree k separate; `exact`: whether that is so of the products themselves, not only rounded."""
    width = count_monomials(d, k)
    evidence: dict[str, Any] = {"degree": k, "columns": width, "instead_of": d, "certificate": certificate}
    evidence["verdict"] = None if certificate is None else certificate.verdict
    what, proved = (
        f"Features of degree {k} ({width:,} instead of {many(d, 'column')})",
        "proved" if exact else "proved for products rounded to floats",
    )
    if wide is None or not isinstance(certificate, Separable | Inseparable):
        return Finding("degree", f"{what} may separate {rows} or not: there was no time to decide.", evidence)
    evidence |= {"exact": exact, "shifts": wide.shifts.tolist(), "exponents": wide.exponents.tolist()}
    evidence["product_exponents"] = wide.products.tolist()
    if isinstance(certificate, Inseparable):
        evidence["clash"] = positions[certificate.rows].tolist()
        return Finding("degree", f"{what} do not separate {rows}, {proved}.", evidence)
    margin, bound = certificate.geometric.lower, certificate.mistake_bound.upper
    evidence |= {"margin": margin, "bound": bound, "easy": _easy(certificate)}
    moved = "columns moved to around zero, and " if wide.shifts.any() else ""
    scaled = f"{moved}columns and products scaled to at most 1 by powers of two"
    sentence = f"{what} separate {rows}, {proved}: with {scaled} the margin is {short(margin)}, and a perceptron makes at most "
    sentence += f"{updates(bound)}.{_cover(certificate) if evidence['easy'] else ''}"
    return Finding("degree", sentence, evidence)


def errors(found: Any, lower: int, n: int, between: str, positions: Any, by_duplicates: bool = False) -> Finding:
    """What `minimum_errors` found, with a lower bound that may come from elsewhere."""
    fewest, wrong = int(found.errors), np.asarray(found.wrong, np.intp)
    wrong = (wrong if positions is None else positions[wrong]).tolist()
    proved = (
        ", proved by the duplicates"
        if by_duplicates or lower > found.lower
        else (", proved" if found.exact else " by HiGHS' bound, which is in floats")
    )
    start = f"{between} gets {fewest:,} of {many(n, 'row')} wrong, and"
    if fewest == 0:
        sentence = f"A plane{between} was found that gets all {many(n, 'row')} right; its margin was not certified in time."
    elif fewest <= lower:
        sentence = f"The best plane{start} none gets fewer{proved}."
    elif lower:
        sentence = f"The best plane found{start} every plane gets at least {lower:,} wrong{proved}."
    else:
        sentence = f"The best plane found{start} how many every plane must is not known."
    if 0 < fewest <= 5:
        sentence += f" Its errors: {'row' if fewest == 1 else 'rows'} {some(wrong)}."
    evidence = {"errors": fewest, "lower": lower, "optimal": fewest <= lower, "of": n, "wrong": wrong, "how": str(found.how)}
    evidence |= {"coef": np.asarray(found.coef).ravel().tolist(), "intercept": float(np.asarray(found.intercept).ravel()[0])}
    return Finding("errors", sentence, evidence)
