"""How one-vs-rest is put together: heads that end at different times, on one thread or several, and their common log."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt as rb

# The default number of passes grows on sets as small as these.
perceptron = partial(rb.Perceptron, max_iter=10)


def mixed(n: int = 36) -> tuple[Any, Any]:
    """Four classes two of which are easily separated from the rest, so that heads end at different times."""
    rng = np.random.default_rng(1)
    y = np.arange(n) % 4
    X = rng.normal(size=(n, 4))
    X[y == 0, 0] += 30.0
    X[y == 1, 1] += 30.0
    return X, y


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("options", [{}, {"order": "cyclic"}, {"order": "random"}, {"order": "mistakes"}, {"update": "batch"}])
@pytest.mark.parametrize("keep", ["last", "average", "pocket", "vote"])
def test_one_vs_rest_is_k_binary_runs(container: Any, options: Any, keep: str) -> None:
    X, y = mixed()
    parameters = {"max_iter": 6, "random_state": 0, **options}
    model = perceptron(keep=keep, multiclass="ovr", **parameters).fit(container(X), y)
    words, updates = [], 0
    for h in range(4):
        one = perceptron(keep=keep, **parameters).fit(container(X), (y == h).astype(int))
        words.append(one.stop_.reason)
        updates += one.n_updates_
        np.testing.assert_allclose(model.decision_function(container(X))[:, h], one.decision_function(container(X)), atol=1e-9)
    assert model.stop_.heads == tuple(words)
    assert len(set(words)) > 1 or options
    assert model.n_updates_ == updates


@pytest.mark.once
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize(
    "options",
    [{}, {"order": "random"}, {"order": "mistakes"}, {"update": "batch"}, {"max_updates": 9}, {"w_max": 20.0}, {"log": False}],
)
@pytest.mark.parametrize("keep", ["last", "average", "vote"])
def test_threads_change_nothing(keep: str, options: Any, container: Any) -> None:
    X, y = mixed()
    runs = [
        perceptron(keep=keep, multiclass="ovr", n_jobs=n_jobs, random_state=0, **{"max_iter": 5, **options}).fit(
            container(X), y
        )
        for n_jobs in (1, 2, 3, 7)
    ]
    first = runs[0]
    for other in runs[1:]:
        np.testing.assert_array_equal(other.decision_function(X), first.decision_function(X))
        assert other.stop_ == first.stop_
        assert (other.n_iter_, other.n_updates_) == (first.n_iter_, first.n_updates_)
        if first.log_ is not None:
            assert list(other.log_) == list(first.log_)
            np.testing.assert_array_equal(other.log_.heads, first.log_.heads)
            np.testing.assert_array_equal(other.log_.durations, first.log_.durations)
            assert other.log_.passes == first.log_.passes


def test_the_merged_log_is_in_order_of_time_then_class() -> None:
    X, y = mixed()
    log = perceptron(multiclass="ovr", n_jobs=3, max_iter=2, random_state=0).fit(X, y).log_
    keys = list(zip(log.times.tolist(), log.heads.tolist(), strict=True))
    assert keys == sorted(keys)


def test_heads_that_are_done_stay_as_they_were() -> None:
    X, y = mixed()
    short, long = (perceptron(multiclass="ovr", max_iter=p, random_state=0).fit(X, y) for p in (6, 30))
    done = [h for h, word in enumerate(short.stop_.heads) if word == "separated"]
    going = [h for h, word in enumerate(short.stop_.heads) if word != "separated"]
    assert done
    assert going
    np.testing.assert_array_equal(short.coef_[done], long.coef_[done])
    np.testing.assert_array_equal(short.log_.durations[done], long.log_.durations[done])
    assert not np.array_equal(short.coef_[going], long.coef_[going])


def test_the_average_of_square_sparse_weights_is_that_of_dense_ones() -> None:
    """As many features as classes: the shape does not show which axis is which."""
    X, y = mixed()
    dense, csr = (
        perceptron(keep="average", multiclass="ovr", order="cyclic", max_iter=6).fit(rows, y) for rows in (X, sp.csr_array(X))
    )
    assert len(set(dense.log_.durations.tolist())) > 1
    np.testing.assert_allclose(csr.coef_, dense.coef_, atol=1e-10)
