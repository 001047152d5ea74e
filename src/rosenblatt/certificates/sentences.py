"""The sentences of certificates: a clash, the margins of separable rows, the bounds of undecided ones, kinds of separation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING

from .exact_numbers import count_text, decimal_text

if TYPE_CHECKING:
    from .likelihood import Likelihood, RowList
    from .statements import About, Inseparable, Separable, Undecided

MAX_ROWS_LISTED = 12
MAX_SEPARATED_LISTED = 6  # of the rows that are separated, and of those on the plane


class ClashShape(Enum):
    """The geometry of a clash, which the sentence about it is made from."""

    ZERO_ROW = "zero-row"  # without an intercept: a row of zeros lies on every plane
    ORIGIN = "origin"  # without an intercept: a convex combination of the signed rows is zero
    SAME_POINT = "same-point"  # two rows of different classes
    POINT_ON_SEGMENT = "point-on-segment"
    POINT_IN_TRIANGLE = "point-in-triangle"
    SEGMENTS_INTERSECT = "segments-intersect"
    POINT_IN_HULL = "point-in-hull"  # one row in the convex hull of four or more of another class
    HULLS_OVERLAP = "hulls-overlap"  # the convex hulls of two classes overlap
    SEVERAL_CLASSES = "several-classes"  # the clash involves more than two classes


def describe_separation(certificate: Separable, rows: str = "rows") -> str:
    """The verdict as a sentence; `rows` is the name of the rows that it is about."""
    planes = "a plane separates" if certificate.about.n_planes == 1 else f"{certificate.about.n_planes} planes separate"
    return f"separable: {planes} all {count_text(certificate.about.n_rows)} {rows} (checked row by row)."


def describe_margins(certificate: Separable, *, ratio: str = "R^2/gamma^2", name_chars: int = 0) -> list[str]:
    """The widest margins, the longest row and the bound of a separable certificate, as clauses.

    `ratio` is the formula of the bound. The names of margins are padded to `name_chars`.
    """
    margins = [("widest margin of planes through the origin:", certificate.augmented)]
    if certificate.about.intercept:
        margins = [
            ("widest margin, intercept not counted (SVM):", certificate.geometric),
            ("widest margin of rows (1, x) (perceptron):", certificate.augmented),
        ]
    most = certificate.radius_squared / certificate.augmented.lower_squared
    bound = (
        count_text(math.floor(most))
        if 1000 <= most < 10**15
        else decimal_text(most, 6, rounded="nearest" if most < 1000 else "up")
    )
    radius = decimal_text(certificate.radius_squared, 6, root=True)
    longest = f"longest row R = {radius}; a perceptron from zero makes at most {ratio} = {bound} updates"
    return [*(f"{name:{name_chars}} {margin}" for name, margin in margins), longest]


def describe_ceilings(certificate: Undecided) -> str:
    """The bounds of an undecided certificate, as a clause."""
    spaces = (certificate.geometric, certificate.augmented)
    geometric, augmented = (decimal_text(space.upper_squared, 3, root=True, rounded="up") for space in spaces)
    planes, have = ("plane", "has") if certificate.about.n_planes == 1 else ("planes", "have")
    if not certificate.about.intercept:
        return f"no {planes} through the origin {have} a margin above {geometric}"
    return f"no {planes} {have} a geometric margin above {geometric} or an augmented margin above {augmented}"


def describe_likelihood(likelihood: Likelihood | None, about: About, names: Sequence[str] = ()) -> str:
    """The kind of separation as a clause, with the columns and rows that take part; None stands for complete separation.

    Columns are called by their `names`, or counted from 1, as rows are.
    """
    if likelihood is None:
        return "complete separation of all rows"
    if likelihood.kind == "overlap":
        return "overlap: no plane separates some of the rows and misclassifies none"
    columns = [repr(names[c]) if len(names) else str(c + 1) for c in likelihood.columns]
    one = len(columns) == 1
    who = f"column{'' if one else 's'} {_listed(columns)} separate{'s' if one else ''}"
    n_rows = count_text(about.n_rows)
    if likelihood.kind == "complete":
        return f"complete separation: {who} all {n_rows} rows"
    between = ("from another class ", " between two classes") if len(about.classes) > 2 else ("", "")
    separated, on_plane = likelihood.separated, likelihood.on_plane
    apart = f"{count_text(separated.total)} of {n_rows} rows {between[0]}({_first_rows(separated)})"
    rest = f"{count_text(on_plane.total)} {'lies' if on_plane.total == 1 else 'lie'} on the plane{between[1]}"
    return f"quasi-complete separation: {who} {apart}; {rest} ({_first_rows(on_plane)})"


def _first_rows(rows: RowList) -> str:
    return _listed([row + 1 for row in rows.first], rows.total, MAX_SEPARATED_LISTED)


def describe_clash(
    proof: Inseparable, *, noun: str = "row", first: int = 1, class_names: Sequence[str] = (), reason: bool = False
) -> str:
    """The clash as a clause. Rows are called `noun` and counted from `first`; `class_names` are those of `proof.rivals`.
    A `reason` follows the statement that no plane separates the classes, and does not repeat it."""
    shape, rows, nouns = proof.shape, [row + first for row in proof.rows], f"{noun}s"
    named = f"classes {', '.join(class_names[:-1])} and {class_names[-1]}" if class_names else ""
    if shape is ClashShape.SEVERAL_CLASSES:
        classes = named or f"{len(proof.rivals)} classes"
        return f"{'not even' if reason else 'no planes separate'} these {len(rows)} {nouns} of {classes}: {_listed(rows)}"
    suffix = f" ({named})" if named else ""
    if shape in (ClashShape.ZERO_ROW, ClashShape.ORIGIN, ClashShape.SAME_POINT):
        return describe_rows(shape, rows, noun=noun, reason=reason) + suffix * (shape is ClashShape.SAME_POINT)
    if shape is ClashShape.HULLS_OVERLAP:
        both = "the two classes" if len(proof.about.classes) == 2 else "two classes"
        return describe_rows(shape, rows, noun=noun, classes=named or both, reason=reason)
    assert proof.sides is not None
    few, many = ([row + first for row in side] for side in proof.sides)
    segments = [f"the segment between {nouns} {side[0]} and {side[-1]}" for side in (few, many)]
    if shape is ClashShape.POINT_ON_SEGMENT:
        return f"{noun} {few[0]} lies on {segments[1]}, which have another label{suffix}"
    if shape is ClashShape.POINT_IN_TRIANGLE:
        a, b, c = many
        return f"{noun} {few[0]} lies in the triangle of {nouns} {a}, {b} and {c}, which have another label{suffix}"
    if shape is ClashShape.SEGMENTS_INTERSECT:
        return f"{segments[0]} intersects {segments[1]}, which have another label{suffix}"
    hull = f"the convex hull of {len(many)} {nouns} with another label{suffix}: {nouns} {_listed(rows)}"
    return f"{noun} {few[0]} lies in {hull}"


def describe_rows(
    shape: ClashShape, rows: Sequence[int], *, noun: str = "row", classes: str = "the two classes", problem: str = "",
    reason: bool = False,
) -> str:  # fmt: skip
    """The clause about a zero row, the origin, a point or two hulls. `problem` names the rows that no plane separates."""
    listed, nouns, these = _listed(rows), f"{noun}s", problem or f"these {len(rows)} {noun}s"
    if shape is ClashShape.ZERO_ROW:
        return f"{noun} {listed} is zero, so it lies on every plane through the origin"
    if shape is ClashShape.ORIGIN:
        return f"{'not even' if reason else 'no plane through the origin separates'} {these}: {listed}"
    if shape is ClashShape.SAME_POINT:
        return f"{nouns} {rows[0]} and {rows[1]} are the same point with different labels"
    hulls = f"the convex hulls of {classes} overlap ({nouns} {listed})"
    return hulls if reason else f"no plane separates {these}: {hulls}"


def _listed(items: Sequence[object], total: int = 0, limit: int = MAX_ROWS_LISTED) -> str:
    """The first items of a list that has `total` of them, or no more than are given."""
    more = max(total, len(items)) - limit
    return ", ".join(map(str, items[:limit])) + (f" and {count_text(more)} more" if more > 0 else "")
