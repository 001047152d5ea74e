"""rosenblatt doctor"""

from __future__ import annotations

from commands import rosenblatt


def test_doctor():
    assert "No plane separates" in rosenblatt("doctor", "example:xor?rows=40").out
    assert rosenblatt("doctor", "example:xor?rows=40", "--json").json["verdict"] == "inseparable"
