"""The loop: why it ends, what it claims, and which rows it draws."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chisquare
from sklearn.exceptions import ConvergenceWarning

import rosenblatt as rb
from rosenblatt.data.problem import make_problem, zero_state, zero_sums
from rosenblatt.online.rules.perceptron import PerceptronRule
from rosenblatt.online.run import RunConfig
from rosenblatt.online.solver import solve
from rosenblatt.progress import Progress

# The default number of passes grows on sets as small as these.
perceptron = partial(rb.Perceptron, max_iter=10)
SQUARE = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
XOR = np.array([0, 1, 1, 0])


def noise(n: int = 30, k: int = 2, d: int = 3, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), np.arange(n) % k


def separable(n: int = 30, k: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Classes around points far apart."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return 10.0 * np.eye(k)[y] + rng.uniform(-1, 1, size=(n, k)), y


def scores(model: Any, X: Any) -> Any:
    return X @ model.coef_.T + model.intercept_


def head_margins(model: Any, X: Any, y: Any) -> Any:
    """y_h <w_h, p> of every row and one-vs-rest head."""
    return scores(model, X) * np.where(y[:, None] == model.classes_, 1, -1)


# --- why runs end ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["cyclic", "permuted", "random", "mistakes"])
@pytest.mark.parametrize("k", [2, 3])
def test_separated_means_no_row_at_or_under_the_margin(order: str, k: int) -> None:
    X, y = separable(k=k)
    model = perceptron(order=order, margin=2.0, max_iter=None, random_state=0).fit(X, y)
    assert model.stop_.separated
    assert str(len(X)) in model.stop_.sentence
    if k == 2:
        assert (np.where(y == 1, 1, -1) * model.decision_function(X) > 2.0).all()
    else:
        rivals = scores(model, X)
        own = rivals[np.arange(len(y)), y].copy()
        rivals[np.arange(len(y)), y] = -np.inf
        assert (own - rivals.max(axis=1) > 2.0).all()


@pytest.mark.parametrize("update", ["batch", "batch-mean"])
def test_a_batch_run_ends_when_no_row_violates_the_margin(update: str) -> None:
    X, y = separable()
    model = perceptron(update=update, max_iter=None).fit(X, y)
    assert model.stop_.separated
    np.testing.assert_array_equal(model.predict(X), y)


def test_the_clean_pass_is_counted_and_is_the_last() -> None:
    X, y = separable()
    model = perceptron(order="cyclic", max_iter=None).fit(X, y)
    assert model.log_.durations.tolist() == [model.n_iter_ * len(y)]
    assert model.log_.times.max() < (model.n_iter_ - 1) * len(y)
    assert model.log_.times.max() >= (model.n_iter_ - 2) * len(y)
    assert f"in pass {model.n_iter_}:" in model.stop_.sentence


@pytest.mark.parametrize("passes", [1, 4])
def test_passes_run_out(passes: int) -> None:
    X, y = noise()
    model = perceptron(max_iter=passes, random_state=0).fit(X, y)
    last = int((model.log_.times >= (passes - 1) * len(y)).sum())
    assert model.stop_.reason == "passes"
    assert model.n_iter_ == passes
    assert (model.stop_.limit, model.stop_.last_updates) == (passes, last)
    assert str(model.stop_).startswith(f"stopped after {passes} pass")
    assert f"(the limit); the last one made {last} updates" in model.stop_.sentence


def test_one_pass_that_separates_claims_it_after_a_scan() -> None:
    model = perceptron(order="cyclic", max_iter=1).fit([[1.0], [-1.0]], [1, 0])
    assert str(model.stop_) == "separated after 2 updates: a full scan of 2 rows found no violation"
    assert perceptron(order="cyclic", max_iter=3).fit([[1.0], [-1.0]], [1, 0]).stop_.separated


@pytest.mark.parametrize("order", ["cyclic", "mistakes"])
def test_updates_run_out(order: str) -> None:
    X, y = noise()
    model = perceptron(max_updates=7, order=order, random_state=0).fit(X, y)
    assert model.stop_.reason == "updates"
    assert model.n_updates_ == len(model.log_) == 7
    assert str(model.stop_) == "stopped after 7 updates (the limit)"
    assert model.stop_.limit == 7


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
@pytest.mark.parametrize("order", ["cyclic", "mistakes"])
def test_no_head_makes_more_updates_than_allowed(order: str, n_jobs: int) -> None:
    X, y = noise(n=60, k=4)
    model = perceptron(multiclass="ovr", max_updates=20, order=order, n_jobs=n_jobs, random_state=0).fit(X, y)
    assert np.bincount(model.log_.heads, minlength=4).tolist() == [20] * 4
    assert model.stop_.heads == ("updates",) * 4


@pytest.mark.parametrize("update", ["online", "batch"])
@pytest.mark.parametrize("k", [2, 3])
def test_the_norm_passes_its_bound_with_the_last_update_only(update: str, k: int) -> None:
    X, y = noise(k=k)
    model = perceptron(w_max=4.0, update=update, max_iter=50, random_state=0).fit(X, y)
    assert model.stop_.reason == "norm"
    assert "w_max=4" in model.stop_.sentence
    norms = [np.sqrt(sum(float((part**2).sum()) for part in model.log_.weights_at(t))) for t in range(model.n_updates_ + 1)]
    assert norms[-1] > 4.0
    assert max(norms[:-1]) <= 4.0
    assert f"{norms[-1]:.6g}" in model.stop_.sentence


def test_every_head_has_its_own_norm() -> None:
    X, y = noise(n=60, k=4)
    model = perceptron(multiclass="ovr", w_max=4.0, max_iter=50, random_state=0).fit(X, y)
    assert model.stop_.heads == ("norm",) * 4
    for run in model.log_.runs():
        norms = [np.sqrt(sum(float((part**2).sum()) for part in run.weights_at(t))) for t in range(len(run) + 1)]
        assert norms[-1] > 4.0
        assert max(norms[:-1]) <= 4.0


def test_a_start_beyond_the_bound_does_not_move() -> None:
    X, y = noise()
    model = perceptron(init=np.full(3, 10.0), w_max=4.0, random_state=0).fit(X, y)
    assert model.stop_.reason == "norm"
    assert model.n_updates_ == 0


def test_a_short_step_is_a_stop_of_its_own() -> None:
    X, y = noise()
    model = perceptron(update="batch-mean", step=lambda k: 1.0 / k**2, tol=0.01, max_iter=None)
    with pytest.warns(ConvergenceWarning, match="below tol=0.01"):
        model.fit(X, y)
    assert model.stop_.reason == "tolerance"
    assert "tol=0.01" in model.stop_.sentence
    weights = [
        np.concatenate([coef[0], intercept]) for coef, intercept in map(model.log_.weights_at, range(model.n_updates_ + 1))
    ]
    lengths = np.linalg.norm(np.diff(weights, axis=0), axis=1)
    assert lengths[-1] < 0.01
    assert min(lengths[:-1]) >= 0.01


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_a_step_of_exactly_zero_proves_that_no_plane_separates(container: Any) -> None:
    with pytest.warns(ConvergenceWarning, match="no plane separates"):
        model = perceptron(update="batch", max_iter=None).fit(container(SQUARE), XOR)
    assert model.stop_.reason == "impossible"
    assert "4 rows that violate the margin" in model.stop_.sentence
    assert "no plane" in model.stop_.sentence


def test_a_step_of_zero_by_weights_or_rounding_claims_no_proof() -> None:
    X = np.array([[1.0], [3.0]])
    model = perceptron(update="batch", fit_intercept=False).fit(X, [1, 0], sample_weight=[3.0, 1.0])
    assert model.stop_.reason == "tolerance"
    tiny = perceptron(update="batch", fit_intercept=False, step=1e-300).fit(np.array([[1e-300], [2e-300]]), [1, 0])
    assert tiny.stop_.reason != "impossible"


def test_only_a_run_that_must_separate_warns() -> None:
    X, y = noise()
    with pytest.warns(ConvergenceWarning, match=r"not separated: stopped after \d+ updates"):
        perceptron(max_iter=None, max_updates=50).fit(X, y)
    perceptron(max_iter=2).fit(X, y)
    perceptron(max_iter=None).fit(*separable())


@pytest.mark.parametrize("k", [2, 3])
def test_mistakes_passes_are_as_many_updates_as_rows(k: int) -> None:
    X, y = noise(k=k)
    model = perceptron(order="mistakes", max_iter=2, random_state=0).fit(X, y)
    assert (model.n_updates_, model.n_iter_) == (60, 2)
    assert model.stop_.reason == "passes"
    assert "stopped after 2 passes (the limit)" in model.stop_.sentence
    assert "30 updates" in model.stop_.sentence


# --- random orders claim nothing they did not see ----------------------------------------------------------------------


def test_random_draws_verify_all_rows_before_they_claim_separation() -> None:
    """A row that is rarely drawn: a pass often misses it, and that must not be taken for a clean pass."""
    X = np.concatenate([np.full((40, 1), 1.0), [[2.0]]])
    y = np.concatenate([np.ones(40, int), [0]])
    models = [perceptron(order="random", max_iter=2, random_state=seed).fit(X, y) for seed in range(20)]
    for model in models:
        wrong = (np.where(y == 1, 1, -1) * model.decision_function(X) <= 0).any()
        assert not (model.stop_.separated and wrong)
    assert any((model.log_.rows < 40).all() for model in models)


def test_random_one_vs_rest_heads_are_verified_one_by_one() -> None:
    """Of four rows, four draws miss one now and then: a head that was clean on the others is not called separated."""
    X, y = np.eye(4), np.array([0, 1, 2, 2])
    for seed in range(100):
        model = perceptron(order="random", multiclass="ovr", max_iter=3, random_state=seed).fit(X, y)
        right = (head_margins(model, X, y) > 0).all(axis=0)
        for word, fine in zip(model.stop_.heads, right, strict=True):
            assert word != "separated" or fine


# --- mistakes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("k", [2, 3])
def test_the_mistakes_order_draws_misclassified_rows_only(k: int, container: Any) -> None:
    X, y = noise(k=k)
    model = perceptron(order="mistakes", max_iter=1, random_state=0, log="rows").fit(container(X), y)
    for t, row in enumerate(model.log_.rows):
        coef, intercept = model.log_.weights_at(t)
        s = coef @ X[row] + intercept
        if k == 2:
            assert (1 if y[row] == 1 else -1) * s[0] <= 1e-12
        else:
            assert s[y[row]] - np.delete(s, y[row]).max() <= 1e-12


def test_the_first_mistake_is_drawn_uniformly() -> None:
    X, y = noise(n=8)
    first = [perceptron(order="mistakes", max_updates=1, random_state=seed).fit(X, y).log_.rows[0] for seed in range(400)]
    assert chisquare(np.bincount(first, minlength=8)).pvalue > 0.001


def test_mistakes_end_when_there_are_none() -> None:
    X, y = separable()
    model = perceptron(order="mistakes", max_iter=None, random_state=0).fit(X, y)
    assert model.stop_.separated
    np.testing.assert_array_equal(model.predict(X), y)


def test_a_mistakes_run_reports_progress_within_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass is as many full scans as there are rows, which takes long."""
    monkeypatch.setattr("rosenblatt.online.full_scans.WORK_PER_CALL", 1)
    X, y = noise(20)
    seen: list[Progress] = []
    with rb.progress_callback(seen.append):
        perceptron(order="mistakes", max_iter=1, random_state=0).fit(X, y)
    assert [(each.passes, each.visited, each.updates) for each in seen] == [(0, k, k) for k in range(1, 20)] + [(1, 0, 20)]


def test_heads_of_a_mistakes_run_may_end_for_different_reasons() -> None:
    """One head separates at once, the others use their updates up before a pass is over."""
    X, _ = noise(n=30)
    X = np.column_stack([X, np.where(np.arange(30) < 10, 100.0, -100.0)])
    y = np.concatenate([np.zeros(10, int), 1 + np.arange(20) % 2])
    model = perceptron(order="mistakes", multiclass="ovr", max_updates=15, random_state=0).fit(X, y)
    assert model.stop_.heads[0] == "separated"
    assert "updates" in model.stop_.heads
    assert model.stop_.reason == "updates"
    np.testing.assert_array_equal(model.log_.weights_at(model.log_.n_updates)[0], model.coef_)


# --- rows of weight zero -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["cyclic", "permuted", "random", "mistakes"])
@pytest.mark.parametrize("update", ["online", "batch", "batch-mean"])
def test_rows_of_weight_zero_are_as_good_as_not_there(order: str, update: str) -> None:
    X, y = noise()
    c = (np.arange(30) % 3 > 0).astype(float)
    model = perceptron(order=order, update=update, random_state=0, max_iter=3).fit(X, y, sample_weight=c)
    few = perceptron(order=order, update=update, random_state=0, max_iter=3).fit(X[c > 0], y[c > 0])
    np.testing.assert_array_equal(model.coef_, few.coef_)
    np.testing.assert_array_equal(model.log_.rows, np.flatnonzero(c)[few.log_.rows])
    np.testing.assert_array_equal(model.log_.times, few.log_.times)


def test_separated_concerns_rows_of_positive_weight() -> None:
    X, y = separable()
    y[0] = 1 - y[0]
    c = np.ones(30)
    c[0] = 0.0
    model = perceptron(max_iter=None, random_state=0).fit(X, y, sample_weight=c)
    assert model.stop_.separated
    assert "29 rows" in model.stop_.sentence


# --- solve itself ------------------------------------------------------------------------------------------------------


def test_solve_does_not_touch_where_it_starts() -> None:
    X, y = noise()
    problem = make_problem(X, y, 2)
    start = zero_state(problem, 2)
    result = solve(problem, PerceptronRule(0.0), RunConfig(), start)
    assert not start.w.any()
    assert not start.counts.any()
    assert result.updates == result.log.n_updates > 0
    assert not result.log._record.start.w.any()


def test_without_a_log_the_sums_of_an_average_are_carried_along() -> None:
    X, y = noise()
    problem = make_problem(X, y, 2)
    start = zero_state(problem, 2)
    result = solve(problem, PerceptronRule(0.0), RunConfig(keep_log=False), start, zero_sums(start))
    logged = solve(problem, PerceptronRule(0.0), RunConfig(), start)
    assert result.log is None
    log = logged.log
    expected = sum(t * tau * (1 if y[i] == 1 else -1) * X[i] for i, tau, t in zip(log.rows, log.steps, log.times, strict=True))
    np.testing.assert_allclose(result.sums.w, expected, atol=1e-9)


@pytest.mark.parametrize("plan", [RunConfig(), RunConfig(order="mistakes"), RunConfig(update="batch")])
def test_a_callback_receives_every_pass(plan: RunConfig) -> None:
    X, y = noise()
    problem = make_problem(X, y, 2)
    reports: list[Progress] = []
    watched = RunConfig(update=plan.update, order=plan.order, max_iter=4, progress=reports.append)
    result = solve(problem, PerceptronRule(0.0), watched, zero_state(problem, 2))
    assert [progress.passes for progress in reports] == [1, 2, 3, 4]
    assert reports[-1].updates == result.updates
    assert sum(progress.last for progress in reports) == result.updates


def test_verbose_writes_a_line_per_pass(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = noise()
    perceptron(verbose=1, max_iter=3).fit(X, y)
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err.count("\n") == 3
    assert "pass 3" in written.err


@pytest.mark.parametrize("options", [{"n_jobs": 2}, {"update": "batch"}])
def test_verbose_also_reports_heads_in_threads(options: Any, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = noise(k=3)
    perceptron(verbose=1, max_iter=2, multiclass="ovr", **options).fit(X, y)
    assert "pass 2" in capsys.readouterr().err


def test_more_updates_than_the_tape_holds_are_all_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noise(k=3)
    whole = perceptron(max_iter=3, random_state=0).fit(X, y)
    monkeypatch.setattr("rosenblatt.online.solver.TAPE_ENTRIES", 4)
    for multiclass in ("joint", "ovr"):
        expected = whole if multiclass == "joint" else None
        short = perceptron(max_iter=3, random_state=0, multiclass=multiclass).fit(X, y)
        if expected is not None:
            assert list(short.log_) == list(expected.log_)
        np.testing.assert_array_equal(short.log_.weights_at(len(short.log_))[0], short.coef_)


@pytest.mark.once
def test_rows_in_many_segments_are_the_same_run(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noise(n=200)
    parameters: list[dict[str, Any]] = [
        {},
        {"order": "cyclic"},
        {"order": "random"},
        {"update": "batch"},
        {"order": "mistakes"},
    ]
    expected = [perceptron(max_iter=2, random_state=0, **options).fit(X, y).coef_ for options in parameters]
    for name in ("solver.WORK_PER_CALL", "full_scans.WORK_PER_CALL", "scans.SCAN_WORK_PER_TASK"):
        monkeypatch.setattr(f"rosenblatt.online.{name}", 1)
    for options, coef in zip(parameters, expected, strict=True):
        for n_jobs in (1, 2):
            model = perceptron(max_iter=2, random_state=0, n_jobs=n_jobs, **options).fit(X, y)
            np.testing.assert_array_equal(model.coef_, coef)
