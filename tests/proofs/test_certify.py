"""Verdicts on small sets with a known answer, in every container; each certificate is checked, saved and loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import rosenblatt as rb
from rosenblatt.certificates.files import CertificateTooLargeError
from rosenblatt.certificates.sentences import ClashShape, describe_clash, describe_margins

CONTAINERS = {
    "dense": np.asarray,
    "csr": sp.csr_array,
    "float32": lambda X: np.asarray(X, np.float32),
    "list": np.ndarray.tolist,
}

SEPARABLE = {
    "a line": ([[0.0], [1.0]], [0, 1]),
    "a corner": ([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]),
    "three corners": ([[0, 0], [4, 0], [0, 4]], ["a", "b", "c"]),
    "three pairs": ([[0, 0], [1, 0], [9, 0], [8, 1], [0, 9], [1, 8]], [5, 5, 7, 7, 6, 6]),
}
INSEPARABLE = {
    "the same point": ([[1, 2], [3, 4], [1, 2]], [0, 0, 1]),
    "a segment": ([[0, 0], [1, 1], [2, 2]], [0, 1, 0]),
    "a touch": ([[0, 0], [2, 0], [1, 0], [1, 1]], [0, 0, 1, 1]),
    "xor": ([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]),
    "three on a line, joint": ([[0], [1], [2], [1.5]], [0, 1, 2, 0]),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", SEPARABLE)
def test_separable_sets_are_proved_so(name: str, container: str, tmp_path: Path) -> None:
    points, y = SEPARABLE[name]
    X = CONTAINERS[container](np.array(points, float))
    certificate = rb.certify(X, y)
    assert isinstance(certificate, rb.Separable)
    assert certificate.geometric.gap < 1e-9
    assert certificate.augmented.gap < 1e-9
    assert _holds_and_returns(certificate, X, y, tmp_path)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", INSEPARABLE)
def test_inseparable_sets_are_proved_so(name: str, container: str, tmp_path: Path) -> None:
    points, y = INSEPARABLE[name]
    X = CONTAINERS[container](np.array(points, float))
    certificate = rb.certify(X, y)
    assert isinstance(certificate, rb.Inseparable)
    assert sum(certificate.weights) == 1
    assert _holds_and_returns(certificate, X, y, tmp_path)


def _holds_and_returns(certificate: Any, X: Any, y: Any, folder: Path) -> bool:
    rb.save_certificate(certificate, folder / "certificate.json")
    again = rb.load_certificate(folder / "certificate.json")
    assert again == certificate
    return bool(rb.verify(again, X, y))


def test_the_clash_is_described() -> None:
    found = {name: rb.certify(*INSEPARABLE[name]) for name in INSEPARABLE}
    words = {name: str(certificate) for name, certificate in found.items()}
    assert words["the same point"] == "not separable: rows 1 and 3 are the same point with different labels."
    assert "row 2 lies on the segment between rows 1 and 3" in words["a segment"]
    assert "row 3 lies on the segment between rows 1 and 2" in words["a touch"]
    assert "the segment between rows 1 and 4 intersects the segment between rows 2 and 3" in words["xor"]


def test_the_shape_of_a_clash_is_a_code() -> None:
    shapes = {name: rb.certify(*INSEPARABLE[name]).shape for name in INSEPARABLE}
    assert shapes == {
        "the same point": ClashShape.SAME_POINT,
        "a segment": ClashShape.POINT_ON_SEGMENT,
        "a touch": ClashShape.POINT_ON_SEGMENT,
        "xor": ClashShape.SEGMENTS_INTERSECT,
        "three on a line, joint": ClashShape.POINT_ON_SEGMENT,
    }
    assert rb.certify(*INSEPARABLE["xor"]).sides == ([0, 3], [1, 2])
    triangle = [[0, 0], [4, 0], [0, 4], [1, 1]]
    assert rb.certify(triangle, [0, 0, 0, 1]).shape is ClashShape.POINT_IN_TRIANGLE
    corners = [[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4], [0.5, 0.5, 0.5]]
    inside = rb.certify(corners, [0, 0, 0, 0, 1])
    assert inside.shape is ClashShape.POINT_IN_HULL
    assert str(inside) == "not separable: row 5 lies in the convex hull of 4 rows with another label: rows 1, 2, 3, 4, 5."
    through_origin = rb.certify([[1.0], [2.0]], [0, 1], fit_intercept=False)
    assert (through_origin.shape, through_origin.sides) == (ClashShape.ORIGIN, None)
    assert rb.certify([[0.0], [2.0]], [0, 1], fit_intercept=False).shape is ClashShape.ZERO_ROW


def test_a_clash_of_many_rows_lists_the_first_twelve() -> None:
    X, y = np.zeros((18, 15)), [0] * 9 + [1] * 9
    X[:9, :8], X[9:, 8:14] = np.vstack([np.eye(8), -np.ones(8)]), np.vstack([np.eye(6), -np.ones(6), np.ones((2, 6))])
    X[16:, 14] = 1.0
    certificate = rb.certify(X, y)
    assert certificate.shape is ClashShape.HULLS_OVERLAP
    assert str(certificate) == (
        "not separable: no plane separates these 16 rows: the convex hulls of the two classes overlap "
        "(rows 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 and 4 more)."
    )


def test_a_certificate_is_printed_as_its_headline_and_its_details() -> None:
    separable = rb.certify([[0], [2]], [0, 1])
    assert str(separable) == (
        "separable: a plane separates all 2 rows (checked row by row).\n"
        "  widest margin, intercept not counted (SVM):     1 (exact)\n"
        "  widest margin of rows (1, x) (perceptron):      0.707106781187 (exact)\n"
        "  longest row R = 2.23607; a perceptron from zero makes at most R^2/gamma^2 = 10 updates"
    )
    assert separable.headline == "separable: a plane separates all 2 rows (checked row by row)."
    assert describe_margins(separable, ratio="(R/g)^2") == [
        "widest margin, intercept not counted (SVM): 1 (exact)",
        "widest margin of rows (1, x) (perceptron): 0.707106781187 (exact)",
        "longest row R = 2.23607; a perceptron from zero makes at most (R/g)^2 = 10 updates",
    ]
    through_origin = rb.certify([[-1], [2]], [0, 1], fit_intercept=False)
    assert describe_margins(through_origin)[0] == "widest margin of planes through the origin: 1 (exact)"
    clash = rb.certify(*INSEPARABLE["xor"])
    assert clash.headline == str(clash)


def test_rows_of_a_clash_can_be_called_otherwise() -> None:
    clash = rb.certify(*INSEPARABLE["a segment"])
    assert describe_clash(clash, noun="point", first=0).startswith("point 1 lies on the segment between points 0 and 2")
    joint = rb.certify(*INSEPARABLE["three on a line, joint"])
    assert describe_clash(joint, class_names=["'a'", "'b'"]).endswith("which have another label (classes 'a' and 'b')")


@pytest.mark.parametrize(
    "X",
    [
        np.array([[2**53], [2**53 + 1]]), np.array([[1.0], [2.0]], np.longdouble) + np.longdouble(1e-19), [[10**400], [1]],
        pd.DataFrame({"a": [1, 2], "b": [2**60 + 1, 3]}), np.array([[2**63 - 1], [0]]), np.array([[2**64 - 1], [0]], np.uint64),
    ],
    ids=["whole", "long", "beyond", "frame", "int64", "uint64"],
)  # fmt: skip
def test_numbers_that_floats_do_not_hold_are_refused(X: Any) -> None:
    good = rb.certify([[0.0], [1.0]], [0, 1])
    for call in (lambda: rb.certify(X, [0, 1]), lambda: rb.verify(good, X, [0, 1])):
        with pytest.raises(ValueError, match="float64 cannot hold"):
            call()


def test_numbers_that_they_do_hold_are_not() -> None:
    X = np.array([[2**60], [0]])
    assert rb.verify(rb.certify(X, [0, 1]), X, [0, 1])
    assert rb.certify([[True], [False]], [0, 1]).verdict == "separable"


def test_values_that_are_not_finite_are_refused_by_the_checker_too() -> None:
    good = rb.certify([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="not finite"):
        rb.verify(good, [[0.0], [np.nan]], [0, 1])


def test_margins_beyond_floats_are_printed() -> None:
    small, large = rb.certify([[5e-324], [0]], [0, 1]), rb.certify([[1.7e308] * 3, [-1.7e308] * 3], [0, 1])
    assert "2.47032822921e-324 (exact)" in str(small)
    assert "2.94448637287e+308 (exact)" in str(large)
    assert repr(small) == f"<{small}>"


def test_labels_must_be_text_that_differs() -> None:
    with pytest.raises(ValueError, match="equal as text or as numbers"):
        rb.certify([[0], [1]], [" a", "a"])
    with pytest.raises(ValueError, match="cannot be encoded as UTF-8"):
        rb.certify([[0], [1]], ["\ud800", "a"])


@pytest.mark.parametrize("limit", ["files.MAX_BYTES", "files.MAX_PARTS", "files.MAX_DIGITS", "verify.MAX_BIT_PRODUCTS"])
def test_a_proof_beyond_the_limits_is_refused(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"rosenblatt.certificates.{limit}", 1)
    with pytest.raises(CertificateTooLargeError, match="too large to be checked; scale the features"):
        rb.certify([[0.1, 3.0], [1.7, 0.3]], [0, 1])
