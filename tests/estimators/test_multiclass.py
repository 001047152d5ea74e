"""The joint argmax perceptron and one-vs-rest, against their oracles and against separate binary fits."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt as rb
from oracles import (
    argmax_batch,
    argmax_perceptron,
    augment,
    average,
    batch,
    cyclic,
    gap,
    noisy,
    one_vs_rest,
    perceptron,
    vote,
)

CONTAINERS = {"dense": np.asarray, "csr": sp.csr_array}


def planes(model, x0=1.0):
    return np.column_stack([model.intercept_ / x0, model.coef_])


def clusters(n, seed, spread=(6, 3, 1)):
    """Classes around corners at different distances: the far ones separate early, the near one late or never."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, len(spread), n)
    codes[: len(spread)] = np.arange(len(spread))
    return rng.integers(-1, 2, (n, len(spread))) + np.diag(spread).astype(float)[codes], codes


# --- argmax ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("k", [3, 4, 5, 9])
@pytest.mark.parametrize(
    ("options", "textbook"),
    [({}, {}), ({"margin": 3.0}, {"margin": 3.0}), ({"step": lambda k: 2.0 / k}, {"rho": lambda k: 2.0 / k})],
    ids=["plain", "margin", "step callable"],
)
def test_argmax_is_the_textbook(container, k, options, textbook):
    X, codes = noisy(50, 4, k, seed=k)
    model = rb.Perceptron(order="cyclic", max_iter=4, **options).fit(CONTAINERS[container](X), codes)
    run = argmax_perceptron(augment(X), codes, k, cyclic(50, 4), **textbook)
    assert model.log_.rows.tolist() == run.rows
    assert model.log_.times.tolist() == run.times
    np.testing.assert_allclose(planes(model), run.last, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("mean", [False, True], ids=["sum", "mean"])
def test_argmax_batch_is_the_textbook(container, mean):
    X, codes = noisy(50, 4, 3, seed=1)
    model = rb.Perceptron(update="batch-mean" if mean else "batch", max_iter=5).fit(CONTAINERS[container](X), codes)
    run = argmax_batch(augment(X), codes, 3, 5, mean=mean)
    assert model.n_updates_ == len(run.times)
    np.testing.assert_allclose(planes(model), run.last, rtol=1e-12, atol=1e-12)


def test_argmax_with_weights_an_intercept_scale_and_a_start_is_the_textbook():
    X, codes = noisy(50, 4, 3, seed=2)
    rng = np.random.default_rng(0)
    c, W0 = rng.integers(1, 4, 50).astype(float), rng.integers(-3, 4, (3, 5)).astype(float)
    model = rb.Perceptron(order="cyclic", max_iter=3, intercept_scaling=0.5, init=W0).fit(X, codes, sample_weight=c)
    run = argmax_perceptron(augment(X, 0.5), codes, 3, cyclic(50, 3), c=c, w0=W0)
    assert model.log_.rows.tolist() == run.rows
    assert np.array_equal(planes(model, 0.5), run.last)


def test_rivals_are_the_best_other_class_and_the_smallest_among_equals():
    X, codes = noisy(50, 4, 4, seed=3)
    model = rb.Perceptron(order="cyclic", max_iter=3).fit(X, codes)
    assert model.log_.rivals[0] == (1 if codes[0] == 0 else 0)  # all scores are zero
    for t, update in enumerate(model.log_):
        coef, intercept = model.log_.weights_at(t)
        scores = coef @ X[update.row] + intercept
        label = codes[update.row]
        others = np.delete(np.arange(4), label)
        assert update.rival == others[np.argmax(scores[others])]
        assert scores[label] <= scores[update.rival]


def test_equal_scores_are_predicted_as_the_smallest_label():
    model = rb.Perceptron(order="cyclic", max_iter=1, fit_intercept=False).fit(np.eye(3), ["b", "c", "a"])
    assert model.predict(np.zeros((1, 3))) == ["a"]


@pytest.mark.parametrize("order", ["cyclic", "permuted", "random", "mistakes"])
def test_argmax_updates_stay_under_the_multiclass_bound(order):
    """margin(p) = min_z (w_l - w_z).p / (sqrt(2) |W|_F): at most R^2/gamma^2 updates."""
    W = np.eye(4) / 2  # class 0 where no feature is over 1, else the largest feature; |W|_F = 1
    P = augment(np.random.default_rng(0).uniform(-2, 2, (200, 3)))
    codes = (P @ W.T).argmax(axis=1)
    clear = np.array([gap(W, p, label) > 0.15 for p, label in zip(P, codes, strict=True)])
    P, codes = P[clear][:60], codes[clear][:60]
    assert len(np.unique(codes)) == 4
    gamma = min(gap(W, p, label) for p, label in zip(P, codes, strict=True)) / math.sqrt(2)
    model = rb.Perceptron(order=order, max_iter=None, random_state=0).fit(P[:, 1:], codes)
    assert model.stop_.separated
    assert (model.predict(P[:, 1:]) == codes).all()
    assert 0 < model.n_updates_ <= max(p @ p for p in P) / gamma**2


def test_the_joint_margin_applies_to_the_lead_over_the_best_rival():
    X, codes = clusters(40, seed=0, spread=(6, 6, 6))
    model = rb.Perceptron(margin=4.0, max_iter=None, random_state=0).fit(X, codes)
    assert model.stop_.separated
    scores = model.decision_function(X)
    own = scores[np.arange(40), codes]
    scores[np.arange(40), codes] = -np.inf
    assert (own - scores.max(axis=1) > 4.0).all()


def test_argmax_w_max_is_the_norm_of_all_weights():
    X, codes = noisy(50, 4, 3, seed=4)
    model = rb.Perceptron(w_max=12.0, order="cyclic", max_iter=100).fit(X, codes)
    run = argmax_perceptron(augment(X), codes, 3, cyclic(50, 100))
    first = next(t for t, W in enumerate(run.hypotheses) if np.linalg.norm(W) > 12.0)
    assert (model.n_updates_, model.stop_.reason) == (first, "norm")
    assert np.array_equal(planes(model), run.hypotheses[first])


@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
@pytest.mark.parametrize("container", CONTAINERS)
def test_the_sum_start_has_each_class_against_the_rest(multiclass, container):
    X, codes = noisy(50, 4, 3, seed=5)
    model = rb.Perceptron(init="sum", multiclass=multiclass, max_iter=1).fit(CONTAINERS[container](X), codes)
    coef, intercept = model.log_.weights_at(0)
    signs = np.where(codes == np.arange(3)[:, None], 1, -1)
    assert np.array_equal(np.column_stack([intercept, coef]), signs @ augment(X))


# --- one-vs-rest -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("k", [3, 4, 5])
def test_one_vs_rest_is_the_textbook_for_each_class(container, k):
    X, codes = noisy(50, 4, k, seed=k)
    model = rb.Perceptron(multiclass="ovr", order="cyclic", max_iter=4, margin=1.0).fit(CONTAINERS[container](X), codes)
    for h, run in enumerate(one_vs_rest(perceptron, augment(X), codes, k, cyclic(50, 4), margin=1.0)):
        assert model.log_.rows[model.log_.heads == h].tolist() == run.rows
        assert np.array_equal(planes(model)[h], run.last)


@pytest.mark.parametrize("container", CONTAINERS)
def test_one_vs_rest_batch_is_the_textbook_for_each_class(container):
    X, codes = noisy(50, 4, 3, seed=1)
    rows = CONTAINERS[container](X)
    model = rb.Perceptron(multiclass="ovr", update="batch", max_iter=5).fit(rows, codes)
    for h, run in enumerate(one_vs_rest(batch, augment(X), codes, 3, 5)):
        assert np.array_equal(planes(model)[h], run.last)
    for h, log in enumerate(model.log_.runs()):
        assert np.array_equal(log.weights_at(log.n_updates)[0], model.coef_[h : h + 1])


@pytest.mark.once
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(
    "options",
    [
        {"order": "cyclic"},
        {"order": "permuted"},
        {"order": "random"},
        {"order": "mistakes"},
        {"update": "batch"},
        {"max_updates": 9},
        {"w_max": 9.0},
        {"step": lambda k: 1.0 / k},
        {"margin": 2.0, "order": "cyclic"},
        {"init": "sum"},
    ],
    ids=lambda options: "-".join(options) + "-" + "-".join(v for v in options.values() if isinstance(v, str)),
)
def test_heads_are_separate_binary_fits(options, container, n_jobs):
    """Some heads separate early, some late, one never: each must end as if it ran alone, in every reading."""
    X, codes = clusters(60, seed=1)
    Z = CONTAINERS[container](X)
    options = {"random_state": 3, "max_iter": 12, **options}
    together = rb.Perceptron(multiclass="ovr", n_jobs=n_jobs, **options).fit(Z, codes)
    for h in range(3):
        alone = rb.Perceptron(**options).fit(Z, (codes == h).astype(int))
        mine = together.log_.heads == h
        assert together.log_.rows[mine].tolist() == alone.log_.rows.tolist()
        assert together.log_.times[mine].tolist() == alone.log_.times.tolist()
        assert together.log_.durations[h] == alone.log_.durations[0]
        assert together.stop_.heads[h] == alone.stop_.reason
        for keep, tolerance in (("last", 0.0), ("pocket", 0.0), ("average", 1e-12)):  # an average may sum in another order
            many, single = planes(together.reading(keep))[h], planes(alone.reading(keep))[0]
            np.testing.assert_allclose(many, single, rtol=tolerance, atol=tolerance, err_msg=keep)
        assert together.reading("pocket").pocket_errors_[h] == alone.reading("pocket").pocket_errors_
        shares = together.reading("vote").decision_function(Z)[:, h]
        assert np.array_equal(shares, alone.reading("vote").decision_function(Z))


def test_heads_that_end_at_different_times_do_end_at_different_times():
    """What the test above relies on."""
    X, codes = clusters(60, seed=1)
    model = rb.Perceptron(multiclass="ovr", random_state=3, max_iter=12).fit(X, codes)
    assert len(set(model.log_.durations.tolist())) > 1
    assert {"separated", "passes"} == set(model.stop_.heads)
    assert model.stop_.reason == "passes"


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_max_updates_holds_for_every_head(n_jobs):
    X, codes = noisy(40, 3, 3, seed=0)
    model = rb.Perceptron(multiclass="ovr", max_updates=5, order="cyclic", n_jobs=n_jobs).fit(X, codes)
    assert np.bincount(model.log_.heads).tolist() == [5, 5, 5]
    assert model.stop_.heads == ("updates",) * 3
    assert model.n_updates_ == 15


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_w_max_holds_for_every_head(n_jobs):
    X, codes = noisy(40, 3, 3, seed=0)
    model = rb.Perceptron(multiclass="ovr", w_max=6.0, order="cyclic", max_iter=200, n_jobs=n_jobs).fit(X, codes)
    assert model.stop_.heads == ("norm",) * 3
    for log in model.log_.runs():
        norms = [np.linalg.norm(np.append(*log.weights_at(t))) for t in range(log.n_updates + 1)]
        assert norms[-1] > 6.0
        assert max(norms[:-1]) <= 6.0


def test_one_vs_rest_is_separated_only_when_every_head_is():
    X, codes = clusters(60, seed=0, spread=(6, 6, 6))
    model = rb.Perceptron(multiclass="ovr", max_iter=None, random_state=0).fit(X, codes)
    assert model.stop_.separated
    scores = model.decision_function(X)
    assert (np.where(codes[:, None] == np.arange(3), scores, -scores) > 0).all()


def test_a_cut_pass_and_a_full_tape_change_no_head(monkeypatch):
    X, codes = clusters(200, seed=1)
    whole = rb.Perceptron(keep="average", multiclass="ovr", order="cyclic", max_iter=8).fit(X, codes)
    monkeypatch.setattr("rosenblatt.online.solver.TAPE_ENTRIES", 4)
    monkeypatch.setattr("rosenblatt.online.solver.WORK_PER_CALL", 1)
    cut = rb.Perceptron(keep="average", multiclass="ovr", order="cyclic", max_iter=8).fit(X, codes)
    assert np.array_equal(cut.coef_, whole.coef_)
    assert cut.log_.times.tolist() == whole.log_.times.tolist()
    assert cut.log_.durations.tolist() == whole.log_.durations.tolist()


def test_two_classes_are_one_plane_whatever_the_scheme():
    X, codes = noisy(40, 3, 2, seed=0)
    joint, rest = (rb.Perceptron(multiclass=scheme, random_state=0).fit(X, codes) for scheme in ("joint", "ovr"))
    assert joint.coef_.shape == (1, 3)
    assert np.array_equal(joint.coef_, rest.coef_)


# --- classes that come later -------------------------------------------------------------------------------------------


def chunks_with_a_late_class(seed):
    X, codes = noisy(60, 4, 3, seed)
    first, second = codes < 2, np.arange(60) >= 30
    early, late = np.flatnonzero(first & ~second), np.flatnonzero(second)
    return X[early], codes[early], X[late], codes[late]


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("keep", ["last", "average", "vote"])
def test_a_class_that_comes_later_starts_from_zero(container, keep):
    """The joint run of two classes goes on as one of three, the new one with zero weights."""
    A, a, B, b = chunks_with_a_late_class(seed=1)
    pack = CONTAINERS[container]
    model = rb.Perceptron(keep=keep).partial_fit(pack(A), a).partial_fit(pack(B), b)
    before = argmax_perceptron(augment(A), a, 2, cyclic(len(A), 1))
    after = argmax_perceptron(augment(B), b, 3, cyclic(len(B), 1), w0=np.vstack([before.last, np.zeros((1, 5))]))
    padded = [np.vstack([W, np.zeros((1, 5))]) for W in before.hypotheses]
    whole = type(before)(
        padded + after.hypotheses[1:],
        before.times + [before.visits + t for t in after.times],
        visits=before.visits + after.visits,
    )
    assert model.classes_.tolist() == [0, 1, 2]
    if keep == "vote":
        np.testing.assert_allclose(model.decision_function(pack(B)), vote(whole, augment(B)), atol=1e-12)
    else:
        expected = whole.last if keep == "last" else average(whole)
        np.testing.assert_allclose(planes(model), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("keep", ["last", "average", "vote"])
def test_one_vs_rest_of_a_class_that_comes_later_starts_from_zero(keep):
    A, a, B, b = chunks_with_a_late_class(seed=2)
    model = rb.Perceptron(keep=keep, multiclass="ovr").partial_fit(A, a).partial_fit(B, b)
    early = perceptron(augment(A), 2 * a - 1, cyclic(len(A), 1))
    starts = [-early.last, early.last, np.zeros(5)]
    for h, start in enumerate(starts):
        late = perceptron(augment(B), np.where(b == h, 1, -1), cyclic(len(B), 1), w0=start)
        if keep == "last":
            assert np.array_equal(planes(model)[h], late.last)
            continue
        known = [np.zeros(5)] if h == 2 else [(-1 if h == 0 else 1) * w for w in early.hypotheses]
        times = [] if h == 2 else early.times
        whole = type(early)(known + late.hypotheses[1:], times + [len(A) + t for t in late.times], visits=len(A) + len(B))
        if keep == "average":
            np.testing.assert_allclose(planes(model)[h], average(whole), rtol=1e-12, atol=1e-12)
        else:
            np.testing.assert_allclose(model.decision_function(B)[:, h], vote(whole, augment(B)), atol=1e-12)


@pytest.mark.parametrize("multiclass", ["joint", "ovr"])
@pytest.mark.parametrize("keep", ["last", "average", "vote"])
def test_rows_of_the_first_class_count_as_visited_before_there_is_a_rival(keep, multiclass):
    X, codes = noisy(40, 3, 3, seed=3)
    lonely = np.flatnonzero(codes == 1)[:5]
    rest = np.setdiff1d(np.arange(40), lonely)
    model = rb.Perceptron(keep=keep, multiclass=multiclass).partial_fit(X[lonely], codes[lonely])
    assert model.predict(X).tolist() == [1] * 40
    model.partial_fit(X[rest], codes[rest])
    if multiclass == "joint":
        runs = [argmax_perceptron(augment(X[rest]), codes[rest], 3, cyclic(len(rest), 1))]
    else:
        runs = one_vs_rest(perceptron, augment(X[rest]), codes[rest], 3, cyclic(len(rest), 1))
    for run in runs:  # w_0 lived five rows longer
        run.visits, run.times = run.visits + 5, [t + 5 for t in run.times]
    if keep == "vote":
        shares = np.column_stack([vote(run, augment(X)) for run in runs])
        np.testing.assert_allclose(model.decision_function(X), shares, atol=1e-12)
    else:
        expected = np.vstack([run.last if keep == "last" else average(run) for run in runs])
        np.testing.assert_allclose(planes(model), expected, rtol=1e-12, atol=1e-12)
