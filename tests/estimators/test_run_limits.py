"""Limits of a run: separation is reported also if a limit is reached at that moment, and a horizon that is set rules."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import rosenblatt as rb
from rosenblatt.progress import progress_callback

WAYS: dict[str, dict[str, Any]] = {
    "cyclic": {"order": "cyclic"},
    "permuted": {},
    "random": {"order": "random"},
    "mistakes": {"order": "mistakes"},
    "batch": {"update": "batch"},
    "batch-mean": {"update": "batch-mean", "step": 0.3},
    "margin": {"margin": 2.0},
}


def separable_rows(k: int, seed: int = 0) -> tuple[Any, Any]:
    rng, y = np.random.default_rng(seed), np.arange(60) % k
    X = rng.normal(size=(60, 3))
    X[np.arange(60), y] += 5.0
    X[0] *= 0.05  # takes more than one update
    return X, y


def mixed_rows(k: int = 2, n: int = 24) -> tuple[Any, Any]:
    return np.random.default_rng(1).normal(size=(n, 3)), np.arange(n) % k


# --- separation at the moment of a limit -------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize(("k", "multiclass"), [(2, "joint"), (3, "joint"), (3, "ovr")])
@pytest.mark.parametrize("way", WAYS)
def test_the_last_update_needed_separates_at_every_limit(way: str, k: int, multiclass: str, pack: Any) -> None:
    X, y = separable_rows(k)
    rows = pack(X)
    options = WAYS[way] | {"multiclass": multiclass, "random_state": 0}
    free = rb.Perceptron(max_iter=None, **options).fit(rows, y)
    most = max(run.n_updates for run in free.log_.runs())
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        limited = rb.Perceptron(max_iter=None, max_updates=most, **options).fit(rows, y)
        assert limited.stop_.separated
        np.testing.assert_array_equal(limited.coef_, free.coef_)
        by_passes = rb.Perceptron(max_iter=max(1, free.n_iter_ - 1), **options).fit(rows, y)
    needed = len(by_passes.log_) == len(free.log_)
    assert by_passes.stop_.separated == needed
    if not needed:
        assert by_passes.stop_.reason == "passes"


def test_a_norm_that_is_exceeded_by_the_last_update_needed_separates() -> None:
    X, y = separable_rows(2)
    free = rb.Perceptron(max_iter=None, order="cyclic").fit(X, y)
    norms = [np.linalg.norm(np.append(*free.log_.weights_at(t))) for t in range(free.n_updates_ + 1)]
    assert norms[-1] > max(norms[:-1])
    limit = (norms[-1] + max(norms[:-1])) / 2.0
    assert rb.Perceptron(max_iter=None, order="cyclic", w_max=limit).fit(X, y).stop_.separated
    before = rb.Perceptron(max_iter=50, order="cyclic", w_max=max(norms[:-1]) * 0.99).fit(X, y)
    assert before.stop_.reason == "norm"


def test_a_short_last_step_that_separates_is_a_separation() -> None:
    X, y = separable_rows(2)
    free = rb.Perceptron(update="batch", step=1e-6, max_iter=None).fit(X, y)
    start = np.column_stack([free.log_.weights_at(free.n_updates_ - 1)[i] for i in (1, 0)])
    last = rb.Perceptron(update="batch", step=1e-6, init=start, max_iter=None, tol=1.0).fit(X, y)
    assert last.n_updates_ == 1
    assert last.stop_.separated


@pytest.mark.parametrize(("limit", "ends"), [(4, [4]), (6, [4, 6]), (8, [4, 8])])
def test_a_last_pass_that_a_limit_cuts_is_logged_and_reported(limit: int, ends: list[int]) -> None:
    """Of updates by drawn mistakes a pass is n updates, so that the limit may cut it."""
    X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), [0, 1, 1, 0]
    reported: list[int] = []
    with progress_callback(lambda progress: reported.append(progress.last) if progress.ended_pass else None):
        model = rb.Perceptron(order="mistakes", max_updates=limit, random_state=0).fit(X, y)
    assert model.log_ is not None
    assert model.log_.passes == ends
    assert len(reported) == model.n_iter_ == len(ends)
    assert sum(reported) == model.n_updates_ == limit


@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_ends_before_its_first_update_has_one_pass(way: str) -> None:
    X, y = mixed_rows()
    model = rb.Perceptron(init=np.full((1, 4), 9.0), w_max=1.0, **WAYS[way]).fit(X, y)
    assert model.stop_.reason == "norm"
    assert model.log_ is not None
    assert (model.n_iter_, model.n_updates_, model.log_.passes) == (1, 0, [0])


def test_a_limit_before_that_is_a_limit() -> None:
    X, y = mixed_rows()
    for options in ({"max_iter": 3}, {"max_updates": 7}, {"w_max": 0.5}):
        stop = rb.Perceptron(**options).fit(X, y).stop_
        assert stop.reason == {"max_iter": "passes", "max_updates": "updates", "w_max": "norm"}[next(iter(options))]


def test_a_stream_does_not_scan_its_rows_again() -> None:
    X, y = separable_rows(2)
    assert rb.Perceptron().partial_fit(X, y).stop_.reason == "chunk"


def test_a_value_that_is_not_finite_is_found_by_the_scan() -> None:
    X, y = separable_rows(2)
    X[-1, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        rb.Perceptron(order="cyclic", max_updates=1).fit(X, y)


# --- horizons ----------------------------------------------------------------------------------------------------------


def test_max_updates_rules_where_max_iter_is_left_alone() -> None:
    X, y = mixed_rows()
    model = rb.Perceptron(keep="pocket", max_updates=5000, random_state=0).fit(X, y)
    assert (model.stop_.reason, model.n_updates_) == ("updates", 5000)
    cut = rb.Perceptron(keep="pocket", max_updates=5000, max_iter=10, random_state=0).fit(X, y)
    assert (cut.stop_.reason, cut.n_iter_) == ("passes", 10)


STALLING: dict[str, dict[str, Any]] = {
    "online": {"w_max": 1e6},
    "no limit on passes": {"w_max": 1e6, "max_iter": None},
    "ovr": {"w_max": 1e6, "multiclass": "ovr"},
    "joint": {"w_max": 1e6},
    "batch": {"update": "batch", "w_max": 1e6, "tol": 1e-9},
    "tolerance": {"update": "batch-mean", "tol": 1e-9},
    "mistakes": {"order": "mistakes", "w_max": 1e6},
}


@pytest.mark.once
@pytest.mark.parametrize("name", STALLING)
def test_limits_that_are_never_reached_end_as_stalled(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rosenblatt.online.stopping.STALLED_SCANS", 300)
    monkeypatch.setattr("rosenblatt.online.stopping.STALLED_PASSES", 100)
    X, y = mixed_rows(3 if name in ("ovr", "joint") else 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = rb.Perceptron(random_state=0, **STALLING[name]).fit(X, y)
    assert model.stop_.reason == "stalled"
    assert str(model.stop_).endswith("no plane separates the rows, by proof")
    assert isinstance(model.stop_.certificate, rb.Inseparable)
    for limit in ("w_max", "tol"):
        assert (f"toward {limit}=" in str(model.stop_)) == (limit in STALLING[name])


@pytest.mark.once
@pytest.mark.parametrize("limits", [{"w_max": 1e12}, {"w_max": 1e12, "order": "mistakes"}, {"tol": 1e-12, "update": "batch"}])
@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array])
def test_rows_that_are_separated_late_do_not_stall(limits: dict[str, Any], pack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rosenblatt.online.stopping.STALLED_SCANS", 100)
    monkeypatch.setattr("rosenblatt.online.stopping.STALLED_PASSES", 100)
    model = rb.Perceptron(random_state=0, **limits).fit(pack([[1.0], [1.001]]), [0, 1])
    assert (model.stop_.reason, model.score(pack([[1.0], [1.001]]), [0, 1])) == ("separated", 1.0)


def test_rows_that_are_separated_after_too_many_updates_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rosenblatt.online.stopping.STALLED_PASSES", 100)
    model = rb.Perceptron(w_max=1e12, random_state=0).fit([[2000.0], [2001.0]], [0, 1])
    assert model.stop_.reason == "stalled"
    assert "a plane separates the rows, but the run may take up to 6.41e13 updates to find it" in str(model.stop_)


def test_the_outlook_of_rounded_rows_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rosenblatt.online.stopping.STALLED_PASSES", 100)
    model = rb.Perceptron(w_max=1e50, random_state=0).fit(np.array([[2**53], [2**53 + 1]]), [0, 1])
    assert model.stop_.reason == "stalled"
    assert str(model.stop_).endswith("it is not known whether a plane separates the rows")


def test_growing_weights_do_not_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rosenblatt.online.stopping.STALLED_PASSES", 100)
    X, y = mixed_rows()
    model = rb.Perceptron(w_max=1e4, step=lambda k: 1.01**k, random_state=0).fit(X, y)
    assert model.stop_.reason == "norm"


def test_another_limit_or_a_proof_ends_the_run_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rosenblatt.online.stopping.STALLED_PASSES", 2)
    X, y = mixed_rows()
    assert rb.Perceptron(w_max=1e6, max_iter=50).fit(X, y).stop_.reason == "passes"
    assert rb.Perceptron(w_max=1e6, max_updates=500).fit(X, y).stop_.reason == "updates"
    assert rb.Perceptron(w_max=1e6, certify=True).fit(X, y).stop_.reason == "impossible"
