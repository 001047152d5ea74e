"""Comparing algorithms: the ranking, ties, McNemar's test, and the same rows for all of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from training_files import noisy_rows, write_csv

from rosenblatt.catalog import ALGORITHMS
from rosenblatt.training import compare as compare_module
from rosenblatt.training.compare import (
    Entry,
    best_marks,
    choose_algorithms,
    choose_winner,
    compare,
    mcnemar,
    prepare_comparison,
)
from rosenblatt.training.metrics import Confusion
from rosenblatt.training.request import Request
from rosenblatt.training.train import train


def entry(name: str, train: int, test: int | list[int] | None, seconds: float = 1.0, margin: float | None = None) -> Entry:
    """An entry with so many errors in 40 training rows and in 20 test rows, or with errors on the listed test rows."""
    wrong = np.zeros(20, bool)
    wrong[test if isinstance(test, list) else slice(0, test or 0)] = True
    tested = None if test is None else Confusion(np.array([[20 - wrong.sum(), wrong.sum()], [0, 0]]))
    trained = Confusion(np.array([[40 - train, train], [0, 0]]))
    return Entry(name, trained, tested, margin=margin, seconds=seconds, right=None if test is None else ~wrong)


# --- McNemar's test


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_exact_binomial_test(gained: int, lost: int) -> None:
    expected = 1.0 if gained + lost == 0 else binomtest(gained, gained + lost).pvalue
    assert mcnemar(gained, lost) == pytest.approx(expected, rel=1e-9)
    assert mcnemar(gained, lost) == mcnemar(lost, gained)


@pytest.mark.parametrize("gained", [500, 520, 540, 560])
def test_the_normal_approximation_is_close_where_it_takes_over(gained: int) -> None:
    lost = 1001 - gained
    assert mcnemar(gained, lost) == pytest.approx(binomtest(gained, 1001).pvalue, rel=0.05)


# --- The winner


def test_the_fewest_test_errors_win_whatever_training_errors_and_time() -> None:
    verdict = choose_winner([entry("a", 0, 5, 0.1), entry("b", 9, 2, 9.0), entry("c", 0, 4)])
    assert (verdict.winner.algorithm, verdict.second.algorithm) == ("b", "c")  # type: ignore[union-attr]
    assert verdict.tie_break is None
    assert verdict.sentence.startswith("best: b, 2 of 20 wrong (next: c, 4 wrong; ")


def test_ties_are_decided_by_training_errors_and_then_by_time() -> None:
    first = choose_winner([entry("a", 3, 4), entry("b", 2, 4, 9.0)])
    assert first.winner is not None
    assert (first.winner.algorithm, first.tied, first.tie_break) == ("b", ("a",), "training errors")
    assert first.sentence == "best: b, 4 of 20 wrong (tied with a; the one with the fewer training errors is preferred)"
    second = choose_winner([entry("a", 3, 4, 2.0), entry("b", 3, 4, 1.0)])
    assert second.tie_break == "time"
    assert second.sentence == "best: b, 4 of 20 wrong (tied with a; the faster one is preferred)"
    assert second.p_value is None


def test_all_that_are_tied_are_named() -> None:
    four = [entry(name, 3, 4, seconds) for name, seconds in (("a", 2.0), ("b", 1.0), ("c", 3.0), ("d", 4.0), ("e", 5.0))]
    verdict = choose_winner([*four, entry("f", 7, 4)])
    assert verdict.tied == ("a", "c", "d", "e"), "f has more training errors"
    assert verdict.sentence == "best: b, 4 of 20 wrong (tied with a, c, d and 1 more; the fastest is preferred)"


def test_the_difference_is_tested_on_rows_that_one_alone_gets_right() -> None:
    verdict = choose_winner([entry("a", 0, [0, 1]), entry("b", 0, [1, 2, 3, 4])])
    assert (verdict.gained, verdict.lost) == (3, 1)
    assert verdict.p_value == pytest.approx(mcnemar(3, 1))
    assert "the difference is not significant: McNemar's test, p = 0.62" in verdict.sentence
    clear = choose_winner([entry("a", 0, 0), entry("b", 0, 12)])
    assert "the difference is significant: McNemar's test, p = 0.00049" in clear.sentence


def test_without_test_rows_training_errors_decide() -> None:
    verdict = choose_winner([entry("a", 3, None), entry("b", 1, None)])
    assert verdict.p_value is None
    assert verdict.sentence == "best: b, 1 of 40 training rows wrong"
    assert choose_winner([entry("a", 3, 1)]).sentence == "best: a, 1 of 20 wrong"


def test_algorithms_that_failed_do_not_compete() -> None:
    failed = Entry("a", failed="no plane separates the rows")
    assert choose_winner([failed, entry("b", 9, 9)]).winner.algorithm == "b"  # type: ignore[union-attr]
    verdict = choose_winner([failed])
    assert (verdict.winner, verdict.sentence) == (None, "no algorithm could learn from these rows")
    assert failed.to_dict() == {"algorithm": "a", "failed": "no plane separates the rows"}


def test_the_best_of_each_column() -> None:
    marks = best_marks([entry("a", 3, 5, margin=-0.5), entry("b", 4, 2, margin=0.1), Entry("c", failed="no")])
    assert marks == {"test": 2, "train": 3, "margin": 0.1}
    assert best_marks([]) == {"test": None, "train": None, "margin": -np.inf}


# --- Fits


@pytest.fixture(scope="module")
def request_and_rows(tmp_path_factory: pytest.TempPathFactory) -> Any:
    request = Request(write_csv(tmp_path_factory.mktemp("files") / "rows.csv", *noisy_rows(150, 3)), seed=2)
    return request, prepare_comparison(request)


def test_every_algorithm_gets_the_same_rows_as_train(request_and_rows: Any) -> None:
    request, prepared = request_and_rows
    for found in compare(request, prepared, ["average", "pa-1", "linear-mse"]):
        alone = train(Request(request.data, algorithm=found.algorithm, seed=2, certify=False))
        assert found.test is not None
        assert alone.test is not None
        np.testing.assert_array_equal(found.train.counts, alone.train.counts)  # type: ignore[union-attr]
        np.testing.assert_array_equal(found.test.counts, alone.test.counts)
        assert found.margin == alone.margin
        assert found.right is not None
        assert int((~found.right).sum()) == found.test.errors


def test_failures_are_entries(request_and_rows: Any) -> None:
    request, prepared = request_and_rows
    (found,) = compare(request, prepared, ["max-margin"])
    assert found.failed == "no plane separates the rows"
    assert found.rank_key == (np.inf, np.inf, np.inf)


def test_the_entry_of_a_failure_has_no_advice(request_and_rows: Any) -> None:
    request, prepared = request_and_rows
    (found,) = compare(request, replace(prepared, X=np.abs(prepared.X) * 1e300 + 1e300), ["perceptron"])
    assert found.failed is not None
    assert found.failed.startswith("the weights or a score exceed the range of float64: X has values up to ")
    assert "scale" not in found.failed


def test_the_callback_is_requested_before_each_fit(request_and_rows: Any) -> None:
    request, prepared = request_and_rows
    names: list[str] = []
    seen: list[Any] = []

    def before(name: str) -> Any:
        names.append(name)
        return seen.append

    done = compare(request, prepared, ["average", "perceptron"], before)
    next(done)
    assert names == ["average"]
    assert seen, "the fit reports its progress"
    assert [each.algorithm for each in done] == ["perceptron"]
    assert names == ["average", "perceptron"]


def test_full_scans_are_left_out_of_large_data_unless_named(request_and_rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _, prepared = request_and_rows
    assert choose_algorithms(prepared, None) == (list(ALGORITHMS), [])
    monkeypatch.setattr(compare_module, "MAX_FULL_SCAN_WORK", 10)
    names, left_out = choose_algorithms(prepared, None)
    assert left_out == ["mistakes"]
    assert names == [name for name in ALGORITHMS if name != "mistakes"]
    assert choose_algorithms(prepared, ["mistakes"]) == (["mistakes"], [])


def test_the_keys_of_an_entry(request_and_rows: Any, tmp_path: Path) -> None:
    request, prepared = request_and_rows
    (found,) = compare(request, prepared, ["average"])
    keys = ["algorithm", "failed", "training", "test", "margin", "n_iter", "updates", "stop", "seconds"]
    assert list(found.to_dict()) == keys
    assert (found.to_dict()["failed"], found.to_dict()["stop"]) == (None, "passes")
