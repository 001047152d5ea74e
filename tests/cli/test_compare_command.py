"""rosenblatt compare"""

from __future__ import annotations

from commands import rosenblatt


def test_compare():
    result = rosenblatt("compare", "example:xor?rows=60", "--algorithms", "average,pocket,max-margin", "--json").json
    assert [entry["algorithm"] for entry in result["entries"]] == ["average", "pocket", "max-margin"]
    assert result["entries"][2]["failed"] == "no plane separates the rows"
    assert result["winner"] in ("average", "pocket")
    text = rosenblatt("compare", "example:xor?rows=60", "--algorithms", "average,max-margin").out
    assert "best: average, " in text
    assert "max-margin: no plane separates the rows" in text
