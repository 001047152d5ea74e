"""`rosenblatt mail evaluate` and `show`: evaluation of an existing filter, and its guarantee."""

from __future__ import annotations

import pytest
from letters import folder

from commands import rosenblatt
from rosenblatt.cli.mail.evaluate import PARTS
from rosenblatt.cli.mail.explain import ham_loss_text
from rosenblatt.mail.filter import Filter
from rosenblatt.mail.message.message import Message
from rosenblatt.mail.verdict import Calibration


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("ROSENBLATT_MAIL", str(tmp_path / "home"))
    spam, ham = folder(tmp_path / "spam", True, range(30)), folder(tmp_path / "ham", False, range(60))
    assert rosenblatt("mail", "learn", "--spam", spam, "--ham", ham, "--ham-weight", 5, "--ham-loss", 0.02).code == 0
    return tmp_path / "home"


def evaluated(*arguments):
    found = rosenblatt("mail", "evaluate", "--json", *arguments)
    assert found.code == 0, found.err
    return found.json


def test_evaluation_uses_the_settings_of_the_filter_or_given_ones(home, tmp_path):
    own, same = evaluated(), evaluated("--ham-weight", 5, "--ham-loss", 0.02)
    assert own["settings"] == {"ham_weight": 5.0, "ham_loss": 0.02}
    assert own == same
    other = evaluated("--ham-weight", 1)
    assert other["settings"] == {"ham_weight": 1.0, "ham_loss": 0.02}
    assert other["verdicts"] != own["verdicts"]
    boxes = ("--spam", tmp_path / "spam", "--ham", tmp_path / "ham")
    assert evaluated(*boxes)["settings"] == {"ham_weight": 1.0, "ham_loss": 0.001}
    assert evaluated(*boxes, "--ham-loss", 0.3)["settings"]["ham_loss"] == 0.3


def test_the_mail_of_the_filter_can_be_shuffled_and_has_no_dates(home):
    own, given, shuffled = evaluated(), evaluated("--order", "given"), evaluated("--order", "shuffled")
    assert own == given
    assert own["percent"] != shuffled["percent"]
    assert shuffled["percent"] == evaluated("--order", "shuffled", "--seed", 0)["percent"]
    assert shuffled["percent"] != evaluated("--order", "shuffled", "--seed", 1)["percent"]
    refused = rosenblatt("mail", "evaluate", "--order", "time")
    assert (refused.code, len(refused.err.splitlines())) == (2, 1)
    assert "does not store dates" in refused.err


def test_dropped_texts_are_reported(home):
    with Filter.open(home) as found:
        found.compact(keep=50)
    reported = rosenblatt("mail", "evaluate")
    assert "texts of 40 mails were dropped from the log; only the others are evaluated" in reported.err
    assert evaluated()["folded"] == 40


def test_numbers_are_right_aligned(home):
    lines = rosenblatt("mail", "evaluate").out.splitlines()
    shares = [line for line in lines if line.startswith(("ham called", "spam called", "pairs"))]
    assert len({line.index(".") for line in shares}) == 1
    head, *rows = (line.rstrip() for line in lines[-3:])
    assert {len(row) for row in rows} == {len(head)}


def test_parts_that_can_be_left_out():
    assert {field for fields in PARTS.values() for field in fields} == set(Message._fields)
    assert PARTS["from"] == ("sender",)
    assert PARTS["other-headers"] == ("headers",)
    assert set(PARTS["all-headers"]) == {"subject", "sender", "reply_to", "to", "received", "headers"}
    reported = rosenblatt("mail", "evaluate", "--help").out.replace("\n", " ")
    assert all(name in reported for name in PARTS)


def test_all_headers_are_left_out(home):
    """What is left of these letters is their body: the same as leaving out every header by name."""
    one = evaluated("--without", "all-headers")
    assert one == evaluated("--without", "subject,from,reply_to,to", "--without", "received,other-headers")
    assert one != evaluated("--without", "body")


def test_show_prints_the_guarantee(home, tmp_path):
    def line():
        return next(line for line in rosenblatt("mail", "show", "-n", 0).out.splitlines() if line.startswith("ham loss"))

    assert line().split(None, 2)[2] == "at most 2 % (guaranteed for ham that scores like the last 49; 49 needed)"
    assert "ham weight  5" in rosenblatt("mail", "show", "-n", 0).out
    rosenblatt("mail", "learn", "--ham-loss", 0.001)
    assert "at most 0.1 % wanted (not yet guaranteed: 54 ham counted, 999 needed)" in line()
    rosenblatt("mail", "learn", "--ham-loss", 0.0)
    assert "none wanted (cannot be guaranteed)" in line()


def test_show_prints_what_can_never_be_guaranteed(home):
    """Only the last messages are calibrated on, so that more hams than those are never there."""
    rosenblatt("mail", "learn", "--ham-loss", 0.00005)
    shown = rosenblatt("mail", "show", "-n", 0).out
    assert "not yet" not in shown
    sentence = "at most 0.005 % wanted (cannot be guaranteed: 19,999 ham needed, and only the last 18,976 mails count)"
    assert sentence in " ".join(shown.split())
    few, many = Calibration(hams=9_000), Calibration(hams=18_976)
    guaranteed = "at most 0.00526954 % (guaranteed for ham that scores like the last 18,976; 18,976 needed)"
    assert ham_loss_text(1 / 18_977, many, 20_000) == guaranteed
    assert "cannot be guaranteed" in ham_loss_text(1 / 18_978, many, 20_000)
    assert ham_loss_text(0.0001, few, 18_975).endswith("(not yet guaranteed: 9,000 ham counted, 9,999 needed)")
    sentence = "(not guaranteed: 9,000 ham counted among the last 18,976 mails, 9,999 needed)"
    assert ham_loss_text(0.0001, few, 18_976).endswith(sentence)
