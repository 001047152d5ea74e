"""Examples: the bundled sets with their names, and generated ones that keep what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import datasets

from rosenblatt.data.readers import Options
from rosenblatt.data.readers.examples import BUNDLED, PARAMETERS, example
from rosenblatt.data.readers.read import chunks, read
from rosenblatt.data.table import DataError


def matrix(data) -> np.ndarray:
    return np.column_stack(data.features.columns)


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_sets_have_names(name):
    data = read(f"example:{name}")
    bunch = getattr(datasets, f"load_{name.replace('-', '_')}")()
    np.testing.assert_array_equal(matrix(data), bunch.data)
    assert data.labels.tolist() == [str(bunch.target_names[code]) for code in bunch.target]
    assert data.features.names == tuple(bunch.feature_names)


@pytest.mark.parametrize("name", PARAMETERS)
def test_generated_sets_go_by_their_seed(name):
    one, same, other = (read(f"example:{name}?rows=40&seed={seed}") for seed in (1, 1, 2))
    np.testing.assert_array_equal(matrix(one), matrix(same))
    assert one.labels.tolist() == same.labels.tolist()
    assert (matrix(one) != matrix(other)).any()
    assert one.n_rows == 40
    assert np.isfinite(matrix(one)).all()


@settings(deadline=None)
@given(st.floats(1e-6, 0.9), st.integers(2, 200), st.integers(2, 30), st.integers(0, 1000))
def test_the_chosen_margin_is_the_smallest(margin, rows, columns, seed):
    data = read(f"example:separable?margin={margin!r}&rows={rows}&columns={columns}&seed={seed}")
    X, signs = matrix(data), np.where(data.labels == "above", 1, -1)
    normal = np.random.default_rng(seed).standard_normal(columns)
    distances = signs * (X @ normal) / np.linalg.norm(normal)
    assert distances.min() == pytest.approx(margin, abs=1e-15 * columns)
    assert min(distances[signs > 0].min(), distances[signs < 0].min()) == pytest.approx(margin, abs=1e-15 * columns)
    assert np.linalg.norm(X, axis=1).max() <= 1


def test_blobs_and_xor():
    blobs = read("example:blobs,rows=300,classes=4,columns=3,spread=0")
    assert len({*map(tuple, matrix(blobs))}) == len(set(blobs.labels)) == 4
    xor = read("example:xor?rows=100")
    a, b = xor.features.columns
    assert ((a > 0) == (b > 0)).tolist() == (xor.labels == "same").tolist()


BAD = {
    "example:nothing": "unknown example 'nothing'; examples: iris, wine, breast-cancer, digits, blobs",
    "example:": "unknown example ''",
    "example:iris?rows=3": "iris takes no parameters",
    "example:blobs?row=3": "blobs has no parameter 'row'; parameters: rows, columns, classes, spread, seed",
    "example:blobs?rows": "blobs has no parameter 'rows'",
    "example:blobs?rows=x": "rows must be an integer from 2 to",
    "example:blobs?rows=2.5": "rows must be an integer",
    "example:blobs?rows=1e400": "rows must be an integer",
    "example:blobs?rows=" + "9" * 5000: "rows must be an integer",
    "example:blobs?spread=nan": "spread must be a number from 0",
    "example:separable?margin=0": "margin must be a number from 1e-9 to 0.9",
    "example:blobs?rows=10000000&columns=10000": "rows times columns must be at most",
}


@pytest.mark.parametrize("name", BAD, ids=lambda name: name[:40])
def test_bad_examples(name):
    with pytest.raises(DataError) as error:
        read(name)
    assert BAD[name] in str(error.value).replace(name, "", 1)


def test_columns_left_out_and_chunks():
    data = example("example:iris", Options(ignore=("0", "petal width (cm)")))
    assert data.features.names == ("sepal width (cm)", "petal length (cm)")
    parts = list(chunks("example:iris", Options(), 1000))
    assert len(parts) > 1
    np.testing.assert_array_equal(np.concatenate([matrix(part) for part in parts]), matrix(read("example:iris")))
