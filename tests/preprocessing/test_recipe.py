"""Recipes: each feature agrees with its definition, by naive loops, for any split into chunks."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import PolynomialFeatures
from tables import cut, dense, numbers, sparse, strings, table

from rosenblatt.data.csr import CSRMatrix
from rosenblatt.data.polynomials import Polynomial
from rosenblatt.data.table import Data, DataError, Table
from rosenblatt.preprocessing.recipe import Recipe

RNG = np.random.default_rng(0)
TEXTS = [
    "The cat sat on the mat.", "A dog, a CAT and a bird!", "naïve café — naïve", "x y z", "", "mat mat mat dog_1 dog_1",
    "bird bird", "Ünïcode ünïcode words", "the the the the", "one two three dog_1",
]  # fmt: skip


def test_numbers_are_themselves():
    data = table(a=numbers(1, 2), b=numbers(3, -4))
    recipe = Recipe.learn([data], scale="none")
    np.testing.assert_array_equal(recipe.rows(data), [[1, 3], [2, -4]])
    assert (list(recipe.feature_names), recipe.required, recipe.width, recipe.notes) == (["a", "b"], ("a", "b"), 2, ())


def naive_one_hot(cells, training):
    values = [*sorted({cell for cell in training if cell is not None}), *([None] if None in training else [])]
    return np.array([[float(cell == value) for value in values] for cell in cells]).reshape(len(cells), len(values)), values


CELLS = st.lists(st.sampled_from(["a", "b", "b c", "", "é", "A", None]), min_size=1, max_size=12)


@settings(deadline=None)
@given(CELLS, CELLS)
def test_names_are_one_hot(training, cells):
    recipe = Recipe.learn([table(color=strings(*training))], categorical=("color",))
    expected, values = naive_one_hot(cells, training)
    rows = recipe.rows(table(color=strings(*cells)))
    assert isinstance(rows, CSRMatrix)
    np.testing.assert_array_equal(dense(rows), expected)
    assert list(recipe.feature_names) == [f"color={'missing' if value is None else value}" for value in values]


def test_text_is_words_weighted_by_tfidf():
    recipe = Recipe.learn([table(message=strings(*TEXTS))], text=("message",))
    oracle = TfidfVectorizer(sublinear_tf=True).fit(TEXTS)
    others = [*TEXTS, "unknown words only", "cat the new"]
    np.testing.assert_allclose(
        dense(recipe.rows(table(message=strings(*others)))), oracle.transform(others).toarray(), rtol=1e-15
    )
    assert list(recipe.feature_names) == [f"message:{word}" for word in oracle.get_feature_names_out()]
    assert dense(recipe.rows(table(message=strings(None)))).tolist() == [[0] * recipe.width]


def test_text_columns_are_distinguished_from_categories():
    sentences = strings(*(f"this is message number {i}" for i in range(50)))
    repeated = strings(*(f"one of the {i % 5} long names" for i in range(50)))
    short = strings(*(f"id{i}" for i in range(50)))
    recipe = Recipe.learn([table(a=sentences, b=repeated, c=short)])
    assert (recipe.text, recipe.categorical) == (("a",), ("b", "c"))
    assert recipe.notes[0] == "Column 'a' is text: 44 words (--text-features words)."
    assert "'b' (5), 'c' (50)" in recipe.notes[1]
    chosen = Recipe.learn([table(a=sentences, b=repeated, c=short)], text=("b",), categorical=("a",))
    assert (chosen.text, chosen.categorical) == (("b",), ("a", "c"))


def test_sentences_that_repeat_are_text():
    """Thirty distinct sentences of five words are no categories; fewer, or shorter ones, are."""
    sentences = [f"sentence number {i} of many words" for i in range(30)]
    columns = {"a": sentences, "b": [*sentences[:29], sentences[0]], "c": [f"name of {i} here" for i in range(30)]}
    recipe = Recipe.learn([table(**{name: strings(*cells * 3) for name, cells in columns.items()})])
    assert (recipe.text, recipe.categorical) == (("a",), ("b", "c"))


def test_ids_are_refused():
    ids = strings(*(f"id{i}" for i in range(101)))
    with pytest.raises(
        DataError,
        match=r"column who: 101 distinct non-numeric values in 101 rows .*if it is an id, exclude it with --ignore who",
    ):
        Recipe.learn([table(who=ids)])
    with pytest.raises(DataError, match=r"over 10,000 distinct non-numeric values"):
        Recipe.learn([table(who=strings(*(f"id{i % 10_001}" for i in range(40_000))))])
    with pytest.raises(DataError, match=r"a value has over 1,000 characters, which looks like text"):
        Recipe.learn([table(who=strings("x" * 1_001))])


@pytest.mark.parametrize(
    "cells", [["3,5", "4,25", "1,0"], ["1", "2.5", "unknown"], ["12 %", "7%", "1.5%"], ["€3", "$ 4", "1'000"]]
)
def test_numeric_looking_columns_that_become_categories_are_noted(cells):
    odd = min(cell for cell in cells if not cell.replace(".", "").isdigit())
    note = f"Column 'a' looks numeric but is categorical, because {odd!r} is not a number: use decimal points and no units."
    assert note in Recipe.learn([table(a=strings(*cells))]).notes
    assert note not in Recipe.learn([table(a=strings(*cells))], categorical=("a",)).notes
    names = ["red", "7", "2020-01-02"]
    assert not any("looks numeric" in note for note in Recipe.learn([table(a=strings(*names))]).notes)


def test_numbers_come_first_then_blocks_of_strings():
    data = table(s=strings("u", "v"), a=numbers(2, 3), t=strings("y", "x"), b=numbers(0, 5))
    recipe = Recipe.learn([data], scale="none")
    assert list(recipe.feature_names) == ["a", "b", "s=u", "s=v", "t=x", "t=y"]
    rows = recipe.rows(data)
    np.testing.assert_array_equal(dense(rows), [[2, 0, 1, 0, 0, 1], [3, 5, 0, 1, 1, 0]])
    assert (rows.values.dtype, rows.indices.dtype, rows.indptr.dtype) == (np.float64, np.int32, np.int64)
    assert rows.to_scipy().has_canonical_format
    assert recipe.required == ("s", "a", "t", "b")


@pytest.mark.parametrize(("columns", "degree"), [(1, 4), (2, 3), (3, 2), (5, 3)])
def test_products_are_scikit_learns(columns, degree):
    X = RNG.normal(size=(7, columns))
    oracle = PolynomialFeatures(degree, include_bias=False).fit(X)
    for rows in (X, sparse(X)):
        recipe = Recipe.learn([rows], degree=degree, scale="none", first=0)
        np.testing.assert_allclose(dense(recipe.rows(rows)), oracle.transform(X), rtol=1e-14)
        names = oracle.get_feature_names_out([str(j) for j in range(columns)]).tolist()
        assert list(recipe.feature_names) == names
    names = [f"x{j}" for j in range(columns)]
    named = Recipe.learn([Data("rows", Table(tuple(names), tuple(X.T.copy())), None)], degree=degree)
    assert list(named.feature_names) == oracle.get_feature_names_out(names).tolist()


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_products_keep_their_places_among_more_columns(degree):
    few, many = Polynomial(3, degree), Polynomial(5, degree)
    for feature, place in enumerate(few.places_in(many)):
        assert few.factors(feature) == many.factors(int(place))


def test_too_many_products():
    with pytest.raises(DataError, match=r"degree=2 gives 308,504 features of 784 columns; the limit is 100,000"):
        Recipe.learn([np.zeros((1, 784))], degree=2)
    with pytest.raises(DataError, match=r"degree=3 gives .* of 62,061 columns"):
        Recipe.learn([CSRMatrix(np.zeros(0), np.zeros(0, np.int32), np.zeros(2, np.int64), 62_061)], degree=3)
    with pytest.raises(DataError, match="degree must be between 1 and 20, got 0"):
        Recipe.learn([np.zeros((1, 2))], degree=0)


@pytest.mark.parametrize("scale", ["max", "standard"])
@pytest.mark.parametrize("degree", [1, 2])
@settings(deadline=None)
@given(places=st.lists(st.integers(0, 60), max_size=5))
def test_the_cut_does_not_matter(scale, degree, places):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 4)) * [1, 1e-5, 1e5, 1]
    X[rng.random(X.shape) < 0.2] = np.nan
    texts = strings(*(TEXTS[i % 10] if i % 7 else None for i in range(50)))
    features = Table(("a", "b", "c", "d", "t"), (*X.T.copy(), texts))
    whole = Recipe.learn([features], degree=degree, scale=scale)
    assert Recipe.learn(cut(features, places), degree=degree, scale=scale) == whole
    dense_rows = np.nan_to_num(X)
    assert Recipe.learn(cut(dense_rows, places), degree=degree, scale=scale) == Recipe.learn(
        [dense_rows], degree=degree, scale=scale
    )
    if scale == "max":
        thin = sparse(np.where(abs(dense_rows) > 0.5, dense_rows, 0) * [1, 0, 1, 1])
        thin = CSRMatrix(thin.values, thin.indices, thin.indptr, 4)
        assert Recipe.learn(cut(thin, places), degree=degree, scale="max") == Recipe.learn([thin], degree=degree, scale="max")


def test_strange_columns():
    recipe = Recipe.learn([sparse([[1, 0, 2], [0, 3, 0]])], scale="none")
    np.testing.assert_array_equal(dense(recipe.rows(sparse([[5, 0, 0, 9], [0, 0, 1, 0]]))), [[5, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(dense(recipe.rows(sparse([[5]]))), [[5, 0, 0]])
    np.testing.assert_array_equal(dense(recipe.rows(sparse([[5, 0, 0, 0]]))), [[5, 0, 0]])
    named = Recipe.learn([table(a=numbers(1, 2), b=strings("x", "y"))], scale="none")
    wider = table(c=numbers(7), b=strings("x"), a=numbers(1))
    np.testing.assert_array_equal(dense(named.rows(wider)), [[1, 1, 0]])
    with pytest.raises(DataError, match=r"rows.csv: missing column required by the model: b \(columns: 'a'\)"):
        named.rows(table(a=numbers(1)))
    with pytest.raises(DataError, match="requires named columns"):
        named.rows([[1.0, 2.0]])
    with pytest.raises(DataError, match="rows have 2 columns, but the model requires 3"):
        Recipe.learn([np.zeros((2, 3))]).rows([[1, 2]])


def test_kinds_that_fit_are_taken_for_each_other():
    X = np.array([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]])
    named = table(a=X[:, 0], b=X[:, 1], c=X[:, 2])
    for learned in (X, sparse(X), named):
        for scale in ("none", "max", "standard"):
            recipe = Recipe.learn([learned], scale=scale)
            expected = dense(recipe.rows(learned))
            twice = sp.csr_array((np.array([0.5, 0.5, 3, 2]), np.array([0, 0, 2, 1]), np.array([0, 3, 4])), shape=(2, 3))
            for given_rows in (twice, X, X.tolist(), sparse(X), sp.csr_array(X), sp.coo_array(X), named, X.astype(np.float32)):
                np.testing.assert_array_equal(dense(recipe.rows(given_rows)), expected)


def test_numbers_and_strings_are_read_as_what_the_recipe_wants():
    recipe = Recipe.learn([table(zip=strings("8001", "8002"), size=numbers(1, 2))], scale="none")
    np.testing.assert_array_equal(dense(recipe.rows(table(zip=numbers(8002), size=strings("2.5")))), [[2.5, 0, 1]])
    with pytest.raises(DataError, match=r"row 1, column size: 'big' is not a number, but the column is numeric"):
        recipe.rows(table(zip=numbers(8002), size=strings("big")))


def test_frames_of_pandas():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({
        "a": [1, 2, 3], "b": ["x", "y", None], "c": [True, False, True], "d": pd.Categorical(["u", "v", "u"]),
        "e": pd.array([1, None, 3], dtype="Int64"), "f": [0.5, None, 1.5],
    })  # fmt: skip
    recipe = Recipe.learn([frame], scale="none")
    assert list(recipe.feature_names) == ["a", "c", "e", "f", "b=x", "b=y", "b=missing", "d=u", "d=v"]
    np.testing.assert_array_equal(
        dense(recipe.rows(frame)),
        [[1, 1, 1, 0.5, 1, 0, 0, 1, 0], [2, 0, 2, 1, 0, 1, 0, 0, 1], [3, 1, 3, 1.5, 0, 0, 1, 1, 0]],
    )
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(DataError, match="two columns have the same name"):
        Recipe.learn([twice])
    mixed = pd.DataFrame({"m": ["x", 3, 2.5, True]}, dtype=object)
    assert Recipe.learn([mixed]).strings[0].values == ("1", "2.5", "3", "x")
    with pytest.raises(DataError, match=r"row 1, column when: cells must be numbers or text, got Timestamp"):
        Recipe.learn([pd.DataFrame({"when": [pd.Timestamp("2020-01-01")]})])


def test_rows_that_are_none():
    for nothing in ([], [np.zeros((0, 2))], [sparse(np.zeros((0, 2)))], [table(a=numbers())]):
        with pytest.raises(DataError, match="there are no rows"):
            Recipe.learn(nothing)
    with pytest.raises(DataError, match="rows must be a matrix"):
        Recipe.learn([[1, 2]])
    with pytest.raises(DataError, match="an array must hold numbers"):
        Recipe.learn([[["a"]]])
    with pytest.raises(DataError, match="rows are of type ndarray, but earlier rows are of type CSRMatrix"):
        Recipe.learn([sparse([[1]]), np.ones((1, 1))])
    with pytest.raises(DataError, match="rows have 3 columns, but earlier rows have 2"):
        Recipe.learn([np.ones((1, 2)), np.ones((1, 3))])
    with pytest.raises(DataError, match="columns are 'b', but earlier rows have 'a'"):
        Recipe.learn([table(a=numbers(1)), table(b=numbers(1))])
    with pytest.raises(DataError, match="row 1, column a: 'x' is not a number, but the column is numeric"):
        Recipe.learn([table(a=numbers(1)), table(a=strings("x"))])


@pytest.mark.parametrize("scale", ["none", "max", "standard", "auto"])
def test_huge_numbers_stay_finite_or_are_refused(scale):
    X = np.array([[1e308, 1e-308], [-1e308, 5e-324], [1.7e308, 0.0]])
    recipe = Recipe.learn([X], scale=scale)
    assert np.isfinite(recipe.rows(X)).all()
    assert Recipe.from_parts(*recipe.to_parts()) == recipe
    with pytest.raises(DataError, match="a product of columns is too large"):
        Recipe.learn([X], scale=scale, degree=2)
    with pytest.raises(DataError, match="row 2: a number is too large"):
        Recipe.learn([X / 1e200], scale=scale, degree=2).rows(X[[2, 1]] / [[1e250], [1]])
    with pytest.raises(DataError, match=r"a number is too large \(over 1\.8e308\)"):
        Recipe.learn([[[np.inf]]], scale=scale)
    tiny = Recipe.learn([sparse([[1e-300]])], scale="max")
    with pytest.raises(DataError, match="row 2: a number is too large"):
        tiny.rows(sparse([[0], [1e300]]))
    with pytest.raises(DataError, match="row 2: a number is nan"):
        tiny.rows(sparse([[0], [np.nan]]))
    with pytest.raises(DataError, match="row 1, column 0: the value is infinite"):
        Recipe.learn([X]).rows([[np.inf, 1]])


def test_a_million_columns_make_no_million_strings():
    wide = CSRMatrix(np.ones(1), np.array([999_999], np.int32), np.array([0, 1]), 1_000_000)
    recipe = Recipe.learn([wide])
    names = recipe.feature_names
    assert (len(names), names[0], names[-1], names[10:12]) == (1_000_000, "1", "1000000", ["11", "12"])
    assert Recipe.learn([wide], first=0).feature_names[0] == "0"
    with pytest.raises(IndexError):
        names[1_000_000]
