"""rosenblatt demo"""

from __future__ import annotations

from commands import rosenblatt


def test_a_demo_needs_a_folder(tmp_path):
    file = tmp_path / "report.html"
    file.write_text("")
    found = rosenblatt("demo", "-o", file)
    assert (found.code, found.out) == (2, "")
    assert found.err == f"rosenblatt: {file}: is a file, not a folder\n"
