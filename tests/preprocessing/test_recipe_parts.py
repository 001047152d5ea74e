"""A recipe's parts: a round trip without loss, and errors for what `to_parts` cannot produce."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import numbers, sparse, strings, table

from rosenblatt.data.table import Data, Table
from rosenblatt.preprocessing.recipe import Recipe

TEXT = strings("the cat sat", "the dog sat", "a bird too", "the bird too")
MIXED = table(a=numbers(1, 2, np.nan, 4), s=strings("x", "y", None, "x"), t=TEXT, b=numbers(0, 0, 5000, 1))
X = np.array([[1.0, 2.0], [3.0, 400.0]])
ONE = np.zeros(1, np.int64)
DATED = Data("rows.csv", Table(("day", "k"), (numbers(1, 20, 300), numbers(5, 5, 5))), None, dates={"day": "date"})
RECIPES = {
    "mixed": Recipe.learn([MIXED], text=("t",)),
    "mixed degree": Recipe.learn([MIXED], text=("t",), degree=3, scale="standard"),
    "grams": Recipe.learn([table(t=TEXT)], text=("t",), text_features="words-2,chars-2-3:tfidf"),
    "dense": Recipe.learn([X]),
    "dense plain": Recipe.learn([X], scale="none"),
    "sparse": Recipe.learn([sparse(X)]),
    "sparse degree": Recipe.learn([sparse(X)], degree=2, first=0),
    "dates": Recipe.learn([DATED], drop_constant=True),
    "indicators": Recipe.learn([MIXED], text=("t",), missing_indicator=True),
    "dropped": Recipe.learn([np.column_stack([X, [7.0, 7.0]])], drop_constant=True),
    "strings alone": Recipe.learn([table(s=strings("x", "y"))]),
}


@pytest.mark.parametrize("name", RECIPES)
def test_parts_are_plain_and_give_the_recipe_back(name):
    recipe = RECIPES[name]
    meta, arrays = recipe.to_parts()
    meta = json.loads(json.dumps(meta))
    assert all(isinstance(array, np.ndarray) and array.dtype in (np.float64, np.int64, np.uint8) for array in arrays.values())
    again = Recipe.from_parts(meta, arrays)
    assert again == recipe
    assert again.notes == recipe.notes
    assert list(again.feature_names) == list(recipe.feature_names)
    assert again.required == recipe.required


def test_recipes_differ():
    assert RECIPES["dense"] != RECIPES["dense plain"]
    assert RECIPES["dense"] != "dense"


HOT = ["s", "names", ["x", "y"], True]


def bag(size: object, **changes: object) -> list[object]:
    kind = {"unit": "words", "low": 1, "high": 1, "weight": "binary"} | changes
    return ["t", "text", [[*kind.values(), size]]]


BAG = bag(4)
META = {
    "kind": [None, "text", 1, [], "sparse", "dense"],
    "columns": [-1, 1.0, True, "2", 1, 3, 2**40, None],
    "degree": [0, 2, 21, 1.0, True],
    "first": [2, -1, 0.5, True, None],
    "names": [
        None, [], ["a"], ["a", "s", "t", "t"], ["s", "t", "b", "a", "c"], ["a", "t", "s", "b"], ["a", "s", "t", 1], "asdf",
        ["a", "s", "t", "\ud800"],
    ],
    "scale": ["none", "max", "rms", "wild", None, 1, []],
    "constant": [None, "k", [1], ["\ud800"]],
    "dates": [None, [["a"]], [["a", "day"]], [["s", "date"]], [["a", "date"], ["a", "date"]], {"a": "date"}, [[1, "date"]]],
    "rows": [0, -1, 3, 1.0, True, "4", 2**60, None],
    "notes": [None, [1], "x", ["x"] * 2000],
    "strings": [
        None, [], [HOT], [["s", "names", ["y", "x"], True], BAG], [["s", "names", ["x", "x"], True], BAG],
        [["s", "names", ["x", 3], True], BAG], [HOT, bag(5)], [HOT, bag(4.0)], [HOT, ["t", "letters", 4]],
        [HOT, ["t", "text", 4]], [["s", "names"], BAG], {"s": 1}, [["z", "names", ["x", "y"], True], BAG],
        [["s", "names", ["x", "y"], 1], BAG], [["s", "names", ["x", "y"], None], BAG],
        [HOT, ["t", "text", [["words", 1, 1, "binary", 4, True]]]], [["s", "names", [], True], BAG],
        [["s", "names", [f"{i:06}" for i in range(10_001)], True], BAG], [HOT, ["t", "text", []]],
        [HOT, ["t", "text", BAG[2] * 2]], [HOT, ["t", "text", BAG[2] * 3]], [HOT, bag(4, unit="chars")],
        [HOT, bag(4, unit="letters")], [HOT, bag(4, low=0)], [HOT, bag(4, low=2)], [HOT, bag(4, high=6)],
        [HOT, bag(4, high=1.0)], [HOT, bag(4, low=2, high=2)], [HOT, bag(4, weight="heavy")], [HOT, bag(4, weight="tfidf")],
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in META.items() for value in values], ids=lambda v: repr(v)[:30]
)
def test_wrong_entries_are_refused(key, value):
    meta, arrays = RECIPES["mixed"].to_parts()
    with pytest.raises(ValueError, match=r"recipe") as error:
        Recipe.from_parts(meta | {key: value}, arrays)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


def words(*some: str) -> np.ndarray:
    return np.frombuffer("\n".join(some).encode(), np.uint8)


ARRAYS = {
    "fill": [None, np.zeros(3), np.zeros(2, np.float32), np.array([np.nan, 1]), np.zeros((2, 1)), [0.0, 0.0]],
    "divide": [np.array([1.0, 0.0]), np.array([-1.0, 1.0]), np.array([np.inf, 1]), np.ones(7)],
    "shift": [np.zeros(3), np.array([np.nan, 0])],
    "grams1.0": [
        None, words("bird", "sat"), words("sat", "bird", "the", "too"), words("bird", "bird", "the", "too"), np.zeros(3),
        words("Bird", "sat", "the", "too"), words("a", "sat", "the", "too"), np.full(4, 255, np.uint8),
        words("b d", "sat", "the", "too"), words("bird", "sat", "the", "too", ""),
    ],
    "minimum": [None, np.zeros(3), np.array([3.0, 9000.0]), np.array([np.nan, 0.0]), np.array([-np.inf, 0.0])],
    "maximum": [None, np.zeros(2, np.float32), np.array([np.inf, 1.0])],
    "mean": [None, np.zeros(3), np.array([np.nan, 0.0])],
    "edges": [None, np.zeros((2, 10)), np.tile(np.arange(9.0)[::-1], (2, 1)), np.full((2, 9), np.inf)],
    "shares": [None, np.zeros((2, 9)), np.full((2, 10), -0.1), np.full((2, 10), 1.5), np.full((2, 10), np.nan)],
    "missing": [None, np.array([-1, 0]), np.array([5, 0]), np.array([1.0, 0.0])],
    "string_missing": [None, np.array([2, 0]), np.array([0])],
    "counts0": [None, np.array([2, 2]), np.array([2]), np.array([-1, 1]), np.array([1 << 62, 1 << 62])],
    "counts1": [np.array([1, 1, 1, 1])],
    "inputs": [np.array([0]), np.array([[0, 1]]), np.array([0, 2])],
    "parts": [np.array([0, 0])],
    "indicators": [np.array([2]), np.array([-1]), np.array([1, 0]), np.array([0.0]), np.array([0, 0])],
    "grams0.0": [words("cat")],
    "more": [np.zeros(1)],
}  # fmt: skip


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in ARRAYS.items() for value in values])
def test_wrong_arrays_are_refused(key, value):
    meta, arrays = RECIPES["mixed"].to_parts()
    arrays = {name: array for name, array in (arrays | {key: value}).items() if array is not None}
    with pytest.raises(ValueError, match="recipe"):
        Recipe.from_parts(meta, arrays)


def test_grams_and_their_factors_must_fit():
    meta, arrays = RECIPES["grams"].to_parts()
    factors = arrays["idf0.0"]
    wrong = [None, factors[1:], factors.astype(np.float32), factors * 0.0, np.full(len(factors), np.nan), factors + np.inf]
    changes = [{"idf0.0": each} for each in wrong] + [{"idf0.2": factors}, {"grams0.1": arrays["grams0.0"]}]
    for change in changes:
        with pytest.raises(ValueError, match="recipe"):
            Recipe.from_parts(meta, {name: array for name, array in (arrays | change).items() if array is not None})


def test_what_does_not_go_together():
    meta, arrays = RECIPES["sparse"].to_parts()
    for more in ({"fill": np.zeros(2)}, {"inputs": np.zeros(1, np.int64), "parts": np.zeros(1, np.int64)}, {"indicators": ONE}):
        with pytest.raises(ValueError, match="recipe"):
            Recipe.from_parts(meta, arrays | more)
    for scale in ("rms", "none", "new", None, []):
        with pytest.raises(ValueError, match="scale"):
            Recipe.from_parts(meta | {"scale": scale}, arrays)
    meta, arrays = RECIPES["dense"].to_parts()
    with pytest.raises(ValueError, match="shifts features"):
        Recipe.from_parts(meta | {"scale": "max"}, arrays)
    meta, arrays = RECIPES["dense plain"].to_parts()
    with pytest.raises(ValueError, match="shifts features"):
        Recipe.from_parts(meta, arrays | {"shift": np.zeros(2)})
    with pytest.raises(ValueError, match="entries"):
        Recipe.from_parts({key: value for key, value in meta.items() if key != "first"}, arrays)
    with pytest.raises(ValueError, match="entries"):
        Recipe.from_parts([], arrays)
    meta, arrays = RECIPES["sparse"].to_parts()
    with pytest.raises(ValueError, match="degree=20"):
        Recipe.from_parts(meta | {"columns": 2**31, "degree": 20}, arrays)


def test_inputs_must_be_parts_of_dates():
    meta, arrays = RECIPES["dates"].to_parts()
    assert Recipe.from_parts(meta, arrays).width == 5
    n = len(arrays["parts"])
    for parts in (np.arange(n) + 1, np.arange(n)[::-1].copy(), np.arange(n) + 5, np.zeros(n, np.int64), np.arange(n) * 1.0):
        with pytest.raises(ValueError, match="recipe"):
            Recipe.from_parts(meta, arrays | {"parts": parts})
    for name in ("inputs", "parts"):
        with pytest.raises(ValueError, match="recipe"):
            Recipe.from_parts(meta, {key: array for key, array in arrays.items() if key != name})
    with pytest.raises(ValueError, match="has no part"):
        Recipe.from_parts(meta | {"dates": []}, arrays)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2**70) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(sorted(RECIPES)), st.data())
def test_mutated_parts_are_the_recipe_or_refused(name, data):
    """Whatever is loaded gives back exactly the parts that were given."""
    meta, arrays = copy.deepcopy(RECIPES[name].to_parts())
    for _ in range(data.draw(st.integers(1, 2))):
        full = sorted(key for key, array in arrays.items() if array.size)
        if full and data.draw(st.booleans()):
            key = data.draw(st.sampled_from(full))
            raw = bytearray(arrays[key].tobytes())
            raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
            arrays[key] = np.frombuffer(bytes(raw), arrays[key].dtype)
        else:
            meta[data.draw(st.sampled_from(sorted(meta)))] = data.draw(JUNK)
    try:
        recipe = Recipe.from_parts(meta, arrays)
    except ValueError:
        return
    again, others = recipe.to_parts()
    assert again == meta
    assert {key: array.tobytes() for key, array in others.items()} == {key: array.tobytes() for key, array in arrays.items()}
    assert recipe.width >= 0
    assert len(list(recipe.feature_names[:5])) <= 5
