"""Threads: results in the order of the items, errors that end the work, and products on one thread."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import pytest
import scipy.linalg  # noqa: F401 - loads the BLAS of NumPy and that of SciPy
from threadpoolctl import threadpool_info, threadpool_limits

from rosenblatt.parallel import in_order, one_blas_thread

WAIT_TIMEOUT_S = 10.0  # a wait that should have ended lets its test fail


def blas_threads() -> list[int]:
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


# --- order -------------------------------------------------------------------------------------------------------------


def test_one_thread_works_item_by_item() -> None:
    ended: list[int] = []
    results = in_order(lambda item: ended.append(item) or 10 * item, range(4), 1)
    assert ended == []
    assert next(results) == 0
    assert ended == [0]
    assert list(results) == [10, 20, 30]
    assert ended == [0, 1, 2, 3]


def test_two_threads_give_results_in_order_though_the_first_ends_last() -> None:
    others_ended, ended = Event(), []

    def work(item: int) -> int:
        if item == 0:
            assert others_ended.wait(WAIT_TIMEOUT_S)
        ended.append(item)
        if item == 3:
            others_ended.set()
        return 10 * item

    assert list(in_order(work, range(4), 2)) == [0, 10, 20, 30]
    assert ended == [1, 2, 3, 0]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_items_give_no_results(n_jobs: int) -> None:
    assert list(in_order(str, [], n_jobs)) == []


# --- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_comes_in_its_place_after_the_results_before_it(n_jobs: int) -> None:
    results = in_order(lambda item: 6 // (2 - item), range(5), n_jobs)
    assert [next(results), next(results)] == [3, 6]
    with pytest.raises(ZeroDivisionError):
        next(results)
    assert list(results) == []


def test_one_thread_starts_nothing_after_an_error() -> None:
    started: list[int] = []

    def work(item: int) -> None:
        started.append(item)
        if item == 1:
            raise ValueError("item 1")

    with pytest.raises(ValueError, match="item 1"):
        list(in_order(work, range(5), 1))
    assert started == [0, 1]


def test_an_error_cancels_what_is_under_way_and_what_has_not_started() -> None:
    cancel, started = Event(), []

    def work(item: int) -> None:
        started.append(item)
        if item == 0:
            raise ValueError("item 0")
        assert cancel.wait(WAIT_TIMEOUT_S)

    with pytest.raises(ValueError, match="item 0"):
        list(in_order(work, range(100), 2, cancel))
    assert cancel.is_set()
    assert set(started) <= {0, 1, 2}  # 1 ran beside 0, and the thread of 0 may have gone on to 2 before the caller knew


def test_an_error_needs_no_event_to_set() -> None:
    with pytest.raises(ZeroDivisionError):
        list(in_order(lambda item: 1 // item, range(3), 2))


def test_an_interrupt_of_the_caller_cancels_what_is_under_way() -> None:
    cancel = Event()
    results = in_order(lambda item: item == 0 or cancel.wait(WAIT_TIMEOUT_S), range(3), 2, cancel)
    assert next(results)
    with pytest.raises(KeyboardInterrupt):
        results.throw(KeyboardInterrupt)  # type: ignore[attr-defined]
    assert cancel.is_set()


def test_work_that_went_well_cancels_nothing() -> None:
    cancel = Event()
    assert list(in_order(abs, [-1, 2], 2, cancel)) == [1, 2]
    assert not cancel.is_set()


# --- matrix products ---------------------------------------------------------------------------------------------------


@pytest.fixture
def threads() -> Iterator[list[int]]:
    """How many each BLAS has: two, also where there is one core."""
    with threadpool_limits(2, user_api="blas"):
        if 2 not in blas_threads():
            pytest.skip("no BLAS here whose threads can be set")
        yield blas_threads()


def test_products_have_one_thread_inside_and_as_many_as_before_after(threads: list[int]) -> None:
    with one_blas_thread():
        assert set(blas_threads()) == {1}
    assert blas_threads() == threads


def test_an_error_inside_gives_the_threads_back_too(threads: list[int]) -> None:
    with pytest.raises(ValueError, match="inside"), one_blas_thread():
        raise ValueError("inside")
    assert blas_threads() == threads


def test_overlapping_contexts_of_threads_keep_one_blas_thread_until_the_last_ends() -> None:
    with threadpool_limits(2, user_api="blas"):
        first_left, second_entered = Event(), Event()

        def first() -> None:
            with one_blas_thread():
                assert second_entered.wait(WAIT_TIMEOUT_S)
            first_left.set()

        def second() -> list[int]:
            with one_blas_thread():
                second_entered.set()
                assert first_left.wait(WAIT_TIMEOUT_S)
                return blas_threads()

        _, found = in_order(lambda work: work(), (first, second), 2)
        assert set(found) == {1}
        assert set(blas_threads()) == {2}
