"""Headers of Orange: the class is the label, other roles are left out, and types are respected."""

from __future__ import annotations

from pathlib import Path

import pytest

from rosenblatt.data.readers import Options
from rosenblatt.data.readers.read import chunks, read
from rosenblatt.data.table import DataError

BODY = [["a1", "0.5", "8001", "1", "yes"], ["a2", "1.5", "8002", "2", "no"], ["a3", "2.5", "8001", "1", "yes"]] * 4
NAMES = ["name", "size", "zip", "w", "species"]
HEADERS = {
    "words": [NAMES, ["string", "continuous", "discrete", "continuous", "discrete"], ["meta", "", "", "weight", "class"]],
    "letters": [NAMES, ["s", "c", "d", "c", "d"], ["m", "", "", "ignore", "c"]],
    "values": [NAMES, ["string", "c", "8001 8002", "c", "no yes"], ["meta", "", "", "i", "class"]],
    "attributes": [NAMES, ["S", "C", "D", "C", "D"], ["meta", "hidden=True", "color=#f00 a=b", "w", "class"]],
    "one line": [["mS#name", "C#size", "D#zip", "w#w", "cD#species"]],
}


def text(*parts: list[list[str]], sep: str = "\t") -> str:
    return "".join(sep.join(row) + "\n" for part in parts for row in part)


@pytest.mark.parametrize("kind", HEADERS)
def test_types_and_roles(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "rows.tab"
    path.write_text(text(HEADERS[kind], BODY))
    data = read(path)
    assert data.label_name == "species"
    assert data.labels.tolist() == ["yes", "no", "yes"] * 4
    assert data.features.names == ("size", "zip")
    assert data.features.columns[1].tolist()[:2] == ["8001", "8002"]
    assert data.lines[0] == len(HEADERS[kind]) + 1
    assert data.note == ("header of Orange; left out by their roles: 'name', 'w'; label column: species (as given)")
    assert [line for part in chunks(path, Options(), 20) for line in part.lines] == list(data.lines)


def test_options_win(tmp_path: Path) -> None:
    path = tmp_path / "rows.tab"
    path.write_text(text(HEADERS["letters"], BODY))
    data = read(path, Options(label="zip", categorical=("name",)))
    assert (data.label_name, data.features.names) == ("zip", ("name", "size", "species"))
    assert read(path, Options(required=("size", "w"), label="species")).features.names == ("size", "w")


def test_other_files_named_tab_and_csv_files_of_orange(tmp_path: Path) -> None:
    (tmp_path / "rows.tab").write_text(text([NAMES], BODY))
    assert read(tmp_path / "rows.tab").label_name == "species"
    (tmp_path / "rows.csv").write_text(text(HEADERS["words"], BODY, sep=","))
    assert read(tmp_path / "rows.csv").features.names == ("size", "zip")
    (tmp_path / "rows.csv").write_text("kind,type\nc,d\nc,m\nd,c\nd,d\nc,m\nc,d\n")  # letters alone are rows
    assert read(tmp_path / "rows.csv").n_rows == 6
    (tmp_path / "rows.csv").write_text("#,C#4,F#4,label\n1,2,3,a\n4,5,6,b\n7,8,9,a\n")  # notes
    assert read(tmp_path / "rows.csv").features.names == ("#", "C#4", "F#4")
    (tmp_path / "rows.tab").write_text(text([NAMES, ["s", "c", "d", "c", "d"], ["m", "", "", "", "c"]]))
    with pytest.raises(DataError, match="the file has a header but no rows"):
        read(tmp_path / "rows.tab")
    (tmp_path / "rows.tab").write_text("name\tsize\tzip\tw\tspecies\ns\tc\td\tc\td\nmeta\n" + text(BODY))
    assert read(tmp_path / "rows.tab").features.names == ("size", "zip", "w")  # trailing tabs may be absent
