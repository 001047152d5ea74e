"""Leaks: a column that predicts the label alone is named only where the other columns do not, beyond chance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from rosenblatt.proofs.doctor.leaks import find_leaks


def names(columns: Any, codes: Any) -> list[Any]:
    return [leak.column for leak in find_leaks(columns, codes)]


def rows(n: int, k: int = 2, seed: int = 0) -> tuple[dict[str, Any], Any, Any]:
    """Columns that say little about the label, and a generator."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, k, n)
    colors = np.array(["red", "blue", "green"], object)[rng.integers(0, 3, n)]
    return {"a": rng.normal(size=n) + 0.4 * codes, "b": rng.normal(size=n), "color": colors}, codes, rng


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("kind", ["threshold", "wrong once", "category", "missing", "code"])
def test_a_column_that_gives_the_label_is_named(kind: str, k: int) -> None:
    columns, codes, rng = rows(200, k)
    if kind == "threshold":
        leak = codes * 2.0 + rng.random(200)
    elif kind == "wrong once":
        leak = np.where(np.arange(200) == 7, k - codes, codes) * 3.0
    elif kind == "category":
        leak = np.array([f"{code}{letter}" for code, letter in zip(codes, rng.choice(["x", "y"], 200), strict=True)], object)
    elif kind == "missing":
        leak = np.where(codes == k - 1, np.nan, codes + rng.random(200))
    else:
        leak = np.roll(np.arange(k), 1)[codes] + 10.0
    (found,) = find_leaks({**columns, "leak": leak}, codes)
    assert (found.column, found.rows) == ("leak", 200)
    assert found.errors == (1 if kind == "wrong once" else 0)
    assert found.other_error > 0.3


def test_two_copies_of_the_label_do_not_hide_each_other() -> None:
    columns, codes, _ = rows(100)
    alive = np.where(codes, "yes", "no").astype(object)
    assert names({**columns, "one": codes + 0.0, "two": alive}, codes) == ["one", "two"]


def test_a_rare_class_counts_as_much_as_the_others() -> None:
    columns, codes, rng = rows(2000)
    codes = (rng.random(2000) < 0.03).astype(int)
    assert names({**columns, "charged_back": codes + 0.0}, codes) == ["charged_back"]
    assert names(columns, codes) == [], "always guessing the frequent class is right in 97 % of the rows"


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("rest", [False, True])
def test_easy_data_have_no_leaks(load: Any, rest: bool) -> None:
    X, y = load(return_X_y=True)
    y = (y == 0).astype(int) if rest else y  # setosa against the rest: one threshold on each of two columns
    assert names({str(c): X[:, c] for c in range(X.shape[1])}, y) == []


def test_small_and_random_data_have_no_leaks() -> None:
    found = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 60))
        codes = rng.integers(0, 2, n)
        found += len(find_leaks({c: rng.normal(size=n) for c in range(20)}, codes))
    assert found == 0


def test_unique_strings_predict_nothing_and_a_single_column_is_no_leak() -> None:
    columns, codes, _ = rows(100)
    assert names({**columns, "name": np.array([f"p{i}" for i in range(100)], object)}, codes) == []
    assert names({"only": codes + 0.0}, codes) == []
    assert names({**columns, "only": codes + 0.0}, np.zeros(100, int)) == []


def test_huge_and_missing_numbers_are_examined() -> None:
    columns, codes, _ = rows(100)
    columns |= {"huge": np.where(columns["a"] > 0, 1e308, -1e308), "none": np.full(100, np.nan)}
    with np.errstate(all="raise"):
        assert names({**columns, "leak": codes * 1e308}, codes) == ["leak"]
