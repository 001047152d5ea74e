"""Baseline, recall and warnings: a model that has learned nothing is never reported by its small error alone."""

from __future__ import annotations

import gzip
import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from training_files import noisy_rows, separable_rows, write_csv

from commands import rosenblatt
from rosenblatt.training.judgment import Judgment
from rosenblatt.training.metrics import Confusion
from rosenblatt.training.request import Request
from rosenblatt.training.summary import as_dict, judge, summarize
from rosenblatt.training.train import timed, train


def judgment(counts: list[list[int]], **more) -> Judgment:
    return Judgment(Confusion(np.array(counts)), ["no", "yes", "so"][: len(counts)], **more)


def test_the_baseline_is_the_largest_class_of_the_training_rows() -> None:
    by_test = judgment([[10, 0], [5, 15]])
    assert (by_test.baseline_errors, by_test.baseline) == (10, 1 / 3)
    by_training = judgment([[10, 0], [5, 15]], class_rows=np.array([50, 40]))
    assert by_training.baseline_text == "always 'no': error 66.67 % (20 of 30 wrong)"
    assert judgment([[0, 0], [0, 0]]).baseline == 0.0


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([[990, 0], [10, 0]], ["never predicts 'yes' (10 of 1,000 test rows)", "no better than always predicting 'no'"]),
        ([[980, 10], [5, 5]], ["no better than always predicting 'no'"]),
        ([[60, 4], [10, 6]], ["interval covers the baseline"]),
        ([[600, 40], [60, 300]], []),
        ([[0, 50], [50, 0]], ["no better than always predicting 'no'"]),
        ([[30, 0, 0], [0, 30, 0], [1, 1, 0]], ["never predicts 'so' (2 of 62 test rows)"]),
        ([[30, 0, 0], [0, 30, 0], [0, 0, 0]], []),  # without rows, a class need not be predicted
        ([[0, 0], [0, 0]], []),
    ],
)
def test_warnings(counts: list[list[int]], expected: list[str]) -> None:
    found = judgment(counts).warnings
    assert len(found) == len(expected)
    assert all(words in sentence for words, sentence in zip(expected, found, strict=True))


@pytest.mark.parametrize(
    ("counts", "standing", "words"),
    [
        ([[900, 90], [2, 8]], "better", []),  # 92 errors, the baseline has 10; recalls of 91 and 80 %
        (
            [[495, 495], [5, 5]],
            "no better",
            ["is no better than guessing: its balanced error, the mean of the classes, is 50.0 %"],
        ),
        ([[900, 90], [7, 3]], "unclear", ["may be no better than guessing"]),
    ],
)
def test_with_class_weights_the_mean_of_the_classes_is_compared(
    counts: list[list[int]], standing: str, words: list[str]
) -> None:
    found = judgment(counts, weighted=True)
    recall = [counts[0][0] / sum(counts[0]), counts[1][1] / sum(counts[1])]
    assert found.balanced_error == pytest.approx(1 - sum(recall) / 2)
    assert (found.standing, found.balanced_baseline) == (standing, 0.5)
    assert [word in sentence for word, sentence in zip(words, found.warnings, strict=True)] == [True] * len(words)
    assert found.to_dict()["baseline"]["compared"] == "balanced error"


def test_training_rows_are_no_test() -> None:
    found = judgment([[60, 4], [10, 6]], no_test="The test file is the training file").warnings
    assert found == ("The test file is the training file: this error says little about new rows.",)


def test_recall_is_listed_for_uneven_classes_and_the_lowest_of_many() -> None:
    assert judgment([[95, 0], [3, 2]]).recall_text == "no: 100 % of 95, yes: 40.0 % of 5"
    assert judgment([[95, 0], [3, 2]]).uneven
    assert not judgment([[50, 0], [0, 40]]).uneven
    many = Judgment(Confusion(np.diag(np.arange(1, 10)) + np.eye(9, k=1, dtype=int)), [f"c{k}" for k in range(9)])
    assert many.recall_text.startswith("lowest: c0: 50.0 % of 2, c1: 66.7 % of 3")
    assert many.recall_text.endswith("and 3 more")


def test_a_test_of_one_class_shows_nothing_about_the_others() -> None:
    found = judgment([[0, 0], [7, 13]])
    assert found.warnings == ("All 20 test rows are 'yes': they do not show whether other classes are recognized.",)
    assert found.to_dict()["baseline"]["model"] == "no better"


def test_the_facts_of_the_warnings_are_fields() -> None:
    facts = [judgment(counts).to_dict() for counts in ([[95, 0], [5, 0]], [[90, 2], [3, 5]], [[50, 0], [1, 49]])]
    assert [each["baseline"]["model"] for each in facts] == ["no better", "unclear", "better"]
    assert [each["never_predicted"] for each in facts] == [["yes"], [], []]
    assert [len(each["warnings"]) for each in facts] == [2, 1, 0]
    own = judgment([[50, 0], [1, 49]], no_test="The test file is the training file").to_dict()
    assert own["tested_on_training_rows"]


# --- in the commands


def copies_of(path: Path) -> list[Path]:
    """Copies of a file under other names: as it is, compressed, and in an archive."""
    plain, packed, archive = path.parent / "copy.csv", path.parent / "copy.csv.gz", path.parent / "copy.zip"
    plain.write_bytes(path.read_bytes())
    packed.write_bytes(gzip.compress(path.read_bytes()))
    with zipfile.ZipFile(archive, "w") as file:
        file.write(path, "rows.csv")
    return [plain, packed, archive]


def rare_file(folder: Path) -> str:
    """A class of 5 % that the columns say nothing about, and a class of one row."""
    rng = np.random.default_rng(1)
    y = np.where(np.arange(401) % 20 == 0, "yes", "no").astype(object)
    y[400] = "solo"
    return write_csv(folder / "rare.csv", rng.normal(size=(401, 2)).round(3), y)


def test_train_says_what_a_small_error_hides(tmp_path: Path) -> None:
    path = rare_file(tmp_path)
    lines = summarize(train(Request(path, certify=False)))
    named = [text for name, text in lines if name == "warning"]
    assert dict(lines)["baseline"] == "always 'no': error 5.00 % (4 of 80 wrong)"
    assert named[0] == "The model never predicts 'yes' (4 of 80 test rows)."
    assert named[1] == "The model is no better than always predicting 'no'."
    assert "yes: 0 % of 4" in dict(lines)["recall"]
    notes = [text for name, text in lines if not name]
    assert "Class 'solo' has too few rows to hold one out: it is trained on, but not tested." in notes
    found = rosenblatt("train", path, "-o", tmp_path / "m.safetensors", "--cv", 3)
    assert found.code == 2
    assert "at least two rows of every class, but class 'solo' has a single row" in found.err


def test_a_test_on_the_training_file_is_called_that(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "rows.csv", *separable_rows())
    copies = copies_of(Path(path))
    for test in (path, *map(str, copies)):
        lines = summarize(train(Request(path, test=test)))
        assert ("warning", "The test file is the training file: this error says little about new rows.") in lines
    untested = judge(train(Request(path, holdout=0.0))).warnings
    assert untested == ("The model was not tested on other rows: this error says little about new rows.",)
    other = write_csv(tmp_path / "other.csv", *separable_rows(40))
    assert not judge(train(Request(path, test=other))).warnings
    streamed = rosenblatt("train", path, "--stream", "--test", copies[1], "-o", tmp_path / "s.safetensors")
    assert "The test file is the training file" in streamed.out
    assert "The test file is the training file" in rosenblatt("train", copies[1], "--test", path, "-o", tmp_path / "g.st").out


def test_evaluate_knows_the_training_file_by_its_digest(tmp_path: Path) -> None:
    path, model = write_csv(tmp_path / "rows.csv", *separable_rows()), tmp_path / "m.safetensors"
    assert rosenblatt("train", path, "-o", model).code == 0
    moved = Path(path).rename(tmp_path / "moved.csv")
    found = rosenblatt("evaluate", model, moved)
    assert "The model was trained on rows of this file: this error says little about new rows." in found.out
    assert re.search("^baseline +always", found.out, re.MULTILINE)
    for copy in copies_of(moved)[1:]:
        assert "trained on rows of this file" in rosenblatt("evaluate", model, copy).out
    other = write_csv(tmp_path / "other.csv", *separable_rows(50))
    found = rosenblatt("evaluate", model, other, "--json").json
    assert found["warnings"] == []
    assert found["baseline"]["error"] == found["baseline"]["errors"] / 50
    assert rosenblatt("train", "example:iris", "-o", model).code == 0
    assert "trained on rows of this file" in rosenblatt("evaluate", model, "example:iris").out


def test_compare_has_the_baseline_of_its_winner(tmp_path: Path) -> None:
    path = rare_file(tmp_path)
    found = rosenblatt("compare", path, "--algorithms", "average,ridge")
    assert "baseline: always 'no': error 5.00 % (4 of 80 wrong)" in found.out
    assert "warning: The model is no better than always predicting 'no'." in found.out
    found = rosenblatt("compare", path, "--algorithms", "average", "--json").json
    assert found["baseline"]["errors"] == 4
    assert [each["kind"] for each in found["findings"]] == ["imbalance"]
    assert found["findings"][0]["sentence"] in found["notes"]


# --- time


def test_compilation_is_not_counted_as_fit_time(tmp_path: Path) -> None:
    import numba.core.event as numba_events

    with timed() as times:
        with numba_events.trigger_event("numba:compiler_lock"):
            started = times_now()
            while times_now() - started < 0.05:
                pass
        started = times_now()
        while times_now() - started < 0.02:
            pass
    assert 0.05 <= times.compile < 0.07
    assert 0.02 <= times.fit < 0.05
    outcome = train(Request(write_csv(tmp_path / "rows.csv", *noisy_rows())))
    slow = replace(outcome, seconds=0.01, compile_seconds=3.0, total_seconds=3.5)
    assert dict(summarize(slow))["time"] == "10 ms to fit, 3.5 s in total, of which 3.0 s to compile kernels, once"
    assert dict(summarize(replace(slow, compile_seconds=0.01)))["time"] == "10 ms to fit, 3.5 s in total"
    assert json.loads(json.dumps(as_dict(slow)))["seconds"] == {"learning": 0.01, "compiling": 3.0, "all": 3.5}


def times_now() -> float:
    import time

    return time.perf_counter()
