"""Comparing algorithms: the ranking, ties, paired differences, and the same rows for all of them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from training_files import noisy_rows, write_csv

from rosenblatt import Perceptron
from rosenblatt.catalog import ALGORITHMS
from rosenblatt.training import compare as compare_module
from rosenblatt.training.compare import Comparison, Entry, choose_algorithms, compare, prepare_comparison
from rosenblatt.training.metrics import Confusion
from rosenblatt.training.request import Request
from rosenblatt.training.train import train
from rosenblatt.training.verdict import best_marks, choose_winner, difference


def entry(name: str, train: int, test: int | list[int] | None, seconds: float = 1.0, margin: float | None = None) -> Entry:
    """An entry with so many errors in 40 training rows and in 20 test rows, or with errors on the listed test rows."""
    wrong = np.zeros(20, bool)
    wrong[test if isinstance(test, list) else slice(0, test or 0)] = True
    tested = None if test is None else Confusion(np.array([[20 - wrong.sum(), wrong.sum()], [0, 0]]))
    trained = Confusion(np.array([[40 - train, train], [0, 0]]))
    return Entry(name, trained, tested, margin=margin, seconds=seconds, wrong=None if test is None else wrong)


# --- Differences


@pytest.mark.parametrize(("p", "q", "both"), [(0.3, 0.2, 0.1), (0.05, 0.05, 0.0), (0.5, 0.45, 0.4)])
def test_intervals_cover_the_true_difference_as_often_as_they_say(p: float, q: float, both: float) -> None:
    rng = np.random.default_rng(0)
    uniform = rng.random((2000, 120))
    wrong, other = uniform < p, (uniform < both) | ((uniform >= p) & (uniform < p + q - both))
    found = [difference(*pair) for pair in zip(wrong, other, strict=True)]
    covered = np.mean([each.low <= p - q <= each.high for each in found])
    assert 0.93 < covered < 0.99
    assert np.mean([each.share for each in found]) == pytest.approx(p - q, abs=0.005)


def test_of_many_equal_algorithms_the_best_is_not_called_better() -> None:
    """Without the correction for all pairs, the luckiest of twenty would often be clearly better than the unluckiest."""
    clear = plain = 0
    for seed in range(200):
        wrong = np.random.default_rng(seed).random((20, 300)) < 0.2
        best, *others = sorted(wrong, key=np.sum)
        clear += any(difference(other, best, 190).clear for other in others)
        plain += any(difference(other, best).clear for other in others)
    assert clear / 200 < 0.06
    assert plain / 200 > 0.5


def test_equal_algorithms_that_depend_on_their_training_rows_are_not_called_different() -> None:
    """Their errors differ from fold to fold by more than the test rows explain; intervals of the rows alone are too short."""
    clear = {True: 0, False: 0}
    fold = np.repeat(np.arange(10), 100)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        errors = 0.2 + 0.06 * rng.normal(size=(8, 10))
        best, *others = sorted(rng.random((8, 1000)) < errors[:, fold], key=np.sum)
        for folds in clear:
            clear[folds] += any(difference(other, best, 28, fold if folds else None).clear for other in others)
    assert clear[True] / 200 < 0.06
    assert clear[False] / 200 > 0.4


@pytest.mark.once
def test_two_seeds_of_an_unstable_algorithm_are_not_called_different() -> None:
    """The last weights of a perceptron depend on the order of noisy rows: two seeds are equally good by symmetry."""
    clear, runs, fold = {True: 0, False: 0}, 60, np.arange(1000) % 10
    for run in range(runs):
        rng = np.random.default_rng(run)
        X = rng.normal(size=(1000, 10))
        y = X[:, 0] + rng.normal(size=1000) > 0
        wrong = np.zeros((2, 1000), bool)
        for number, which in itertools.product(range(10), range(2)):
            model = Perceptron(max_iter=3, random_state=2 * run + which).fit(X[fold != number], y[fold != number])
            wrong[which, fold == number] = model.predict(X[fold == number]) != y[fold == number]
        for folds in clear:
            clear[folds] += difference(*wrong, fold=fold if folds else None).clear
    assert clear[True] <= 7, "5 % of 60 are 3; 8 or more come once in a hundred"
    assert clear[False] >= 7


def test_equal_differences_of_all_folds_do_not_make_an_interval_shorter() -> None:
    wrong, fold = np.arange(100) % 10 == 0, np.arange(100) // 10
    assert difference(wrong, np.zeros(100, bool), 3, fold) == difference(wrong, np.zeros(100, bool), 3)


def test_equal_rows_differ_by_nothing() -> None:
    wrong = np.arange(50) % 7 == 0
    found = difference(wrong, wrong)
    assert found.share == 0.0
    assert found.low < 0.0 < found.high
    assert not found.clear


def test_the_error_of_choosing_is_higher_than_that_of_the_winner_where_all_is_chance() -> None:
    rng = np.random.default_rng(1)
    fold = np.repeat(np.arange(5), 40)
    entries = []
    for name in "abcdefghij":
        wrong = rng.random(200) < 0.5
        counts = Confusion(np.array([[200 - wrong.sum(), wrong.sum()], [0, 0]]))
        entries.append(Entry(name, counts, counts, wrong=wrong))
    verdict = choose_winner(entries, fold)
    assert verdict.winner is not None
    assert verdict.winner.test is not None
    assert verdict.error_of_choice is not None
    assert verdict.error_of_choice > verdict.winner.test.error
    assert "The error of the winner is optimistic: it is the best of 10" in verdict.remarks[1]


# --- The winner


def test_the_fewest_test_errors_win_whatever_training_errors_and_time() -> None:
    verdict = choose_winner([entry("a", 0, 5, 0.1), entry("b", 9, 2, 9.0), entry("c", 0, 4)])
    assert verdict.winner is not None
    assert (verdict.winner.algorithm, [other.algorithm for other in verdict.others]) == ("b", ["c", "a"])
    assert verdict.tie_break is None
    assert verdict.sentence == "best: b, 2 of 20 wrong"


def test_ties_are_decided_by_training_errors_and_then_by_time() -> None:
    first = choose_winner([entry("a", 3, 4), entry("b", 2, 4, 9.0)])
    assert first.winner is not None
    assert (first.winner.algorithm, first.tied, first.tie_break) == ("b", ("a",), "training errors")
    assert first.sentence == "best: b, 4 of 20 wrong (tied with a; the one with the fewer training errors is preferred)"
    second = choose_winner([entry("a", 3, 4, 2.0), entry("b", 3, 4, 1.0)])
    assert second.tie_break == "time"
    assert second.sentence == "best: b, 4 of 20 wrong (tied with a; the faster one is preferred)"
    assert second.differences["a"].share == 0.0


def test_all_that_are_tied_are_named() -> None:
    four = [entry(name, 3, 4, seconds) for name, seconds in (("a", 2.0), ("b", 1.0), ("c", 3.0), ("d", 4.0), ("e", 5.0))]
    verdict = choose_winner([*four, entry("f", 7, 4)])
    assert verdict.tied == ("a", "c", "d", "e"), "f has more training errors"
    assert verdict.sentence == "best: b, 4 of 20 wrong (tied with a, c, d and 1 more; the fastest is preferred)"


def test_differences_are_those_of_rows_that_one_alone_gets_right() -> None:
    verdict = choose_winner([entry("a", 0, [0, 1]), entry("b", 0, [1, 2, 3, 4])])
    assert verdict.differences["b"] == difference(np.arange(20) < 3, np.arange(20) == 19)
    assert "The difference from b may be chance: its 95 % interval, corrected for 1 pair, contains 0." in verdict.remarks
    clear = choose_winner([entry("a", 0, 0), entry("b", 0, 16)])
    assert "All differences are clear: no 95 % interval, corrected for 1 pair, contains 0." in clear.remarks


def test_without_test_rows_training_errors_decide() -> None:
    verdict = choose_winner([entry("a", 3, None), entry("b", 1, None)])
    assert verdict.remarks == ()
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
    return request, prepare_comparison(replace(request, holdout=0.2))


def test_every_algorithm_gets_the_same_rows_as_train(request_and_rows: Any) -> None:
    request, prepared = request_and_rows
    for found in compare(request, prepared, ["average", "pa-1", "linear-mse"]):
        alone = train(Request(request.data, algorithm=found.algorithm, seed=2, certify=False))
        assert found.test is not None
        assert alone.test is not None
        np.testing.assert_array_equal(found.train.counts, alone.train.counts)  # type: ignore[union-attr]
        np.testing.assert_array_equal(found.test.counts, alone.test.counts)
        assert found.margin == alone.margin
        assert found.wrong is not None
        assert int(found.wrong.sum()) == found.test.errors


def test_folds_test_every_row_once_as_train_does(request_and_rows: Any) -> None:
    request, _ = request_and_rows
    rows = prepare_comparison(request)
    assert rows.fold is not None
    assert np.bincount(rows.fold).tolist() == [15] * 10
    (found,) = compare(request, rows, ["pa-1"])
    alone = train(Request(request.data, algorithm="pa-1", seed=2, cv=10, certify=False))
    assert found.test is not None
    np.testing.assert_array_equal(found.test.counts, sum(fold.counts for fold in alone.folds))
    np.testing.assert_array_equal(found.train.counts, alone.train.counts)  # type: ignore[union-attr]


def test_large_tables_and_classes_of_one_row_are_held_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, labels = noisy_rows(100, 3)
    request = Request(write_csv(tmp_path / "rows.csv", rows, labels))
    for limits, n_folds in (({300: 10, 3000: 5}, 10), ({299: 10, 300: 5}, 5), ({298: 10, 299: 5}, 0)):
        monkeypatch.setattr(compare_module, "DEFAULT_FOLDS", limits)
        assert len(prepare_comparison(request).folds) == n_folds
    single = write_csv(tmp_path / "single.csv", rows, [*labels[:-1], "once"])
    assert prepare_comparison(Request(single)).folds == ()


def test_failures_are_entries(request_and_rows: Any) -> None:
    request, prepared = request_and_rows
    (found,) = compare(request, prepared, ["max-margin"])
    assert found.failed == "no plane separates the rows"
    assert found.rank_key == (np.inf, np.inf, np.inf)


def test_the_entry_of_a_failure_has_no_advice(request_and_rows: Any) -> None:
    request, prepared = request_and_rows
    (found,) = compare(request, Comparison(replace(prepared.whole, X=np.abs(prepared.whole.X) * 1e300 + 1e300)), ["perceptron"])
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
