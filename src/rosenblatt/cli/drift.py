"""How a file differs from the training rows of a model: notes and a table on standard error, and `--drift FILE.json`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from .console import check_writable, json_text, note

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..data.readers import Options
    from ..data.table import Data
    from ..models.model import Model
    from ..preprocessing.drift import Drift

MAX_COLUMNS_SHOWN, MAX_COLUMNS_LISTED = 20, 6  # in the table, and in a line

drift_file = click.option(
    "--drift", metavar="FILE.json", help="Write how the rows differ from the training rows, column by column."
)


class DriftReport:
    """Collects the rows of files, chunk by chunk, and reports how they differ from the training rows of a model."""

    def __init__(self, model: Model, data: Sequence[str], path: str | None, model_path: str | None = None) -> None:
        from ..data.readers.sources import name_of
        from ..preprocessing.recipe import Recipe

        self._source, self._path = name_of(data), path
        check_writable(path, *data, model_path, ending=".json")
        self._drift: Drift | None = None
        if isinstance(model.recipe, Recipe):
            from ..preprocessing.drift import Drift

            self._drift = Drift(model.recipe)
        elif path is not None:
            raise click.UsageError("--drift needs a model that `rosenblatt train` wrote: this one stores no columns")

    def options(self, options: Options) -> Options:
        """The options to read the file: columns that it lacks are reported, if the model fills missing cells."""
        return replace(options, fill_absent=self._drift is not None and options.missing != "refuse")

    def add(self, chunk: Data) -> None:
        if self._drift is not None:
            self._drift.add(chunk)

    def finish(self) -> None:
        """Print the notes and the table, and write the file."""
        if self._drift is None:
            return
        _print(self._drift, self._source)
        if self._path is not None:
            from ..atomic_file import write_atomically

            write_atomically(self._path, json_text(self._drift.to_dict(self._source), indent=1).encode() + b"\n")


def _print(drift: Drift, source: str) -> None:
    from ..reporting.text import comma_list, count, cut, plural, quoted_list, short

    if drift.absent:
        them = "its cells are" if len(drift.absent) == 1 else "their cells are"
        columns = "column" if len(drift.absent) == 1 else "columns"
        note(f"{source} lacks the {columns} {quoted_list(drift.absent)}: {them} missing in all {plural(drift.rows, 'row')}")
    if drift.n_extra:
        named = f": {quoted_list(drift.extra)}" if drift.extra else ""
        note(f"ignored {plural(drift.n_extra, 'column')} of {source} that the model does not use{named}")
    if usual := drift.missing_as_usual:
        cells = [f"{cut(column.name)!r} {count(column.missing)}" for column in usual]
        note(f"Missing cells, not more often than in training: {comma_list(cells, MAX_COLUMNS_LISTED)}.")
    unusual = drift.unusual
    if not unusual:
        return
    note(f"{source} differs from the training rows:")
    rows = [["column", "missing", "far outside", "unseen", ""]]
    for column in unusual[:MAX_COLUMNS_SHOWN]:
        drifts = column.index is not None and column.level != "none"
        index = f"{column.level} drift (index {short(column.index or 0.0)})" if drifts else ""
        remark = "; ".join(filter(None, (column.remark(), index)))
        rows.append([column.name, *(count(n) if n else "" for n in (column.missing, column.far, column.unseen)), remark])
    used = [place for place in range(len(rows[0])) if place in (0, len(rows[0]) - 1) or any(row[place] for row in rows[1:])]
    widths = [max(len(row[place]) for row in rows) for place in used]
    for row in rows:
        first, *cells, remark = (row[place] for place in used)
        aligned = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells, widths[1:-1], strict=True))]
        note("  ".join(["", *aligned, remark]).rstrip())
    if len(unusual) > MAX_COLUMNS_SHOWN:
        note(f"and {count(len(unusual) - MAX_COLUMNS_SHOWN)} more columns; --drift FILE.json writes all")
