"""The doctor: every verdict is a certificate that holds, every number of a sentence is in its evidence and true of the data."""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations_with_replacement
from math import prod
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_circles

import rosenblatt as rb
from rosenblatt.certificates.files import parse_certificate
from rosenblatt.certificates.statements import Margin
from rosenblatt.proofs import duplicates as module
from rosenblatt.proofs.columns import columns_of
from rosenblatt.proofs.diagnosis import many, short, updates
from rosenblatt.proofs.duplicates import duplicates
from rosenblatt.proofs.polynomials import expanded, holds
from rosenblatt.proofs.sentences import errors

XOR = (np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0]))


def checked(X: Any, y: Any, **options: Any) -> rb.Diagnosis:
    """A diagnosis whose certificates have been verified and whose dictionary went through JSON."""
    found = rb.doctor(X, y, **options)
    assert rb.verify(found.certificate, X, y)
    kinds = [finding.kind for finding in found.findings]
    assert kinds[0] == "verdict"
    assert kinds[-1] == "advice"
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert [finding["sentence"] for finding in told["findings"]] == [str(finding) for finding in found.findings]
    assert parse_certificate(json.dumps(told["certificate"]).encode()) == found.certificate
    assert all(len(line) <= 100 for line in str(found).splitlines())
    assert all(finding.sentence in " ".join(str(found).split()) for finding in found.findings)
    assert all(finding.sentence.endswith(".") and "nan" not in finding.sentence.split() for finding in found.findings)
    return found


def only(found: rb.Diagnosis, kind: str) -> Any:
    (finding,) = found.of(kind)
    return finding


# --- the verdict -----------------------------------------------------------------------------------------------------------


def test_xor_is_not_separable_and_degree_2_separates_it() -> None:
    found = checked(*XOR)
    assert found.verdict == "inseparable"
    assert "the segment between rows 0 and 3 meets that between rows 1 and 2" in found.findings[0].sentence
    assert found.findings[0].evidence["rows"] == [0, 1, 2, 3]
    degree = only(found, "degree")
    assert degree.evidence["degree"] == 2
    assert degree.evidence["exact"]
    Z = np.hstack([XOR[0], XOR[0][:, :1] ** 2, XOR[0].prod(axis=1)[:, None], XOR[0][:, 1:] ** 2])
    assert rb.verify(degree.evidence["certificate"], Z, XOR[1])
    assert "(5 instead of 2 columns)" in degree.sentence
    assert f"the margin is {short(degree.evidence['margin'])}" in degree.sentence
    assert updates(degree.evidence["bound"]) in degree.sentence
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
        updates(verdict.evidence["bound"][1]),
    ):
        assert number in verdict.sentence
    assert verdict.evidence["easy"]  # 5 rows, fewer than twice 2 columns and an intercept
    assert "Cover" in verdict.sentence
    assert not found.of("degree")
    assert "Perceptron(max_passes=None)" in found.findings[-1].sentence


def test_a_tiny_margin_is_slow_and_not_stuck() -> None:
    found = checked(
        [[0.0, 1.0], [1.0, 1.0], [1e-6, 1.0], [1 + 1e-6, 1.0], [1.0, 0.0], [0.0, 0.0], [0.5, 0.3]], [0, 1, 1, 1, 1, 0, 1]
    )
    assert found.verdict == "separable"
    bound = found.findings[0].evidence["bound"][1]
    assert bound > 1e10
    assert "not stuck" in found.findings[0].sentence
    assert "MaxMargin" in found.findings[-1].sentence


def test_when_the_time_is_out_it_says_so() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 60)), rng.integers(0, 3, 300)
    found = checked(X, y, time_limit=1e-3)
    assert found.verdict == "undecided"
    assert "time ran out" in found.findings[0].sentence
    assert all("no time" in finding.sentence for finding in found.of("degree") + found.of("errors"))
    assert "time_limit" in found.findings[-1].sentence


@pytest.mark.parametrize("sizes", [[1e300, 1e-300], [1e-300, 1e-300], [1e308, 1e308], [1.0, 5e-324]])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("labels", [[0, 1, 1, 0], [0, 0, 1, 1]])
def test_numbers_of_any_size_are_told(sizes: list[float], container: Any, labels: list[int]) -> None:
    for shift in (0.0, 0.5):
        checked(container((XOR[0] - shift) * sizes), labels)
        checked(container((XOR[0] - shift) * sizes), labels, fit_intercept=False)


def test_a_plane_found_where_the_proof_was_not_is_no_error() -> None:
    found = SimpleNamespace(errors=0, lower=0, wrong=[], how="a plane gets all rows right", coef=[1.0], intercept=0.0)
    assert errors(found, 0, 400, "", None).sentence.startswith("A plane was found that gets all 400 rows right")


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


# --- duplicates ------------------------------------------------------------------------------------------------------------


def groups_by_dictionary(X: Any, y: Any) -> tuple[list[list[int]], int]:
    rows = defaultdict(list)
    for i, row in enumerate(np.asarray(X).tolist()):
        rows[tuple(row)].append(i)
    groups = sorted(group for group in rows.values() if len({y[i] for i in group}) > 1)
    return groups, sum(len(group) - max(Counter(y[i] for i in group).values()) for group in groups)


@pytest.mark.parametrize(
    "container", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32), lambda X: sp.csr_array(X[:, ::-1])]
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_duplicates_are_those_that_a_dictionary_finds(container: Any, n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    X, y = rng.integers(-1, 3, (200, 3)).astype(float), rng.integers(0, n_classes, 200)
    X[::5] *= -0.0
    groups, least = groups_by_dictionary(X, y)
    found = duplicates(container(X), y)
    assert found.groups == groups
    assert len(found.outvoted) == least
    kept = np.delete(np.arange(200), found.outvoted)
    assert groups_by_dictionary(X[kept], y[kept]) == ([], 0)


def test_rows_that_share_a_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (60, 2)).astype(float), rng.integers(0, 2, 60)
    monkeypatch.setattr(module, "hashes", lambda X: np.zeros(X.shape[0], np.uint64))
    for rows in (X, sp.csr_array(X)):
        assert duplicates(rows, y).groups == groups_by_dictionary(X, y)[0]


def test_hashes_of_arrays_and_sparse_matrices_agree_and_hardly_ever_collide(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.unique(np.random.default_rng(0).integers(-9, 9, (5000, 4)), axis=0).astype(float)
    stored = sp.csr_array(X)
    stored.data[::7] = 0.0
    assert len(np.unique(module.hashes(X))) == len(X)
    whole = module.hashes(stored)
    assert (whole == module.hashes(stored.toarray())).all()
    monkeypatch.setattr(module, "BLOCK", 50)
    assert (whole == module.hashes(stored)).all()
    assert (whole == module.hashes(stored.toarray())).all()


def test_duplicates_are_told_with_the_errors_they_force() -> None:
    X = np.array([[1.0, 2], [1, 2], [1, 2], [5, 5], [5, 5], [9, 9], [0, 0], [8, 8]])
    y = np.array(["ham", "spam", "ham", "spam", "ham", "spam", "ham", "spam"])
    for rows in (X, sp.csr_array(X)):
        found = checked(rows, y)
        twins = only(found, "duplicates")
        assert (twins.evidence["groups"], twins.evidence["least_errors"]) == ([[0, 1, 2], [3, 4]], 2)
        assert twins.evidence["labels"] == [["ham", "spam", "ham"], ["spam", "ham"]]
        assert twins.sentence.startswith("5 rows have the same features as another row with a different label, in 2 groups: ")
        assert "rows 0, 1 and 2; rows 3 and 4" in twins.sentence
        assert "at least 2 of them wrong" in twins.sentence
        rest = only(found, "rest")
        assert rest.evidence["verdict"] == "separable"
        assert "(2 rows left out), the other 6 rows are separable" in rest.sentence
        assert not found.of("degree")


def test_without_duplicates_xor_is_still_xor_and_rows_keep_their_numbers() -> None:
    X, y = np.vstack([[[7.0, 7]], [[7, 7]], XOR[0]]), np.array([1, 0, *XOR[1]])
    found = checked(X, y)
    rest, degree = only(found, "rest"), only(found, "degree")
    assert rest.evidence["verdict"] == "inseparable"
    assert set(rest.evidence["clash"]) <= {0, 1, 2, 3, 4, 5}
    assert str(min(rest.evidence["clash"])) in rest.sentence
    assert "the other 5 rows" in degree.sentence
    assert "SoftMargin" in found.findings[-1].sentence


def test_nothing_is_left_of_a_class() -> None:
    found = checked([[1.0], [1], [1], [1]], [0, 0, 0, 1])
    assert not found.of("rest")
    assert not found.of("degree")
    assert only(found, "constant").evidence["values"] == [1.0]


# --- scales ----------------------------------------------------------------------------------------------------------------


def wide_scales() -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (80, 2))
    X = X[abs(X.sum(axis=1)) > 0.2]
    return X * [1.0, 1e6], (X.sum(axis=1) > 0).astype(int)


def test_scales_and_the_bound_before_and_after() -> None:
    X, y = wide_scales()
    found = checked(X, y, feature_names=["age", "income"])
    scales, scaling = only(found, "scales"), only(found, "scaling")
    ranges = np.ptp(X, axis=0)
    assert scales.evidence["ratio"] == ranges[1] / ranges[0]
    assert (scales.evidence["largest"], scales.evidence["smallest"]) == (1, 0)
    assert f"factor of {short(ranges[1] / ranges[0])}: column 'income' goes from {short(X[:, 1].min())}" in scales.sentence
    assert "column 'age' from" in scales.sentence
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    before, after = rb.certify(X, y), rb.certify(Z, y)
    assert isinstance(before, rb.Separable)
    assert isinstance(after, rb.Separable)
    assert scaling.evidence["before"] == before.mistake_bound.upper
    assert scaling.evidence["after"] == pytest.approx(after.mistake_bound.upper, rel=1e-6)
    assert f"{updates(scaling.evidence['before'])} down to {updates(scaling.evidence['after'])}" in scaling.sentence
    assert scaling.evidence["after"] < scaling.evidence["before"] / 1e6
    assert found.findings[-1].sentence.startswith("Try: StandardScaler, then Perceptron")


def test_sparse_columns_are_scaled_without_moving_them() -> None:
    X, y = wide_scales()
    scaling = only(checked(sp.csr_array(X), y), "scaling")
    after = rb.certify(X / abs(X).max(axis=0), y)
    assert isinstance(after, rb.Separable)
    assert scaling.evidence["after"] == pytest.approx(after.mistake_bound.upper, rel=1e-6)
    assert not scaling.evidence["centred"]


def test_columns_far_from_zero_and_constant_ones() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(1990, 2020, 60), rng.normal(size=60), np.full(60, 4.0)])
    pandas = pytest.importorskip("pandas")
    found = checked(pandas.DataFrame(X, columns=["year", "z", "four"]), (X[:, 0] > 2005).astype(int))
    offset, constant = only(found, "offset"), only(found, "constant")
    low, high = X[:, 0].min(), X[:, 0].max()
    assert offset.evidence["times"] == pytest.approx((low + high) / 2 / (high - low))
    assert offset.sentence.startswith(
        f"Column 'year' goes from {short(low)} to {short(high)}, {short(offset.evidence['times'])} times"
    )
    assert constant.sentence.startswith("Column 'four' is the same in every row")
    assert constant.evidence == {"columns": [2], "values": [4.0]}


@pytest.mark.parametrize("size", [1.0, 1e-300, 1e300])
def test_columns_and_rows_of_any_size_are_measured(size: float) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 3)) * (rng.random((50, 3)) < 0.6)
    for rows in (X * size, sp.csr_array(X * size)):
        columns = columns_of(rows)
        assert np.allclose(np.ldexp(columns.means, columns.exponents), X.mean(axis=0) * size, rtol=1e-9, atol=0)
        assert np.allclose(np.ldexp(columns.spreads, columns.exponents), X.std(axis=0) * size, rtol=1e-9, atol=0)
        assert (columns.least == (X * size).min(axis=0)).all()
        assert (columns.most == (X * size).max(axis=0)).all()


def test_a_long_row_sets_the_radius() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(150, 2))
    X += np.sign(X[:, :1]) * [[1.0, 0.0]]
    X[17] = [300.0, 4000.0]
    found = checked(X, (X[:, 0] > 0).astype(int))
    long = only(found, "long rows")
    lengths = np.sqrt(1 + (X**2).sum(axis=1))
    assert long.evidence["rows"] == [17]
    assert long.evidence["longest"] == pytest.approx(lengths[17])
    assert long.evidence["median"] == pytest.approx(np.median(lengths))
    rest = rb.certify(np.delete(X, 17, axis=0), np.delete(X[:, 0] > 0, 17).astype(int))
    assert isinstance(rest, rb.Separable)
    assert rest.mistake_bound.lower <= long.evidence["bound_without"] < long.evidence["bound"]
    for name in ("longest", "median", "longest_of_the_others", "bound", "bound_without"):
        assert short(long.evidence[name]) in long.sentence
    X[3, 0] *= -1
    assert "outweighs" in only(checked(X, (rng.random(150) < 0.5).astype(int)), "long rows").sentence


# --- classes ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("few", "told"), [(1, "a single row"), (3, "does not count rows"), (30, "")])
def test_small_classes_are_told_where_they_matter(few: int, told: str) -> None:
    X = np.random.default_rng(0).uniform(0, 1, (100, 1))
    X[:few] += 2
    found = checked(X, np.where(np.arange(100) < few, "rare", "common"))
    if not told:
        assert not found.of("imbalance")
        return
    small = only(found, "imbalance")
    assert small.evidence == {"class": "rare", "rows": few, "of": 100, "most_frequent": "common", "others": few}
    assert small.sentence.startswith(f"Class 'rare' has only {many(few, 'row')} of 100: answering 'common' throughout")
    assert f"gets all but {few} right" in small.sentence
    assert told in small.sentence


# --- the fewest errors -----------------------------------------------------------------------------------------------------


@pytest.fixture
def errors_of(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`minimum_errors` replaced by one that answers as told."""

    def answer(**found: Any) -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = []

        def minimum_errors(X: Any, y: Any, **options: Any) -> Any:
            calls.append({"rows": X.shape[0], "classes": sorted(set(np.asarray(y).tolist())), **options})
            return SimpleNamespace(**({"coef": np.ones(X.shape[1]), "intercept": 0.0, "how": "all planes were tried"} | found))

        fake = ModuleType("rosenblatt.proofs.minimum_errors")
        fake.minimum_errors = minimum_errors  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, fake.__name__, fake)
        return calls

    return answer


def test_the_fewest_errors_are_told_with_their_proof(errors_of: Any) -> None:
    calls = errors_of(errors=1, lower=1, optimal=True, wrong=np.array([2]))
    errors = only(checked(*XOR, time_limit=20.0), "errors")
    assert errors.sentence == "The best plane gets 1 of 4 rows wrong, and none gets fewer, proved. Its errors: row 2."
    assert (errors.evidence["errors"], errors.evidence["wrong"], errors.evidence["optimal"]) == (1, [2], True)
    assert calls[0]["fit_intercept"]
    assert 0 < calls[0]["time_limit"] <= 10
    errors_of(errors=2, lower=1, optimal=False, wrong=np.array([2, 3]))
    found = checked(*XOR)
    assert "gets 2 of 4 rows wrong, and every plane gets at least 1 wrong, proved." in only(found, "errors").sentence
    assert "look at" not in found.findings[-1].sentence  # half of the rows are no slips
    errors_of(errors=2, lower=2, optimal=True, wrong=np.array([2, 3]), how="HiGHS says so (in floats)")
    assert "fewer by HiGHS' bound, which is in floats." in only(checked(*XOR), "errors").sentence
    errors_of(errors=2, lower=0, optimal=False, wrong=np.array([2, 3]))
    assert "how many every plane must is not known" in only(checked(*XOR), "errors").sentence


def test_duplicates_can_prove_the_fewest_errors(errors_of: Any) -> None:
    errors_of(errors=1, lower=0, optimal=False, wrong=np.array([0]))
    errors = only(checked([[1.0], [1.0], [2.0], [3.0]], [0, 1, 1, 1]), "errors")
    assert errors.evidence["optimal"]
    assert "none gets fewer, proved by the duplicates." in errors.sentence


def test_of_several_classes_the_two_that_clash_are_counted(errors_of: Any) -> None:
    calls = errors_of(errors=1, lower=1, optimal=True, wrong=np.array([20]))
    X, y = load_iris(return_X_y=True)
    errors = only(checked(X, y), "errors")
    assert (calls[0]["rows"], calls[0]["classes"]) == (100, [1, 2])
    assert errors.evidence["wrong"] == [70]
    assert "between classes 1 and 2 gets 1 of 100 rows wrong" in errors.sentence
    assert "look at row 70, whether the label is right" in checked(X, y).findings[-1].sentence


# --- degrees ---------------------------------------------------------------------------------------------------------------


def test_rings_want_degree_2_and_stripes_degree_3() -> None:
    X, y = make_circles(120, noise=0.02, factor=0.5, random_state=0)
    assert [f.evidence["verdict"] for f in checked(X, y).of("degree")] == ["separable"]
    x = np.arange(16.0)
    stripes = checked(x[:, None], (x // 4 % 2).astype(int))
    assert [(f.evidence["degree"], f.evidence["verdict"]) for f in stripes.of("degree")] == [
        (2, "inseparable"),
        (3, "separable"),
    ]
    assert all(f.evidence["exact"] for f in stripes.of("degree"))
    assert "Features of degree 2 (2 instead of 1 column) do not separate the rows, proved." in stripes.findings[-3].sentence
    assert set(stripes.of("degree")[0].evidence["clash"]) <= set(range(16))


def test_products_are_those_of_fractions_and_far_columns_are_moved_exactly() -> None:
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.integers(-99, 99, 30) / 8, rng.integers(0, 9, 30), 2**20 + rng.integers(0, 64, 30) / 4])
    for rows in (X, X.astype(np.float32), sp.csr_array(X[:, :2])):
        wide = expanded(rows, columns_of(rows), 3, True)
        assert wide.exact
        Z = wide.X if isinstance(rows, np.ndarray) else wide.X.toarray()
        d = rows.shape[1]
        exact = [
            [
                (Fraction(v) - Fraction(s)) / Fraction(2) ** int(e)
                for v, s, e in zip(r, wide.shifts, wide.exponents, strict=False)
            ]
            for r in X[:, :d].tolist()
        ]
        assert [[Fraction(v) for v in row[:d]] for row in Z.tolist()] == exact
        cubes = [row[0] ** 3 for row in exact]
        plain = np.ldexp(Z, wide.products)
        assert sum([Fraction(v) for v in plain[:, c].tolist()] == cubes for c in range(Z.shape[1])) == 1
        assert ((abs(Z).max(axis=0) <= 1) & (abs(Z).max(axis=0) > 0.5)).all()
    assert wide.X.shape == (30, 9)
    assert not expanded(X + 0.1, columns_of(X + 0.1), 2, True).exact


@pytest.mark.parametrize(("rows", "columns", "offset"), [(40, 2, 0.0), (24, 3, 0.0), (40, 2, 1000.0)])
def test_a_polynomial_called_exact_has_every_row_on_its_side_in_fractions(rows: int, columns: int, offset: float) -> None:
    rng = np.random.default_rng(rows + columns)
    X = rng.normal(size=(rows, columns)) + offset
    y = ((X - offset) ** 2).sum(axis=1) > columns
    found = checked(X, y)
    degree = only(found, "degree").evidence
    assert degree["exact"]
    (plane,) = degree["certificate"].geometric.planes
    terms = [c for k in range(1, degree["degree"] + 1) for c in combinations_with_replacement(range(columns), k)]
    assert len(terms) == degree["columns"]
    units = [Fraction(2) ** -e for e in degree["exponents"]]
    for row, positive in zip(X.tolist(), y.tolist(), strict=True):
        z = [(Fraction(v) - Fraction(s)) * u for v, s, u in zip(row, degree["shifts"], units, strict=True)]
        products = [prod(z[c] for c in term) for term in terms]
        values = [v * Fraction(2) ** -e for v, e in zip(products, degree["product_exponents"], strict=True)]
        score = sum(weight * values[at] for at, weight in plane.weights.items()) + plane.intercept
        assert (score > 0) == positive


def test_a_margin_below_the_rounding_of_products_is_not_called_exact() -> None:
    Z = np.array([[1.0, 1.0], [1.0, -1.0]])
    plane = rb.certify(Z, [1, 0]).geometric.planes[0]  # type: ignore[union-attr]
    for lower, told in ((1e-12, True), (1e-17, False)):
        margin = Margin(Fraction(1), (), Fraction(lower) ** 2, (plane,))
        assert holds(Z, margin, 2) == holds(sp.csr_array(Z), margin, 2) == told


def test_what_is_too_large_is_not_tried_and_says_why() -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array((40, 300), density=0.02, rng=rng, format="csr")
    X = sp.vstack([X[:20], X[:20] * 2.0, X[:20] * 3.0], format="csr")
    found = checked(X, np.repeat([0, 1, 0], 20), time_limit=2.0)
    degree = only(found, "degree")
    assert degree.evidence["verdict"] is None
    assert "not tried: they would be 45,450 columns, and 5,000 are the most" in degree.sentence


def test_many_values_are_not_copied_and_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rosenblatt.proofs.doctor.MOST_VALUES", 7)
    scaling = only(checked(*wide_scales()), "scaling")
    assert "with over 7 values it was not tried" in scaling.sentence
    assert scaling.evidence["after"] is None
    found = checked(*XOR)
    assert "were not looked for: there are over 5,000 columns or 7 values" in only(found, "errors").sentence
    found = checked(np.vstack([XOR[0], XOR[0]]), [0, 0, 0, 0, 0, 1, 1, 1])
    assert not found.of("rest") + found.of("degree")


def test_of_many_duplicates_the_first_are_named_and_a_rare_class_is_weighted() -> None:
    X = np.repeat(np.arange(50.0), 2)[:, None]
    y = np.zeros(100, int)
    y[[1, 3, 21, 23, 99]] = 1
    found = checked(X, y, time_limit=2.0)
    assert "in 5 groups: rows 0 and 1; rows 2 and 3; rows 20 and 21; 2 more." in only(found, "duplicates").sentence
    assert not found.of("rest")  # the rare class is outvoted everywhere
    assert "class_weight='balanced'" in only(found, "imbalance").sentence


# --- input -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"time_limit": 0}, ValueError, "time_limit must be greater than 0"),
        ({"time_limit": "1"}, TypeError, "time_limit must be a number"),
        ({"fit_intercept": "yes"}, TypeError, "fit_intercept must be True or False"),
        ({"feature_names": ["a"]}, ValueError, "feature_names must name the 2 columns of X, got 1 names"),
        ({"feature_names": "ab"}, TypeError, "feature_names must be a list of names, got 'ab'"),
        ({"feature_names": 3}, TypeError, "feature_names must be a list of names, got 3"),
    ],
)
def test_bad_parameters_are_named(options: dict[str, Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        rb.doctor(*XOR, **options)


def test_bad_rows_are_refused_as_elsewhere() -> None:
    with pytest.raises(ValueError, match="doctor needs at least two classes"):
        rb.doctor([[1.0], [2.0]], [1, 1])
    with pytest.raises(ValueError, match="NaN"):
        rb.doctor([[np.nan], [2.0]], [0, 1])


def test_many_rows_take_seconds() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 1000, (200_000, 2)).astype(float), rng.integers(0, 2, 200_000)
    found = duplicates(X, y)
    assert groups_by_dictionary(X, y.tolist()) == (found.groups, len(found.outvoted))
