"""rosenblatt doctor"""

from __future__ import annotations

import shlex

from commands import rosenblatt


def test_doctor():
    assert "No plane separates" in rosenblatt("doctor", "example:xor?rows=40").out
    assert rosenblatt("doctor", "example:xor?rows=40", "--json").json["verdict"] == "inseparable"


def test_the_advice_of_the_doctor_is_a_command_that_reads_the_same_data(tmp_path):
    data = tmp_path / "my rows.csv"
    data.write_text("a,b,c\n" + "".join(f"{i},{i * 7 % 5},{'xy'[i > 9]}\n" for i in range(20)))
    found = rosenblatt("doctor", data, "--label", "c", "--ignore", "b", "--header", "--json").json["findings"][-1]
    command = shlex.split(found["sentence"].split("`")[1])
    assert command[:3] == ["rosenblatt", "train", str(data)]
    assert command[3:8] == ["--label", "c", "--header", "--ignore", "b"]
    assert rosenblatt(*command[1:], "-o", tmp_path / "m.safetensors").code == 0
    words = rosenblatt("doctor", "example:xor?rows=40").out
    assert "No plane separates" in words
    assert "no plane separates these" not in words
    assert "-a pocket` (or -a average or -a soft-margin), which" in " ".join(words.split())
