"""Mixed runs: the average of shards, the bound on their updates, and the same bits for any number of tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from cluster_data import digest, noisy_rows
from sklearn.base import clone

import oracles
import rosenblatt as rb
from rosenblatt.cluster.engine import InProcess
from rosenblatt.cluster.fit import fit


def with_margin(gamma: float, n: int = 240, d: int = 4) -> tuple[Any, Any, float]:
    """Rows that a plane without intercept separates by gamma, and the length of the longest one."""
    rng = np.random.default_rng(2)
    u = np.ones(d) / np.sqrt(d)
    X = rng.normal(size=(n, d))
    y = (X @ u > 0.0).astype(int)
    X += np.outer((2 * y - 1) * gamma, u)
    return X, y, float(np.linalg.norm(X, axis=1).max())


def mixed(estimator: Any, data: Any, shards: int | None = None, block_rows: int = 20, jobs: int = 1) -> Any:
    return fit(clone(estimator), data, InProcess(jobs), mode="mixed", shards=shards, block_rows=block_rows)


# --- the algorithm -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("margin", [0.0, 20.0])
def test_a_run_is_that_of_the_textbook(container: Any, margin: float) -> None:
    X, y = noisy_rows(96, 3)
    X, signs = np.round(4.0 * X), 2 * y - 1
    model = mixed(
        rb.Perceptron(order="cyclic", margin=margin, keep="average", max_iter=5), (container(X), y), shards=4, block_rows=12
    )
    P, w = oracles.augment(X), np.zeros(4)
    made, visited = [], np.zeros(4)
    for _ in range(5):
        runs = [
            oracles.perceptron(P[s : s + 24], signs[s : s + 24], oracles.cyclic(24, 1), margin=margin, w0=w)
            for s in range(0, 96, 24)
        ]
        made.append([len(run.rows) for run in runs])
        for run in runs:
            current = np.searchsorted(np.array(run.times), np.arange(24), side="right")
            visited += sum(run.hypotheses[i] for i in current)
        w = np.mean([run.last for run in runs], axis=0)
    report = model.mixing_
    assert report.updates[:, :, 0].tolist() == made
    assert model.n_updates_ == np.sum(made)
    assert report.weighted_updates == pytest.approx(np.sum(made) / 4.0)
    last = model._run.state
    np.testing.assert_array_equal(np.concatenate([last.bias, last.w]), w)  # quarters of whole numbers
    np.testing.assert_allclose(np.concatenate([model.intercept_, model.coef_[0]]), visited / (5 * 96), rtol=1e-12)


@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
@pytest.mark.parametrize("keep", ["last", "average"])
def test_one_shard_is_the_run_of_one_machine(keep: Any, multiclass: Any) -> None:
    X, y = noisy_rows(150, 4, 3)
    alone = rb.Perceptron(order="cyclic", keep=keep, multiclass=multiclass, max_iter=4).fit(X, y)
    model = mixed(alone, (X, y), shards=1, block_rows=40)
    assert model.n_updates_ == alone.n_updates_
    assert model.stop_ == alone.stop_
    np.testing.assert_array_equal(model._run.state.w, alone._run.state.w)
    np.testing.assert_allclose(model.coef_, alone.coef_, rtol=1e-9)


LEARNERS = {
    "perceptron": rb.Perceptron(keep="average"),
    "one against the rest": rb.Perceptron(multiclass="ovr", order="random", max_iter=4),
    "passive-aggressive": rb.PassiveAggressive(multiclass="ovr", max_iter=4),
    "nonlinear": rb.NonlinearMSE(solver="online", max_iter=3),
    "AROW": rb.AROW(max_iter=3),
    "AROW, each": rb.AROW(multiclass="ovr", order="random", max_iter=3),
}


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_runs_depend_on_the_shards_and_not_on_the_tasks(learner: Any) -> None:
    X, y = noisy_rows(300, 5, 3)
    learner = clone(learner).set_params(random_state=0)
    models = [mixed(learner, (X, y), 5, 30, jobs) for jobs in (1, 2, 4)]
    assert len({digest(model) for model in models}) == 1
    assert digest(mixed(learner, (X, y), 2, 30)) != digest(models[0])
    alone = clone(learner).fit(X, y)
    assert models[0].score(X, y) > alone.score(X, y) - 0.15
    if learner.order == "permuted":
        cyclic = clone(learner).set_params(order="cyclic")  # the same shards, in blocks of another size
        assert digest(mixed(cyclic, (X, y), 5, 30)) == digest(mixed(cyclic, (X, y), 5, 60, 2))


def test_the_default_is_a_shard_for_each_block_up_to_eight() -> None:
    data = noisy_rows(200, 3)
    model = rb.Perceptron(max_iter=2, random_state=0)
    assert [mixed(model, data, None, rows).mixing_.shards for rows in (200, 50, 10)] == [1, 4, 8]


# --- the bound -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shards", [1, 3, 8])
@pytest.mark.parametrize("order", ["cyclic", "permuted", "random"])
@pytest.mark.parametrize(("margin", "step"), [(0.0, 1.0), (0.0, 3.0), (0.5, 0.5)])
def test_weighted_updates_are_within_their_bound(shards: int, order: str, margin: float, step: float) -> None:
    gamma = 0.1
    X, y, radius = with_margin(gamma)
    model = rb.Perceptron(order=order, margin=margin, step=step, fit_intercept=False, max_iter=None, random_state=1)
    found = mixed(model, (X, y), shards)
    report = found.mixing_
    assert found.stop_.separated
    assert (found.predict(X) == y).all()
    assert not report.updates[-1].any()
    if order != "random":  # rows drawn with replacement may leave out the violations of a pass
        assert report.updates[:-1].sum(axis=(1, 2)).all()
        assert report.epochs <= 1 + shards * (radius**2 + 2.0 * margin / step) / gamma**2
    assert report.radius == pytest.approx(radius)
    bound = (radius**2 + 2.0 * margin / step) / gamma**2
    np.testing.assert_allclose(report.bound(gamma), bound)
    np.testing.assert_allclose(report.weighted_updates, report.updates.sum() / shards)
    assert 0.0 < report.weighted_updates[0] <= bound
    assert report.check(gamma)
    assert not report.check(30.0 * gamma)  # no plane has that margin: the numbers can refute a wrong claim
    signed = (2 * y - 1) * (X @ found.coef_[0]) / np.linalg.norm(found.coef_)
    np.testing.assert_allclose(report.margins, signed.min())
    assert report.check()


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_classes_that_compete_have_the_same_bound(margin: float, container: Any) -> None:
    rng = np.random.default_rng(0)
    U = rng.normal(size=(4, 6))
    U /= np.sqrt(2.0) * np.linalg.norm(U)
    X = rng.normal(size=(2000, 6))
    scores = np.sort(X @ U.T, axis=1)
    X = X[scores[:, -1] - scores[:, -2] >= 0.1]
    y = (X @ U.T).argmax(axis=1)
    model = mixed(
        rb.Perceptron(margin=margin, fit_intercept=False, max_iter=None, random_state=0), (container(X), y), block_rows=100
    )
    report = model.mixing_
    bound = (np.square(X).sum(axis=1).max() + margin) / 0.1**2
    np.testing.assert_allclose(report.bound(0.1), bound)
    assert report.check(0.1)
    assert report.check()
    assert model.stop_.separated
    scores = X @ model.coef_.T
    own = scores[np.arange(len(y)), y]
    scores[np.arange(len(y)), y] = -np.inf
    lead = (own - scores.max(axis=1)).min()
    np.testing.assert_allclose(report.margins, lead / np.linalg.norm(model.coef_) / np.sqrt(2.0))


def test_one_vs_rest_has_a_bound_for_each_class() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    X = 6.0 * np.eye(3)[y] + rng.normal(size=(200, 3))
    X = np.concatenate([X, [[6.0, 6.0, 0.0], [6.0, 6.0, 0.0]]])  # no plane separates class 0 or 1
    y = np.append(y, [0, 1])
    report = mixed(rb.Perceptron(multiclass="ovr", max_iter=60, random_state=0), (X, y), 4).mixing_
    assert report.updates.shape[1:] == (4, 3)
    assert np.isnan(report.margins).tolist() == [True, True, False]
    assert report.check()
    bound = report.bound()
    assert report.weighted_updates[2] <= bound[2]
    assert "4 shards" in str(report)


def test_no_bound_is_claimed_where_none_holds() -> None:
    X, y = noisy_rows(100, 3)
    weights = np.linspace(0.5, 2.0, 100)
    for learner, data in (
        (rb.PassiveAggressive(max_iter=2), (X, y)),
        (rb.AROW(max_iter=2), (X, y)),
        (rb.Perceptron(max_iter=2), (X, y, weights)),
        (rb.Perceptron(max_iter=2, init="sum"), (X, y)),
        (rb.Perceptron(max_iter=2, class_weight="balanced"), (X, y)),
    ):
        report = mixed(clone(learner).set_params(random_state=0), data).mixing_
        assert report.slack is None
        with pytest.raises(ValueError, match="no bound holds"):
            report.check(0.1)
        assert "at most" not in str(report)
    model = mixed(rb.Perceptron(max_iter=2, random_state=0), (X, y))
    assert model._bounded_run() is None  # the updates of all shards are more than the bound of one run


# --- AROW ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_gaussian_weights_are_averaged_by_their_precision(classes: int, multiclass: Any) -> None:
    X, y = noisy_rows(120, 4, classes)
    model = mixed(rb.AROW(order="cyclic", multiclass=multiclass, max_iter=1), (X, y), shards=3, block_rows=20)
    parts = [
        rb.AROW(order="cyclic", multiclass=multiclass, max_iter=1).partial_fit(X[s], y[s], classes=np.arange(classes))
        for s in (slice(0, 40), slice(40, 80), slice(80, 120))
    ]
    precision = sum(1.0 / part.variances_ for part in parts)
    np.testing.assert_allclose(model.variances_, 3.0 / precision)
    np.testing.assert_allclose(model.coef_, sum(part.coef_ / part.variances_ for part in parts) / precision)
    assert model.n_updates_ == sum(part.n_updates_ for part in parts)
    assert model.mixing_.updates.sum() == model.n_updates_


# --- what goes on from there ---------------------------------------------------------------------------------------------


def test_learning_goes_on_and_the_report_is_that_of_the_last_fit(tmp_path: Path) -> None:
    X, y = noisy_rows(160, 4, 3)
    model = mixed(rb.Perceptron(keep="average", max_iter=3, random_state=0), (X, y), 4)
    before, seen = model.coef_.copy(), model._run.seen
    rb.save(model, tmp_path / "m.safetensors")
    loaded = rb.load(tmp_path / "m.safetensors")
    assert not hasattr(loaded, "mixing_")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    model.partial_fit(X[:1], y[:1])  # the average of one more row
    mean = (before * seen + model._run.heads) / (seen + 1)
    np.testing.assert_allclose(model.coef_, mean, rtol=1e-9)
    assert not hasattr(model, "mixing_")
    for learner in (rb.Perceptron(random_state=0), rb.AROW(random_state=0)):
        again = mixed(learner, (X, y), 2)
        assert hasattr(again, "mixing_")
        assert not hasattr(fit(again, (X, y), block_rows=80), "mixing_")


def test_a_warm_start_goes_on_from_the_average() -> None:
    X, y, _ = with_margin(0.02)
    model = mixed(rb.Perceptron(order="cyclic", warm_start=True, max_iter=1, fit_intercept=False), (X, y), 4)
    first = model.coef_.copy()
    fit(model, (X, y), mode="mixed", shards=4, block_rows=20)
    whole = mixed(clone(model).set_params(max_iter=2), (X, y), 4)
    assert not np.array_equal(first, whole.coef_)
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    assert model.mixing_.slack is None


@pytest.mark.parametrize(
    ("estimator", "shards", "sentence"),
    [
        (rb.Perceptron(max_updates=5), None, "max_updates=5 may end a run within a pass"),
        (rb.Perceptron(w_max=5.0), None, "w_max=5.0 may end a run within a pass"),
        (rb.Perceptron(step=lambda k: 1.0 / k), None, "step is a function of the number of updates"),
        (rb.Perceptron(update="batch"), None, "mode='mixed' and shards are for learners that go row by row"),
        (rb.Perceptron(keep="vote"), None, "keep='vote'"),
        (rb.Perceptron(), 9, "shards=9 needs as many blocks, got 3 blocks"),
        (rb.AROW(), 9, "shards=9 needs as many blocks, got 3 blocks"),
    ],
)
def test_what_shards_cannot_do_is_refused_in_one_sentence(estimator: Any, shards: int | None, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        mixed(estimator, noisy_rows(60, 3), shards)
