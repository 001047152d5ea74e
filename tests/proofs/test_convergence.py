"""The convergence report: both inequalities hold at every update of all kinds of runs, and agree with the weights."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib import pyplot
from separable_rows import apart
from sklearn.datasets import load_iris

import rosenblatt as rb
from rosenblatt.proofs.convergence import convergence, trajectory

mpl.use("Agg")
RUNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "margin": {"margin": 2.0},
    "margin and step": {"margin": 1.0, "step": 0.25},
    "falling steps": {"step": lambda k: k**-0.25},
    "batch": {"update": "batch"},
    "batch with margin": {"update": "batch", "margin": 1.0},
    "batch-mean": {"update": "batch-mean", "step": 3.0},
    "mistakes": {"order": "mistakes"},
    "start": {"init": "array"},
    "start and margin": {"init": "array", "margin": 0.5, "step": 2.0},
    "batch from a start": {"init": "array", "update": "batch"},
    "sum": {"init": "sum"},
    "no intercept": {"fit_intercept": False},
    "small constant": {"intercept_scaling": 0.3},
    "large constant": {"intercept_scaling": 8.0, "margin": 1.0},
    "weights": {"weights": True},
    "weights in batches": {"weights": True, "update": "batch", "margin": 0.5},
}


def run(X: Any, y: Any, parameters: dict[str, Any]) -> Any:
    """A fitted perceptron; `init="array"` and `weights` stand for numbers drawn here."""
    rng, options = np.random.default_rng(0), dict(parameters)
    heads = 1 if len(set(y)) == 2 else len(set(y))
    if isinstance(options.get("init"), str) and options["init"] == "array":
        options["init"] = 3.0 * rng.normal(size=(heads, X.shape[1] + 1))
    weights = rng.integers(0, 4, len(y)) * 0.5 if options.pop("weights", False) else None
    return rb.Perceptron(**{"max_iter": None, "random_state": 0, "log": "rows"} | options).fit(X, y, weights)


def naive(log: Any, margin: float, planes: Any) -> tuple[Any, list[float], list[float], list[float]]:
    """At some t: |w_t|^2, its bound, and <w_t, u>, from the hypothesis itself, in a space of rows (x_0, x)."""
    x0, rows = log._record.problem.x0, log._record.problem.matrix()
    dense = (rows.toarray() if sp.issparse(rows) else np.asarray(rows)).astype(float)
    R2 = max(float(row @ row) + x0**2 for row in dense)
    some = np.unique(np.linspace(0, log.n_updates, 12).astype(int))
    norms, bounds, along = [], [], []
    for t in some:
        coef, intercept = log.weights_at(t)
        W = np.column_stack([coef, intercept / (x0 or 1.0)]).astype(float)
        half = 1.0 if len(W) == 1 else 0.5
        groups = [float(log.steps[log._record.edges[s] : log._record.edges[s + 1]].sum()) for s in range(t)]
        norms.append(half * float((W * W).sum()))
        bounds.append(norms[0] + sum(group**2 * R2 + 2 * half * margin * group for group in groups))
        along.append(float((W * planes).sum()) * np.sqrt(half))
    return some, norms, bounds, along


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize(("name", "classes"), [(name, k) for name in RUNS for k in (2, 3) if (name, k) != ("no intercept", 3)])
def test_both_inequalities_hold_at_every_update(name: str, classes: int, container: Any) -> None:
    X, y = apart(60, 3, classes, 0.25, 2)
    model = run(container(X), y, RUNS[name])
    (report,) = model.convergence_
    assert model.stop_.separated
    assert report is model.convergence_[0]
    assert report.holds
    assert report.mistakes == len(model.log_) > 3
    assert len(report.norms_squared) == len(report.norm_bound) == len(report.alignments) == model.log_.n_updates + 1
    assert isinstance(report.certificate, rb.Separable)
    if "weights" not in RUNS[name] and name != "falling steps":
        assert report.mistakes <= report.mistake_bound.upper
    else:
        assert report.mistake_bound is None
    # u is a unit vector; it has the margin gamma, of all rows and in the space of this run.
    assert (report.alignments**2 <= report.norms_squared * (1 + 1e-9) + 1e-12).all()
    margin = RUNS[name].get("margin", 0.0)
    visited = model.log_._record.problem.visited
    if visited is None:
        some, norms, bounds, _ = naive(model.log_, margin, 0.0)
        np.testing.assert_allclose(report.norms_squared[some], norms, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(report.norm_bound[some], bounds, rtol=1e-9)
    gains = np.diff(report.alignment_bound)
    taus = np.add.reduceat(model.log_.steps, model.log_._record.edges[:-1])
    np.testing.assert_allclose(gains, report.gamma * taus, rtol=1e-9)
    assert report.widest == ("constant" not in name)


@pytest.mark.parametrize("classes", [2, 3])
def test_u_is_the_separator_of_the_widest_margin(classes: int) -> None:
    X, y = apart(80, 4, classes, 0.3, 2)
    model = run(X, y, {})
    (report,) = model.convergence_
    planes = report.certificate.augmented.planes
    U = np.array([[*plane.coef(4), float(plane.intercept)] for plane in planes])
    U /= np.linalg.norm(U)
    some, _, _, along = naive(model.log_, 0.0, U)
    np.testing.assert_allclose(report.alignments[some], along, rtol=1e-9, atol=1e-9)
    every = np.arange(model.n_updates_ + 1)
    np.testing.assert_allclose(report.norm_bound, report.radius**2 * every, rtol=1e-12)
    np.testing.assert_allclose(report.alignment_bound, report.gamma * every, rtol=1e-12)
    assert report.gamma == report.certificate.augmented.lower
    assert report.mistake_bound == report.certificate.mistake_bound
    assert rb.margin((U[:, :-1], U[:, -1]), X, y) == pytest.approx(report.gamma, rel=1e-9)


def test_another_constant_has_a_margin_of_its_own() -> None:
    X, y = apart(80, 4, 2, 0.3, 2)
    for x0 in (0.25, 4.0):
        model = run(X, y, {"intercept_scaling": x0})
        (report,) = model.convergence_
        best = x0 * rb.certify(X / x0, y).augmented.upper  # a power of two: exactly the same rows but for their unit
        assert 0.3 * best < report.gamma <= best * (1 + 1e-12)
        assert report.radius == pytest.approx(rb.radius(X, intercept_scaling=x0), rel=1e-15)
        assert report.holds


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("update", ["online", "batch"])
def test_long_runs_hold_but_for_rounding(dtype: Any, update: str) -> None:
    X, y = apart(120, 3, 2, 0.01, 3)
    (report,) = run((X + 4.0).astype(dtype), y, {"update": update, "max_iter": 300}).convergence_
    assert report.mistakes > 500
    assert report.holds


@pytest.mark.parametrize("narrow", [0, 1024])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_blocks_do_not_show(container: Any, narrow: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = apart(60, 3, 3, 0.1, 4)
    model = run(container(X), y, {})
    (whole,) = model.convergence_
    monkeypatch.setattr("rosenblatt.proofs.convergence.UPDATES_PER_BLOCK", 3)
    monkeypatch.setattr("rosenblatt.proofs.convergence.MAX_DENSE_COLUMNS", narrow)
    again = trajectory(model.log_, (np.ones((3, 3)), np.ones(3)))
    np.testing.assert_allclose(again.norms_squared / 2, whole.norms_squared, rtol=1e-12)
    assert abs(again.alignments).max() < 1e-12  # what goes to one class is taken from another


def test_a_broken_log_does_not_hold() -> None:
    """A violation is reported: updates by a correctly classified row, again and again, or in the wrong direction."""
    X, y = apart(60, 3, 2, 0.05, 5)
    model = run(X, y, {})
    (correct,) = model.convergence_
    log = model.log_
    longest = int(np.linalg.norm(X, axis=1).argmax())
    log._record.parts[0].rows[:] = longest
    too_far = convergence(log, model.classes_, 0.0, correct.certificate)
    assert not too_far.holds
    assert "VIOLATED" in str(too_far)
    backwards = convergence(log, model.classes_, 0.0, rb.certify(X, 1 - y))
    assert (backwards.alignments[1:] < 0).all()
    assert not backwards.holds


def test_inseparable_rows_have_the_first_inequality_only() -> None:
    X, y = load_iris(return_X_y=True)
    (report,) = rb.Perceptron(max_iter=20, random_state=0).fit(X, y == 1).convergence_
    assert isinstance(report.certificate, rb.Inseparable)
    assert (report.alignments, report.alignment_bound, report.gamma, report.mistake_bound) == (None, None, None, None)
    assert report.holds
    assert report.radius == pytest.approx(rb.radius(X))
    assert "the number of mistakes is not bounded" in str(report)


def test_one_vs_rest_has_a_report_for_each_class() -> None:
    X, y = load_iris(return_X_y=True)
    model = rb.Perceptron(multiclass="ovr", max_iter=20, random_state=0).fit(X, y)
    reports = model.convergence_
    assert [report.gamma is not None for report in reports] == [True, False, False]
    assert all(report.holds for report in reports)
    assert sum(report.mistakes for report in reports) == model.n_updates_
    assert reports[0].mistakes <= reports[0].mistake_bound.upper


def test_classes_without_weight_are_rivals_still() -> None:
    X, y = apart(90, 3, 4, 0.3, 6)
    weights = (y != 2).astype(float)
    model = rb.Perceptron(max_iter=None, random_state=0).fit(X, y, weights)
    (report,) = model.convergence_
    assert model.log_._record.others.max() <= 3
    assert not report.widest
    assert report.holds
    assert report.mistakes <= report.mistake_bound.upper
    two = rb.Perceptron(max_iter=None, random_state=0).fit(X, y, (y < 2).astype(float))
    assert two.convergence_[0].holds
    assert two.convergence_[0].gamma > 0


def test_a_run_without_a_mistake_is_a_report_too() -> None:
    X, y = apart(30, 3, 2, 0.4, 7)
    first = run(X, y, {})
    start = np.column_stack([first.intercept_, first.coef_])
    (report,) = run(X, y, {"init": start}).convergence_
    assert report.mistakes == 0
    assert len(report.norms_squared) == 1
    assert report.holds
    for update in ("online", "batch"):
        assert run(X, y, {"init": start, "update": update}).convergence_[0].norms_squared[0] == pytest.approx((start**2).sum())


@pytest.mark.parametrize("size", [1e-200, 1e-100, 1e100])
def test_huge_and_tiny_rows_end_in_a_report(size: float) -> None:
    X, y = apart(20, 2, 2, 0.4, 8)
    X *= size
    model = rb.Perceptron(max_iter=50, fit_intercept=False, random_state=0).fit(X, y)
    assert model.convergence_[0].holds


def test_missing_requirements_are_named() -> None:
    X, y = apart(30, 3, 2, 0.4, 7)
    for model in (rb.Perceptron(log=False).fit(X, y), rb.Perceptron().partial_fit(X, y)):
        with pytest.raises(AttributeError, match="needs the log of a whole run"):
            model.convergence_  # noqa: B018
        assert not hasattr(model, "convergence_")
    assert not hasattr(rb.Perceptron(), "convergence_")
    for log in (True, "rows"):  # a log that holds rows has only those that moved the weights
        copied = pickle.loads(pickle.dumps(run(X, y, {"log": log})))
        with pytest.raises(AttributeError, match=r"read it as reading\(keep, X, y\)\.convergence_"):
            copied.convergence_  # noqa: B018
        assert copied.reading("last", X, y).convergence_[0].holds
    rows = X.copy()
    changed = run(rows, y, {})
    rows[changed.log_.rows[0]] += 1.0
    with pytest.raises(ValueError, match="X or coef_ was changed after fit"):
        changed.convergence_  # noqa: B018


def test_pickles_keep_the_report_or_what_it_takes() -> None:
    X, y = apart(30, 3, 2, 0.4, 7)
    model = run(X, y, {})
    (report,) = model.convergence_
    assert pickle.loads(pickle.dumps(model)).convergence_[0].mistakes == report.mistakes
    certified = pickle.loads(pickle.dumps(run(X, y, {"certify": True})))
    np.testing.assert_allclose(certified.convergence_[0].norms_squared, report.norms_squared, rtol=1e-14)
    assert certified.convergence_[0].gamma == report.gamma


def test_a_picture_of_the_estimator_starts_no_proof() -> None:
    X, y = apart(30, 3, 2, 0.4, 7)
    model = run(X, y, {})
    assert "coef_" in model._repr_html_()
    assert "_convergence" not in vars(model)
    assert "convergence_" not in dir(model)
    model.convergence_  # noqa: B018
    assert "convergence_" in dir(model)


def test_a_new_fit_forgets_the_report() -> None:
    X, y = apart(30, 3, 2, 0.4, 7)
    model = run(X, y, {"certify": True})
    first = model.convergence_
    model.set_params(certify=False).fit(X, 1 - y)
    assert model.convergence_ is not first
    assert not hasattr(model, "certificate_")


# --- the picture -------------------------------------------------------------------------------------------------------------


def test_the_plot_has_both_inequalities() -> None:
    X, y = apart(60, 3, 2, 0.2, 9)
    (report,) = run(X, y, {}).convergence_
    left, right = report.plot()
    for ax, measured, bound in (
        (left, report.norms_squared, report.norm_bound),
        (right, report.alignments, report.alignment_bound),
    ):
        drawn = {line.get_label(): line.get_ydata() for line in ax.lines}
        (limit,) = [values for name, values in drawn.items() if name.startswith("at ")]
        (along,) = [values for name, values in drawn.items() if not name.startswith("at ")]
        np.testing.assert_array_equal(limit, bound)
        np.testing.assert_array_equal(along, measured)
    axes = pyplot.subplots(2)[1]
    assert run(X, y, {"margin": 1.0}).convergence_[0].plot(axes) is axes
    with pytest.raises(ValueError, match="two matplotlib axes"):
        report.plot(left)
    X, y = load_iris(return_X_y=True)
    _, empty = rb.Perceptron(max_iter=3).fit(X, y).convergence_[0].plot()
    assert "no plane" in empty.texts[0].get_text()
    pyplot.close("all")


def test_the_plot_names_the_extra_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    X, y = apart(30, 3, 2, 0.4, 7)
    with pytest.raises(ImportError, match=r"rosenblatt\[plot\]"):
        run(X, y, {}).convergence_[0].plot()


@pytest.mark.parametrize("update", ["online", "batch", "batch-mean"])
@pytest.mark.parametrize("weights", [None, 2.0])
@pytest.mark.parametrize("k", [2, 3])
def test_a_run_without_updates_has_the_bound_of_its_start_and_step(update: Any, weights: float | None, k: int) -> None:
    """The bound is the one that a run from the same start and of the same step shows with its updates."""
    X, y = apart(30, 3, k, 0.4, 7)
    options = {"update": update, "step": 0.5, "max_iter": None, "order": "cyclic"}
    c = None if weights is None else np.full(len(y), weights)
    first = rb.Perceptron(**options).fit(X, y, c)
    start = np.column_stack([first.intercept_, first.coef_])
    still = rb.Perceptron(init=start, **options).fit(X, y, c)
    (report,) = still.convergence_
    assert still.n_updates_ == report.mistakes == 0
    assert report.holds
    moving = rb.Perceptron(init=-start, **options).fit(X, y, c)
    tau = float(moving.log_.steps[0])
    assert np.unique(moving.log_.steps).size == 1
    assert still._constant_step * (weights or 1.0) == pytest.approx(tau, rel=1e-12)
    assert report.mistake_bound.lower == 0.0
    assert 0.0 <= report.mistake_bound.upper < moving.convergence_[0].mistake_bound.upper
    assert "at most" in str(report)


def test_a_run_without_updates_and_with_varying_steps_has_no_bound() -> None:
    X, y = apart(30, 3, 2, 0.4, 7)
    first = rb.Perceptron(max_iter=None).fit(X, y)
    start = np.column_stack([first.intercept_, first.coef_])
    assert rb.Perceptron(init=start, step=lambda k: 1.0 / k).fit(X, y).convergence_[0].mistake_bound is None
