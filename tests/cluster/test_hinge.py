"""The hinge loss on blocks: the optimum of one machine, whichever way it is found, and bits that depend on the blocks alone."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from cluster_data import noisy_rows

from rosenblatt import SoftMargin
from rosenblatt.array_types import Array, FloatArray
from rosenblatt.cluster import hinge
from rosenblatt.cluster.block_set import ArraySource, open_blocks
from rosenblatt.cluster.engine import InProcess
from rosenblatt.cluster.fit import fit
from rosenblatt.cluster.interior_point import BlockSystem, KeptRows
from rosenblatt.cluster.objectives import Head
from rosenblatt.cluster.working_set import bin_of_count, bins_of, look, mark, mean_rows, size_of
from rosenblatt.data.problem import make_rows
from rosenblatt.svm.interior_point import interior_point, start_of
from rosenblatt.svm.limits import SolverLimits
from rosenblatt.svm.row_blocks import Blocks

# One task solves all rows; one task solves the rows near the margin; sums over blocks of the rows near the margin.
WAYS = {"joined": 1 << 26, "sifted": 300_000, "blocks": 0}
INTERCEPTS: list[dict[str, Any]] = [{}, {"penalize_intercept": True, "intercept_scaling": 2.0}, {"fit_intercept": False}]


def model(**options: Any) -> SoftMargin:
    return SoftMargin(**{"C": 0.5, "tol": 1e-7, "random_state": 0, "multiclass": "ovr", **options})


def one_hot(n: int, seed: int = 0) -> tuple[FloatArray, Array]:
    """Rows of few different values, most of which are on the margin at the optimum."""
    rng = np.random.default_rng(seed)
    names = rng.integers(0, 4, size=(n, 5))
    X = (names[:, :, None] == np.arange(4)).reshape(n, 20).astype(float)
    return X, (X @ rng.normal(size=20) + rng.normal(size=n) > 0.0).astype(int)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("options", INTERCEPTS, ids=["free", "penalized", "none"])
@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_planes_and_multipliers_are_those_of_one_machine(way: str, options: Any, scheme: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(hinge, "MAX_JOINED_BYTES", WAYS[way])
    X, y = noisy_rows(6000, 4, 3)
    weights = np.random.default_rng(1).integers(1, 3, len(y)).astype(float)
    alone = model(multiclass=scheme, **options).fit(X, y, sample_weight=weights)
    found = fit(model(multiclass=scheme, **options), (X, y, weights), block_rows=977)
    assert found.stop_.reason == "tolerance"
    assert found.gap_.max() <= 1e-7
    assert found.objective_ == pytest.approx(alone.objective_, rel=1e-7)
    assert found.coef_ == pytest.approx(alone.coef_, abs=1e-4)
    assert found.solver_ == ["interior-point"] * 3
    assert np.mean(found.predict(X) == alone.predict(X)) > 0.999
    pairs = list(combinations(range(3), 2))
    for h in range(3):
        own = h if scheme == "ovr" else pairs[h][1]
        signed = found.multipliers_[h] * np.where(y[found.support_[h]] == own, 1, -1)
        assert signed @ X[found.support_[h]] == pytest.approx(found.coef_[h], abs=1e-5)
        assert (found.multipliers_[h] <= 0.5 * weights[found.support_[h]]).all()
        if not options:
            assert signed.sum() == pytest.approx(0.0, abs=1e-8)
        assert len(found.support_[h]) == pytest.approx(len(alone.support_[h]), abs=12)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_few_values_are_solved_to_small_gaps(way: str, sparse: bool, dtype: Any, monkeypatch: Any) -> None:
    """Smoothing the hinge does not get below 1e-5 here: most rows lie on the margin."""
    monkeypatch.setattr(hinge, "MAX_JOINED_BYTES", WAYS[way])
    X, y = one_hot(12_000)
    rows: Any = sp.csr_array(X.astype(dtype)) if sparse else X.astype(dtype)
    found = fit(model(), (rows, y), block_rows=1500)
    assert found.gap_[0] <= 1e-7
    assert found.n_iter_ <= 120
    assert found.objective_[0] == pytest.approx(model().fit(X, y).objective_[0], rel=1e-7)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("block_rows", [400, 1999])
def test_the_bits_depend_on_the_blocks_alone(way: str, block_rows: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(hinge, "MAX_JOINED_BYTES", WAYS[way])
    X, y = noisy_rows(6000, 4)
    one, three = (fit(model(), (X, y), InProcess(jobs), block_rows=block_rows) for jobs in (1, 3))
    assert one.coef_.tobytes() == three.coef_.tobytes()
    assert (one.intercept_, one.gap_, one.n_iter_) == (three.intercept_, three.gap_, three.n_iter_)
    assert one.multipliers_[0].tobytes() == three.multipliers_[0].tobytes()


def test_rows_fixed_on_the_wrong_side_come_back(monkeypatch: Any) -> None:
    """A band far too narrow, around the plane of a poor sample."""
    monkeypatch.setattr(hinge, "MAX_JOINED_BYTES", 20_000)
    monkeypatch.setattr(hinge, "first_share", lambda *_: 0.002)
    X, y = noisy_rows(6000, 4)
    found = fit(model(tol=1e-9), (X, y), block_rows=1000)
    assert found.gap_[0] <= 1e-9
    assert found.objective_[0] == pytest.approx(model().fit(X, y).objective_[0], rel=1e-9)


def test_blocks_without_kept_rows_or_without_a_class_count_as_nothing(monkeypatch: Any) -> None:
    monkeypatch.setattr(hinge, "MAX_JOINED_BYTES", 0)
    X, y = noisy_rows(6000, 4)
    order = np.argsort(y, kind="stable")
    far = np.argsort(abs(X[order] @ model().fit(X, y).coef_[0]), kind="stable")
    found = fit(model(), (X[order][far], y[order][far]), block_rows=500)
    assert found.gap_[0] <= 1e-7
    assert found.objective_[0] == pytest.approx(model().fit(X, y).objective_[0], rel=1e-7)


@pytest.mark.parametrize("way", WAYS)
def test_rows_on_the_plane_of_two_classes_belong_to_the_smaller_label(way: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(hinge, "MAX_JOINED_BYTES", WAYS[way])
    X, y = np.array([[-1.0], [1.0], [0.0], [0.0]] * 10), np.array([0, 1, 0, 1] * 10)
    found = fit(model(tol=1e-6), (X, y), block_rows=7)
    assert found.predict(X).tolist() == [0, 1, 0, 0] * 10
    assert found.gap_[0] <= 1e-6


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore:.*weights")
def test_rows_that_tie_between_classes_belong_to_the_smaller_label(way: str, monkeypatch: Any) -> None:
    """A third class amid the others has no plane of its own: its score is -1 everywhere, as that of others on their margin."""
    monkeypatch.setattr(hinge, "MAX_JOINED_BYTES", WAYS[way])
    X, y = one_hot(600)
    y = y + (X[:, 3] > 0)
    alone, found = model().fit(X, y), fit(model(), (X, y), block_rows=100)
    assert found.predict(X).tolist() == alone.predict(X).tolist()


@pytest.mark.parametrize("C", [1e308, 1e200])
def test_costs_that_overflow_are_named(C: float, monkeypatch: Any) -> None:
    monkeypatch.setattr(hinge, "MAX_JOINED_BYTES", 0)
    with pytest.raises(ValueError, match=r"C=1e\+?\d+ overflowed: use a smaller C"):
        fit(model(C=C), noisy_rows(300, 3), block_rows=100)


# --- the parts -----------------------------------------------------------------------------------------------------------


def blocks_of(X: FloatArray, y: Array, size: int) -> Any:
    sources = [
        ArraySource(i, X[start : start + size], y[start : start + size]) for i, start in enumerate(range(0, len(y), size))
    ]
    return open_blocks(InProcess(), sources)


def test_a_bin_of_distances_has_at_least_the_rows_asked_for() -> None:
    distances = np.sort(np.random.default_rng(0).exponential(size=1000))
    bins = np.bincount(bins_of(distances), minlength=1000)
    for count in (1, 17, 500, 1000):
        last = bin_of_count(bins, count)
        near = int((bins_of(distances) <= last).sum())
        assert count <= near <= 1.1 * count + 10
    assert bin_of_count(bins, 0) == -1


def test_means_and_kept_rows_are_a_relaxation() -> None:
    """The smaller problem is below that of all rows at every plane, and equal where no row is on the wrong side."""
    X, y = noisy_rows(500, 3)
    blocks, head = blocks_of(X, y, 120), Head(1, None, 0.7, 1.0, True)
    rng = np.random.default_rng(0)
    plane = hinge.Plane(rng.normal(size=3), 0.3)
    none = [None] * len(blocks.blocks)
    seen = blocks.sum(look, head, (plane,), of_each=[none])
    marks = blocks.start(mark, head, plane, bin_of_count(seen.bins, 200))
    size = blocks.sum(size_of, head, of_each=[marks])
    means = mean_rows(size, head, False)
    kept = blocks.engine.gather(blocks.start(hinge.keep, head, of_each=[marks]))
    for other in (plane, hinge.Plane(rng.normal(size=3), -0.1), hinge.Plane(np.zeros(3), 0.0)):
        v = np.append(other.w, other.intercept)
        small = sum(float(part.costs @ np.maximum(0.0, 1.0 - part.products().product(v))) for part in [*kept, means])
        whole = blocks.sum(look, head, (other,), of_each=[marks])
        assert small <= whole.losses[0, 0] * (1 + 1e-12)
        assert whole.wrong > 0 or small == pytest.approx(whole.losses[0, 0], rel=1e-12)
    assert blocks.sum(look, head, (plane,), of_each=[marks]).wrong == 0


@pytest.mark.parametrize("target", [1e-3, 1e-9])
def test_sums_over_blocks_follow_the_path_of_one_machine(target: float) -> None:
    X, y = noisy_rows(300, 4)
    signs, costs = np.where(y == 1, 1.0, -1.0), np.full(300, 0.5)
    penalty = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    whole = Blocks(make_rows(X), np.arange(300), signs, 1.0, 4)
    point, steps = interior_point(start_of(costs, 5), whole, penalty, np.zeros(5), target, False)
    engine = InProcess()
    parts = [
        engine.put(KeptRows(make_rows(X[i : i + 70]), signs[i : i + 70], costs[i : i + 70], 1.0, 4)) for i in range(0, 300, 70)
    ]
    blocks = blocks_of(X, y, 70)
    system = BlockSystem(hinge.replace(blocks, blocks=tuple(parts)), 300, penalty)
    v, more = system.follow(np.zeros(5), target, False)
    assert more == steps
    assert v == pytest.approx(point.v, rel=1e-6, abs=1e-7)


def test_a_problem_is_the_same_in_one_block_and_in_many(monkeypatch: Any) -> None:
    monkeypatch.setattr(hinge, "MAX_JOINED_BYTES", 0)
    X, y = noisy_rows(800, 3)
    head = Head(1, None, 0.7, 1.0, True)
    answers = [hinge.solve_hinge(blocks_of(X, y, n), head, SolverLimits(1e-8), "auto", True) for n in (800, 90)]
    assert answers[0].solution.w == pytest.approx(answers[1].solution.w, rel=1e-4)
    assert all(answer.solution.gap <= 1e-8 for answer in answers)
