"""The doctor on real data: what degree 2 proves, duplicates, constant columns and scales that are known."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import rosenblatt as rb
from datasets import data_file, libsvm


def only(found: rb.Diagnosis, kind: str) -> Any:
    (finding,) = found.of(kind)
    return finding


def csv(name: str, label: int = -1, first: int = 0) -> tuple[Any, Any]:
    table = np.genfromtxt(data_file(f"uci/{name}"), delimiter=",", dtype=str)
    return np.delete(table, label, axis=1)[:, first:].astype(float), table[:, label]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "columns"),
    [
        (lambda: libsvm("heart_scale"), 104),
        (lambda: csv("banknote_authentication.csv"), 14),
        pytest.param(lambda: csv("ionosphere.data"), 629, marks=pytest.mark.thorough),
    ],
    ids=["heart_scale", "banknote", "ionosphere"],
)
def test_degree_2_separates_these_sets(load: Any, columns: int) -> None:
    X, y = load()
    found = rb.doctor(X, y, time_limit=8.0)
    degree = only(found, "degree")
    assert found.verdict == "inseparable"
    assert rb.verify(found.certificate, X, y)
    assert (degree.evidence["verdict"], degree.evidence["columns"], degree.evidence["exact"]) == ("separable", columns, True)
    json.dumps(found.to_dict(), allow_nan=False)


def test_no_degree_up_to_3_separates_fourclass() -> None:
    X, y = libsvm("fourclass")
    found = rb.doctor(X, y, time_limit=10.0)
    assert [finding.evidence["verdict"] for finding in found.of("degree")] == ["inseparable", "inseparable"]


def test_wdbc_is_separable_and_slow_because_of_its_scales() -> None:
    X, y = csv("wdbc.data", label=1, first=1)
    found = rb.doctor(X, y)
    assert found.verdict == "separable"
    assert only(found, "scales").evidence["ratio"] > 1e5
    scaling = only(found, "scaling").evidence
    assert scaling["before"] > 1e16
    assert scaling["after"] < 1e9


def test_a_constant_column_of_ionosphere() -> None:
    X, y = csv("ionosphere.data")
    assert only(rb.doctor(X, y, time_limit=0.3), "constant").evidence["columns"] == [1]


def test_spambase_has_three_mails_with_both_labels() -> None:
    X, y = csv("spambase.data")
    found = rb.doctor(X, y, time_limit=1.0)
    assert only(found, "duplicates").evidence["groups"] == [[63, 3108], [148, 1985], [478, 3213]]
    assert only(found, "duplicates").evidence["least_errors"] == 3
    assert all((X[i] == X[j]).all() and y[i] != y[j] for i, j in only(found, "duplicates").evidence["groups"])


@pytest.mark.thorough  # `test_minimum_errors_real.py` has the same texts
def test_equal_texts_are_the_fewest_errors_of_news20_though_it_is_too_wide_to_look_for_them() -> None:
    X, y = libsvm("news20.bz2")
    some = np.isin(y, [1, 2])
    found = rb.doctor(X[some], y[some], time_limit=20.0)
    errors, rest = only(found, "errors").evidence, only(found, "without_duplicates").evidence
    assert (errors["errors"], errors["lower"], errors["optimal"]) == (8, 8, True)
    assert errors["wrong"] == rest["left_out"] == only(found, "duplicates").evidence["outvoted"]
    assert "proved by the duplicates" in only(found, "errors").sentence
