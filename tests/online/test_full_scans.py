"""Many updates in a kernel call make the same run as one update for each scan in blocks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt as rb
from rosenblatt.online import full_scans

KINDS: list[dict[str, Any]] = [{"update": "batch"}, {"update": "batch-mean"}, {"order": "mistakes"}]
LIMITS: list[dict[str, Any]] = [
    {"max_iter": 3},
    {"max_updates": 137},
    {"w_max": 30.0},
    {"w_max": 1e6},
    {"max_iter": None, "max_updates": 400, "class_weight": {0: 0.0}},
    {"max_iter": 5, "keep": "average", "step": 0.3, "margin": "auto"},
    {"max_iter": 5, "init": "sum", "class_weight": "balanced", "intercept_scaling": 0.1},
]
TOLERANCES: list[dict[str, Any]] = [{"tol": 2.0, "max_iter": 700}, {"tol": 0.05}, {"tol": 1e-9, "w_max": 1e9}]


def overlapping(k: int, n: int = 60) -> tuple[Any, Any]:
    rng = np.random.default_rng(k)
    y = np.arange(n) % k
    X = rng.normal(size=(n, 4))
    X[np.arange(n), y] += 0.5
    return X, y


def in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """One update for each scan, in blocks of 64 rows and less."""
    monkeypatch.setattr(full_scans, "rows_per_task", lambda *_: 0)
    monkeypatch.setattr("rosenblatt.online.scans.SCAN_WORK_PER_TASK", 1)


def assert_same_run(one: Any, other: Any) -> None:
    assert (str(one.stop_), one.n_iter_, one.n_updates_) == (str(other.stop_), other.n_iter_, other.n_updates_)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    assert list(one.log_) == list(other.log_)
    assert one.log_.passes == other.log_.passes
    np.testing.assert_array_equal(one.log_.durations, other.log_.durations)


@pytest.mark.once
@pytest.mark.filterwarnings("ignore:the rows were not separated")
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("limit", LIMITS + TOLERANCES, ids=str)
@pytest.mark.parametrize(("k", "container"), [(2, np.asarray), (3, sp.csr_array)], ids=["binary", "joint CSR"])
def test_many_updates_in_a_call_are_the_same_run(
    monkeypatch: pytest.MonkeyPatch, kind: dict[str, Any], limit: dict[str, Any], k: int, container: Callable[[Any], Any]
) -> None:
    if "tol" in limit and "order" in kind:
        pytest.skip("updates by single rows have no tolerance")
    X, y = overlapping(k)
    rows = container(X.astype(np.float32) if k == 3 else X)
    monkeypatch.setattr("rosenblatt.online.stopping.STALLED_SCANS", 300)
    many = rb.Perceptron(random_state=1, **kind, **limit).fit(rows, y)
    in_blocks(monkeypatch)
    assert_same_run(many, rb.Perceptron(random_state=1, **kind, **limit).fit(rows, y))


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_small_fit_makes_few_kernel_calls(monkeypatch: pytest.MonkeyPatch, kind: dict[str, Any]) -> None:
    calls: list[int] = []
    for name in ("make_batch_steps", "update_by_mistakes"):
        sweep = getattr(full_scans, name)
        monkeypatch.setattr(full_scans, name, lambda *args, sweep=sweep: calls.append(1) or sweep(*args))
    X, y = overlapping(2)
    model = rb.Perceptron(random_state=0, max_iter=5 if "order" in kind else 300, **kind).fit(X, y)
    assert model.n_updates_ == 300
    assert len(calls) <= 3


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_full_tape_and_short_calls_change_nothing(monkeypatch: pytest.MonkeyPatch, kind: dict[str, Any]) -> None:
    X, y = overlapping(3)
    long = rb.Perceptron(random_state=0, max_iter=3, step=lambda k: 1.0 / k, **kind).fit(X, y)
    monkeypatch.setattr(full_scans, "TAPE_ENTRIES", 7)
    monkeypatch.setattr(full_scans, "MAX_UPDATES_PER_CALL", 5)
    assert_same_run(long, rb.Perceptron(random_state=0, max_iter=3, step=lambda k: 1.0 / k, **kind).fit(X, y))


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_callback_gets_every_pass_of_the_same_run(kind: dict[str, Any]) -> None:
    X, y = overlapping(2, n=20)
    reports: list[rb.Progress] = []
    alone = rb.Perceptron(random_state=0, max_iter=4, **kind).fit(X, y)
    with rb.progress_callback(reports.append):
        assert_same_run(alone, rb.Perceptron(random_state=0, max_iter=4, **kind).fit(X, y))
    per_pass = 20 if "order" in kind else 1
    ended = [(report.passes, report.updates, report.last) for report in reports if report.ended_pass]
    assert ended == [(p, p * per_pass, per_pass) for p in range(1, 5)]


def test_the_row_of_an_update_is_drawn_as_by_numpy() -> None:
    """Seeds keep their meaning: the draws are those of Generator.integers."""
    X, y = overlapping(2)
    model = rb.Perceptron(order="mistakes", random_state=7, max_updates=60).fit(X, y)
    rng, rows = np.random.default_rng(7), np.column_stack([np.ones(len(X)), X])
    w, signs = np.zeros(5), 2 * y - 1
    for update in model.log_:
        wrong = np.flatnonzero(signs * (rows @ w) <= 0)
        assert update.row == wrong[rng.integers(len(wrong))]
        w += signs[update.row] * rows[update.row]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_weights_that_overflow_are_an_error(kind: dict[str, Any]) -> None:
    X, y = overlapping(2)
    with pytest.raises(ValueError, match="the weights or a score exceed the range of float64"):
        rb.Perceptron(random_state=0, step=lambda k: 10.0 ** min(3 * k, 308), **kind).fit(X * 1e5, y)


def test_a_limit_on_the_norm_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel computes norms with another rounding; a norm that equals the limit does not exceed it."""
    X, y = overlapping(2)
    norms = [math.hypot(*w[0], b[0]) for w, b in map(rb.Perceptron(update="batch").fit(X, y).log_.weights_at, range(40))]
    at = next(t for t in range(5, 40) if norms[t] > max(norms[:t]))
    for limit, updates in ((norms[at], "more"), (np.nextafter(norms[at], 0), "equal")):
        model = rb.Perceptron(update="batch", w_max=float(limit), max_iter=40).fit(X, y)
        assert (model.n_updates_ > at) if updates == "more" else (model.n_updates_ == at)
