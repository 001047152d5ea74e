"""`rosenblatt convert`: a file in another format."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any

import click

from ..data.table import Data
from .console import Failure
from .options import about_data, as_json, data_argument, options_of

if TYPE_CHECKING:
    from ..data.read_options import Options
    from ..preprocessing.recipe import Recipe


@click.command("convert")
@data_argument
@click.argument("out", metavar="OUT")
@click.option(
    "--to", metavar="FORMAT", help="svmlight, csv, tsv, jsonl, parquet, arrow or npz, where OUT's name does not tell."
)
@about_data
@as_json
def command(data: str, out: str, to: str | None, as_json: bool, **given: Any) -> None:
    """Turn a file into another format; OUT's ending says which, and whether it is compressed.

    svmlight and npz hold numbers: columns of names become one-hot columns, text becomes a bag of words. idx is read, not
    written.

    \b
    Examples:
      rosenblatt convert train-images-idx3-ubyte.gz mnist.svm
      rosenblatt convert adult.data adult.parquet --missing mean
      rosenblatt convert example:digits - --to csv | head
    """
    from .console import check_writable, note, print_json

    if out != "-":
        check_writable(out, data)
    elif as_json:
        raise click.UsageError("--json and OUT would both go to standard output")
    rows, columns, target = convert(data, out, to, options_of(given))
    if as_json:
        print_json({"rows": rows, "columns": columns, "format": target, "written": out})
    else:
        note(f"{rows:,} rows, {columns:,} columns -> {'standard output' if out == '-' else out} ({target})")


# --- A file as another: chunk by chunk, so that only npz files are held in memory.

TARGETS = ("svmlight", "csv", "tsv", "jsonl", "parquet", "arrow", "npz")
# Columns of a table that has a cell for each of them, at most.
WIDEST = 20_000
CHUNK = 1 << 23
Pieces = Callable[[], Iterator[Data]]


def convert(path: str, out: str, to: str | None, options: Options) -> tuple[int, int, str]:
    """(rows, columns, format) of what was written."""

    from ..data.readers.read import EXTENSIONS, chunks, read
    from ..data.readers.sources import extension_of
    from ..models.atomic_file import write_atomically

    target = to or (EXTENSIONS | {"csv": "csv"}).get(extension_of(out), "")
    if target not in TARGETS:
        raise Failure(f"{out}: no format that is written is called like this; --to says which: {', '.join(TARGETS)}")
    once = read(path, options) if path == "-" else None

    def pieces() -> Iterator[Data]:
        return iter([once]) if once is not None else chunks(path, options, CHUNK)

    conversion = _Conversion(path, options, pieces, target)
    if out == "-":
        conversion.write(sys.stdout.buffer)
        sys.stdout.flush()
    else:
        write_atomically(out, lambda file: _compressed(file, out, conversion.write))
    return conversion.rows, conversion.columns, target


class _Conversion:
    def __init__(self, path: str, options: Options, pieces: Pieces, target: str) -> None:
        self.path, self.options, self.pieces, self.target = path, options, pieces, target
        self.rows = self.columns = 0

    def write(self, file: Any) -> None:
        from ..data.table import Table
        from ..training.preparation import learn_recipe
        from ..training.request import Request

        numbers = self.target in ("svmlight", "npz")
        first = next(self.pieces())
        if numbers or not isinstance(first.features, Table):
            recipe = learn_recipe(Request(data=self.path, options=self.options, scale="none"), self.pieces())
            self.columns = recipe.width
        else:
            recipe, self.columns = None, first.features.shape[1]
        if not numbers and self.columns > WIDEST:
            raise Failure(
                f"{self.columns:,} columns are too many for {self.target}, which has a cell for each: use svmlight or npz"
            )
        if self.target == "svmlight":
            self._svmlight(file, recipe)
        elif self.target == "npz":
            self._npz(file, recipe)
        elif self.target in ("csv", "tsv"):
            self._delimited(file, recipe)
        elif self.target == "jsonl":
            self._jsonl(file, recipe)
        else:
            self._arrow(file, recipe)

    def _counted(self) -> Iterator[Data]:
        for data in self.pieces():
            self.rows += data.n_rows
            yield data

    def _classes(self) -> Any:
        """All labels, typed."""

        import numpy as np

        from ..data.table import as_text, typed_labels
        from ..training.preparation import require_labels

        seen = {str(label) for data in self.pieces() for label in np.unique(as_text(require_labels(data).labels)).tolist()}
        return np.unique(typed_labels(np.array(sorted(seen), object)))

    def _svmlight(self, file: Any, recipe: Recipe | None) -> None:
        from ..data.labels import codes_of
        from ..data.writers import write_svmlight

        assert recipe is not None
        classes = self._classes()
        named = classes.dtype.kind not in "iuf"
        if named:
            from .console import note

            note("labels as numbers: " + ", ".join(f"{code} is {name}" for code, name in enumerate(classes.tolist())))
        for data in self._counted():
            codes = codes_of(data, classes)
            write_svmlight(file, recipe.rows(data), codes if named else classes[codes], zero_based=self.options.zero_based)

    def _npz(self, file: Any, recipe: Recipe | None) -> None:
        import numpy as np

        from ..data.labels import codes_of
        from ..data.writers import write_npz

        assert recipe is not None
        classes, parts, codes = self._classes(), [], []
        for data in self._counted():
            parts.append(recipe.rows(data))
            codes.append(codes_of(data, classes))
        write_npz(file, _joined(parts, recipe.width), classes[np.concatenate(codes)])

    def _tables(self, recipe: Recipe | None) -> Iterator[tuple[tuple[str, ...], Any, str, Any]]:
        """(names, columns, name of the labels, labels) of each chunk."""

        from ..data.csr import CSRMatrix
        from ..data.table import Table

        # Numbers as names would look like a row of them.
        names = None if recipe is None else tuple(f"x{name}" if name.isdigit() else name for name in recipe.feature_names)
        means = self._means() if recipe is None and self.options.missing == "mean" else {}
        for data in self._counted():
            label = data.label_name or "label"
            if recipe is None:
                assert isinstance(data.features, Table)
                columns = [_filled(*pair, means) for pair in zip(data.features.names, data.features.columns, strict=True)]
                yield data.features.names, columns, label, data.labels
                continue
            rows = recipe.rows(data)
            assert names is not None
            yield names, list((rows.toarray() if isinstance(rows, CSRMatrix) else rows).T), label, data.labels

    def _means(self) -> dict[str, float]:
        """Of the columns of numbers."""

        from ..training.preparation import learn_recipe
        from ..training.request import Request

        recipe = learn_recipe(Request(data=self.path, options=self.options, scale="none"), self.pieces())
        means = recipe.numbers.means
        return {} if means is None else dict(zip(recipe.number_names, means.tolist(), strict=True))

    def _delimited(self, file: Any, recipe: Recipe | None) -> None:
        from ..data.writers import write_csv

        for number, (names, columns, label, labels) in enumerate(self._tables(recipe)):
            mark = "\t" if self.target == "tsv" else ","
            write_csv(file, names, columns, _plain(labels), label, delimiter=mark, header=number == 0)

    def _jsonl(self, file: Any, recipe: Recipe | None) -> None:
        from ..data.writers import write_jsonl

        for names, columns, label, labels in self._tables(recipe):
            write_jsonl(file, names, columns, _plain(labels), label)

    def _arrow(self, file: Any, recipe: Recipe | None) -> None:
        from ..data.writers import arrow_table, arrow_writer

        with contextlib.ExitStack() as stack:
            writer: Any = None
            for names, columns, label, labels in self._tables(recipe):
                table = arrow_table(names, columns, labels, label)  # one type in all chunks
                if writer is None:
                    writer = stack.enter_context(arrow_writer(file, table.schema, self.target))
                writer.write_table(table)


def _plain(labels: Any) -> Any:
    """Labels that are all whole numbers are written as such."""

    import numpy as np

    if labels is None or labels.dtype.kind not in "f":
        return labels
    whole = np.isfinite(labels).all() and (labels == np.round(labels)).all() and (abs(labels) < 2**53).all()
    return labels.astype(np.int64) if whole else labels


def _filled(name: str, column: Any, means: dict[str, float]) -> Any:
    """Numbers that are missing become the mean; names stay missing."""

    import numpy as np

    return np.where(np.isnan(column), means[name], column) if name in means and column.dtype.kind == "f" else column


def _joined(parts: list[Any], width: int) -> Any:
    import numpy as np

    from ..data.csr import CSRMatrix, vstack

    return vstack(parts, width) if isinstance(parts[0], CSRMatrix) else np.concatenate(parts)


def _compressed(file: IO[bytes], name: str, write: Callable[[Any], None]) -> None:
    """Compress on the way, as the ending says."""
    ending = name.rsplit(".", 1)[-1].lower()
    packed: Any
    if ending == "gz":
        import gzip

        packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0)
    elif ending == "bz2":
        import bz2

        packed = bz2.BZ2File(file, "wb")
    elif ending == "xz":
        import lzma

        packed = lzma.LZMAFile(file, "wb")  # noqa: SIM115
    elif ending == "zst":
        try:
            import zstandard
        except ImportError:
            raise ImportError("zst files need zstandard: pip install 'rosenblatt[data]'") from None
        packed = zstandard.ZstdCompressor().stream_writer(file, closefd=False)
    else:
        write(file)
        return
    with packed:
        write(packed)
