"""What holds for every run, on data that Hypothesis generates."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import rosenblatt as rb
from effort import amount, examples
from oracles import argmax_perceptron, augment, average, cyclic, one_vs_rest, perceptron, pocket, vote, vote_counts
from rosenblatt.data.problem import Problem, make_problem, read_only, zero_state
from rosenblatt.kernels.linear.schemes import Joint
from rosenblatt.online.rules.perceptron import PerceptronRule
from rosenblatt.online.solver import RunConfig, solve

modest = settings(
    deadline=None, max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
few = settings(modest, max_examples=examples(50))

containers = st.sampled_from([np.asarray, sp.csr_array])
# Container and number type; float32 CSR rows are compiled with --thorough.
kinds = st.sampled_from(
    [(np.asarray, np.float64), (sp.csr_array, np.float64), (np.asarray, np.float32), *amount([], [(sp.csr_array, np.float32)])]
)
orders = st.sampled_from(["cyclic", "permuted", "random", "mistakes"])
updates = st.sampled_from(["online", "batch", "batch-mean"])
schemes = st.sampled_from(["joint", "ovr"])


@st.composite
def data(draw, max_classes=4, max_rows=16):
    """Small integers: every product and sum is exact, so a tie is a tie. Every class is there."""
    k = draw(st.integers(2, max_classes))
    n, d = draw(st.integers(k, max_rows)), draw(st.integers(1, 4))
    values = draw(st.lists(st.integers(-3, 3), min_size=n * d, max_size=n * d))
    codes = draw(st.permutations([*range(k), *draw(st.lists(st.integers(0, k - 1), min_size=n - k, max_size=n - k))]))
    return np.array(values, float).reshape(n, d), np.array(codes)


@st.composite
def separable(draw):
    """Integer rows off an integer plane, labeled by their side of it: the margin is known."""
    d, n = draw(st.integers(1, 4)), draw(st.integers(2, 16))
    u = np.array(draw(st.lists(st.integers(-3, 3), min_size=d + 1, max_size=d + 1)), float)
    X = np.array(draw(st.lists(st.integers(-4, 4), min_size=n * d, max_size=n * d)), float).reshape(n, d)
    scores = augment(X) @ u
    X, y = X[scores != 0], np.sign(scores[scores != 0])
    assume(len(set(y)) == 2)
    return X, y, u / np.linalg.norm(u)


def planes(model):
    return np.column_stack([model.intercept_, model.coef_])


def oracle_runs(X, codes, scheme, passes, **options):
    """The runs behind a model and the labels each of them sees."""
    k, P, order = codes.max() + 1, augment(X), cyclic(len(X), passes)
    if k == 2:
        return [perceptron(P, 2 * codes - 1, order, **options)], [2 * codes - 1]
    if scheme == "joint":
        return [argmax_perceptron(P, codes, k, order, **options)], [codes]
    return one_vs_rest(perceptron, P, codes, k, order, **options), [np.where(codes == h, 1, -1) for h in range(k)]


def separates(run, X, labels, margin):
    scores = run.last @ augment(X).T
    if run.last.ndim == 1:
        return (labels * scores > margin).all()
    own = scores[labels, np.arange(len(X))].copy()
    scores[labels, np.arange(len(X))] = -np.inf
    return (own - scores.max(axis=0) > margin).all()


# --- the log -----------------------------------------------------------------------------------------------------------


@modest
@given(data(), kinds, orders, updates, schemes, st.integers(0, 99), st.floats(0.01, 10), st.floats(0, 5))
def test_the_log_replays_to_the_weights_bit_for_bit(rows, kind, order, update, scheme, seed, step, margin):
    (X, codes), (pack, dtype) = rows, kind
    given_rows = pack((X / 7).astype(dtype))
    model = rb.Perceptron(
        order=order, update=update, multiclass=scheme, random_state=seed, step=step, margin=margin, max_iter=2
    ).fit(given_rows, codes)
    coef, intercept = model.log_.weights_at(model.log_.n_updates)
    assert np.array_equal(coef, model.coef_)
    assert np.array_equal(intercept, model.intercept_)
    assert not model.log_.weights_at(0)[0].any()


@modest
@given(data(), containers, schemes, st.integers(0, 99), st.data())
def test_a_log_cut_in_two_is_the_whole(rows, pack, scheme, seed, more):
    X, codes = rows
    given_rows = pack(X)
    model = rb.Perceptron(multiclass=scheme, random_state=seed, max_iter=3).fit(given_rows, codes)
    cut = more.draw(st.integers(0, len(model.log_)))
    first, second = model.log_[:cut], model.log_[cut:]
    assert len(first) + len(second) == len(model.log_)
    middle = first.weights_at(first.n_updates)
    assert np.array_equal(second.weights_at(0)[0], middle[0])
    assert np.array_equal(second.weights_at(second.n_updates)[0], model.coef_)
    assert np.array_equal(second.weights_at(second.n_updates)[1], model.intercept_)


@modest
@given(data(), containers, schemes, st.integers(1, 4), st.integers(0, 3))
def test_every_entry_of_the_log_was_called_for(rows, pack, scheme, passes, margin):
    """Replayed against the oracle: the same rows, at the same times, each at or under the margin."""
    X, codes = rows
    model = rb.Perceptron(order="cyclic", multiclass=scheme, max_iter=passes, margin=float(margin)).fit(pack(X), codes)
    runs, labels = oracle_runs(X, codes, scheme, passes, margin=margin)
    for log, run in zip(model.log_.runs(), runs, strict=True):
        assert log.rows.tolist() == run.rows
        assert log.times.tolist() == run.times
    assert np.array_equal(planes(model), np.vstack([run.last for run in runs]))
    # At the limit, a last scan finds out whether the plane separates.
    assert model.stop_.separated == all(separates(run, X, mine, margin) for run, mine in zip(runs, labels, strict=True))


# --- readings ----------------------------------------------------------------------------------------------------------


@modest
@given(data(), containers, schemes, st.integers(1, 4))
def test_the_average_is_its_definition(rows, pack, scheme, passes):
    X, codes = rows
    model = rb.Perceptron(keep="average", order="cyclic", multiclass=scheme, max_iter=passes).fit(pack(X), codes)
    runs, _ = oracle_runs(X, codes, scheme, passes)
    np.testing.assert_allclose(planes(model), np.vstack([average(run) for run in runs]), rtol=1e-10, atol=1e-10)


@modest
@given(data(), containers, schemes, st.integers(1, 4))
def test_the_pocket_is_its_definition(rows, pack, scheme, passes):
    X, codes = rows
    model = rb.Perceptron(keep="pocket", order="cyclic", multiclass=scheme, max_iter=passes).fit(pack(X), codes)
    runs, labels = oracle_runs(X, codes, scheme, passes)
    best = [pocket(run, augment(X), mine) for run, mine in zip(runs, labels, strict=True)]
    assert np.array_equal(planes(model), np.vstack([w for w, *_ in best]))
    assert np.array_equal(np.ravel(model.pocket_errors_), [errors for _, errors, _ in best])


@modest
@given(data(), containers, schemes, st.integers(1, 4), st.sampled_from(["lifetime", "survivals"]))
def test_the_vote_is_its_definition(rows, pack, scheme, passes, count):
    X, codes = rows
    model = rb.Perceptron(keep="vote", order="cyclic", multiclass=scheme, max_iter=passes, vote_count=count)
    runs, _ = oracle_runs(X, codes, scheme, passes)
    if not all(any(vote_counts(run, count)) for run in runs):
        with pytest.raises(ValueError, match="leaves no votes"):
            model.fit(pack(X), codes)
        return
    model.fit(pack(X), codes)
    T = np.vstack([X, -X, np.zeros((1, X.shape[1]))])
    shares = np.column_stack([vote(run, augment(T), count) for run in runs])
    np.testing.assert_allclose(
        model.decision_function(pack(T)), shares[:, 0] if len(model.classes_) == 2 else shares, atol=1e-14
    )


# --- theory ------------------------------------------------------------------------------------------------------------


@modest
@given(separable(), containers, orders, st.integers(0, 99), st.sampled_from([0.25, 1.0, 8.0]), st.sampled_from([0.0, 0.5, 4.0]))
def test_updates_are_at_most_r2_plus_2b_over_gamma2(rows, pack, order, seed, rho, b):
    X, y, u = rows
    P = augment(X)
    R2, gamma = max(p @ p for p in P), min(y * (P @ u))
    bound = (R2 + 2 * b / rho) / gamma**2
    assume(bound < 2000)
    model = rb.Perceptron(order=order, step=rho, margin=b, max_iter=None, random_state=seed).fit(pack(X), y)
    assert model.stop_.separated
    assert (y * model.decision_function(pack(X)) > b).all()
    assert model.n_updates_ <= bound * (1 + 1e-9)


@modest
@given(
    data(),
    containers,
    st.sampled_from(["cyclic", "permuted", "random", "mistakes"]),
    updates,
    st.integers(0, 3),
    st.integers(0, 9),
)
def test_two_classes_by_argmax_are_the_binary_run(rows, pack, order, update, b, seed):
    """The lead of the right class is twice its score, so a margin of b is a lead of 2 b."""
    X, codes = rows
    if update == "batch-mean":  # a mean over a power of two is exact; others round, and rows on the margin fall to either side
        X, codes = (part[: 1 << (len(X).bit_length() - 1)] for part in rows)
    codes = (codes > 0).astype(np.int32)
    binary = make_problem(pack(X), codes, 2)
    joint = Problem(binary.rows, Joint(read_only(codes), read_only(np.zeros(0))), 1.0)
    plan = RunConfig(order=order, update=update, seed=seed, max_iter=3)
    two = solve(joint, PerceptronRule(2.0 * b), plan, zero_state(joint, 2))
    one = solve(binary, PerceptronRule(float(b)), plan, zero_state(binary, 2))
    assert two.log.rows.tolist() == one.log.rows.tolist()
    assert two.log.times.tolist() == one.log.times.tolist()
    assert two.log.rivals.tolist() == one.log.rivals.tolist()
    (against, for_it), (alone,) = two.log.weights_at(two.log.n_updates)[0], one.log.weights_at(one.log.n_updates)[0]
    assert np.array_equal(for_it, alone)
    assert np.array_equal(against, -alone)
    assert two.stops[0].separated == one.stops[0].separated


# --- streams and threads -----------------------------------------------------------------------------------------------


@modest
@given(data(), kinds, schemes, st.sampled_from(["last", "average", "vote"]), st.booleans(), st.data())
def test_chunks_of_a_stream_are_one_cyclic_pass(rows, kind, scheme, keep, weighted, more):
    """Bit for bit, however it is cut; chunks may even come in another container."""
    (X, codes), (pack, dtype) = rows, kind
    X = (X / 7).astype(dtype)
    n, classes = len(X), np.unique(codes)
    c = np.array(more.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)), float) if weighted else None
    options = {"multiclass": scheme, "step": more.draw(st.sampled_from([1.0, 0.3]))}
    whole = rb.Perceptron(keep=keep, order="cyclic", max_iter=1, **options).fit(pack(X), codes, sample_weight=c)
    cuts = [0, *sorted(more.draw(st.sets(st.integers(1, n - 1), max_size=4))), n]
    stream = rb.Perceptron(keep=keep, **options)
    for start, stop in itertools.pairwise(cuts):
        part = slice(start, stop)
        stream.partial_fit(pack(X[part]), codes[part], classes=classes, sample_weight=None if c is None else c[part])
    if keep == "vote":
        assert np.array_equal(stream.decision_function(X), whole.decision_function(X))
    else:
        assert np.array_equal(stream.coef_, whole.coef_)
        assert np.array_equal(stream.intercept_, whole.intercept_)
    assert stream.n_updates_ == whole.n_updates_


@few
@given(data(), schemes, st.sampled_from(["last", "average", "vote"]), st.data())
def test_a_stream_may_change_its_container(rows, scheme, keep, more):
    X, codes = rows
    classes, cut = np.unique(codes), more.draw(st.integers(1, len(X) - 1))
    first, second = more.draw(st.permutations([np.asarray, sp.csr_array]))
    stream = rb.Perceptron(keep=keep, multiclass=scheme).partial_fit(first(X[:cut]), codes[:cut], classes=classes)
    stream.partial_fit(second(X[cut:]), codes[cut:])
    whole = rb.Perceptron(keep=keep, multiclass=scheme, order="cyclic", max_iter=1).fit(X, codes)
    np.testing.assert_allclose(stream.decision_function(X), whole.decision_function(X), rtol=1e-12, atol=1e-12)


@few
@given(
    data(),
    kinds,
    orders,
    updates,
    schemes,
    st.sampled_from(["last", "average", "pocket", "vote"]),
    st.integers(2, 5),
)
def test_any_number_of_threads_gives_the_same_bits(rows, kind, order, update, scheme, keep, n_jobs):
    (X, codes), (pack, dtype) = rows, kind
    options = {"order": order, "update": update, "multiclass": scheme, "random_state": 0, "max_iter": 3}
    one, many = (rb.Perceptron(keep=keep, n_jobs=j, **options).fit(pack((X / 7).astype(dtype)), codes) for j in (1, n_jobs))
    assert np.array_equal(one.decision_function(X), many.decision_function(X))
    for name, column in one.log_.to_dict().items():
        assert np.array_equal(column, many.log_.to_dict()[name]), name
    assert np.array_equal(one.log_.durations, many.log_.durations)
    assert one.stop_ == many.stop_


@few
@given(data(max_classes=3), schemes, st.sampled_from(["last", "average", "vote"]), st.integers(2, 4))
def test_threads_change_no_bit_of_a_stream(rows, scheme, keep, n_jobs):
    X, codes = rows
    classes, cut = np.unique(codes), len(X) // 2
    models = [rb.Perceptron(keep=keep, multiclass=scheme, n_jobs=j) for j in (1, n_jobs)]
    for model in models:
        model.partial_fit(X[:cut] / 7, codes[:cut], classes=classes).partial_fit(X[cut:] / 7, codes[cut:])
    assert np.array_equal(models[0].decision_function(X), models[1].decision_function(X))
