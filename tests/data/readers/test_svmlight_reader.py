"""svmlight: scikit-learn's arrays bit for bit, the same from kernel and definition, and sentences for what is wrong."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from reading_files import outcome, outcome_of_chunks, read, source_of
from sklearn.datasets import load_svmlight_file

from rosenblatt.data.readers.svmlight import looks_like_svmlight, svmlight_chunks
from rosenblatt.data.table import DataError
from rosenblatt.kernels.compile import COMPILED

often = settings(deadline=None, max_examples=100 if COMPILED else 50, suppress_health_check=[HealthCheck.too_slow])
both = pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "definition"])

floats = st.floats(-1e307, 1e307)
spellings = st.sampled_from(["{!r}", "{:.3f}", "{:+.15e}", "{:.2E}", "{:.0f}"])
numbers = st.builds(lambda spelling, x: spelling.format(x), spellings, floats) | st.integers(-99, 99).map(str)
blanks = st.sampled_from([" ", "  ", "\t", " \t "])
ends = st.sampled_from(["\n", "\r\n", " \n", " # note 1:2\n", "\n\n", "\n# 7:8\n", " \r\n"])


@st.composite
def rows(draw: Any) -> str:
    columns = sorted(draw(st.sets(st.integers(1, 2000) | st.integers(1, 2**31 - 1), max_size=6)))
    query = [f"qid:{draw(st.integers(0, 9))}"] if draw(st.booleans()) else []
    cells = [draw(numbers), *query, *(f"{column}:{draw(numbers)}" for column in columns)]
    return draw(blanks).join(cells) + draw(ends)


files = st.lists(rows(), min_size=1, max_size=8).map("".join).map(str.encode)


def theirs(content: bytes) -> tuple[Any, Any]:
    return load_svmlight_file(io.BytesIO(content), zero_based=False)


@often
@given(files, st.booleans(), st.booleans())
def test_the_same_arrays_as_scikit_learn(content: bytes, kernel: bool, cut: bool) -> None:
    if cut:
        content = content.rstrip()
    X, y = theirs(content)
    data = read("svmlight", content, kernel)
    for ours, other in ((data.features.values, X.data), (data.labels, y)):
        assert ours.dtype == np.float64
        assert ours.view(np.int64).tolist() == other.view(np.int64).tolist()
    assert data.features.indices.dtype == np.int32
    assert data.features.indices.tolist() == X.indices.tolist()
    assert data.features.indptr.dtype == np.int64
    assert data.features.indptr.tolist() == X.indptr.tolist()
    assert (data.n_rows, max(1, data.features.width)) == X.shape  # without nonzeros, scikit-learn returns one column


mutations = st.sampled_from(
    [b":", b" ", b"\n", b"#", b"0", b"9" * 12, b"e", b"-", b".", b"nan", b"inf", b"\r", b"q", b"\xff", b"\x0b", b"\0"]
)


@st.composite
def damaged(draw: Any) -> bytes:
    content = draw(files)
    for _ in range(draw(st.integers(1, 4))):
        at, length = draw(st.integers(0, len(content))), draw(st.integers(0, 3))
        content = content[:at] + draw(mutations | st.binary(max_size=3)) + content[at + length :]
    return content


@often
@given(damaged() | st.binary(max_size=60), st.booleans())
@example(b"0 qid:\x0b0 1:0 2:0\n", False)
def test_kernel_and_definition_agree_on_whatever_comes(content: bytes, zero_based: bool) -> None:
    by_kernel, by_definition = (outcome("svmlight", content, kernel, zero_based=zero_based) for kernel in (True, False))
    assert by_kernel == by_definition


@often
@given(files | damaged(), st.integers(1, 200), st.booleans())
def test_chunks_are_the_whole(content: bytes, size: int, kernel: bool) -> None:
    assert outcome_of_chunks("svmlight", content, kernel, size) == outcome("svmlight", content, kernel)


WRONG = {
    b"1 1:2\n1 0:1 2:1\n": "line 2, character 3: the index is 0, but indices count from 1; use --zero-based",
    b"1 3:1 2:1\n": "line 1, character 7: the index 2 comes after 3; indices must ascend",
    b"1 3:1  3:1\n": "line 1, character 8: the index 3 is repeated; indices must ascend",
    b"1 2147483648:1\n": "line 1, character 3: the index 2147483648 is larger than 2^31 - 1",
    b"1 99999999999999999999:1\n": "line 1, character 3: the index 99999999999999999999 is larger than 2^31 - 1",
    b"one 3:1\n": "line 1, character 1: the label is 'one', which is not a number",
    b"nan 3:1\n": "line 1, character 1: the label is 'nan', which is not finite",
    b"1 3:x\n": "line 1, character 3: the value of index 3 is 'x', which is not a number",
    b"1 3:nan\n": "line 1, character 3: the value of index 3 is 'nan', which is not finite",
    b"1 3:-inf\n": "line 1, character 3: the value of index 3 is '-inf', which is not finite",
    b"1 3:1e400\n": "line 1, character 3: the value of index 3 is '1e400', which is not finite",
    b"1 3:1:2\n": "line 1, character 3: the value of index 3 is '1:2', which is not a number",
    b"1 3:\n": "line 1, character 3: the value of index 3 is missing",
    b"1 3\n": "line 1, character 3: expected index:value, found '3'",
    b"1 a:1\n": "line 1, character 3: the index 'a' is not a nonnegative integer",
    b"1 -1:1\n": "line 1, character 3: the index '-1' is not a nonnegative integer",
    b"1 :1\n": "line 1, character 3: the index '' is not a nonnegative integer",
    b"1 2:1 qid:3\n": "line 1, character 7: the index 'qid' is not a nonnegative integer",
    b"\n\n  \n 1 3:1_0\n": "line 4, character 4: the value of index 3 is '1_0', which is not a number",
    b"1e999 1:1\n": "line 1, character 1: the label is '1e999', which is not finite",
}


@both
@pytest.mark.parametrize("content", WRONG)
def test_what_is_wrong_and_where(content: bytes, kernel: bool) -> None:
    assert outcome("svmlight", content, kernel) == f"file, {WRONG[content]}"
    assert outcome("svmlight", b"1 1:1\n" + content, kernel).startswith("file, line ")


@both
@pytest.mark.parametrize("content", [b"", b"\n\n", b"# nothing\n", b"\xef\xbb\xbf"])
def test_no_rows(content: bytes, kernel: bool) -> None:
    assert outcome("svmlight", content, kernel) == "file: the file has no rows"
    assert outcome_of_chunks("svmlight", content, kernel, 10) == "file: the file has no rows"


@both
def test_zero_based(kernel: bool) -> None:
    data = read("svmlight", b"1 0:5 3:6\n", kernel, zero_based=True)
    assert data.features.indices.tolist() == [0, 3]
    assert data.features.width == 4


@both
def test_columns_given(kernel: bool) -> None:
    assert read("svmlight", b"1 3:6\n", kernel, columns=7).features.shape == (1, 7)
    message = outcome("svmlight", b"1 1:2 8:6\n", kernel, columns=7)
    assert message == "file, line 1, character 7: the index 8 is larger than 7, the last of 7 columns"


@both
def test_explicit_zeros_stay_and_empty_rows_too(kernel: bool) -> None:
    data = read("svmlight", b"1 2:0 3:-0\n-1\n2 # 1:1\n", kernel)
    assert data.features.values.tolist() == [0.0, 0.0]
    assert data.features.indptr.tolist() == [0, 2, 2, 2]
    assert data.labels.tolist() == [1, -1, 2]


@both
def test_very_many_long_numbers(kernel: bool) -> None:
    """More than a kernel can leave to Python at a time."""
    numbers = [f"{k}.{'1' * 30}" for k in range(40)]
    line = " ".join(f"{k}:{x}" for k, x in enumerate(numbers, 1))
    content = "".join(f"0.{'7' * 25} {line}\n" for _ in range(120)).encode()
    data = read("svmlight", content, kernel)
    assert data.features.values.tolist() == [float(x) for x in numbers] * 120
    assert set(data.labels.tolist()) == {float("0." + "7" * 25)}


def test_width_grows_with_chunks() -> None:
    with source_of(b"1 1:1\n" * 10 + b"1 9:1\n") as source:
        widths = [data.features.width for data in svmlight_chunks(source, size=20)]
    assert widths[0] == 1
    assert widths[-1] == 9


def test_looks_like_svmlight() -> None:
    assert looks_like_svmlight(b"# x\n\n-1 3:1 9:.5\n")
    assert not looks_like_svmlight(b"1,2,3\n")
    assert not looks_like_svmlight(b"")
    assert not looks_like_svmlight(b"5\n")


def test_a_small_file_is_read_without_numba_and_scipy() -> None:
    code = """
import io, sys
from rosenblatt.data.readers.sources import Source
from rosenblatt.data.readers.svmlight import read_svmlight
from rosenblatt.data.readers.delimited import read_delimited
assert read_svmlight(Source("x", stream=io.BytesIO(b"1 1:2\\n" * 1000))).n_rows == 1000
assert read_delimited(Source("x.csv", stream=io.BytesIO(b"a,b,label\\n1,2,3\\n"))).n_rows == 1
print([name for name in ("numba", "scipy", "sklearn", "pyarrow", "pandas") if name in sys.modules])
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_errors_are_value_errors() -> None:
    with pytest.raises(ValueError, match="line 1") as caught:
        read("svmlight", b"x 1:1\n", kernel=False)
    assert isinstance(caught.value, DataError)
    assert (caught.value.line, caught.value.character) == (1, 1)
