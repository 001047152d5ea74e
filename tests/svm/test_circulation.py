from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rosenblatt.svm.crammer_singer import circulation_scale


def random_flow(k: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    flow = rng.exponential(size=(k, k)) * (rng.random((k, k)) < 0.7)
    np.fill_diagonal(flow, 0.0)
    return flow


@pytest.mark.parametrize("k", [2, 3, 5, 20])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_left_of_a_flow_circulates(k: int, seed: int) -> None:
    flow = random_flow(k, seed)
    scale = circulation_scale(flow)
    left = flow * scale
    assert ((scale >= 0.0) & (scale <= 1.0)).all()
    np.testing.assert_allclose(left.sum(axis=0), left.sum(axis=1), atol=1e-12 * flow.sum())


@pytest.mark.parametrize("k", [2, 3, 20])
def test_a_circulation_is_left_as_it_is(k: int) -> None:
    flow = random_flow(k, 1)
    flow += flow.T
    np.testing.assert_allclose(circulation_scale(flow), flow > 0.0, atol=1e-9)


def test_a_nearly_balanced_flow_loses_about_what_it_is_out_of_balance_by() -> None:
    flow = random_flow(6, 2) + 1.0
    np.fill_diagonal(flow, 0.0)
    flow += flow.T
    flow[0, 1] += 1e-3
    assert flow.sum() - (flow * circulation_scale(flow)).sum() <= 1.1e-3


def test_a_flow_that_never_returns_is_all_given_up() -> None:
    assert not circulation_scale(np.triu(np.ones((4, 4)), 1)).any()
    assert not circulation_scale(np.array([[0.0, 3.0], [0.0, 0.0]])).any()
    assert not circulation_scale(np.zeros((3, 3))).any()
