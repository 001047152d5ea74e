"""The doctor: verdicts have valid certificates, and the numbers of each sentence are in its evidence and true of the data."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from checked_diagnoses import XOR, checked, only
from sklearn.datasets import load_iris

import rosenblatt as rb
from rosenblatt.proofs.doctor.findings import update_count
from rosenblatt.proofs.doctor.verdicts import errors
from rosenblatt.reporting.text import short

# --- the verdict ---------------------------------------------------------------------------------------------------------


def test_xor_is_not_separable_and_degree_2_separates_it() -> None:
    found = checked(*XOR)
    assert found.verdict == "inseparable"
    assert "the segment between rows 1 and 4 intersects the segment between rows 2 and 3" in found.findings[0].sentence
    assert found.findings[0].evidence["rows"] == [0, 1, 2, 3]
    degree = only(found, "degree")
    assert degree.evidence["degree"] == 2
    assert degree.evidence["exact"]
    Z = np.hstack([XOR[0], XOR[0][:, :1] ** 2, XOR[0].prod(axis=1)[:, None], XOR[0][:, 1:] ** 2])
    assert rb.verify(degree.evidence["certificate"], Z, XOR[1])
    assert "(5 instead of 2 columns)" in degree.sentence
    assert f"the margin is {short(degree.evidence['margin'])}" in degree.sentence
    assert update_count(degree.evidence["bound"]) in degree.sentence
    assert "PolynomialFeatures(2)" in found.findings[-1].sentence


def test_separable_rows_have_margin_radius_and_bound_in_the_sentence() -> None:
    found = checked([[0, 0], [1, 0], [3, 4], [4, 4], [0, 1]], [0, 0, 1, 1, 0])
    verdict = found.findings[0]
    assert isinstance(found.certificate, rb.Separable)
    assert verdict.evidence["radius"] == pytest.approx(np.sqrt(33))
    assert verdict.evidence["margin"][0] <= verdict.evidence["margin"][1]
    for number in (
        short(verdict.evidence["margin"][0]),
        short(verdict.evidence["radius"]),
        update_count(verdict.evidence["bound"][1]),
    ):
        assert number in verdict.sentence
    assert verdict.evidence["easy"]  # 5 rows, fewer than twice 2 columns and an intercept
    assert "Cover" in verdict.sentence
    assert not found.of("degree")
    assert "Perceptron(max_iter=None)" in found.findings[-1].sentence


def test_a_tiny_margin_is_slow_and_not_stuck() -> None:
    found = checked(
        [[0.0, 1.0], [1.0, 1.0], [1e-6, 1.0], [1 + 1e-6, 1.0], [1.0, 0.0], [0.0, 0.0], [0.5, 0.3]], [0, 1, 1, 1, 1, 0, 1]
    )
    assert found.verdict == "separable"
    bound = found.findings[0].evidence["bound"][1]
    assert bound > 1e10
    assert "not stuck" in found.findings[0].sentence
    assert "MaxMargin" in found.findings[-1].sentence


def test_findings_report_that_there_was_no_time() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 60)), rng.integers(0, 3, 300)
    found = checked(X, y, time_limit=1e-3)
    assert found.verdict == "undecided"
    assert "not decided within the time limit" in found.findings[0].sentence
    assert all("no time" in finding.sentence for finding in found.of("degree") + found.of("errors"))
    assert "time_limit" in found.findings[-1].sentence


def test_without_a_time_limit_everything_is_decided(errors_of: Any) -> None:
    calls = errors_of(errors=1, lower=1, optimal=True, wrong=np.array([2]))
    found = checked(*XOR, time_limit=None)
    assert (found.verdict, only(found, "degree").evidence["verdict"]) == ("inseparable", "separable")
    assert calls[0]["time_limit"] is None


@pytest.mark.parametrize("sizes", [[1e300, 1e-300], [1e-300, 1e-300], [1e308, 1e308], [1.0, 5e-324]])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("labels", [[0, 1, 1, 0], [0, 0, 1, 1]])
def test_numbers_of_any_size_are_printed(sizes: list[float], container: Any, labels: list[int]) -> None:
    for shift in (0.0, 0.5):
        checked(container((XOR[0] - shift) * sizes), labels)
        checked(container((XOR[0] - shift) * sizes), labels, fit_intercept=False)


def test_a_plane_found_where_the_proof_was_not_is_no_error() -> None:
    found = SimpleNamespace(errors=0, lower=0, wrong=[], exact=True, how="one is right", coef=[1.0], intercept=0.0)
    assert errors(found, 0, 400, "", None).sentence.startswith("A plane classifies all 400 rows correctly")


def test_it_reads_well_at_the_prompt() -> None:
    found = rb.doctor(*XOR)
    assert repr(found) == str(found)
    assert repr(found.findings[0]).startswith("Finding(kind='verdict', sentence='No plane")


def test_three_classes_name_the_two_that_clash() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    found = checked(X, names[y])
    assert found.verdict == "inseparable"
    assert "classes 'versicolor' and 'virginica'" in found.findings[0].sentence
    degree = only(found, "degree")
    assert (degree.evidence["degree"], degree.evidence["verdict"], degree.evidence["exact"]) == (2, "separable", True)


def test_a_plane_through_the_origin() -> None:
    found = checked([[1.0, 1], [2, 2], [3, 3.5], [-1, 2]], [0, 0, 1, 1], fit_intercept=False)
    assert "through the origin" in found.findings[0].sentence
    found = checked([[1.0, 7.0], [1, 2]] * 4, [0, 1] * 4, fit_intercept=False)
    assert not found.of("constant")  # a column of ones is the intercept there


# --- the fewest errors ---------------------------------------------------------------------------------------------------


@pytest.fixture
def errors_of(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`minimum_errors` replaced by a function with a fixed result."""

    def answer(**found: Any) -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = []

        def minimum_errors(X: Any, y: Any, **options: Any) -> Any:
            calls.append({"rows": X.shape[0], "classes": sorted(set(np.asarray(y).tolist())), **options})
            known = {"coef": np.ones(X.shape[1]), "intercept": 0.0, "how": "all planes were tried", "exact": True}
            return SimpleNamespace(**(known | found))

        monkeypatch.setattr("rosenblatt.proofs.doctor.doctor.minimum_errors", minimum_errors)
        return calls

    return answer


def test_the_fewest_errors_are_reported_with_their_proof(errors_of: Any) -> None:
    calls = errors_of(errors=1, lower=1, optimal=True, wrong=np.array([2]))
    errors = only(checked(*XOR, time_limit=20.0), "errors")
    assert errors.sentence == (
        "The best plane misclassifies 1 of 4 rows; no plane misclassifies fewer (proved). Misclassified: row 3."
    )
    assert (errors.evidence["errors"], errors.evidence["wrong"], errors.evidence["optimal"]) == (1, [2], True)
    assert calls[0]["fit_intercept"]
    assert 0 < calls[0]["time_limit"] <= 10
    errors_of(errors=2, lower=1, optimal=False, wrong=np.array([2, 3]))
    found = checked(*XOR)
    assert "misclassifies 2 of 4 rows; every plane misclassifies at least 1 (proved)." in only(found, "errors").sentence
    assert "check the label" not in found.findings[-1].sentence  # half of the rows are not mislabeled
    errors_of(errors=2, lower=2, optimal=True, wrong=np.array([2, 3]), exact=False)
    assert "fewer (bound of HiGHS, computed in floats)." in only(checked(*XOR), "errors").sentence
    errors_of(errors=2, lower=0, optimal=False, wrong=np.array([2, 3]))
    assert "no lower bound is known" in only(checked(*XOR), "errors").sentence


def test_duplicates_can_prove_the_fewest_errors(errors_of: Any) -> None:
    errors_of(errors=1, lower=0, optimal=False, wrong=np.array([0]))
    errors = only(checked([[1.0], [1.0], [2.0], [3.0]], [0, 1, 1, 1]), "errors")
    assert errors.evidence["optimal"]
    assert "no plane misclassifies fewer (proved by the duplicates)." in errors.sentence


def test_of_several_classes_the_two_that_clash_are_counted(errors_of: Any) -> None:
    calls = errors_of(errors=1, lower=1, optimal=True, wrong=np.array([20]))
    X, y = load_iris(return_X_y=True)
    errors = only(checked(X, y), "errors")
    assert (calls[0]["rows"], calls[0]["classes"]) == (100, [1, 2])
    assert errors.evidence["wrong"] == [70]
    assert "between classes 1 and 2 misclassifies 1 of 100 rows" in errors.sentence
    assert "check the label of row 71" in checked(X, y).findings[-1].sentence


# --- input ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"time_limit": 0}, ValueError, "time_limit must be greater than 0"),
        ({"time_limit": "1"}, TypeError, "time_limit must be a number"),
        ({"fit_intercept": "yes"}, TypeError, "fit_intercept must be True or False"),
        ({"feature_names": ["a"]}, ValueError, "feature_names must name the 2 columns of X, got 1 names"),
        ({"feature_names": "ab"}, TypeError, "feature_names must be a list of names, got 'ab'"),
        ({"feature_names": 3}, TypeError, "feature_names must be a list of names, got 3"),
    ],
)
def test_bad_parameters_are_named(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        rb.doctor(*XOR, **options)


def test_bad_rows_are_refused_as_elsewhere() -> None:
    with pytest.raises(ValueError, match="doctor needs at least two classes"):
        rb.doctor([[1.0], [2.0]], [1, 1])
    with pytest.raises(ValueError, match="NaN"):
        rb.doctor([[np.nan], [2.0]], [0, 1])
