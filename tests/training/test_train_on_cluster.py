"""Training on blocks: the model of `train --stream`, and errors in the words of the command line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rosenblatt.cluster.engine import InProcess
from rosenblatt.data.readers import Options
from rosenblatt.training.cluster import ClusterRun, complete_request, train_on_cluster
from rosenblatt.training.request import Request
from rosenblatt.training.stream import train_stream


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Tables with names, missing cells and several classes; sparse rows; and arrays with missing cells. Two files of each."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    for part in range(2):
        cells, lines = ["size,weight,color,label"], []
        for _ in range(150):
            kind = int(rng.integers(3))
            weight = "" if rng.random() < 0.1 else f"{rng.normal(1000 * kind, 500):.3f}"
            cells.append(f"{rng.normal(kind):.4f},{weight},{rng.choice(['red', 'green'])},{'abc'[kind]}")
            columns = np.sort(rng.choice(30, 5, replace=False)) + 1
            values = rng.standard_normal(5) * 100 + 80 * (columns % 3 == kind)
            lines.append(f"{kind} " + " ".join(f"{c}:{v!r}" for c, v in zip(columns, values.tolist(), strict=True)))
        (folder / f"{part}.csv").write_text("\n".join(cells) + "\n")
        (folder / f"{part}.svm").write_text("\n".join(lines) + "\n")
        y = rng.integers(0, 2, 80)
        X = rng.normal(size=(80, 3)) + y[:, None]
        X[7, 1] = np.nan
        np.savez(folder / f"{part}.npz", X=X, y=y)
    return folder


def request_of(files, ending: str, **more) -> Request:
    paths = tuple(str(files / f"{part}.{ending}") for part in range(2))
    return Request(paths, Options(missing="auto"), **({"algorithm": "average", "holdout": 0.0} | more))


@pytest.mark.parametrize("ending", ["csv", "svm", "npz"])
def test_the_model_is_that_of_a_stream(files, ending):
    request = request_of(files, ending)
    streamed = train_stream(request)
    outcome = train_on_cluster(request, ClusterRun(InProcess(), block_bytes=2000))
    assert outcome.recipe == streamed.recipe
    np.testing.assert_array_equal(outcome.estimator.coef_, streamed.estimator.coef_)
    np.testing.assert_array_equal(outcome.train.counts, streamed.train.counts)
    shared = {"data", "rows", "columns", "reading"}
    assert {name: outcome.provenance[name] for name in shared} == {name: streamed.provenance[name] for name in shared}
    assert set(streamed.notes) - set(outcome.notes) <= {note for note in streamed.notes if "Equal rows" in note}


def test_class_weights_and_test_files(files):
    request = request_of(files, "svm", holdout=None, test=str(files / "*.svm"), parameters={"class_weight": {"1": 2.0}})
    streamed = train_stream(request)
    outcome = train_on_cluster(request, ClusterRun(InProcess(), block_bytes=2000))
    np.testing.assert_array_equal(outcome.estimator.coef_, streamed.estimator.coef_)
    np.testing.assert_array_equal(outcome.test.counts, streamed.test.counts)
    np.testing.assert_array_equal(outcome.test.counts, outcome.train.counts)


def test_logistic_regression_is_the_default_and_has_probabilities(files):
    request = request_of(files, "csv", algorithm="auto", holdout=None, test=str(files / "1.csv"))
    outcome = train_on_cluster(request, ClusterRun(InProcess(), block_bytes=2000))
    assert outcome.request.algorithm == "logistic"
    assert outcome.probabilities is not None
    assert outcome.probabilities.log_loss < outcome.probabilities.log_loss_of_shares
    assert complete_request(request, "mixed").algorithm == "average"
    assert complete_request(replace(request, algorithm="auto", parameters={"max_updates": 9})).algorithm == "average"


@pytest.mark.parametrize(
    ("more", "mode", "sentence"),
    [
        ({"holdout": 0.2}, "exact", "--holdout needs the rows on this machine: with --cluster, use --test FILE"),
        ({"cv": 3, "holdout": None}, "exact", "--cv needs the rows on this machine: with --cluster, use --test FILE"),
        ({"tune": True}, "exact", "--tune needs the rows on this machine: leave out --cluster"),
        ({"threshold": "f1"}, "exact", "--threshold needs the rows on this machine: leave out --cluster"),
        ({"certify": True}, "exact", "--certify needs the rows on this machine: use `rosenblatt certify --cluster`"),
        (
            {"algorithm": "pocket"},
            "exact",
            "--algorithm pocket needs all rows in memory: use --algorithm average, or leave out",
        ),
        ({"algorithm": "max-margin"}, "exact", "--algorithm max-margin needs all rows in memory: use --algorithm soft-margin"),
        ({"parameters": {"early_stopping": True}}, "exact", "--early-stopping needs all rows in memory: leave out this option"),
        (
            {"algorithm": "logistic", "parameters": {"penalty": "l1"}},
            "exact",
            "--penalty l1 solves column by column, which blocks of rows do not have: use --penalty l2, or leave out --cluster",
        ),
        (
            {"algorithm": "soft-margin", "parameters": {"calibrate": "sigmoid"}},
            "exact",
            "--calibrate sigmoid fits copies on folds of the rows: leave out --calibrate, or leave out --cluster",
        ),
        ({"algorithm": "logistic"}, "mixed", "--mode mixed is for learners that go row by row: use --algorithm average"),
        ({"data": "-"}, "exact", "--cluster reads files, several times, which standard input does not allow: give files"),
        ({"data": "example:iris"}, "exact", "--cluster is for files, and example:iris is made in memory: leave out --cluster"),
    ],
)
def test_what_blocks_cannot_do_is_refused_by_option(files, more, mode, sentence):
    with pytest.raises(ValueError, match=sentence):
        train_on_cluster(replace(request_of(files, "svm"), **more), ClusterRun(InProcess(), mode))


def test_shards_are_for_mixed_runs(files):
    with pytest.raises(ValueError, match="--shards 2 is for --mode mixed: add --mode mixed, or leave out --shards"):
        train_on_cluster(request_of(files, "svm"), ClusterRun(InProcess(), shards=2))
