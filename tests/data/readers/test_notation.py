"""Numbers as people write them read back to the numbers, whichever way a column writes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading_files import outcome, outcome_of_chunks, read

from effort import examples
from rosenblatt.data.readers import Options
from rosenblatt.data.readers.notation import NumberForm
from rosenblatt.data.table import DataError

both = pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "definition"])


def written(number: int, decimals: int, decimal: str, thousands: str, sign: str) -> str:
    """An integer of hundredths, say, with marks."""
    digits = str(abs(number)).zfill(decimals + 1)
    whole, fraction = digits[: len(digits) - decimals], digits[len(digits) - decimals :]
    groups: list[str] = []
    while whole:
        whole, group = whole[:-3], whole[-3:]
        groups.insert(0, group)
    text = thousands.join(groups) + (decimal + fraction if decimals else "")
    return text if number >= 0 else f"({text})" if sign == "()" else f"{sign}{text}"


@st.composite
def columns(draw: Any) -> tuple[list[str], list[float], dict[str, Any]]:
    """The cells of a column that shows its decimal mark, their numbers, and what the form must have."""
    decimal = draw(st.sampled_from(".,"))
    thousands = draw(
        st.sampled_from([mark for mark in ("", ",", ".", " ", "'", "\xa0", "\u202f", "\u2019") if mark != decimal])
    )
    decimals, percent = draw(st.integers(0, 5)), draw(st.booleans())
    sign = draw(st.sampled_from(["-", "()", "\u2212"]))
    currency = draw(st.sampled_from(["", "$", "€ ", " EUR"])) if not percent else ""
    numbers = draw(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=6))
    cells = [written(number, decimals, decimal, thousands, sign) for number in numbers]
    values = [float(f"{number}e-{decimals}") for number in numbers]
    shown = written(123456, 2, decimal, thousands, sign)  # 1,234.56 fits one decimal mark only
    cells, values = [*cells, shown], [*values, 1234.56]
    if percent:
        cells, values = [f"{cell} %" for cell in cells], [float(f"{number!r}") for number in values]
        values = [float(f"{number}e-{decimals + 2}") for number in numbers] + [12.3456]
    if currency:
        cells = [f"{cell}{currency}" if currency.startswith(" ") else f"{currency}{cell}" for cell in cells]
    return cells, values, {"percent": percent, "currency": currency.strip()}


@pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "definition"])
@settings(deadline=None, max_examples=examples(200))
@given(columns(), st.sampled_from(["|", "\t"]))
def test_any_column_of_formatted_numbers_reads_back(
    kernel: bool, column: tuple[list[str], list[float], dict[str, Any]], sep: str
) -> None:
    cells, values, wanted = column
    content = "\n".join(["x|label".replace("|", sep), *(f"{cell}{sep}{'ab'[k % 2]}" for k, cell in enumerate(cells))]).encode()
    data = read("csv", content, kernel, label="label", header=True)
    assert data.features.columns[0].tolist() == values
    for name, value in wanted.items():
        assert getattr(data.forms.get("x", NumberForm()), name) == value


def column_of(*cells: str, sep: str = ";", **options: Any) -> list[float]:
    """The cells of a column beside a label."""
    content = "\n".join([f"x{sep}label", *(f"{cell}{sep}{'ab'[k % 2]}" for k, cell in enumerate(cells))])
    return read("csv", content.encode(), False, missing="mean", **options).features.columns[0].tolist()


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["3,5", "1,25"], [3.5, 1.25]),
        (["1,200.5", "80"], [1200.5, 80.0]),
        (["1.200,5", "80"], [1200.5, 80.0]),
        (["1 200", "80"], [1200.0, 80.0]),
        (["1'200", "80"], [1200.0, 80.0]),
        (["12,34,567", "1,00,000.5"], [1234567.0, 100000.5]),
        (["45%", "7 %"], [0.45, 0.07]),
        (["$350", "-$3", "$-4", "80"], [350.0, -3.0, -4.0, 80.0]),
        (["350 €", "1.200,50 €"], [350.0, 1200.5]),
        (["£3.50", "(£12.00)", "£(1)"], [3.5, -12.0, -1.0]),
        (["(12)", "80"], [-12.0, 80.0]),
        (["1,5e3", "2,5"], [1500.0, 2.5]),
    ],
)
def test_forms(cells: list[str], values: list[float]) -> None:
    assert column_of(*cells) == values


@pytest.mark.parametrize(
    "cells",
    [["12-30", "1-5"], ["1,2,3", "4,5,6"], ["030 123 456", "055 1"], ["a1", "b2"], ["1.2.3", "1.2.4"], ["5 kg", "6 kg"]],
)
def test_text_that_is_no_number_stays_text(cells: list[str]) -> None:
    assert column_of(*cells) == cells


def test_a_column_that_fits_two_forms_is_decided_by_the_file_and_reported() -> None:
    assert column_of("1,234", "5,678", sep="|") == [1234.0, 5678.0]
    assert column_of("1,234", "5,678", sep=";") == [1.234, 5.678]
    assert column_of("1,234", "5,678", sep="|", decimal=",") == [1.234, 5.678]
    assert column_of("1,234", "5,678", sep=";", thousands=",") == [1234.0, 5678.0]
    note = read("csv", b"x|label\n1,234|a\n5,678|b\n", False).note
    assert note is not None
    assert note.endswith("numbers with groups of thousands: 'x'; 1,234 in 'x' was read as 1234; change it with --decimal ,")
    beside = read("csv", b"x|z|label\n1,234|0,5|a\n5,678|2,25|b\n", False)
    assert [column.tolist() for column in beside.features.columns] == [[1.234, 5.678], [0.5, 2.25]]
    points = read("csv", b"x|z|label\n1.234|0,5|a\n5.678|2,25|b\n", False)
    assert [column.tolist() for column in points.features.columns] == [[1234.0, 5678.0], [0.5, 2.25]]


PLAIN = b"a;b;label\n" + b"1.5;2;x\n2.5;3;y\n" * 2000  # more than decides the columns


@both
@pytest.mark.parametrize(
    ("content", "sentence", "advice"),
    [
        (
            PLAIN + b"1,200;2;x\n",
            "line 4,002, column a: '1,200' is not a number, but the column is numeric",
            "--thousands , if it is one",
        ),
        (
            PLAIN + b"3,5;2;x\n",
            "line 4,002, column a: '3,5' is not a number, but the column is numeric",
            "--decimal , if it is one",
        ),
        (
            PLAIN + b"$3;2;x\n",
            "line 4,002, column a: '$3' is not a number, but the column is numeric",
            "or use --categorical 'a'",
        ),
        (
            b"a;label\n" + b"3,5;x\n4,5;y\n" * 300 + b"1.5;x\n",
            "line 602, column a: '1.5' is not a number like the others of the column (decimal comma)",
            "--decimal . if it is one",
        ),
        (
            b"a;label\n" + b"45%;x\n4,5 %;y\n" * 300 + b"0.45;x\n",
            "line 602, column a: '0.45' is not a number like the others of the column (decimal comma, %, 45 % = 0.45)",
            "or use --categorical 'a'",
        ),
        (
            "a;label\n$3;x\n$4;y\n€5;x\n".encode(),
            "line 4, column a: '€5' is not a number like the others of the column ($)",
            "or use --categorical 'a'",
        ),
    ],
)
def test_a_cell_that_disagrees_is_named(content: bytes, sentence: str, advice: str, kernel: bool) -> None:
    found = outcome("csv", content, kernel)
    assert found.startswith(f"file, {sentence}; ")
    assert advice in found
    assert outcome_of_chunks("csv", content, kernel, 1000).startswith(f"file, {sentence}")


FAMILIES = [
    ["3,5", "1.200,5", "-4,25", "(7)", "80"],
    ["$3", "$1,200.5", '"$1,200"', "4.5", "80"],
    ["45%", "4.5 %", "0%", '" 7% "'],
    ["1/2/2024", "12/31/2024", '"3/4/2024"', "2024-02-03", "3 Mar 2024"],
    ["14:05", "2:05 pm", "00:00:30"],
]
ODD = ["", "?", "-", ".", "NULL", "x", "nan", "1e400", "3,5", "1.5", "45%", "€3", "31/12/2024", "\xa0", "2024-02-30"]


@st.composite
def formatted_tables(draw: Any) -> bytes:
    families = draw(st.lists(st.sampled_from(FAMILIES), min_size=1, max_size=3))
    rows = [[draw(st.sampled_from(cells)) for cells in families] for _ in range(draw(st.integers(1, 10)))]
    for _ in range(draw(st.integers(0, 2))):
        row = rows[draw(st.integers(0, len(rows) - 1))]
        row[draw(st.integers(0, len(row) - 1))] = draw(st.sampled_from(ODD))
    return "".join("|".join([*row, "ab"[k % 2]]) + "\n" for k, row in enumerate(rows)).encode()


@settings(deadline=None, max_examples=examples(300))
@given(formatted_tables(), st.sampled_from(["refuse", "mean"]), st.integers(1, 60), st.booleans())
def test_kernel_definition_and_chunks_agree(content: bytes, missing: str, size: int, as_written: bool) -> None:
    options: dict[str, Any] = {"missing": missing, "label": "-1", "header": False, "as_written": as_written}
    whole = outcome("csv", content, True, **options)
    assert outcome("csv", content, False, **options) == whole
    assert outcome_of_chunks("csv", content, True, size, **options) == whole


@both
def test_a_single_row_reads_as_in_training(kernel: bool) -> None:
    content = b"a;b;c;label\n1,200;45%;3,5;x\n3,400;5%;2,5;y\n"
    trained = read("csv", content, kernel, thousands=",")
    model: dict[str, Any] = {"required": ("a", "b", "c"), "numeric": ("a", "b", "c"), "forms": trained.forms}
    row = read("csv", b"a;b;c\n1,200;45%;3,5\n", kernel, **model)
    assert [column.tolist() for column in row.features.columns] == [[1200.0], [0.45], [3.5]]
    assert trained.features.columns[0].tolist() == [1200.0, 3400.0]
    plain: dict[str, Any] = {"required": ("a",), "numeric": ("a",)}
    assert outcome("csv", b'a\n"1,200"\n', kernel, **plain).endswith(
        "'1,200' is not a number, but the column is numeric; use --thousands , if it is one"
    )
    assert read("csv", b'a\n"1,200"\n', kernel, **plain, thousands=",").features.columns[0].tolist() == [1200.0]


@both
def test_numbers_of_all_forms_in_one_file(kernel: bool) -> None:
    content = b'price,rate,size,label\n"$1,200.50",45%,"1,234",a\n$80,5 %,NA,b\n'
    data = read("csv", content, kernel, missing="mean")
    np.testing.assert_array_equal(np.array(data.features.columns), [[1200.5, 80.0], [0.45, 0.05], [1234.0, np.nan]])
    assert data.note is not None
    assert data.note.endswith(
        "numbers with $: 'price'; numbers with %, 45 % = 0.45: 'rate'; numbers with groups of thousands: 'size'"
    )


@both
def test_written_numbers_are_plain(kernel: bool) -> None:
    content = b"x;y;when;label\n1.200,50;45%;31.12.2024;a\n80;120%;1.1.2024;b\n"
    data = read("csv", content, kernel, as_written=True)
    assert [column.tolist() for column in data.features.columns] == [
        ["1200.50", "80"],
        ["0.45", "1.20"],
        ["31.12.2024", "1.1.2024"],
    ]
    assert data.numerals == ("x", "y")


@both
def test_digits_that_floats_do_not_hold_are_known(kernel: bool) -> None:
    content = b"x;label\n9.007.199.254.740.993;a\n3,5;b\n"
    assert read("csv", content, kernel).losses == {"x": "9007199254740993"}


@both
def test_separators(kernel: bool) -> None:
    for sep in ";|\t":
        content = f"1,5{sep}2,5\n3,5{sep}4,5\n5,5{sep}1,5\n".encode()
        assert read("csv", content, kernel, label="-1").features.columns[0].tolist() == [1.5, 3.5, 5.5]
    assert read("csv", b"1:2:a\n3:4:b\n", kernel, sep=":").features.columns[1].tolist() == [2.0, 4.0]
    with pytest.raises(ValueError, match="sep must be a comma"):
        Options(sep="ab")
    with pytest.raises(ValueError, match="decimal and thousands must differ"):
        Options(decimal=",", thousands=",")


@both
def test_true_and_false_are_one_and_zero(kernel: bool) -> None:
    data = read("csv", b"paid,other,label\nTRUE,true,a\nfalse,yes,b\nNA,true,a\nTrue,false,b\n", kernel, missing="mean")
    assert data.features.columns[0].tolist()[:2] == [1.0, 0.0]
    assert np.isnan(data.features.columns[0]).tolist() == [False, False, True, False]
    assert data.features.columns[1].tolist() == ["true", "yes", "true", "false"]
    assert "numbers with true = 1, false = 0: 'paid'" in (data.note or "")
    assert read("csv", b"paid,label\ntrue,a\nfalse,b\n", kernel, as_written=True).features.columns[0].tolist() == ["1", "0"]
    assert read("csv", b"a,paid\n1,true\n2,false\n3,true\n4,false\n", kernel).labels.tolist() == ["true", "false"] * 2
    model = {"required": ("paid",), "numeric": ("paid",), "forms": {"paid": NumberForm(truth=True)}}
    assert read("csv", b"paid\n1\nFALSE\n", kernel, **model).features.columns[0].tolist() == [1.0, 0.0]
    with pytest.raises(DataError, match="line 3, column paid: 'perhaps' is not a number like the others"):
        read("csv", b"paid\n1\nperhaps\n", kernel, **model)


@settings(max_examples=examples(200), deadline=None)
@given(
    number=st.floats(allow_nan=False, allow_infinity=False),
    marks=st.sampled_from([(".", ""), (".", ","), (".", " "), (".", "'"), (",", ""), (",", "."), (",", " ")]),
    percent=st.booleans(),
    currency=st.sampled_from(["", "$", "€", "EUR"]),
)
def test_numbers_as_text_are_read_as_the_same_numbers(number: float, marks: Any, percent: bool, currency: str) -> None:
    form = NumberForm(*marks, percent, currency)
    assert form.value(form.text(number)) == number
