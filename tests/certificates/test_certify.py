"""Verdicts on small sets whose truth is plain, in every container; each certificate is checked and survives its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt as rb

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


def test_the_clash_is_told_in_words() -> None:
    words = {name: str(rb.certify(*INSEPARABLE[name])) for name in INSEPARABLE}
    assert words["the same point"] == "not separable: rows 0 and 2 are the same point with different labels."
    assert "row 1 lies on the segment between rows 0 and 2" in words["a segment"]
    assert "row 2 lies on the segment between rows 0 and 1" in words["a touch"]
    assert "the segment between rows 0 and 3 meets that between rows 1 and 2" in words["xor"]
