"""Progress callbacks are called after every pass, and within long passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from caches import cached, noisy

import rosenblatt as rb
from rosenblatt.data import cache as caches_module
from rosenblatt.progress import Progress, progress_callback, report_progress
from rosenblatt.training.cached_fits import fit_from_cache


@pytest.mark.parametrize("update", ["online", "batch"])
def test_progress_is_reported_within_and_after_each_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, update: str) -> None:
    monkeypatch.setattr(caches_module, "BYTES_IN_MEMORY", 3000)
    X, y = noisy()
    cache, seen = cached(tmp_path / "cache", X, y), list[Progress]()
    with progress_callback(seen.append):
        model = fit_from_cache(rb.Perceptron(order="cyclic", update=update, max_iter=3), cache)
    ends = [progress for progress in seen if progress.ended_pass]
    assert [progress.passes for progress in ends] == [1, 2, 3]
    assert ends[-1].updates == model.n_updates_ == sum(progress.last for progress in ends)
    assert {(progress.rows, progress.max_iter) for progress in seen} == {(len(y), 3)}
    within = [progress for progress in seen if progress.passes == 1 and not progress.ended_pass]
    assert len(within) >= 2
    assert sorted({progress.visited for progress in within}) == [progress.visited for progress in within]
    assert all(0 < progress.visited < len(y) for progress in within)
    assert update == "batch" or all(progress.updates == ends[0].updates + progress.last for progress in within)


def test_heads_that_are_done_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches_module, "BYTES_IN_MEMORY", 1000)
    X, y = noisy(3)
    X[y == 0, 0] = 50.0
    cache, seen = cached(tmp_path / "cache", X, y), list[Progress]()
    with progress_callback(seen.append):
        model = fit_from_cache(rb.Perceptron(order="cyclic", multiclass="ovr", max_iter=20), cache)
    assert "separated" in model.stop_.heads
    assert seen[-1].updates == model.n_updates_
    assert [progress.updates for progress in seen] == sorted(progress.updates for progress in seen)


@pytest.mark.parametrize(
    "model",
    [
        rb.Perceptron(multiclass="ovr", n_jobs=2, max_iter=2),
        rb.SoftMargin(n_jobs=2, tol=0.1),
        rb.SoftMargin(multiclass="crammer_singer", tol=0.1),
        rb.MaxMargin(inseparable="soft"),
        rb.NonlinearMSE(),
    ],
)
def test_every_iterative_fit_reports_progress_while_a_callback_is_set(model: Any) -> None:
    X, y = noisy(3, n=60)
    seen: list[Progress] = []
    with progress_callback(seen.append):
        model.fit(X, y)
    assert seen
    count = len(seen)
    model.fit(X, y)
    assert len(seen) == count


def test_verbose_still_writes_one_line_per_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(caches_module, "BYTES_IN_MEMORY", 1000)
    X, y = noisy()
    seen: list[Progress] = []
    with progress_callback(seen.append):
        fit_from_cache(rb.Perceptron(order="cyclic", max_iter=3, verbose=1), cached(tmp_path / "cache", X, y))
    assert capsys.readouterr().err.count("\n") == 3
    assert len(seen) > 3


def test_what_a_watcher_raises_ends_the_fit_and_leaves_nothing() -> None:
    X, y = noisy()
    model = rb.Perceptron(max_iter=3)

    def enough(progress: Progress) -> None:
        raise KeyboardInterrupt

    with progress_callback(enough), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "coef_")
    model.fit(X, y)


def test_progress_without_a_callback_is_ignored() -> None:
    report_progress(1, 0.5)
