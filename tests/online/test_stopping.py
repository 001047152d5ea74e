"""Why runs end, one by one and together."""

from __future__ import annotations

import dataclasses

import pytest

import rosenblatt as rb
from rosenblatt.online.stopping import Stop, together


def test_a_stop_reads_as_a_word_and_a_sentence() -> None:
    stop = Stop("passes", "max_iter=3 used up.")
    assert str(stop) == "passes: max_iter=3 used up."
    assert not stop.separated
    assert Stop("separated", "done.").separated
    assert rb.Stop is Stop


def test_a_stop_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Stop("passes", "x").reason = "separated"  # type: ignore[misc]


def test_one_run_stops_for_its_own_reason() -> None:
    stop = Stop("norm", "too long.")
    assert together([stop]) is stop


def test_all_separated_is_separated() -> None:
    stop = together([Stop("separated", "a."), Stop("separated", "b."), Stop("separated", "c.")])
    assert stop.separated
    assert "3" in stop.sentence
    assert stop.heads == ("separated",) * 3


def test_one_that_is_not_separated_is_enough_not_to_be() -> None:
    stop = together([Stop("separated", "a."), Stop("updates", "enough.")])
    assert stop.reason == "updates"
    assert "1 of 2" in stop.sentence
    assert "enough." in stop.sentence
    assert stop.heads == ("separated", "updates")


def test_the_commonest_reason_among_the_others_counts() -> None:
    reasons = ["separated", "norm", "separated", "passes", "separated", "passes"]
    stop = together([Stop(reason, f"because of {reason}.") for reason in reasons])
    assert stop.reason == "passes"
    assert "because of passes." in stop.sentence
    assert "3 of 6" in stop.sentence
    assert stop.heads == tuple(reasons)
