"""Explanations of models with dates, dropped columns, indicators and categories of missing cells."""

from __future__ import annotations

import numpy as np
import pytest

import rosenblatt as rb
from rosenblatt.data.table import Data, Table
from rosenblatt.models.state import model_of
from rosenblatt.preprocessing.recipe import Recipe

N = 90


def days_of(cell):
    """A date in ISO form as a number of days."""
    assert isinstance(cell, str)
    return float((np.datetime64(cell, "D") - np.datetime64("1970-01-01", "D")).astype(int))


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("classes", [2, 3])
def test_contributions_sum_to_the_score_and_changes_change_it(degree, classes):
    rng = np.random.default_rng(5)
    pay, day, city = rng.normal(5e4, 1e4, N), 20_000 + rng.integers(0, 700, N) * 1.0, np.empty(N, object)
    city[:] = [["Ulm", "Hof", None][i % 3] for i in range(N)]
    pay[::7], constant = np.nan, np.full(N, 4.0)
    table = Table(("constant", "pay", "day", "city"), (constant, pay, day, city))
    data = Data("rows.csv", table, None, dates={"day": "date"})
    recipe = Recipe.learn([data], degree=degree, missing_indicator=True, drop_constant=True)
    y = np.array(["a", "b", "c"])[np.minimum(classes - 1, np.searchsorted([20_300, 20_500], day))]
    model = model_of(rb.Perceptron(keep="average", random_state=0).fit(recipe.rows(data).to_scipy(), y), recipe=recipe)
    listed = dated = 0
    for row in (0, 2, 7, 40):
        found = model.explain(data, row=row)
        total = found.intercept + sum(each.amount for each in found.columns)
        np.testing.assert_allclose(total, found.score, rtol=1e-9, atol=1e-9)
        assert {each.name for each in found.columns} <= {"pay", "day", "city"}
        for change in found.changes:
            columns = dict(zip(table.names, table.columns, strict=True))
            cells = columns[change.column].copy()
            new = change.new
            if change.column == "day":
                new = days_of(new)
                between = np.arange(min(new, day[row]) + 1, max(new, day[row]))
                nearer = [np.repeat(cells_of[[row]], len(between)) for cells_of in table.columns]
                nearer[table.names.index("day")] = between
                rows = Data("rows.csv", Table(table.names, tuple(nearer)), None, dates=data.dates)
                assert not len(between) or set(model.predict(rows).tolist()) == {found.label}
                dated += 1
            cells[row] = new
            columns[change.column] = cells
            moved = Data("rows.csv", Table(tuple(columns), tuple(columns.values())), None, dates=data.dates)
            assert model.predict(moved)[row] == change.label != model.predict(data)[row]
            listed += 1
    assert listed
    assert dated
