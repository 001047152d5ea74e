"""Step sizes, and the orders in which rows are visited."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

import rosenblatt as rb
from rosenblatt.kernels.linear.random_orders import draw_blocks
from rosenblatt.online.schedules import ORDERS, ROWS_PER_BLOCK, ROWS_PER_WINDOW, Draws, Steps, cyclic, permuted, random

# The default number of passes grows on sets as small as these.
perceptron = partial(rb.Perceptron, max_iter=10)
BIG = 10**9


def whole(order: Any, n: int, size: int, seed: int = 0) -> Any:
    return np.concatenate(list(order(n, size, Draws(seed))))


# --- steps -------------------------------------------------------------------------------------------------------------


def test_a_number_is_every_step() -> None:
    steps = Steps(0.25)
    rhos, good = steps.table(10)
    assert rhos.tolist() == [0.25]
    assert good >= 2**62
    assert steps(1) == steps(1000) == 0.25


def test_a_callable_gives_one_step_per_update() -> None:
    steps = Steps(lambda k: 1.0 / k)
    for upto in (1, 5, 300):
        rhos, good = steps.table(upto)
        assert good == len(rhos) >= upto
        np.testing.assert_array_equal(rhos, 1.0 / np.arange(1, good + 1))
    assert steps(7) == 1.0 / 7
    assert steps(5000) == 1.0 / 5000


def test_a_callable_is_called_once_for_each_update() -> None:
    calls: list[int] = []

    def step(k: int) -> float:
        calls.append(k)
        return 1.0

    steps = Steps(step)
    for upto in (1, 2, 3, 50, 200):
        steps.table(upto)
    assert calls == list(range(1, len(calls) + 1))


@pytest.mark.parametrize("update", ["online", "batch"])
def test_a_schedule_as_long_as_the_run_is_long_enough(update: str) -> None:
    """Values and errors of a callable after the last update do not matter."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), np.arange(50) % 2
    table = [1.0, 0.5, 0.25]
    model = perceptron(step=lambda k: table[k - 1], max_updates=3, update=update, random_state=0).fit(X, y)
    assert model.n_updates_ == 3
    falling = perceptron(step=lambda k: 1.0 - k / 50, max_updates=40, update=update, random_state=0).fit(X, y)
    assert falling.n_updates_ <= 40


def test_the_table_of_steps_has_the_requested_length() -> None:
    with pytest.raises(ValueError, match=r"step\(5\) returned -1\.0"):
        Steps(lambda k: 1.0 if k < 5 else -1.0).table(5)


def test_numpy_numbers_are_steps() -> None:
    assert Steps(lambda k: np.float32(0.5))(3) == 0.5
    assert Steps(lambda k: 2)(3) == 2.0


# --- orders ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "n", [1, 2, 15, 16, 17, 40, ROWS_PER_WINDOW - 1, ROWS_PER_WINDOW, ROWS_PER_WINDOW + 1, 3 * ROWS_PER_WINDOW + 5]
)
@pytest.mark.parametrize("size", [64, ROWS_PER_WINDOW, 2 * ROWS_PER_WINDOW, BIG])
def test_a_permuted_pass_visits_every_row_once(n: int, size: int) -> None:
    assert sorted(whole(permuted, n, size)) == list(range(n))


@pytest.mark.parametrize("n", [1, 16, 100])
@pytest.mark.parametrize("size", [1, 7, BIG])
def test_a_cyclic_pass_is_the_order_of_the_rows(n: int, size: int) -> None:
    np.testing.assert_array_equal(whole(cyclic, n, size), np.arange(n))
    assert all(len(part) <= size for part in cyclic(n, size, Draws(0)))


def test_a_random_pass_draws_as_many_rows_as_there_are_with_replacement() -> None:
    order = whole(random, 500, 64)
    assert len(order) == 500
    assert set(order) <= set(range(500))
    # A row is missed with probability 1/e.
    assert 250 < len(set(order)) < 380


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("n", [50, 2 * ROWS_PER_WINDOW + 37, 4 * ROWS_PER_WINDOW + 1])
def test_the_order_does_not_depend_on_the_size_of_its_parts(name: str, n: int) -> None:
    """The size depends on how many heads a thread has, and the number of threads must not change a bit."""
    for seed in range(5):
        parts = [whole(ORDERS[name], n, size, seed) for size in (ROWS_PER_WINDOW, 2 * ROWS_PER_WINDOW, BIG)]
        np.testing.assert_array_equal(parts[0], parts[2])
        np.testing.assert_array_equal(parts[1], parts[2])


@pytest.mark.parametrize("name", ["permuted", "random"])
def test_each_pass_has_a_fresh_order_and_each_seed_its_own(name: str) -> None:
    draws = Draws(0)
    first, second = (np.concatenate(list(ORDERS[name](100, BIG, draws))) for _ in range(2))
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(first, whole(ORDERS[name], 100, BIG, 0))
    assert not np.array_equal(first, whole(ORDERS[name], 100, BIG, 1))


@pytest.mark.parametrize("n", [5, 17, 100, 333, 5000])
def test_blocks_and_seeds_are_drawn_as_by_numpy(n: int) -> None:
    """Seeds keep their meaning: the draws are those of Generator.permutation, and one raw number for each window."""
    blocks, windows = -(-n // ROWS_PER_BLOCK), -(-n // ROWS_PER_WINDOW)
    rng, draws = np.random.default_rng(n), Draws(n)
    for passes in (1, 4, 3):
        drawn = [(rng.permutation(blocks), rng.bit_generator.random_raw(windows)) for _ in range(passes)]
        starts, seeds = np.empty(passes * blocks, np.int64), np.empty(passes * windows, np.uint64)
        count = 1
        while not draw_blocks(draws.raw(count), draws.place, ROWS_PER_BLOCK, blocks, starts, seeds):
            count *= 2  # too few numbers change nothing
        np.testing.assert_array_equal(starts, np.concatenate([order for order, _ in drawn]) * ROWS_PER_BLOCK)
        np.testing.assert_array_equal(seeds, np.concatenate([raw for _, raw in drawn]))


def test_small_permutations_are_uniform() -> None:
    draws = Draws(0)
    seen = Counter(tuple(np.concatenate(list(permuted(4, BIG, draws))).tolist()) for _ in range(2400))
    counts = [seen[order] for order in permutations(range(4))]
    assert chisquare(counts).pvalue > 0.001


def test_every_row_comes_to_every_place_equally_often() -> None:
    """Three blocks and a bit: beyond one block, within one window."""
    n, draws = 3 * ROWS_PER_BLOCK + 2, Draws(0)
    counts = np.zeros((n, n))
    for _ in range(1500):
        counts[np.arange(n), np.concatenate(list(permuted(n, BIG, draws)))] += 1
    assert chisquare(counts.ravel(), np.full(n * n, counts.mean())).pvalue > 0.001


def test_draws_with_replacement_are_uniform() -> None:
    draws = Draws(0)
    drawn = np.concatenate([part for _ in range(300) for part in random(20, 7, draws)])
    assert chisquare(np.bincount(drawn, minlength=20)).pvalue > 0.001


def test_a_window_mixes_rows_from_all_over_the_data() -> None:
    n = 20 * ROWS_PER_WINDOW
    order = whole(permuted, n, BIG)
    for start in range(0, n, ROWS_PER_WINDOW):
        window = order[start : start + ROWS_PER_WINDOW]
        assert len(np.unique(window // ROWS_PER_WINDOW)) > 15
        # Adjacent rows of the data are not adjacent in the order.
        assert (np.abs(np.diff(window)) < ROWS_PER_BLOCK).mean() < 0.1


def test_the_order_of_a_fit_is_the_permuted_order_of_its_seed() -> None:
    """Rows that no plane separates trigger an update at every visit, so that the log shows the order."""
    n = 37
    X, y = np.zeros((n, 1)), np.arange(n) % 2
    log = perceptron(fit_intercept=False, max_iter=3, random_state=0).fit(X, y).log_
    passes = log.rows.reshape(3, n)
    for order in passes:
        assert sorted(order) == list(range(n))
    assert len({tuple(order) for order in passes}) == 3
    again = perceptron(fit_intercept=False, max_iter=3, random_state=0).fit(X, y).log_
    np.testing.assert_array_equal(again.rows, log.rows)
    other = perceptron(fit_intercept=False, max_iter=3, random_state=1).fit(X, y).log_
    assert not np.array_equal(other.rows, log.rows)
