"""Foreign text in messages for Python programs: what a terminal would execute is escaped."""

from __future__ import annotations

from pathlib import Path

import pytest
from sealed_files import loaded, packed, parts_of

import rosenblatt as rb
from rosenblatt.atomic_file import WriteError

ESCAPE = "\x1b]52;c;QUJD\x07\u202e"
SHOWN = r"\x1b]52;c;QUJD\x07\u202e"


def test_the_sentence_of_a_forged_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rb.save(rb.Perceptron(max_iter=3).fit([[0.0], [1.0]], [0, 1]), tmp_path / "model")
    meta, arrays = parts_of((tmp_path / "model").read_bytes())
    meta["stop"]["sentence"] = f"stopped{ESCAPE}"
    model = loaded(packed(meta, arrays), monkeypatch)
    assert str(model.stop_) == f"stopped{SHOWN}"
    assert ESCAPE not in repr(model.stop_)


def test_paths_of_models_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    path = tmp_path / f"no folder{ESCAPE}" / "model"
    with pytest.raises(rb.ModelError) as unread:
        rb.load(path)
    assert str(unread.value) == f"{tmp_path}/no folder{SHOWN}/model: file not found"
    assert unread.value.source == str(path)
    with pytest.raises(WriteError) as unwritten:
        rb.save(rb.LinearMSE().fit([[0.0], [1.0]], [0, 1]), path)
    assert f"no folder{SHOWN}" in str(unwritten.value)
    assert "\x1b" not in str(unwritten.value)


def test_the_name_of_a_file_that_is_no_certificate(tmp_path: Path) -> None:
    (tmp_path / f"c{ESCAPE}.json").write_text("{}")
    with pytest.raises(ValueError, match="not a valid certificate") as error:
        rb.load_certificate(tmp_path / f"c{ESCAPE}.json")
    assert str(error.value).startswith(f"c{SHOWN}.json: ")
