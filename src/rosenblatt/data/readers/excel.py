"""Excel workbooks (.xlsx) through python-calamine, from the extra `[excel]`: a sheet as the text of a CSV file.

A sheet is read as the CSV file that Excel would save, so that both give the same rows; the lines of the text are the rows of
the sheet. Formulas count by the values that Excel stored. Dates are written in ISO form, truth values as TRUE and FALSE.

Errors    Cells such as #N/A are missing, and counted in a note. Formulas that were never calculated are an error.
Titles    Rows of one cell above the table are left out, with a note.
Merged    Merged cells of the header are an error; others all have the value that they show.

A workbook is a zip archive of XML that may expand to gigabytes, and one far cell makes a sheet of 17 billion: both are checked
before calamine, which would end the process without memory, gets a copy of the parts that it needs.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from posixpath import join, normpath
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

from ...reporting.text import count, plural, quoted_list
from ..table import DataError, number_as_text
from . import Options
from .containers import MAX_LISTED, SHEET_OPTION, choice, faults
from .kinds import stored_form
from .limits import MAX_EXPANSION, MIN_EXPANDED_BYTES, MemoryLimit
from .notation import NumberForm

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

WORKBOOK, RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
SHARED = ("[Content_Types].xml", "_rels/.rels", WORKBOOK, RELATIONS, "xl/sharedStrings.xml", "xl/styles.xml")
RELATION_ID = re.compile(r"\{.*/relationships\}id")
READ_BYTES = 1 << 20
BYTES_PER_CELL = 64  # of a sheet that calamine reads, empty cells included
MAX_TITLE_ROWS = 20
# Parts of a sheet: cells that are not empty with their columns and rows, errors, and formulas without a value.
CELL = re.compile(rb'<(?:\w+:)?c\s(?:[^>]*?\s)?r="([A-Z]{1,3})([0-9]{1,7})"[^>]*(?<!/)>')
ERROR = re.compile(rb'<(?:\w+:)?c\s[^>]*\bt="e"')
UNCALCULATED = re.compile(
    rb'<(?:\w+:)?c\s(?![^>]*\bt="str")[^>]*\br="([A-Z]{1,3}[0-9]{1,7})"[^>]*>\s*'
    rb"<(?:\w+:)?f\b[^>]*(?:/>|>[^<]*</(?:\w+:)?f>)\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
LINE_ENDS = re.compile(r"[\r\n]+")


class Sheet(NamedTuple):
    """A sheet as the text of a CSV file."""

    name: str  # of the source, for messages
    text: bytes
    note: str | None


def sheet_as_csv(source: str, archive: zipfile.ZipFile, options: Options, limit: MemoryLimit) -> Sheet:
    """The chosen sheet of a workbook; by default the first that is not empty or hidden."""
    try:
        import python_calamine as calamine
    except ImportError:
        install = "pip install 'rosenblatt[excel]'"
        raise DataError(source, f"Excel workbooks need python-calamine: {install}; or save the sheet as CSV") from None
    parts, notes = _Parts(source, archive, limit), list[str]()
    with faults(source):
        sheet = _select(source, parts, options.sheet, notes)
        xml = parts.read(sheet.path)
    name = f"{source}, sheet {sheet.name}"
    _check_size(name, xml, limit)
    if (found := UNCALCULATED.search(xml)) is not None:
        sentence = f"the formula in cell {found[1].decode()} has no value"
        raise DataError(name, sentence, advice="open the workbook in Excel or LibreOffice and save it, which calculates it")
    if errors := len(ERROR.findall(xml)):
        notes.append(f"{plural(errors, 'error cell')}, such as #N/A, counted as missing")
    grid = _Grid(name, _load(calamine, source, parts, sheet), notes)
    return Sheet(name, grid.text(options, limit), "; ".join(notes) or None)


def _select(source: str, parts: _Parts, chosen: str | None, notes: list[str]) -> _Listed:
    """The sheet to read, with a note if there are others."""
    sheets = parts.sheets()
    if chosen is not None and sheets:
        sheet = sheets[choice(source, "sheet", [sheet.name for sheet in sheets], chosen)]
        if CELL.search(parts.read(sheet.path)) is None:
            raise DataError(source, f"the sheet {sheet.name!r} is empty")
        return sheet
    visible = [sheet for sheet in sheets if not sheet.hidden] or sheets
    for sheet in visible:
        if CELL.search(parts.read(sheet.path)) is not None:
            if len(visible) > 1:
                others = quoted_list([other.name for other in visible if other is not sheet], MAX_LISTED)
                notes.append(f"sheet: {sheet.name} (others: {others}; change with {SHEET_OPTION})")
            return sheet
    raise DataError(source, "the workbook has no cells")


class _Listed(NamedTuple):
    name: str
    path: str
    hidden: bool


class _Parts:
    """The parts of a workbook, within the limits of compressed files."""

    def __init__(self, source: str, archive: zipfile.ZipFile, limit: MemoryLimit) -> None:
        self.source, self._archive, self._limit = source, archive, limit
        self._names = set(archive.namelist())
        self._stored = sum(member.compress_size for member in archive.infolist())
        self._expanded = 0
        self.parts: dict[str, bytes] = {}

    def read(self, name: str) -> bytes:
        if name not in self.parts:
            pieces = []
            with self._archive.open(name) as part:
                while piece := part.read(READ_BYTES):
                    self._expanded += len(piece)
                    self._limit.check_expansion(self._expanded, self._stored)
                    pieces.append(piece)
            self.parts[name] = b"".join(pieces)
        return self.parts[name]

    def sheets(self) -> list[_Listed]:
        """The sheets of cells in their order; charts and macros are left out."""
        try:
            relations = {each.get("Id"): each.get("Target", "") for each in ElementTree.fromstring(self.read(RELATIONS))}
            found = []
            for each in ElementTree.fromstring(self.read(WORKBOOK)).iter():
                if each.tag.rpartition("}")[2] == "sheet":
                    key = next((value for name, value in each.items() if RELATION_ID.fullmatch(name)), None)
                    path = normpath(join("/xl", relations.get(key, ""))).lstrip("/")
                    if path.startswith("xl/worksheets/"):
                        found.append(_Listed(each.get("name", ""), path, each.get("state", "visible") != "visible"))
            return found
        except ElementTree.ParseError as fault:
            raise DataError(self.source, f"the workbook is damaged: {fault}") from None

    def copy(self, sheet: _Listed) -> io.BytesIO:
        """The workbook with one of its sheets alone, uncompressed."""
        copied = io.BytesIO()
        with zipfile.ZipFile(copied, "w") as archive:
            for name in (*SHARED, sheet.path):
                if name in self._names:
                    archive.writestr(name, self.read(name))
        copied.seek(0)
        return copied


def _check_size(name: str, xml: bytes, limit: MemoryLimit) -> None:
    """Raise DataError if the sheet, up to its last row and column, is far larger than its text."""
    cells = CELL.findall(xml)
    rows = max(int(row) for _, row in cells)
    columns = max(map(_column_number, {letters for letters, _ in cells}))
    size = BYTES_PER_CELL * rows * columns
    limit.check(size, "delete what lies far from the table")
    if size > max(MIN_EXPANDED_BYTES, MAX_EXPANSION * len(xml)):
        sentence = f"the sheet has {count(rows)} rows and {count(columns)} columns, almost all of them empty"
        raise DataError(name, sentence, advice="delete what lies far from the table")


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


def _load(calamine: Any, source: str, parts: _Parts, sheet: _Listed) -> CalamineSheet:
    """The sheet, read by calamine."""
    with faults(source):
        copied = parts.copy(sheet)
    try:
        loaded: CalamineSheet = calamine.CalamineWorkbook.from_filelike(copied).get_sheet_by_name(sheet.name)
        return loaded
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as fault:  # a panic in Rust is no Exception
        sentence = " ".join(str(fault).split())[:200]
        raise DataError(source, f"the workbook is damaged: {sentence}") from None


# --- The sheet as text


class _Grid:
    """The cells of a sheet from its first row and column that are not empty."""

    def __init__(self, name: str, sheet: CalamineSheet, notes: list[str]) -> None:
        self.name, self.notes = name, notes
        self.rows: list[list[Any]] = sheet.to_python(skip_empty_area=True)
        self.top, self.left = sheet.start or (0, 0)
        self.merged = sheet.merged_cell_ranges or []
        self.header = self._skip_titles()
        self._fill_merged(self.header)

    def _skip_titles(self) -> int:
        """Empty the rows of one cell above the table; returns the position of the header."""
        titles: list[int] = []
        for at, row in enumerate(self.rows[:MAX_TITLE_ROWS]):
            filled = sum(cell != "" for cell in row)
            if filled > 1 or len(row) == 1:
                for title in titles:
                    self.rows[title] = [""] * len(row)
                if titles:
                    self.notes.append(f"{plural(len(titles), 'row')} above the table left out")
                return at
            if filled:
                titles.append(at)
        return 0

    def _fill_merged(self, header: int) -> None:
        filled = 0
        for (top, left), (bottom, right) in self.merged:
            rows = range(max(0, top - self.top), min(len(self.rows), bottom - self.top + 1))
            columns = range(max(0, left - self.left), min(len(self.rows[0]), right - self.left + 1))
            if not rows or not columns or rows.stop <= header:
                continue
            if header in rows:
                cells = f"{_letters(left)}{top + 1}:{_letters(right)}{bottom + 1}"
                sentence = f"cells {cells} of the header are merged"
                raise DataError(self.name, sentence, top + 1, advice="give each column a name of its own in one row")
            filled += len(rows) * len(columns)
            if filled > len(self.rows) * len(self.rows[0]):
                raise DataError(self.name, "the workbook is damaged: its merged cells overlap")
            value = self.rows[rows.start][columns.start]
            for row in rows:
                self.rows[row][columns.start : columns.stop] = [value] * len(columns)
        if filled:
            self.notes.append(f"{plural(len(self.merged), 'group')} of merged cells filled with the value that it shows")

    def text(self, options: Options, limit: MemoryLimit) -> bytes:
        """The text of the CSV file; columns without cells are left out."""
        columns = [column for column in zip(*self.rows, strict=True) if any(cell != "" for cell in column)]
        written = [_texts(column, _number_form(column[self.header], options)) for column in columns]
        lines: list[str] = []
        size = 0
        for cells in zip(*written, strict=True):
            line = ",".join(cells)
            lines.append("" if not line.strip(",") else line)
            size += len(line)
            if not len(lines) % 1000:
                limit.check(4 * size)
        return ("\n" * self.top + "\n".join(lines) + "\n").encode("utf-8", "replace")


def _letters(column: int) -> str:
    """The name of a column, counted from 0."""
    text, column = "", column + 1
    while column:
        column, digit = divmod(column - 1, 26)
        text = chr(65 + digit) + text
    return text


def _number_form(name: Any, options: Options) -> NumberForm:
    """The form in which the numbers of a column will be read: that of a model, or by the options."""
    form = stored_form(name.strip() if isinstance(name, str) else "", (), options)
    return form if isinstance(form, NumberForm) else NumberForm()


def _texts(column: Sequence[Any], form: NumberForm) -> list[str]:
    """The cells of a column as text; if some are dates with a time, all dates have one."""
    timed = any(isinstance(cell, datetime) for cell in column)
    return [_text(cell, timed, form) for cell in column]


def _text(cell: Any, timed: bool, form: NumberForm) -> str:
    if isinstance(cell, str):
        cell = LINE_ENDS.sub(" ", cell.strip())
        return f'"{cell.replace(chr(34), 2 * chr(34))}"' if cell else ""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, int | float):
        number = number_as_text(float(cell)) if isfinite(cell) else repr(cell)
        number = f"{Decimal(number).scaleb(2):f}%" if form.percent and isfinite(cell) else number
        return f'"{number.replace(".", ",")}"' if form.decimal == "," else number
    if isinstance(cell, datetime):
        return cell.isoformat(" ")
    if isinstance(cell, date):
        return f"{cell.isoformat()} 00:00:00" if timed else cell.isoformat()
    if isinstance(cell, time):
        return cell.isoformat()
    return number_as_text(cell / timedelta(days=1)) if isinstance(cell, timedelta) else str(cell)
