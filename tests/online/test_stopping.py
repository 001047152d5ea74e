"""Why runs end, one by one and together; and the proof that a batch step of length zero can be."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import rosenblatt as rb
from rosenblatt.online.stopping import Stop, StopReason, merge_stops


def test_a_stop_reads_as_a_sentence() -> None:
    stop = Stop("passes", "stopped after 3 passes (the limit)", limit=3)
    assert str(stop) == "stopped after 3 passes (the limit)"
    assert stop == Stop("passes", "stopped after 3 passes (the limit)")  # as loaded from a file
    assert not stop.separated
    assert Stop("separated", "done.").separated
    assert rb.Stop is Stop


def test_a_stop_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Stop("passes", "x").reason = "separated"  # type: ignore[misc]


def test_one_run_stops_for_its_own_reason() -> None:
    stop = Stop("norm", "too long.")
    assert merge_stops([stop], "ab") is stop


def test_all_separated_is_separated() -> None:
    stop = merge_stops([Stop("separated", "a."), Stop("separated", "b."), Stop("separated", "c.")], "abc")
    assert stop.separated
    assert "3" in stop.sentence
    assert stop.heads == ("separated",) * 3


def test_one_that_is_not_separated_is_enough_not_to_be() -> None:
    stop = merge_stops([Stop("separated", "a."), Stop("updates", "enough.")], "ab")
    assert stop.reason == "updates"
    assert "1 separated and 1 reached the update limit" in stop.sentence
    assert "enough." in stop.sentence
    assert stop.heads == ("separated", "updates")


def test_the_worst_reason_of_solvers_counts() -> None:
    reasons: list[StopReason] = ["tolerance", "rounding", "rounding", "steps", "inseparable"]
    stops = [Stop(reason, f"because of {reason}", gap=0.1 * k) for k, reason in enumerate(reasons)]
    stop = merge_stops(stops, "abcde")
    assert (stop.reason, stop.gap) == ("steps", stops[3].gap)
    assert "class d: because of steps" in stop.sentence
    assert merge_stops([stops[0], stops[4]], "ab").reason == "inseparable"
    assert merge_stops([stops[0], stops[0]], "ab").reason == "tolerance"


def test_the_commonest_reason_among_the_others_counts() -> None:
    reasons: list[StopReason] = ["separated", "norm", "separated", "passes", "separated", "passes"]
    stop = merge_stops([Stop(reason, f"because of {reason}.") for reason in reasons], "abcdef")
    assert stop.reason == "passes"
    assert "because of passes." in stop.sentence
    assert "3 separated" in stop.sentence
    assert stop.heads == tuple(reasons)


def test_the_sentence_names_the_class_or_the_pair_of_classes() -> None:
    stops = [Stop("tolerance", "solved"), Stop("tolerance", "solved"), Stop("inseparable", "slack was allowed")]
    assert merge_stops(stops, ["ash", "birch", "cedar"]).sentence.endswith("1 needed slack; class cedar: slack was allowed")
    pairs = merge_stops(stops, ["ash", "birch", "cedar"], pairs=True)
    assert pairs.sentence.endswith("1 needed slack; classes birch and cedar: slack was allowed")


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
@pytest.mark.parametrize("estimator", [rb.SoftMargin(), rb.MaxMargin(), rb.Perceptron(), rb.AROW()], ids=repr)
def test_fits_of_several_problems_name_a_class(estimator: Any, multiclass: str) -> None:
    if multiclass == "ovo" and not isinstance(estimator, rb.SoftMargin | rb.MaxMargin):
        pytest.skip("has no pairs")
    X, y = [[0, 0], [0, 1], [5, 0], [5, 1], [0, 5], [1, 5]], ["a", "a", "b", "b", "c", "c"]
    stop = clone(estimator).set_params(multiclass=multiclass).fit(X, y).stop_
    name = {"ovr": "class a: ", "ovo": "classes a and b: "}[multiclass]
    assert len(stop.heads) == 3
    assert name in stop.sentence


# --- a step of length zero -----------------------------------------------------------------------------------------------

TWINS = np.array([[1.0, 0.5], [1.0, 0.5], [0.0, 1.0]])


@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("margin", [0.0, 0.25])
def test_equal_rows_of_two_classes_cannot_be_separated_pairwise(pack, fit_intercept, margin):
    start = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.5, -2.0, 1.0]])[:, 0 if fit_intercept else 1 :]  # right but for them
    model = rb.Perceptron(update="batch", margin=margin, fit_intercept=fit_intercept, init=start, max_iter=100)
    stop = model.fit(pack(TWINS), [0, 1, 2]).stop_
    assert stop.reason == "impossible"
    assert "sum to exactly zero" in stop.sentence


@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array])
def test_twins_that_differ_by_a_hair_are_not_called_impossible(pack):
    X = TWINS.copy()
    X[1, 0] = np.nextafter(1.0, 2.0)
    stop = rb.Perceptron(update="batch", fit_intercept=False, max_iter=100).fit(pack(X), [0, 1, 2]).stop_
    assert stop.reason != "impossible"


def test_a_step_that_rounds_to_zero_proves_nothing():
    """In float64 the rows' sum vanishes beside the largest of them; exactly, it does not."""
    X = np.array([[1e20, 0.0], [1e20, 1e-20], [0.0, 1.0]])
    stop = rb.Perceptron(update="batch", fit_intercept=False, max_iter=20).fit(X, [0, 1, 2]).stop_
    assert stop.reason != "impossible"


def test_weighted_rows_are_not_called_impossible_because_their_products_round():
    stop = rb.Perceptron(update="batch", max_iter=20).fit(TWINS, [0, 1, 2], sample_weight=[0.1, 0.1, 1.0]).stop_
    assert stop.reason != "impossible"


BIG = 2**53


@pytest.mark.parametrize(
    "X",
    [
        np.array([[BIG], [BIG + 1]]),
        [[BIG], [BIG + 1]],
        np.array([[str(BIG)], [str(BIG + 1)]]),
        sp.coo_array(([BIG, BIG, 1], ([0, 1, 1], [0, 0, 0])), shape=(2, 1)),
    ],
    ids=["array", "list", "text", "duplicates"],
)
def test_rounded_rows_are_not_called_impossible(X):
    """As floats, the two rows are the same point."""
    model = rb.Perceptron(update="batch").fit(X, [0, 1])
    assert model.stop_.reason == "tolerance"
    assert "violate the margin; nothing is proved: X " in str(model.stop_)
    with pytest.raises(ValueError, match=r"^X (has|must be) "):
        _ = rb.Perceptron(max_iter=2).fit(X, [0, 1]).convergence_
    same = rb.Perceptron(update="batch").fit(np.array([[7], [7]]), [0, 1])
    assert same.stop_.reason == "impossible"
