"""Dates and times in text: every common form reads back to the moment it was written from, and columns decide the order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading_files import outcome, outcome_of_chunks, read

from effort import examples
from rosenblatt.data.readers.dates import DateForm, find_dates
from rosenblatt.data.table import DataError

both = pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "definition"])
DAY = timedelta(days=1)
MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)).map(lambda moment: moment.replace(microsecond=0))
DATES = ["%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y", "%d %b %Y", "%d-%b-%Y", "%a, %d %b %Y"]
MONTH_FIRST = ["%m/%d/%Y", "%B %d, %Y", "%b %d %Y", "%Y-%m-%d"]
TIMES = ["", " %H:%M:%S", " %I:%M:%S %p"]


def days(moment: datetime) -> float:
    return (moment - datetime(1970, 1, 1)) / DAY


@settings(deadline=None, max_examples=examples(300))
@given(st.lists(MOMENTS, min_size=1, max_size=5), st.sampled_from(DATES), st.sampled_from(TIMES))
def test_days_of_any_form(moments: list[datetime], date: str, time: str) -> None:
    cells = [moment.strftime(date + time) for moment in moments]
    wanted = [days(datetime.strptime(cell, date + time)) for cell in cells]
    form, fits = find_dates(cells, "dmy")
    assert (form is not None, fits) == (True, len(cells))
    assert form is not None
    np.testing.assert_allclose([form.value(cell) for cell in cells], wanted, rtol=0, atol=1e-9)


@settings(deadline=None, max_examples=examples(200))
@given(MOMENTS, st.sampled_from(MONTH_FIRST), st.sampled_from(TIMES))
def test_days_with_the_month_first(moment: datetime, date: str, time: str) -> None:
    cell = moment.strftime(date + time)
    assert DateForm("datetime", "mdy").value(cell) == pytest.approx(days(datetime.strptime(cell, date + time)), abs=1e-9)


@settings(deadline=None, max_examples=examples(200))
@given(MOMENTS, st.integers(-14 * 60, 14 * 60), st.sampled_from(["T", " "]))
def test_time_zones_convert_to_utc(moment: datetime, minutes: int, separator: str) -> None:
    local = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    utc = local.astimezone(UTC).replace(tzinfo=None)
    assert DateForm("datetime").value(local.isoformat(separator)) == pytest.approx(days(utc), abs=1e-9)


@pytest.mark.parametrize(
    ("cells", "kind", "order", "assumed"),
    [
        (["31.12.2024", "1.2.2024"], "date", "dmy", False),
        (["12/31/2024", "1/2/2024"], "date", "mdy", False),
        (["31/12/24", "1/2/24"], "date", "dmy", False),
        (["1/2/2024", "3/4/2024"], "date", "mdy", True),
        (["1.2.2024", "3.4.2024"], "date", "dmy", True),
        (["2024-02-01", "2024-12-31T14:05Z"], "datetime", "", False),
        (["2024-02-01 00:00:00"], "date", "", False),
        (["2024-02", "2024-03"], "date", "", False),
        (["03/2024", "Apr 2024", "Mai-24", "2024-Q3", "Q4 2024"], "date", "", False),
        (["1. März 2024", "2. Okt. 2024 14:05"], "datetime", "", False),
        (["14:05", "2:05 pm", "2 PM", "24:00"], "time", "", False),
    ],
)  # fmt: skip
def test_a_column_decides_kind_and_order(cells: list[str], kind: str, order: str, assumed: bool) -> None:
    form, fits = find_dates(cells)
    assert form == DateForm(kind, order, assumed)  # type: ignore[arg-type]
    assert fits == len(cells)


# As written by these languages, whole and abbreviated.
MONTHS = {
    "en": "January February March April May June July August September October November December Jan Feb Sept Dec.",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember Jän Mrz Okt. Dez.",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre janv. févr. juil. déc.",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre ene feb ago dic",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre gen feb lug dic",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro jan fev out dez",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december jan mrt okt dec",
}
ABBREVIATED = {"en": (1, 2, 9, 12), "de": (1, 3, 10, 12), "fr": (1, 2, 7, 12), "es": (1, 2, 8, 12), "it": (1, 2, 7, 12)} | {
    "pt": (1, 2, 10, 12), "nl": (1, 3, 10, 12),
}  # fmt: skip


@pytest.mark.parametrize("language", MONTHS)
def test_months_by_their_names(language: str) -> None:
    names = MONTHS[language].split()
    for number, name in zip((*range(1, 13), *ABBREVIATED[language]), names, strict=True):
        wanted = (datetime(2024, number, 3) - datetime(1970, 1, 1)).days
        for cell in (f"3. {name} 2024", f"3 {name.upper()} 2024", f"3-{name}-24", f"3 de {name} de 2024"):
            assert DateForm("date").value(cell) == wanted, cell
        assert DateForm("date").value(f"{name} 2024") == wanted - 2


@pytest.mark.parametrize(
    "cell",
    ["2024-02-30", "2024-13-01", "25:00", "13:05 pm", "12:60", "20241231", "1.2.3", "4711-05", "3.5", "", "may", "3/2024"],
)
def test_no_dates(cell: str) -> None:
    assert find_dates([cell]) == (None, 0)


TABLE = b"""when,at,seen,size,label
31.12.2024,14:05,2024-12-31T06:00:00Z,1,a
1.2.2024,2:05 pm,2024-02-01 12:00,2,b
NA,,2024-02-01,3,a
"""


@both
def test_columns_of_dates_are_days(kernel: bool) -> None:
    data = read("csv", TABLE, kernel, missing="mean")
    when, at, seen, _ = data.features.columns
    np.testing.assert_array_equal(when, [20088.0, 19754.0, np.nan])
    np.testing.assert_array_equal(at, [845 / 1440, 845 / 1440, np.nan])
    np.testing.assert_array_equal(seen, [20088.25, 19754.5, 19754.0])
    assert data.dates == {"when": "date", "at": "time", "seen": "datetime"}
    assert data.note is not None
    assert data.note.endswith(
        "dates, read as days since 1970: 'when' (day before month), 'seen'; times, read as fractions of the day: 'at'"
    )
    assert outcome_of_chunks("csv", TABLE, kernel, 30, missing="mean") == outcome("csv", TABLE, kernel, missing="mean")


@both
def test_dates_may_be_left_out_or_categories(kernel: bool) -> None:
    left = read("csv", TABLE, kernel, missing="mean", dates="ignore")
    assert (left.features.names, left.dates) == (("size",), {})
    kept = read("csv", TABLE, kernel, missing="mean", categorical=("when",))
    assert kept.features.columns[0].tolist() == ["31.12.2024", "1.2.2024", None]


@both
def test_an_order_that_no_row_shows_is_reported_and_may_be_given(kernel: bool) -> None:
    content = b"when,label\n1/2/2024,a\n3/4/2024,b\n"
    assumed = read("csv", content, kernel)
    assert assumed.note is not None
    assert assumed.note.endswith(
        "'when' (month before day); no row shows the order of day and month; change it with --dates dmy"
    )
    given = read("csv", content, kernel, dates="dmy")
    assert (given.features.columns[0] - assumed.features.columns[0]).tolist() == [30.0, 30.0]


@both
def test_a_later_cell_that_is_no_date_is_named(kernel: bool) -> None:
    content = b"when,label\n" + b"31.12.2024,a\n1.2.2024,b\n" * 300 + b"12/31/2024,a\n"
    message = "file, line 602, column when: '12/31/2024' is not a date, but the column holds dates (day before month); leave"
    assert outcome("csv", content, kernel).startswith(message)


@both
def test_dates_of_the_other_order_than_in_training_name_the_option(kernel: bool) -> None:
    forms = read("csv", b"when,label\n31/12/2024,a\n1/2/2024,b\n", kernel).forms
    with pytest.raises(DataError, match="use --dates mdy if the column has the month before day") as found:
        read("csv", b"when\n1/2/2024\n12/31/2024\n", kernel, required=("when",), numeric=("when",), forms=forms)
    assert found.value.option == "--dates mdy"


@both
def test_a_single_row_reads_as_in_training(kernel: bool) -> None:
    forms = read("csv", b"when,label\n31/12/2024,a\n1/2/2024,b\n", kernel).forms
    one = read("csv", b"when\n1/2/2024\n", kernel, required=("when",), numeric=("when",), forms=forms)
    assert one.features.columns[0].tolist() == [19754.0]
