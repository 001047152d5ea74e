"""Votes that are counted by survivals, and votes without votes, which would predict one class silently."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rosenblatt as rb
from rosenblatt.catalog import ALGORITHMS
from rosenblatt.studio.recording import record

X = np.random.default_rng(0).normal(size=(40, 3))
Y = (X[:, 0] > 0.1).astype(int)
ONE_STEP: list[tuple[Any, dict[str, Any], str]] = [
    (rb.Perceptron, {"update": "batch"}, "batch updates"),
    (rb.Perceptron, {"update": "batch-mean"}, "batch updates"),
    (rb.Perceptron, {"order": "mistakes"}, "order='mistakes'"),
    (rb.NonlinearMSE, {"solver": "batch"}, "batch updates"),
]


@pytest.mark.parametrize(("make", "options", "where"), ONE_STEP)
def test_survivals_of_hypotheses_that_live_for_one_step_are_refused(make: Any, options: dict[str, Any], where: str) -> None:
    message = f"vote_count must be 'lifetime' with {where}, got 'survivals'"
    with pytest.raises(ValueError, match=message):
        make(keep="vote", vote_count="survivals", **options).fit(X, Y)
    model = make(vote_count="survivals", max_iter=3, **options).fit(X, Y)  # its own reading has no votes
    with pytest.raises(ValueError, match=message):
        model.reading("vote")


def test_a_vote_without_votes_is_refused() -> None:
    rows, labels = [[1.0], [1.0]], [0, 1]  # every row is a mistake
    with pytest.raises(ValueError, match="no hypothesis survived a row: use 'lifetime'"):
        rb.Perceptron(keep="vote", vote_count="survivals", order="cyclic", max_iter=1).fit(rows, labels)
    stream = rb.Perceptron(keep="vote", vote_count="survivals").partial_fit(rows, labels)
    with pytest.raises(ValueError, match="no hypothesis survived a row"):
        stream.predict(rows)
    stream.partial_fit(np.repeat([[-3.0], [3.0]], 20, axis=0), np.repeat([0, 1], 20))
    assert stream.predict([[-3.0], [3.0]]).tolist() == [0, 1]


def test_a_run_that_ended_before_its_first_row_votes_with_its_first_weights() -> None:
    init = np.array([[4.0, -3.0, 0.0]])
    model = rb.Perceptron(keep="vote", init=init, w_max=1.0, fit_intercept=False).fit(X, Y)
    assert model.stop_.reason == "norm"
    np.testing.assert_array_equal(model.predict(X), (X @ init[0] > 0).astype(int))


@pytest.mark.parametrize("vote_count", ["lifetime", "survivals"])
@pytest.mark.parametrize("keep", ["last", "pocket", "average", "vote"])
@pytest.mark.parametrize("name", [name for name, algorithm in ALGORITHMS.items() if algorithm.logged])
def test_no_reading_predicts_one_class_where_a_plane_separates(name: str, keep: Any, vote_count: str) -> None:
    """However the rows are visited, each reading tells classes apart that lie far from each other, or is refused."""
    rows, labels = np.repeat([[-3.0, 0.5], [3.0, 0.5]], 10, axis=0), np.repeat([0, 1], 10)
    rows = rows + 0.1 * np.random.default_rng(1).normal(size=rows.shape)
    model = ALGORITHMS[name].make(vote_count=vote_count, random_state=0, keep="last").fit(rows, labels)
    short_lived = model._way == "batch" or model._scans_for_each_update or isinstance(model, rb.NonlinearMSE)
    if (keep, vote_count) == ("vote", "survivals") and short_lived:
        with pytest.raises(ValueError, match="'lifetime'"):
            model.reading(keep)
    else:
        assert model.reading(keep).predict(rows).tolist() == labels.tolist()


def test_the_page_shows_lifetimes_where_nothing_survives() -> None:
    model = rb.Perceptron(update="batch", vote_count="survivals", max_iter=3).fit(X[:, :2], Y)
    assert record(model, X[:, :2], Y)["readings"].keys() == {"last", "average", "vote", "pocket"}
