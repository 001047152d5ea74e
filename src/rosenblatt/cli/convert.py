"""`rosenblatt convert`: a file in another format.

Files are converted chunk by chunk; only npz files are held in memory.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Container, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import click

from .console import Failure
from .options import about_data, as_json, data_argument, options_of

if TYPE_CHECKING:
    from ..array_types import Array
    from ..data.readers import Options
    from ..data.table import Data, Table
    from ..preprocessing.recipe import Recipe

ChunkReader = Callable[[bool], "Iterator[Data]"]  # the chunks of a file, with numbers as text (True) or as floats

OUTPUT_FORMATS = ("svmlight", "csv", "tsv", "jsonl", "parquet", "arrow", "npz")
NUMERIC_FORMATS = ("svmlight", "npz")
# Columns that formats with one cell per column may have.
MAX_TABLE_COLUMNS = 20_000
CHUNK_BYTES = 1 << 23


class TableChunk(NamedTuple):
    """A chunk of a table: columns and labels with their names; `numerals` are columns of numbers as text."""

    names: tuple[str, ...]
    columns: list[Array]
    label: str
    labels: Array | None
    numerals: frozenset[str] = frozenset()


@click.command("convert")
@data_argument
@click.argument("out", metavar="OUT")
@click.option("--to", metavar="FORMAT", help=f"{', '.join(OUTPUT_FORMATS)}.  [default: by the extension of OUT]")
@about_data
@as_json
def command(data: str, out: str, to: str | None, as_json: bool, **given: Any) -> None:
    """Convert a file to another format, which the extension of OUT selects, as well as the compression.

    Numbers keep their digits: csv, tsv and jsonl have them as in DATA; in parquet and arrow, a column of integers with leading
    zeros, or with more digits than a float holds, is text. svmlight and npz hold floats: such digits are refused, categorical
    columns are one-hot encoded, text columns become the tf-idf of their words. idx files can be read but not written.

    \b
    Examples:
      rosenblatt convert train-images-idx3-ubyte.gz mnist.svm
      rosenblatt convert adult.data adult.parquet --missing mean
      rosenblatt convert example:digits - --to csv | head
    """
    from ..reporting.text import plural
    from .console import check_writable, note, print_json

    if out != "-":
        check_writable(out, data)
    elif as_json:
        raise click.UsageError("--json and OUT cannot both be standard output")
    rows, columns, target = convert(data, out, to, options_of(given))
    if as_json:
        print_json({"rows": rows, "columns": columns, "format": target, "written": out})
    else:
        size = f"{plural(rows, 'row')}, {plural(columns, 'column')}"
        note(f"{size} -> {'standard output' if out == '-' else out} ({target})")


def convert(path: str, out: str, to: str | None, options: Options) -> tuple[int, int, str]:
    """Convert a file; returns the number of rows and columns and the format."""
    from ..atomic_file import write_atomically
    from ..data.readers.read import EXTENSIONS, chunks, read
    from ..data.readers.sources import extension_of
    from ..data.table import Table, parse_numerals
    from .console import data_out

    target = to or (EXTENSIONS | {"csv": "csv"}).get(extension_of(out), "")
    if target not in OUTPUT_FORMATS:
        raise Failure(f"{out}: cannot tell the output format; use --to: {', '.join(OUTPUT_FORMATS)}")
    piped = read(path, replace(options, as_written=True)) if path == "-" else None

    def read_chunks(as_written: bool) -> Iterator[Data]:
        if piped is None:
            return chunks(path, replace(options, as_written=as_written), CHUNK_BYTES)
        return iter([piped if as_written or not isinstance(piped.features, Table) else parse_numerals(piped)])

    conversion = _Conversion(path, options, read_chunks, target)
    if out == "-":
        printed = data_out()
        conversion.write(printed)
        printed.flush()
    else:
        write_atomically(out, lambda file: _write_compressed(file, out, conversion.write))
    return conversion.rows, conversion.columns, target


class _Conversion:
    """Writes the chunks of a file in another format and counts rows and columns."""

    def __init__(self, path: str, options: Options, read_chunks: ChunkReader, target: str) -> None:
        self.path, self.options, self.target, self._read_as = path, options, target, read_chunks
        self.rows = self.columns = 0
        self._kept: set[str] = set()  # columns of numbers that are written as text
        self._dates: set[str] = set()  # columns of dates that are

    def write(self, file: BinaryIO) -> None:
        from ..data.readers.kinds import describe_forms
        from ..data.table import Table
        from ..reporting.text import plural
        from .console import note

        numeric = self.target in NUMERIC_FORMATS
        first = next(self.read_chunks())
        forms = {name: form for name, form in first.forms.items() if numeric or form.kind == "number"}
        self._dates = set(first.forms) - set(forms)  # tables keep them as text
        for sentence in describe_forms(forms):
            note(sentence)
        self._find_losses(isinstance(first.features, Table))
        recipe = None
        if numeric or not isinstance(first.features, Table):
            recipe = self._recipe()
            self.columns = recipe.width
            for sentence in recipe.notes:
                note(sentence)
        else:
            self.columns = first.features.shape[1]
        if not numeric and self.columns > MAX_TABLE_COLUMNS:
            raise Failure(f"{plural(self.columns, 'column')} are too many for {self.target}: use svmlight or npz")
        if self.target == "svmlight":
            self._write_svmlight(file, recipe)
        elif self.target == "npz":
            self._write_npz(file, recipe)
        elif self.target in ("csv", "tsv"):
            self._write_delimited(file, recipe)
        elif self.target == "jsonl":
            self._write_jsonl(file, recipe)
        else:
            self._write_arrow(file, recipe)

    def read_chunks(self) -> Iterator[Data]:
        return self._read_as(False)

    def _find_losses(self, table: bool) -> None:
        """Find the columns whose numbers floats do not hold; formats of text keep them, those of floats cannot."""
        from ..data.table import Loss, loss_of, lost_integers
        from .console import note

        numeric = not table or self.target in NUMERIC_FORMATS
        if self.target in ("csv", "tsv") and not numeric:
            return
        losses: dict[str, str] = {}
        integers: dict[str, str] = {}
        for data in self.read_chunks():
            losses = data.losses | losses
            integers = lost_integers(data) | integers
        if losses and not numeric and self.target == "jsonl":  # JSON has integers of any length, but no leading zeros
            losses = self._leading_zeros(losses)
        for name, text in losses.items():
            if numeric and name in integers:
                certain = loss_of(integers[name]) is Loss.DIGITS
                number = integers[name] if certain else f"an integer near {integers[name]}"
                where = f"{self.path}: column {name!r}: {number} {'does' if certain else 'may'} not fit into a float"
                if not table:
                    raise Failure(f"{where}; only tables, such as CSV files, can be converted with all its digits")
                raise Failure(f"{where}, as {self.target} needs; use --categorical {name!r} or --ignore {name!r}")
            if not numeric:
                self._kept.add(name)
                note(f"Column {name!r} is written as text, because a number would change it (such as {text}).")

    def _leading_zeros(self, names: Container[str]) -> dict[str, str]:
        """Those of some columns that have a number with leading zeros, and the first of them."""
        from ..data.table import Loss, Table, loss_of

        found: dict[str, str] = {}
        for data in self._read_as(True):
            assert isinstance(data.features, Table)
            for name, cells in zip(data.features.names, data.features.columns, strict=True):
                if name in names and name in data.numerals and name not in found:
                    zeros = next((cell for cell in cells if cell is not None and loss_of(cell) is Loss.ZEROS), None)
                    found |= {} if zeros is None else {name: zeros}
        return found

    def _recipe(self) -> Recipe:
        """The recipe that encodes the columns as numbers, without scaling; dates stay numbers of days."""
        from ..training.preparation import learn_recipe
        from ..training.request import Request

        chunks = (replace(data, dates={}) for data in self.read_chunks())
        return learn_recipe(Request(data=self.path, options=self.options, scale="none"), chunks)

    def _counted_chunks(self, as_written: bool = False) -> Iterator[Data]:
        for data in self._read_as(as_written):
            self.rows += data.n_rows
            yield data

    def _classes(self) -> Array:
        """All labels of the file, sorted."""
        import numpy as np

        from ..data.table import as_text, typed_labels
        from ..training.preparation import require_labels

        seen = {str(label) for data in self.read_chunks() for label in np.unique(as_text(require_labels(data))).tolist()}
        return np.unique(typed_labels(np.array(sorted(seen), object)))

    def _write_svmlight(self, file: BinaryIO, recipe: Recipe | None) -> None:
        from ..data.table import codes_of
        from ..data.writers import write_svmlight
        from .console import note

        assert recipe is not None
        classes = self._classes()
        named = classes.dtype.kind not in "iuf"
        if named:
            listed = ", ".join(f"{code} = {name}" for code, name in enumerate(classes.tolist()))
            note(f"labels are written as numbers: {listed}")
        for data in self._counted_chunks():
            codes = codes_of(data, classes)
            write_svmlight(file, recipe.rows(data), codes if named else classes[codes], zero_based=self.options.zero_based)

    def _write_npz(self, file: BinaryIO, recipe: Recipe | None) -> None:
        import numpy as np

        from ..data.table import codes_of
        from ..data.writers import write_npz

        assert recipe is not None
        classes, parts, codes = self._classes(), [], []
        for data in self._counted_chunks():
            parts.append(recipe.rows(data))
            codes.append(codes_of(data, classes))
        write_npz(file, _joined(parts, recipe.width), classes[np.concatenate(codes)])

    def _write_delimited(self, file: BinaryIO, recipe: Recipe | None) -> None:
        from ..data.writers import write_csv

        delimiter = "\t" if self.target == "tsv" else ","
        for number, (names, columns, label, labels, _) in enumerate(self._tables(recipe)):
            write_csv(file, names, columns, _as_integers(labels), label, delimiter=delimiter, header=number == 0)

    def _write_jsonl(self, file: BinaryIO, recipe: Recipe | None) -> None:
        from ..data.writers import write_jsonl

        for names, columns, label, labels, numerals in self._tables(recipe):
            write_jsonl(file, names, columns, _as_integers(labels), label, numerals=numerals)

    def _write_arrow(self, file: BinaryIO, recipe: Recipe | None) -> None:
        from ..data.writers import arrow_table, arrow_writer

        with contextlib.ExitStack() as stack:
            writer: Any = None
            for names, columns, label, labels, _ in self._tables(recipe):
                table = arrow_table(names, columns, labels, label)  # the same types in all chunks
                if writer is None:
                    writer = stack.enter_context(arrow_writer(file, table.schema, self.target))
                writer.write_table(table)

    def _tables(self, recipe: Recipe | None) -> Iterator[TableChunk]:
        """The chunks as columns: those of the file, or the features that the recipe makes of them."""
        from ..data.csr import CSRMatrix
        from ..data.table import Table, parse_numerals

        # A header of numbers would be read as a row.
        names = () if recipe is None else tuple(f"x{name}" if name.isdigit() else name for name in recipe.feature_names)
        fills, kinds = self._fills() if recipe is None and self.options.missing != "refuse" else ({}, {})
        floats = self.target in ("parquet", "arrow")
        kept = self._kept | self._dates
        for data in self._counted_chunks(as_written=recipe is None and not (floats and not kept)):
            label = data.label_name or "label"
            if recipe is None:
                data = parse_numerals(data, kept=kept) if floats else data
                assert isinstance(data.features, Table)
                if self.target == "tsv":
                    _refuse_line_breaks(data, data.features)
                pairs = zip(data.features.names, data.features.columns, strict=True)
                columns, numerals = [_filled(*pair, fills, kinds) for pair in pairs], frozenset(data.numerals) - self._kept
                yield TableChunk(data.features.names, columns, label, data.labels, numerals)
                continue
            rows = recipe.rows(data)
            yield TableChunk(names, list((rows.toarray() if isinstance(rows, CSRMatrix) else rows).T), label, data.labels)

    def _fills(self) -> tuple[dict[str, float], dict[str, str]]:
        """What replaces missing cells of the numeric columns, and which of them are dates."""
        from ..data.table import DataError, Table
        from ..preprocessing.choices import Choices
        from ..preprocessing.number_statistics import NumberStatistics

        choices = Choices(scale="none", missing=self.options.missing, in_memory=False)
        names: list[str] = []
        kinds: dict[str, str] = {}
        statistics = NumberStatistics(0, {}, choices)
        for data in self.read_chunks():
            assert isinstance(data.features, Table)
            kinds = dict(data.dates)
            columns = {
                name: cells
                for name, cells in zip(data.features.names, data.features.columns, strict=True)
                if cells.dtype.kind == "f"
            }
            if not names:
                names, statistics = list(columns), NumberStatistics(len(columns), {}, choices)
            statistics.add(list(columns.values()), data.n_rows)
        statistics.moments.finish()
        for name, known in zip(names, statistics.moments.counts.tolist(), strict=True):
            if not known:
                raise DataError(self.path, "all values are missing", column=name, option=f"--ignore {name!r}")
        return dict(zip(names, statistics.fill.tolist(), strict=True)), kinds


def _refuse_line_breaks(data: Data, table: Table) -> None:
    """Raise DataError for a cell or a name with a line break: the lines of a TSV file are its rows, also within quotes."""
    from ..data.table import DataError

    columns = zip((*table.names, data.label_name), (*table.columns, data.labels), strict=True)
    for name, cells in columns:
        if "\n" in (name or ""):
            sentence = "the name of the column has a line break, which TSV files cannot hold"
            raise DataError(data.source, sentence, column=repr(name))
        for row, cell in enumerate(cells.tolist() if cells is not None and cells.dtype.kind == "O" else ()):
            if cell is not None and "\n" in cell:
                raise data.error_at(row, "the cell has a line break, which TSV files cannot hold", name)


def _as_integers(labels: Array | None) -> Array | None:
    """Convert labels that are whole numbers to integers."""
    import numpy as np

    if labels is None or labels.dtype.kind not in "f":
        return labels
    whole = np.isfinite(labels).all() and (labels == np.round(labels)).all() and (abs(labels) < 2**53).all()
    return labels.astype(np.int64) if whole else labels


def _filled(name: str, column: Array, fills: dict[str, float], kinds: dict[str, str]) -> Array:
    """Replace missing numbers and dates; missing categories stay missing."""
    import numpy as np

    from ..preprocessing.date_parts import date_text

    if name not in fills:
        return column
    if column.dtype.kind == "f":
        return np.where(np.isnan(column), fills[name], column)
    number, filled = fills[name], np.empty(len(column), object)
    text = date_text(number, kinds[name]) if name in kinds else repr(number).removesuffix(".0")
    filled[:] = [text if cell is None else cell for cell in column]
    return filled


def _joined(parts: list[Any], width: int) -> Any:
    import numpy as np

    from ..data.csr import CSRMatrix, vstack

    return vstack(parts, width) if isinstance(parts[0], CSRMatrix) else np.concatenate(parts)


def _write_compressed(file: BinaryIO, name: str, write: Callable[[BinaryIO], None]) -> None:
    """Compress the output by the extension of its name."""
    compressed = _compressor(file, name.rsplit(".", 1)[-1].lower())
    if compressed is None:
        write(file)
        return
    with compressed:
        write(compressed)


def _compressor(file: BinaryIO, extension: str) -> Any:
    if extension == "gz":
        import gzip

        return gzip.GzipFile("", "wb", fileobj=file, mtime=0)
    if extension == "bz2":
        import bz2

        return bz2.BZ2File(file, "wb")
    if extension == "xz":
        import lzma

        return lzma.LZMAFile(file, "wb")
    if extension == "zst":
        try:
            import zstandard
        except ImportError:
            raise ImportError("zst files need zstandard: pip install 'rosenblatt[data]'") from None
        return zstandard.ZstdCompressor().stream_writer(file, closefd=False)
    return None
