"""Sums over blocks: the shape of the tree, the bits for any number of tasks, and parts that stay as they are."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from rosenblatt.cluster.engine import InProcess
from rosenblatt.cluster.tree import add, add_parts, submit_tree, tree_sum


def brackets(left: str, right: str) -> str:
    return f"({left}{right})"


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 16, 63, 64, 65, 130, 513])
@pytest.mark.parametrize("jobs", [1, 3])
def test_tasks_add_up_the_same_tree_as_the_client(n: int, jobs: int) -> None:
    engine = InProcess(jobs)
    parts = [f"{number}," for number in range(n)]
    task = submit_tree(engine, [partial(engine.submit, str, part) for part in parts], brackets)
    assert engine.gather([task]) == [tree_sum(parts, brackets)]


def test_the_left_half_of_a_tree_is_a_power_of_two() -> None:
    assert tree_sum(list("abcdef"), brackets) == "(((ab)(cd))(ef))"


def test_numbers_arrays_and_tuples_are_added() -> None:
    parts: list[Any] = [(1.5, np.array([1.0, 2.0]), (np.float64(3.0),)), (2.0, np.array([10.0, 20.0]), (np.float64(4.0),))]
    number, array, nested = add(*parts)
    assert (number, array.tolist(), nested) == (3.5, [11.0, 22.0], (7.0,))


def test_parts_of_other_tasks_do_not_change() -> None:
    parts = [np.arange(3.0) + part for part in range(8)]
    before = [part.copy() for part in parts]
    total = add_parts(parts)
    assert total.tolist() == [28.0, 36.0, 44.0]
    assert all(np.array_equal(part, copy) for part, copy in zip(parts, before, strict=True))
