"""Numbers keep their digits: as identifiers in converted files, as labels, and in the notes on columns."""

from __future__ import annotations

import decimal
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import rosenblatt
from rosenblatt.data.readers import Options
from rosenblatt.data.readers.read import read
from rosenblatt.data.table import DataError, typed_labels
from rosenblatt.kernels.compile import COMPILED

ROWS = """id,big,zip,x,plus,power,zero,day,label
9007199254740993,1000000000000000001,02163,0.1000000000000000055,+5,1e5,-0,2024-01-05,01
9007199254740995,1000000000000000003,10001,0.25,+6,1.50,0,2024-01-06,1
9007199254740997,1000000000000000007,00501,.5,007.5,2,1.,2024-01-06,01
"""
IDENTIFIERS = ("id", "big", "zip")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(ROWS)
    return tmp_path / "rows.csv"


@pytest.mark.parametrize("given", ["file", "stdin"])
def test_tables_of_text_are_copied(table: Path, given: str) -> None:
    source, stdin = (table, None) if given == "file" else ("-", ROWS)
    assert rosenblatt("convert", source, "-", "--to", "csv", input=stdin).out == ROWS
    assert rosenblatt("convert", source, "-", "--to", "tsv", input=stdin).out == ROWS.replace(",", "\t")
    found = rosenblatt("convert", source, "-", "--to", "jsonl", input=stdin)
    first = found.out.splitlines()[0]
    for cell in ('"id": 9007199254740993,', '"zip": "02163",', '"x": 0.1000000000000000055,', '"plus": 5,', '"power": 1e5,'):
        assert cell in first
    assert "Column 'zip' is written as text, because a number would change it (such as 02163)." in found.err
    assert [json.loads(line)["label"] for line in found.out.splitlines()] == ["01", "1", "01"]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "jsonl"])
def test_identifiers_come_back_from_typed_formats(table: Path, ending: str) -> None:
    pytest.importorskip("pyarrow")
    assert rosenblatt("convert", table, table.with_suffix(f".{ending}")).code == 0
    assert rosenblatt("convert", table.with_suffix(f".{ending}"), table.with_name("back.csv")).code == 0
    before, after = (read(table.with_name(name), Options(as_written=True)) for name in ("rows.csv", "back.csv"))
    for name, mine, other in zip(before.features.names, before.features.columns, after.features.columns, strict=True):
        if name in (*IDENTIFIERS, "day"):
            assert mine.tolist() == other.tolist()
        else:
            assert list(map(float, mine)) == list(map(float, other))
    assert after.labels.tolist() == ["01", "1", "01"]


@pytest.mark.parametrize("ending", ["svm", "npz"])
def test_formats_of_floats_refuse_digits_they_do_not_hold(table: Path, ending: str) -> None:
    found = rosenblatt("convert", table, table.with_suffix(f".{ending}"))
    assert found.code == 2
    assert "column 'id': 9007199254740993 does not fit into a float" in found.err
    assert "use --categorical 'id' or --ignore 'id'" in found.err
    found = rosenblatt("convert", table, table.with_suffix(f".{ending}"), "--categorical", "id", "--ignore", "big")
    assert found.code == 0
    assert "Column 'zip' has codes such as 02163, but is read as numbers. As categories: --categorical zip" in found.err


@pytest.mark.parametrize("ending", ["svmlight", "npz"])
def test_digits_after_a_number_with_leading_zeros_are_not_lost(tmp_path: Path, ending: str) -> None:
    data = tmp_path / "rows.csv"
    data.write_text("code,label\n02163,x\n9007199254740993,y\n12345,x\n")
    found = rosenblatt("convert", data, tmp_path / f"rows.{ending}")
    assert (found.code, (tmp_path / f"rows.{ending}").exists()) == (2, False)
    assert "column 'code': an integer near 9007199254740992 may not fit into a float" in found.err
    data.write_text("code,label\n02163,x\n54321,y\n12345,x\n")
    assert rosenblatt("convert", data, tmp_path / f"rows.{ending}").code == 0


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_whole_numbers_with_a_point_keep_their_digits(tmp_path: Path, ending: str) -> None:
    pytest.importorskip("pyarrow")
    cells = "a,b,label\n9007199254740993.0,664686574159339264,x\n20.50,1152921504606846976,y\n12345678901234567890.10,1,x\n"
    (tmp_path / "rows.csv").write_text(cells)
    found = rosenblatt("convert", tmp_path / "rows.csv", tmp_path / f"rows.{ending}")
    assert "Column 'a' is written as text, because a number would change it (such as 9007199254740993.0)." in found.err
    assert rosenblatt("convert", tmp_path / f"rows.{ending}", "-", "--to", "csv").out == cells
    found = rosenblatt("convert", tmp_path / "rows.csv", tmp_path / "rows.npz")
    assert "column 'a': 9007199254740993.0 does not fit into a float" in found.err
    (tmp_path / "rows.svm").write_text("1 3:9007199254740993.0 4:12345678901234567.5e1\n2 3:1\n")
    assert read(tmp_path / "rows.svm").losses == {"3": "9007199254740993.0"}


TINY_CELLS = ("1E-400", "-2.4e-324", "0." + 400 * "0" + "1", "1e-0000999")


@pytest.mark.parametrize("cell", TINY_CELLS)
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_numbers_that_floats_hold_as_zero_are_kept_or_refused(tmp_path: Path, cell: str, ending: str) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "e.csv").write_text(f"zip,b,label\n007,1,x\n{cell},0e-400,y\n3,5e-324,x\n")
    rows = tmp_path / f"e.{ending}"
    if ending == "jsonl":
        cells = ((7, 1, "x"), (cell, "0e-400", "y"), (3, "5e-324", "x"))
        rows.write_text("".join(f'{{"zip": {a}, "b": {b}, "label": "{c}"}}\n' for a, b, c in cells))
    for target in ("parquet", "arrow"):
        found = rosenblatt("convert", rows, tmp_path / f"e.{target}")
        assert (found.code, found.err.count("as text, because a number would change it")) == (0, 1)
        back = read(tmp_path / f"e.{target}", Options(as_written=True)).features
        assert (back.columns[0].tolist()[1], back.columns[1].tolist()) == (cell, [1.0, 0.0, 5e-324])
    for target in ("npz", "svmlight"):
        found = rosenblatt("convert", rows, tmp_path / f"e.{target}")
        assert (found.code, (tmp_path / f"e.{target}").exists()) == (2, False)
        assert f"column 'zip': {cell} does not fit into a float, as {target} needs" in found.err
    piped = rosenblatt("convert", "-", "-", "--to", "csv", "--format", ending, input=rows.read_text())
    assert cell in piped.out


@pytest.mark.parametrize("kernel", [False, True])
def test_numbers_that_floats_hold_as_zero_are_reported(tmp_path: Path, kernel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    from rosenblatt.data.readers import delimited, svmlight

    for module in (delimited, svmlight):
        monkeypatch.setattr(module, "MAX_BYTES_WITHOUT_KERNEL", -1 if kernel else 1 << 60)
    (tmp_path / "e.csv").write_text("a,label\n007,1E-400\n1E-400,0\n3,0\n")
    (tmp_path / "e.svm").write_text("1 3:1e-400\n2 3:1\n")
    found = read(tmp_path / "e.csv")
    assert (found.losses, typed_labels(found.labels).tolist()) == ({"a": "1E-400"}, ["1E-400", "0", "0"])
    assert read(tmp_path / "e.svm").losses == {"3": "1e-400"}
    found = rosenblatt("train", tmp_path / "e.csv", "-o", tmp_path / "m")
    assert "Column 'a' has numbers that are too small for floats, such as 1E-400: they are read as 0." in found.out


@pytest.mark.skipif(np.longdouble("1e-400") == 0, reason="long doubles are floats")
def test_long_doubles_that_floats_hold_as_zero_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "e.npz", X=np.array([["1e-400"], ["0"]], np.longdouble), y=np.arange(2))
    assert read(tmp_path / "e.npz").losses == {"0": "1e-400"}


def test_zeros_after_long_integers_are_kept_in_json(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b,label\n9007199254740993,9007199254740993,x\n007,7,y\n12,8,x\n")
    found = rosenblatt("convert", tmp_path / "rows.csv", "-", "--to", "jsonl")
    assert [json.loads(line)["a"] for line in found.out.splitlines()] == ["9007199254740993", "007", "12"]
    assert [json.loads(line)["b"] for line in found.out.splitlines()] == [9007199254740993, 7, 8]
    assert "Column 'a' is written as text, because a number would change it (such as 007)." in found.err


def test_means_need_no_encoding_of_names(tmp_path: Path) -> None:
    rows = "".join(f"name{k},{k % 3 or ''},{'xy'[k % 2]}\n" for k in range(1200))
    (tmp_path / "rows.csv").write_text(f"name,a,label\n{rows}")
    found = rosenblatt("convert", tmp_path / "rows.csv", "-", "--to", "csv", "--missing", "mean")
    assert found.out.splitlines()[:3] == ["name,a,label", "name0,1.5,x", "name1,1,y"]
    (tmp_path / "rows.csv").write_text("name,a,label\nu,,x\nv,?,y\n")
    found = rosenblatt("convert", tmp_path / "rows.csv", "-", "--to", "csv", "--missing", "mean")
    assert "column a: all values are missing; use --ignore 'a'" in found.err


def test_tsv_files_hold_no_line_breaks(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text('a,b,label\n1,x,u\n2,"y\nz",v\n3,x,u\n')
    found = rosenblatt("convert", tmp_path / "rows.csv", tmp_path / "rows.tsv")
    assert found.code == 2
    assert found.err.endswith("rows.csv, line 3, column b: the cell has a line break, which TSV files cannot hold\n")
    assert not (tmp_path / "rows.tsv").exists()
    (tmp_path / "rows.csv").write_text('a,"b\nc",label\n1,x,u\n2,y,v\n')
    found = rosenblatt("convert", tmp_path / "rows.csv", tmp_path / "rows.tsv")
    assert "the name of the column has a line break" in found.err


def test_missing_cells_are_filled_and_the_others_kept(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a,b,label\n1.50,x,0\n,y,1\n2.50,z,0\n")
    found = rosenblatt("convert", tmp_path / "rows.csv", "-", "--to", "csv", "--missing", "mean")
    assert found.out == "a,b,label\n1.50,x,0\n2,y,1\n2.50,z,0\n"
    (tmp_path / "rows.csv").write_text("a,b,label\n1.50,x,0\nfour,y,1\n2.50,z,0\n")
    assert (
        "'four' is not a number, but the column is numeric"
        in rosenblatt("convert", tmp_path / "rows.csv", "-", "--to", "csv").err
    )


def test_train_names_identifiers_and_what_to_type(table: Path) -> None:
    found = rosenblatt("train", table, "-o", table.with_suffix(".model"), "--holdout", "0", "--json").json
    for name, text in (("id", "9007199254740993"), ("big", "1000000000000000001")):
        assert f"Column {name!r} looks like an identifier (such as {text}). To exclude it: --ignore {name}" in found["notes"]
    assert "Column 'zip' has codes such as 02163, but is read as numbers. As categories: --categorical zip" in found["notes"]
    assert not any("'x'" in note or "'plus'" in note for note in found["notes"])
    predicted = rosenblatt("predict", table.with_suffix(".model"), table).out.split()
    assert set(predicted) <= {"01", "1"}


@pytest.mark.skipif(not COMPILED, reason="kernels that run as Python take too long")
@pytest.mark.parametrize("late", ["00501", "9007199254740993"])
def test_the_kernel_sees_identifiers_in_late_rows(tmp_path: Path, late: str) -> None:
    rows = [f"{k},{k % 7}.25,{'ab'[k % 2]}" for k in range(60_000)]
    (tmp_path / "rows.csv").write_text("id,x,label\n" + "\n".join([*rows, f"{late},1,a", f"{late},2,b"]) + "\n")
    data = read(tmp_path / "rows.csv")
    assert data.losses == {"id": late}
    assert data.features.columns[0][-1] == float(late)


def test_other_readers_see_integers_beyond_floats(tmp_path: Path) -> None:
    big = 2**53 + 1
    np.savez(tmp_path / "a.npz", X=np.array([[1, big], [2, 3]]), y=np.array([2**60 + 1, 2**60 + 3]))
    assert read(tmp_path / "a.npz").losses == {"1": str(big)}
    assert typed_labels(read(tmp_path / "a.npz").labels).tolist() == [str(2**60 + 1), str(2**60 + 3)]
    (tmp_path / "b.jsonl").write_text(f'{{"a": {big}, "label": {10**24 + 1}}}\n{{"a": 1, "label": {10**24 + 3}}}\n')
    data = read(tmp_path / "b.jsonl", Options(label="label"))
    assert (data.losses, data.labels.tolist()) == ({"a": str(big)}, [str(10**24 + 1), str(10**24 + 3)])
    (tmp_path / "c.svm").write_text(f"1 4:{big}\n2 1:3\n")
    assert read(tmp_path / "c.svm").losses == {"4": str(big)}
    assert (
        "column '4': 9007199254740993 does not fit into a float"
        in rosenblatt("convert", tmp_path / "c.svm", tmp_path / "c.csv").err
    )
    (tmp_path / "d.svm").write_text(f"{big} 1:1\n{big + 2} 1:2\n")
    with pytest.raises(DataError, match="the label is '9007199254740993', which a float does not hold exactly"):
        read(tmp_path / "d.svm")


def test_columns_of_parquet_keep_their_digits(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns: dict[str, Any] = {
        "i": pa.array([2**53 + 1, None], pa.int64()),
        "u": pa.array([2**64 - 1, 7], pa.uint64()),
        "d": pa.array([decimal.Decimal("12345678901234567890.10"), decimal.Decimal("1.20")]),
        "label": ["01", "1"],
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    data = read(tmp_path / "a.parquet", Options(missing="mean", label="label"))
    assert data.losses == {"i": str(2**53 + 1), "u": str(2**64 - 1), "d": "12345678901234567890"}
    found = rosenblatt("convert", tmp_path / "a.parquet", "-", "--to", "csv", "--ignore", "i", "--label", "label")
    assert found.out == "u,d,label\n18446744073709551615,12345678901234567890.10,01\n7,1.20,1\n"


def test_labels_stay_apart() -> None:
    assert typed_labels(np.array(["1_000", "1000"], object)).tolist() == ["1_000", "1000"]
    assert typed_labels(np.array(["01", "1"], object)).tolist() == ["01", "1"]
    assert typed_labels(np.array(["\u0661", "1"], object)).tolist() == ["\u0661", "1"]


def test_a_label_with_a_leading_zero_is_not_the_class_without(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("x,label\n" + "1,1\n2,2\n" * 10)
    (tmp_path / "other.csv").write_text("x,label\n1,01\n2,2\n")
    assert rosenblatt("train", tmp_path / "rows.csv", "-o", tmp_path / "m").code == 0
    assert "label '01' is unknown to the model" in rosenblatt("evaluate", tmp_path / "m", tmp_path / "other.csv").err


ROUNDED = {
    "csv": "9007199254740992,0\n9007199254740993,1\n",
    "svm": "0 1:9007199254740992\n1 1:9007199254740993\n",
    "jsonl": '{"x": 9007199254740992, "label": 0}\n{"x": 9007199254740993, "label": 1}\n',
}


@pytest.mark.parametrize("ending", list(ROUNDED))
def test_nothing_is_proved_about_rounded_integers(tmp_path: Path, ending: str) -> None:
    """As floats, the two rows are the same point."""
    data, model = tmp_path / f"rows.{ending}", tmp_path / "model.safetensors"
    data.write_text(ROUNDED[ending])
    for algorithm in ("perceptron", "batch"):
        found = rosenblatt("train", data, model, "--holdout", "0", "--algorithm", algorithm)
        assert found.code == 0
        assert "same point" not in found.out
        assert "no plane" not in found.out
    for command in (
        ["train", data, model, "--certify"],
        ["train", data, model, "--algorithm", "max-margin"],
        ["certify", data],
    ):
        found = rosenblatt(*command)
        assert found.code == 2
        assert "has integers that floats may not hold, such as 9007199254740993, so that nothing can be proved" in found.err


def test_the_proof_of_train_is_about_the_rows_before_scaling(tmp_path: Path) -> None:
    """Row 2 is on the segment between rows 1 and 4, and beside it when both columns were divided by their largest values."""
    data = tmp_path / "rows.csv"
    data.write_text("a,b,label\n5,-600000,x\n8,-400000,y\n11,-200000,x\n14,0,x\n0,2200000,x\n")
    found = rosenblatt("train", data, tmp_path / "model.safetensors", "--holdout", "0")
    assert "Numeric columns were scaled" in " ".join(found.out.split())
    assert "not separable: row 2 lies on the segment between rows 1 and 4, which have another label." in found.out
