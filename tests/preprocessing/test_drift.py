"""Drift: counts that are true of the rows, and an index that is large for other rows and not for the same."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tables import cut, numbers, strings, table

from rosenblatt.data.table import Data
from rosenblatt.models.files import load_model
from rosenblatt.preprocessing.drift import Drift
from rosenblatt.preprocessing.recipe import Recipe


def rows(n: int, seed: int, shift: float = 0.0, cities: tuple[str, ...] = ("Ulm", "Bonn", "Kiel")) -> Data:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n) + shift
    x[rng.random(n) < 0.1] = np.nan
    return table(x=x, few=rng.integers(0, 3, n) + 0.0, city=strings(*rng.choice(cities, n).tolist()))


def drift(recipe: Recipe, *parts: Any) -> Any:
    found = Drift(recipe)
    for part in parts:
        found.add(part if isinstance(part, Data) else Data("new.csv", part, None))
    return found


def column(found: Drift, name: str) -> Any:
    (one,) = [each for each in found.columns if each.name == name]
    return one


TRAINING = rows(500, 0)
RECIPE = Recipe.learn([TRAINING])


def test_the_same_population_does_not_drift() -> None:
    levels = [one.level for seed in range(1, 41) for one in drift(RECIPE, rows(60 + 20 * seed, seed)).columns]
    assert levels.count("none") >= len(levels) - 1
    assert "large" not in levels
    assert not any(one.level != "none" for one in drift(RECIPE, rows(29, 0, 9.0)).columns), "too few rows"


def test_other_populations_drift() -> None:
    found = drift(RECIPE, rows(200, 1, shift=1.0, cities=("Ulm", "Rom", "Rom")))
    assert [column(found, name).level for name in ("x", "few", "city")] == ["large", "none", "large"]
    plain = json.loads(json.dumps(found.to_dict("new.csv"), allow_nan=False))
    x, _, city = plain["columns"]
    assert (plain["rows"], plain["training_rows"], x["drift"], city["drift"]) == (200, 500, "large", "large")
    cells = rows(200, 1, shift=1.0).features.columns[0]
    assert x["file"]["mean"] == pytest.approx(np.nanmean(cells))
    assert (x["file"]["minimum"], x["file"]["maximum"]) == (np.nanmin(cells), np.nanmax(cells))
    assert x["training"]["mean"] == pytest.approx(np.nanmean(TRAINING.features.columns[0]))
    assert city["file"]["unseen_values"] == {"Rom": city["file"]["unseen"]}
    assert sum(city["training"]["shares"].values()) == pytest.approx(1.0)
    assert sum(city["file"]["shares"].values()) + city["file"]["unseen"] / 200 == pytest.approx(1.0)


def test_the_index_is_that_of_its_definition() -> None:
    recipe = Recipe.learn([table(c=strings(*"aaab" * 10))])
    found = column(drift(recipe, table(c=strings(*"aabb" * 10))), "c")
    assert found.index == pytest.approx((0.5 - 0.75) * np.log(0.5 / 0.75) + (0.5 - 0.25) * np.log(0.5 / 0.25))


@pytest.mark.parametrize("places", [[], [1], [2, 3]])
def test_cells_are_counted(places: list[int]) -> None:
    recipe = Recipe.learn(
        [table(a=numbers(0, 10, np.nan, 4), c=strings("x", "y", None, "x"), t=strings(*["the cat"] * 4))], text=("t",)
    )
    later = table(
        a=numbers(-5, -5.1, 15, 16, np.nan), c=strings("x", "z", "w", "z", None), t=strings(None, "a", "b", "c", "d"),
    )  # fmt: skip
    found = drift(recipe, *cut(later.features, places))
    a, c, t = found.columns
    assert (a.missing, a.outside, a.far) == (1, 4, 2)
    assert a.remark() == "16 is far from the training rows: 0 to 10"
    assert (c.missing, c.unseen, c.remark(), t.missing) == (1, 3, "unseen: 'z', 'w'", 1)
    assert found.unusual == [a, c, t]


def test_columns_are_compared() -> None:
    recipe = Recipe.learn([table(a=numbers(0, 10), k=numbers(1, 1), c=strings("x", "y"))], drop_constant=True)
    new = table(a=numbers(1), k=numbers(1), c=strings("x"), more=numbers(1))
    found = drift(recipe, replace(new, headers=("a", "k", "c", "more", "text"), label_name="text", absent=("c",)))
    assert (found.extra, found.n_extra, found.absent) == (["more"], 1, ("c",))
    assert [one.name for one in found.columns] == ["a", "c"]


def test_models_without_facts_count_what_they_can() -> None:
    recipe = load_model("tests/models/files/0.1.0-recipe.safetensors").recipe
    assert isinstance(recipe, Recipe)
    assert recipe.facts is None
    cells = {name: numbers(1e9, np.nan) for name in recipe.number_names} | {
        b.name: strings("never", None) for b in recipe.strings
    }
    found = drift(recipe, table(**cells))
    assert all(one.missing == 1 and one.far == 0 and one.index is None for one in found.columns)
    assert all(one.unseen == 1 for one in found.columns if one.kind == "category")
    json.dumps(found.to_dict("new.csv"), allow_nan=False)


def test_matrices_have_columns_without_names() -> None:
    X = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert drift(Recipe.learn([X]), Data("new.npz", np.ones((1, 3)), None)).n_extra == 1
