"""Columns that identify rows are named; populations, prices, zip codes and years are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rosenblatt.proofs.doctor.identifiers import identifier

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("cells", "name"),
    [
        (np.arange(1.0, 21.0), "a"),
        (np.arange(1000.0, 0.0, -10.0), "a"),
        (np.arange(50) * 0.1, "a"),
        (np.round(np.linspace(0.0, 7.0, 141), 2), None),
        (RNG.permutation(200) * 5.0 + 3.0, "a"),
        (RNG.permutation(200)[:150] + 0.0, "a"),
        (np.arange(6.0), "Unnamed: 0"),
        (1e15 + np.arange(30.0), "a"),
    ],
)
def test_row_numbers_are_named_in_steps_as_floats_and_shuffled(cells: Any, name: str | None) -> None:
    assert identifier(cells, name) == "row numbers"


def test_missing_cells_and_rows_that_are_there_twice_hide_no_identifier() -> None:
    numbers = np.repeat(np.arange(1000.0, 1300.0, 3.0), np.where(np.arange(100) % 15 == 7, 2, 1))
    assert identifier(numbers, "a") == identifier(RNG.permutation(numbers), "a") == "row numbers"
    numbers[5] = np.nan
    assert identifier(numbers, "a") == "row numbers"
    ids = RNG.permutation(10**6)[:100] + 0.0
    assert identifier(np.concatenate([ids, ids[:5], [np.nan]]), "id") == "ids"


@pytest.mark.parametrize(
    "name", ["id", "CustomerID", "customer_id", "PassengerId", "row id", "UUID", "OrderNumber", "invoice_no", "phone"]
)
def test_distinct_integers_are_ids_if_their_name_says_so(name: str) -> None:
    assert identifier(RNG.permutation(10**6)[:100] + 0.0, name) == "ids"


def test_the_first_column_of_a_file_without_header_may_be_an_id() -> None:
    cells = RNG.permutation(10**6)[:101] + 0.0
    assert (identifier(cells, None, first=True), identifier(cells, None), identifier(cells[:100], None, first=True)) == (
        "ids", None, None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("cells", "name"),
    [
        (np.unique(np.round(np.exp(RNG.normal(11.0, 1.5, 2000)))), "population"),
        (RNG.permutation(np.arange(10_001.0, 99_951.0))[:5000], "zip"),
        (np.arange(10_001.0, 99_951.0, 2.2).round(), "zip_code"),
        (np.round(RNG.uniform(1.0, 999.0, 300), 2), "price"),
        (np.sort(RNG.integers(1, 500, 300)) + 0.0, "price"),
        (np.arange(1900.0, 2020.0), "year"),
        (1.6e9 + 3600.0 * np.arange(100), "timestamp"),
        (RNG.permutation(10**6)[:100] + 0.0, "paid"),  # no id, though it ends so
        (RNG.permutation(10**6)[:100] + 0.0, "number_of_inhabitants"),
        (RNG.normal(size=500), "x"),
        (np.arange(19.0), "x"),
        (np.zeros(50), "id"),
        (np.repeat(np.arange(50.0), 2), "customer_id"),  # several rows of a customer
        (np.append(np.arange(50.0), [np.nan] * 6), "id"),
        (np.append(np.arange(50.0), np.arange(6.0)), "id"),
        (np.array([-1e308, 1e308] * 20), "id"),
    ],
)
def test_other_columns_are_not_taken_for_ids(cells: Any, name: str) -> None:
    assert identifier(cells, name) is None
