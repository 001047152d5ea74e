"""Rows and labels are read exactly or refused, in every container: a proof must not be about rounded numbers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import rosenblatt as rb
from rosenblatt.certificates.exact_arrays import canonical_label, exact_matrix
from rosenblatt.certificates.verify import CheckCode

BIG = 2**53  # the next whole number is not a float64
FLOATS, Y = np.array([[float(BIG), 0.0], [float(BIG), 0.0]]), [0, 1]
SAME_POINT = rb.certify(FLOATS, Y)
LONG = np.array([[BIG, 0], [BIG, 0]], np.longdouble)
LONG[1, 0] += 1


def _sparse(kind: str, *values: int, dtype: Any = np.int64) -> Any:
    """The first row has one entry, the second the rest of them in one column."""
    rows = [0] + [1] * (len(values) - 1)
    entries = sp.coo_array((np.array(values, dtype), (rows, [0] * len(values))), shape=(2, 2))
    if kind == "csr":
        return sp.csr_array((entries.data, entries.col, [0, 1, len(values)]), shape=(2, 2))
    return sp.csc_array((entries.data, entries.row, [0, len(values), len(values)]), shape=(2, 2)) if kind == "csc" else entries


class Rows:
    """A sequence that is neither a list nor a tuple; NumPy reads it as one."""

    def __init__(self, *rows: list[float]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: int) -> list[float]:
        return self.rows[row]


def _flagged() -> Any:
    matrix = sp.csr_array((np.array([BIG, BIG, 1.0]), np.zeros(3, int), [0, 1, 3]), shape=(2, 2))
    matrix.has_canonical_format = True  # it is not
    return matrix


# The second row is 2^53 + 1 in each of these.
ROUNDED: dict[str, Callable[[], Any]] = {
    "list": lambda: [[BIG, 0], [BIG + 1, 0]],
    "list beside floats": lambda: [[BIG, 0.0], [BIG + 1, 0.0]],
    "list of arrays": lambda: [np.array([BIG, 0]), np.array([BIG + 1, 0]), np.array([0.5, 0.5])],
    "tuple of uint64 and int64": lambda: ((np.uint64(BIG), np.int64(0)), (np.uint64(BIG + 1), np.int64(-1))),
    "deque beside floats": lambda: deque([[BIG, 0.0], [BIG + 1, 0.0]]),
    "deques beside floats": lambda: [deque([BIG, 0.0]), deque([BIG + 1, 0.0])],
    "other sequences beside floats": lambda: Rows([BIG, 0.0], [BIG + 1, 0.0]),
    "int64": lambda: np.array([[BIG, 0], [BIG + 1, 0]]),
    "uint64": lambda: np.array([[BIG, 0], [BIG + 1, 0]], np.uint64),
    "big-endian": lambda: np.array([[BIG, 0], [BIG + 1, 0]], ">i8"),
    "long double": lambda: LONG,
    "objects": lambda: np.array([[BIG, 0], [BIG + 1, 0]], object),
    "objects of NumPy": lambda: np.array([[np.int64(BIG), 0], [np.int64(BIG + 1), 0]], object),
    "fractions": lambda: [[Fraction(BIG), 0], [Fraction(BIG + 1), 0]],
    "decimals": lambda: [[Decimal(BIG), 0], [Decimal(BIG + 1), 0]],
    "csr": lambda: _sparse("csr", BIG, BIG + 1),
    "csr with an explicit zero": lambda: sp.csr_array(([BIG, 0, BIG + 1], [0, 1, 0], [0, 2, 3]), shape=(2, 2)),
    "csr with duplicates": lambda: _sparse("csr", BIG, BIG, 1),
    "csr with a wrong flag": _flagged,
    "csc with duplicates": lambda: _sparse("csc", BIG, BIG, 1),
    "coo with duplicates": lambda: _sparse("coo", BIG, BIG, 1),
    "lil of long doubles": lambda: sp.lil_array(LONG),
    "coo with float duplicates": lambda: _sparse("coo", BIG, BIG, 1, dtype=np.float64),
    "frame": lambda: pd.DataFrame({"a": [BIG, BIG + 1], "b": [0.0, 0.0]}),
    "frame of one type": lambda: pd.DataFrame({"a": [BIG, BIG + 1], "b": [0, 0]}),
    "frame of nullable integers": lambda: pd.DataFrame({"a": pd.array([BIG, BIG + 1], dtype="Int64"), "b": [0.0, 0.0]}),
    "frame of Arrow integers": lambda: pd.DataFrame({"a": pd.array([BIG, BIG + 1], dtype="int64[pyarrow]"), "b": [0.0, 0.0]}),
    "sparse frame": lambda: pd.DataFrame({"a": pd.arrays.SparseArray([BIG, BIG + 1]), "b": pd.arrays.SparseArray([0, 0])}),
    "frame of categories": lambda: pd.DataFrame({"a": pd.Categorical([BIG, BIG + 1]), "b": pd.Categorical([0.0, 0.0])}),
    "Arrow table": lambda: pa.table({"a": [BIG, BIG + 1], "b": [0.0, 0.0]}),
    "Arrow batch": lambda: pa.record_batch({"a": [BIG, BIG + 1], "b": [0.0, 0.0]}),
}
NOT_NUMBERS: dict[str, Callable[[], Any]] = {
    "text": lambda: np.array([[str(BIG), "0"], [str(BIG), "0"]]),
    "bytes": lambda: np.array([[b"1", b"0"], [b"1", b"0"]]),
    "text in objects": lambda: np.array([["1", 0], ["1", 0]], object),
    "list of text": lambda: [["1", "0"], ["1", "0"]],
    "frame of text": lambda: pd.DataFrame({"a": ["1", "1"], "b": [0.0, 0.0]}),
    "complex": lambda: FLOATS.astype(complex),
    "complex in objects": lambda: np.array([[1j, 0], [1j, 0]], object),
    "dates": lambda: np.array([["2020-01-01", "2020-01-02"]] * 2, "M8[ns]"),
    "durations": lambda: FLOATS.astype("m8[s]"),
    "records": lambda: np.zeros((2, 2), [("a", float)]),
    "none": lambda: [[None, 0.0], [None, 0.0]],
    "masked": lambda: np.ma.array(FLOATS, mask=[[1, 0], [0, 0]]),
    "masked rows of a deque": lambda: deque([np.ma.array([float(BIG), 0.0], mask=[1, 0]), [float(BIG), 0.0]]),
    "null of a dictionary": lambda: pa.table({"a": pa.array([float(BIG), None]).dictionary_encode(), "b": [0.0, 0.0]}),
    "null": lambda: pa.table({"a": pa.array([BIG, None]), "b": [0.0, 0.0]}),
    "masked rows": lambda: [np.ma.array([float(BIG), 0.0], mask=[1, 0]), [float(BIG), 0.0]],
}
EXACT: dict[str, Callable[[], Any]] = {
    "long double": lambda: FLOATS.astype(np.longdouble),
    "uint64": lambda: FLOATS.astype(np.uint64),
    "list beside floats": lambda: [[BIG, 0.0], [BIG, 0.0]],
    "fractions": lambda: [[Fraction(BIG), Fraction(0)], [Fraction(BIG), 0]],
    "decimals": lambda: [[Decimal(BIG), Decimal("0.0")], [Decimal(BIG), 0]],
    "nothing masked": lambda: np.ma.array(FLOATS, mask=False),
    "frame": lambda: pd.DataFrame({"a": [BIG, BIG], "b": [0.0, 0.0]}),
    "nullable frame": lambda: pd.DataFrame({"a": pd.array([BIG, BIG], dtype="Int64"), "b": [0.0, 0.0]}),
    "sparse frame": lambda: pd.DataFrame({"a": pd.arrays.SparseArray([BIG, BIG]), "b": pd.arrays.SparseArray([0, 0])}),
    "sparse frame of two types": lambda: pd.DataFrame(
        {"a": pd.arrays.SparseArray(FLOATS[:, 0], fill_value=0.0), "b": pd.arrays.SparseArray([False, False])}
    ),
    "deque": lambda: deque([[BIG, 0.0], [BIG, 0.0]]),
    "buffer": lambda: memoryview(FLOATS),  # type: ignore[arg-type]
    "categories": lambda: pd.DataFrame({"a": pd.Categorical([BIG, BIG]), "b": pd.Categorical([0.0, 0.0])}),
    "dictionary": lambda: pa.table({"a": pa.array([BIG, BIG]).dictionary_encode(), "b": [0.0, 0.0]}),
    "sparse frame that is filled": lambda: pd.DataFrame({"a": [BIG, BIG], "b": [0.0, 0.0]}).astype(pd.SparseDtype(float, 1.0)),
    "Arrow table": lambda: pa.table({"a": [BIG, BIG], "b": [0.0, 0.0]}),
    "coo with duplicates": lambda: _sparse("coo", BIG, BIG - 1, 1),
    "csr with duplicates": lambda: _sparse("csr", BIG, BIG - 2, 1, 1),
    "coo with float duplicates": lambda: _sparse("coo", BIG, BIG // 2, BIG // 2, dtype=np.float64),
    "bsr": lambda: sp.bsr_array(FLOATS, blocksize=(1, 1)),
    "lil": lambda: sp.lil_array(FLOATS),
    "dok": lambda: sp.dok_array(FLOATS),
    "dia": lambda: sp.dia_array(FLOATS),
}


@pytest.mark.parametrize("name", ROUNDED)
@pytest.mark.filterwarnings("ignore")
def test_numbers_that_would_be_rounded_are_refused(name: str) -> None:
    X, y = ROUNDED[name](), [0, 1]
    y += [1] * (len(X) - 2) if isinstance(X, list) else []
    calls: dict[str, Callable[[], Any]] = {
        "verify": lambda: rb.verify(SAME_POINT, X, y),
        "certify": lambda: rb.certify(X, y),
        "mistake_bound": lambda: rb.mistake_bound(X, y),
        "margin": lambda: rb.margin(([1.0, 0.0], -float(BIG)), X, y),
        "doctor": lambda: rb.doctor(X, y),
        "minimum_errors": lambda: rb.minimum_errors(X, y),
        "Perceptron": lambda: rb.Perceptron(certify=True).fit(X, y),
        "MaxMargin": lambda: rb.MaxMargin().fit(X, y),
    }
    for call in calls:
        with pytest.raises(ValueError, match=r"X has .*(cannot hold exactly|may be rounded)"):
            calls[call]()


@pytest.mark.parametrize("name", NOT_NUMBERS)
@pytest.mark.parametrize("call", [rb.certify, lambda X, y: rb.verify(SAME_POINT, X, y)])
def test_what_is_not_a_number_is_refused(name: str, call: Any) -> None:
    with pytest.raises(ValueError, match=r"X must be numbers, got|X has (masked|missing) values"):
        call(NOT_NUMBERS[name](), Y)


@pytest.mark.parametrize("name", EXACT)
def test_exact_numbers_are_read_from_every_container(name: str) -> None:
    X = EXACT[name]()
    assert rb.verify(SAME_POINT, X, Y)
    assert rb.certify(X, Y) == SAME_POINT


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ((127, 127, 1), np.int8),  # overflows
        ((2, 1, 1), bool),  # true and true is true
        ((3, 0.1, 0.2), np.float64),
        ((1, 1e16, 1, -1e16), np.float64),  # depends on the order
        ((1, 2.0**24, 1), np.float32),
        ((1, 1e308, 1e308), np.float64),
        ((1, 1e308, 1e308, -1e308, 0.1), np.float64),
    ],
)
def test_sums_of_duplicates_that_may_be_rounded_are_refused(values: tuple[float, ...], dtype: Any) -> None:
    X = _sparse("coo", *values, dtype=np.float64)
    X.data = X.data.astype(dtype)
    with pytest.raises(ValueError, match="duplicate entries whose sum may be rounded"):
        exact_matrix(X)


def test_sums_of_duplicates_are_those_of_fractions() -> None:
    rng = np.random.default_rng(5)
    for dtype, unit in ((np.float64, 2.0**-40), (np.float32, 0.25), (np.int16, 1.0)):
        values = (rng.integers(-50, 50, 400) * unit).astype(dtype)
        X = sp.coo_array((values, (rng.integers(0, 5, 400), rng.integers(0, 9, 400))), shape=(5, 9))
        found = exact_matrix(X)
        assert np.array_equal(sp.csr_array((found.data, found.indices, found.indptr), found.shape).toarray(), X.toarray())


def test_arrays_and_canonical_matrices_are_not_copied() -> None:
    array, matrix = np.ones((3, 2)), sp.csr_array(np.ones((3, 2)))
    assert exact_matrix(array) is array
    assert np.shares_memory(exact_matrix(matrix).data, matrix.data)


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
def test_inconsistent_sparse_matrices_are_refused(kind: str) -> None:
    """SciPy writes beyond its arrays when it converts such matrices of columns or blocks."""
    for name, values in (("indices", [0, 7]), ("indptr", [0, 2, 1]), ("indptr", [0, 1, 9]), ("indices", [-1, 0])):
        matrix = getattr(sp, f"{kind}_array")(np.diag([1.0, 2.0]))
        getattr(matrix, name)[:] = values
        with pytest.raises(ValueError, match="X is a sparse matrix with"):
            rb.verify(SAME_POINT, matrix, Y)
    for name, array in (("indptr", np.array([0, 1])), ("indptr", np.array([0.0, 1.0, 2.0])), ("data", np.ones((1, 1, 1)))):
        matrix = getattr(sp, f"{kind}_array")(np.diag([1.0, 2.0]))
        setattr(matrix, name, array)
        with pytest.raises(ValueError, match="X is a sparse matrix with inconsistent arrays"):
            rb.verify(SAME_POINT, matrix, Y)


def test_what_has_no_two_dimensions_is_refused() -> None:
    for X in (sp.coo_array(np.ones(3)), pd.Series([1.0, 2.0]), [1.0, 2.0], 5.0):
        with pytest.raises(ValueError, match="two dimensions"):
            rb.verify(SAME_POINT, X, Y)


def test_a_frame_without_columns_has_equal_rows() -> None:
    frame = pd.DataFrame(index=range(2))
    assert exact_matrix(frame).shape == (2, 0)
    assert rb.verify(SAME_POINT, frame, Y).code is CheckCode.OTHER_SHAPE


# --- labels ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "text"),
    [
        (1, "1"), (1.0, "1"), ("+1", "1"), ("1.0", "1"), ("1e0", "1"), (np.float32(1), "1"), (-0.0, "0"), ("0e99999999", "0"),
        (BIG + 1, "9007199254740993"), (f"{BIG + 1}.0", "9007199254740993"), (np.longdouble(BIG) + 1, "9007199254740993"),
        (0.1, "0.1"), ("0.10", "0.1"), ("0.1000000000000000055", "0.1000000000000000055"), (1e23, "99999999999999991611392"),
        ("1e23", "100000000000000000000000"), (True, "True"), (np.True_, "True"), ("inf", "inf"), ("1_0", "1_0"), ("a", "a"),
        (" a ", "a"), ("1e-400", "1e-400"), (Fraction(1, 2), "1/2"), (Decimal("2.0"), "2"),
    ],
)  # fmt: skip
def test_labels_as_text(label: object, text: str) -> None:
    assert canonical_label(label) == text


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([BIG, BIG + 1, 1.0], "y has numbers that float64 cannot hold exactly"),
        (deque([BIG, BIG + 1, 1.0]), "y has numbers that float64 cannot hold exactly"),
        ([1, "1", "0"], "two labels of y are equal as text or as numbers, got 1 and '1'"),
        (["1.0", 1, "0"], "two labels of y are equal as text or as numbers, got '1.0' and 1"),
        ([True, "True", "0"], "two labels of y are equal as text or as numbers, got True and 'True'"),
        ([b"a", "a", "b"], "labels of bytes beside others"),
        (deque(["a\0", "a", "b"]), "ends with a NUL character"),
        (["a\0", "a", "b"], "ends with a NUL character"),
        (np.ma.array([0, 1, 1], mask=[0, 0, 1]), "y has masked values"),
    ],
)
def test_labels_that_would_be_changed_are_refused(y: Any, words: str) -> None:
    for call in (rb.certify, rb.MaxMargin().fit, rb.Perceptron(certify=True).fit):
        with pytest.raises(ValueError, match=words):
            call([[0.0], [1.0], [2.0]], y)


@pytest.mark.parametrize(
    "y",
    [
        [2, None, 2], ["2", np.nan, "2"], [2.0, np.nan, 2.0], pd.array([2, None, 2], dtype="Int64"), [2, Decimal("nan"), 2],
        np.array(["2", None, "2"], np.dtypes.StringDType(na_object=None)),
        np.array(["2", np.nan, "2"], np.dtypes.StringDType(na_object=np.nan)), pa.array([2, None, 2]).dictionary_encode(),
    ],
)  # fmt: skip
def test_missing_labels_are_refused(y: Any) -> None:
    certificate = rb.certify([[0.0], [1.0], [2.0]], ["2", "nan", "2"])
    with pytest.raises(ValueError, match=r"y has missing (labels|values)"):
        rb.verify(certificate, [[0.0], [1.0], [2.0]], y)


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(["a", pd.NA, "b"], dtype="string"), pd.Series([1, pd.NA, 2], dtype="Int64"), ["a", pd.NA, "b"],
        [0.0, np.nan, 1.0], pd.Series(["a", None, "b"], dtype="category"), deque(["a", None, "b"]),
    ],
)  # fmt: skip
def test_missing_labels_are_named_so_by_proofs(y: Any) -> None:
    for prove in (rb.certify, rb.doctor, rb.minimum_errors):
        with pytest.raises(ValueError, match="y has missing labels; drop their rows"):
            prove([[0.0], [1.0], [2.0]], y)


@pytest.mark.parametrize(
    "X",
    [
        np.array([[1, 2], [3, BIG + 1]]), [[1, 2], [3, BIG + 1]], [[1, 0.5], [3, BIG + 1]],
        np.array([[1, 2], [3, BIG + 1]], object),
        pd.DataFrame({"a": [1, 3], "b": [2, BIG + 1]}), pd.DataFrame({"a": [0.5, 3.0], "b": [2, BIG + 1]}),
    ],
)  # fmt: skip
def test_the_first_number_that_would_be_rounded_is_named(X: Any) -> None:
    words = "X has numbers .*: 9007199254740993 in row 2, column 2; scale or round them"
    with pytest.raises(ValueError, match=words):
        rb.certify(X, Y)
    with pytest.raises(ValueError, match=words):
        rb.verify(SAME_POINT, X, Y)


def test_numbers_without_a_known_place_are_named_alone() -> None:
    with pytest.raises(ValueError, match=r"2\*\*53: 9007199254740993; scale"):
        rb.certify(_sparse("csr", BIG, BIG + 1), Y)
    with pytest.raises(ValueError, match=r"2\*\*53: 9007199254740993 in row 2; scale"):
        rb.certify([[0.0], [1.0], [2.0]], [BIG, BIG + 1, 1.0])
    with pytest.raises(ValueError, match=r"2\*\*53: a long number in row 1, column 1; scale"):
        rb.certify([[Fraction(10**5000 + 1, 10**5000)], [Fraction(1)]], Y)


@pytest.mark.parametrize("y", [["2", "1", "2.0"], ["2", "1", " 2"], ["2", "1", "\N{ARABIC-INDIC DIGIT TWO}"]])
def test_different_labels_are_not_merged(y: Any) -> None:
    certificate = rb.certify([[0.0], [1.0], [2.0]], [2, 1, 2])
    with pytest.raises(ValueError, match="two labels of y are equal as text or as numbers"):
        rb.verify(certificate, [[0.0], [1.0], [2.0]], y)


def test_labels_beyond_the_whole_floats_are_not_confused() -> None:
    certificate = rb.certify([[0.0], [1.0]], [BIG, 1])
    assert rb.verify(certificate, [[0.0], [1.0]], [float(BIG), 1.0])
    for other in (BIG + 1, f"{BIG + 1}", f"{BIG + 1}.0"):
        assert not rb.verify(certificate, [[0.0], [1.0]], [other, 1])


@pytest.mark.parametrize("name", ["null_count", "tocsr", "iter_columns", "itercolumns", "tocoo", "format", "sparse"])
def test_a_column_of_any_name_is_a_column(name: str) -> None:
    """Data frames have their columns as attributes."""
    frame, labels = pd.DataFrame({name: [0.0, 2.0], "b": [0, 0]}), ["x", "y"]
    certificate = rb.certify(frame, labels)
    assert isinstance(certificate, rb.Separable)
    assert rb.verify(certificate, frame, labels)
    assert rb.verify(certificate, frame.to_numpy(), labels)
