"""`rb.cluster.read`: files as blocks, which workers read by themselves."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..array_types import Array
from ..data.cache_header import read_header
from ..data.readers import Missing, Options
from ..data.readers.forms import FileForm, form_of
from ..data.readers.several import Paths, expand
from ..data.readers.sources import Source, name_of
from ..data.table import DataError
from ..models.model import Model
from ..models.state import model_of
from ..preprocessing.choices import Choices
from ..preprocessing.recipe import Recipe
from ..preprocessing.scaling import Scale
from ..reporting.text import byte_size, comma_list, count, plural
from ..training.python_terms import errors_in_python, in_python
from ..training.stream import recipe_of_cache
from ..validation import check_integer
from .engine import Engine
from .features import FeatureChoices, Learned, learn
from .file_sources import CACHE, FilePart, FileSource, ReadSource, form_of_cache, parts_of

if TYPE_CHECKING:
    from ..estimators.base import LinearClassifier

BLOCK_BYTES = 1 << 26  # of a file
MAX_LISTED_FILES = 6
Columns = str | int | Sequence[str | int]


class FileBlocks:
    """Files as blocks: what `rosenblatt.cluster.read` returns, for `rosenblatt.cluster.fit`.

    Parameters
    ----------
    files : sequence of str
        The files with rows.
    form : FileForm
        What the first rows of the first file decide.
    parts : sequence of FilePart
        The blocks.
    block_bytes : int
        The bytes of a block.
    choices : FeatureChoices or None
        How columns become features; None for matrices that stay as they are.
    notes : sequence of str, default=()
        Sentences about the files.
    python_terms : bool, default=True
        Whether sentences name parameters, and not options of the command line.

    Attributes
    ----------
    files : tuple of str
        The files with rows.
    block_bytes : int
        The bytes of a block.
    sources : list of FileSource
        The blocks, before features are learned.

    See Also
    --------
    rosenblatt.cluster.read : Makes it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import rosenblatt as rb
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "rows.svm")
    ...     _ = path.write_text("1 1:3\\n-1 1:-2\\n" * 50)
    ...     data = rb.cluster.read(path, block_bytes=200)
    ...     model = data.model(rb.cluster.fit(rb.LinearMSE(), data))
    >>> data.n_blocks, data.n_rows, model.classes.tolist()
    (4, 100, [-1, 1])
    """

    def __init__(
        self, files: Sequence[str], form: FileForm, parts: Sequence[FilePart], block_bytes: int, choices: FeatureChoices | None,
        notes: Sequence[str] = (), python_terms: bool = True,
    ) -> None:  # fmt: skip
        self.files, self.block_bytes = tuple(files), block_bytes
        self._form, self._choices, self._python_terms = form, choices, python_terms
        self.sources = [FileSource(part, form) for part in parts]
        self._first_notes = tuple(notes)
        self._learned: Learned | None = None
        self._recipe: Recipe | None = None

    @property
    def n_blocks(self) -> int:
        """The number of blocks."""
        return len(self.sources)

    @property
    def form(self) -> FileForm:
        """What the first rows of the first file decide."""
        return self._form

    @property
    def label(self) -> str | None:
        """The column of the labels; None for formats without names of columns."""
        return self._form.label

    @property
    def recipe(self) -> Recipe | None:
        """How columns become features, after a fit; None for matrices that stay as they are."""
        return self._recipe

    @property
    def classes(self) -> Array | None:
        """The labels, sorted, after a fit."""
        return None if self._learned is None else self._learned.classes

    @property
    def n_rows(self) -> int | None:
        """The number of rows, after a fit."""
        return None if self._learned is None else self._learned.rows

    @property
    def notes(self) -> tuple[str, ...]:
        """How the files are read and, after a fit, what was found in them."""
        found = list(self._first_notes)
        if self._learned is not None:
            found += [self._learned.first.note] if self._learned.first.note else []
            found += self._recipe.notes if self._recipe is not None else ()
            empty = list(dict.fromkeys(part.name for part in self._learned.empty if part.unit == "file"))
            found += [f"files without rows: {comma_list(empty, MAX_LISTED_FILES)}"] if empty else []
        return tuple(map(in_python, found) if self._python_terms else found)

    def __repr__(self) -> str:
        label = "" if self.label is None else f", label column {self.label!r}"
        blocks = f"{plural(self.n_blocks, 'block')} of {byte_size(self.block_bytes)}"
        return f"<FileBlocks: {name_of(self.files)}, {self._form.kind}, {blocks}{label}>"

    def unscaled(self) -> FileBlocks:
        """Return the blocks with columns that are not scaled, which would round numbers: proofs are about them.

        Returns
        -------
        FileBlocks
            These blocks if they have none that are scaled, else others, whose features are not learned yet.
        """
        choices = self._choices
        if choices is None or choices.scale == "none":
            return self
        if choices.scale != "auto":
            raise ValueError(f"scale={choices.scale!r} rounds numbers, about which nothing is proved then: use scale='none'")
        choices = replace(choices, scale="none")
        parts = [source.part for source in self.sources]
        return FileBlocks(self.files, self._form, parts, self.block_bytes, choices, self._first_notes, self._python_terms)

    def learn(self, engine: Engine) -> list[ReadSource]:
        """Learn the features, and start the tasks that make them.

        Parameters
        ----------
        engine : Engine
            Runs the tasks.

        Returns
        -------
        list of ReadSource
            The blocks with rows.
        """
        with errors_in_python() if self._python_terms else contextlib.nullcontext():
            learned = learn(engine, self.sources, self._choices)
            recipe = self._recipe_of_caches() if self._form.kind == CACHE and self._choices is None else learned.recipe
        self._learned, self._recipe = learned._replace(sources=[]), recipe
        return learned.sources

    def _recipe_of_caches(self) -> Recipe | None:
        """The recipe with which `train --stream` made the rows of caches."""
        recipes = [recipe_of_cache(read_header(Path(path)).notes) for path in self.files]
        different = next((at for at, recipe in enumerate(recipes) if recipe != recipes[0]), None)
        if different is not None:
            sentence = f"the rows were made with other features than those of {self.files[0]}"
            raise DataError(self.files[different], sentence, advice="make the caches of one file together")
        return recipes[0]

    def model(self, estimator: LinearClassifier) -> Model:
        """Return the model of an estimator that was fitted to these files: it predicts files like them, and can be saved.

        Parameters
        ----------
        estimator : LinearClassifier
            The estimator that `rosenblatt.cluster.fit` has fitted.

        Returns
        -------
        Model
            The model with its features.
        """
        if self._learned is None:
            raise ValueError("the features of these files were not learned yet: call rosenblatt.cluster.fit with them first")
        features = self._learned.width if self._recipe is None else self._recipe.width
        found = getattr(estimator, "n_features_in_", features)
        if found != features:
            raise ValueError(
                f"the estimator was fitted to {plural(found, 'feature')}, but these files have {count(features)}: give the "
                "estimator that was fitted to them"
            )
        first, options = self._learned.first, self._form.options
        reading = {"label": first.label_name, "missing": options.missing, "zero_based": options.zero_based}
        provenance = {
            "data": name_of(self.files),
            "rows": self._learned.rows,
            "columns": self._learned.width,
            "reading": {name: value for name, value in reading.items() if value is not None}
            | ({"forms": first.forms} if first.forms else {}),
        }
        if self._form.kind == CACHE:
            origin = read_header(Path(self.files[0])).notes.get("provenance", {})
            provenance |= {name: origin[name] for name in ("reading",) if name in origin}
        return model_of(estimator, recipe=self._recipe, provenance=provenance)


def read(
    paths: Paths,
    *,
    label: str | None = None,
    block_bytes: int = BLOCK_BYTES,
    scale: Scale = "auto",
    degree: int = 1,
    text_features: str = "auto",
    missing: Missing = "auto",
    missing_indicator: bool = False,
    ignore: Columns = (),
    text: Columns = (),
    categorical: Columns = (),
    format: str | None = None,  # noqa: A002 - as the option of the command line
    header: bool | None = None,
    skip_lines: int = 0,
    sep: str | None = None,
    encoding: str | None = None,
    decimal: Literal[".", ","] | None = None,
    thousands: Literal[",", ".", " ", "'"] | None = None,
    dates: Literal["auto", "ignore", "dmy", "mdy"] = "auto",
    sheet: str | None = None,
    zero_based: bool = False,
    columns: int | None = None,
) -> FileBlocks:
    """Read files in blocks, on the workers of a cluster: rows never pass through the client.

    Nothing is read yet but the first rows of the first file. They decide how all files are read: their format, header, label
    column, and the kinds of the columns. Rows of any file that contradict them are an error of the fit, which names the file,
    the line and the column. Empty files are left out, with a note.

    The boundaries of blocks depend on the files and on `block_bytes` alone. Plain text is cut between lines, or between records
    where quoted cells have line feeds; Parquet between row groups, Arrow files between batches, caches of streams between rows.
    A compressed text, a workbook, an archive, or a JSON array is one block.

    Columns of tables become features as by `rosenblatt train --stream`, to the bit. The rows of matrices (svmlight, npz, idx,
    caches) stay as they are, unless `scale`, `degree` or `missing` is given.

    Parameters
    ----------
    paths : str, path, or sequence of them
        Files, folders of caches, and patterns such as ``"parts/*.csv.gz"``, whose files are taken in natural order.
    label : str, default=None
        The label column of tables. None: found by its name, or the last column.
    block_bytes : int, default=67108864
        The bytes of a file in a block.
    scale : {"auto", "none", "max", "standard"}, default="auto"
        The scaling of numeric columns. "auto" is "standard" for tables and "none" for matrices.
    degree : int, default=1
        The degree of polynomial features.
    text_features : str, default="auto"
        The features of columns of text, such as "words-2" or "chars-3-5:tfidf".
    missing : {"auto", "mean", "median", "refuse"}, default="auto"
        What becomes of missing numbers. "auto" is the median for tables, and an error for matrices.
    missing_indicator : bool, default=False
        Whether columns with missing numbers get a feature that marks them.
    ignore, text, categorical : str, int or sequence of them, default=()
        Columns to leave out, columns of text, and columns of categories that look like numbers: names, or positions from 0.
    format : str, default=None
        The format: "svmlight", "csv", "tsv", "jsonl", "parquet", "arrow", "npz" or "idx". None: by the name of the file, or by
        its first bytes.
    header : bool, default=None
        Whether the first line of each file holds names. None: decided by the contents of the first file; parts without a header
        may follow a file with one.
    skip_lines : int, default=0
        Lines above each table that are left out.
    sep, encoding, decimal, thousands, dates : str, default=None
        The character between cells, the encoding, the decimal mark, the mark between thousands, and the order of day and month:
        "dmy" or "mdy", or "ignore" to leave dates out. By default, found by the first rows.
    sheet : str, default=None
        The sheet of workbooks, or the file of zip archives.
    zero_based : bool, default=False
        Whether svmlight counts columns from 0.
    columns : int, default=None
        The number of columns of svmlight files. None: given by the largest index.

    Returns
    -------
    FileBlocks
        The blocks, for `rosenblatt.cluster.fit`. After the fit, its `model` joins the features with the estimator.

    Raises
    ------
    DataError
        If the first file cannot be read, or no file matches a pattern.

    See Also
    --------
    rosenblatt.cluster.fit : Fit an estimator to them.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> data = rb.cluster.read("parts/*.csv", label="churn")  # doctest: +SKIP
    >>> model = data.model(rb.cluster.fit(rb.SoftMargin(), data))  # doctest: +SKIP
    >>> model.predict("new.csv")  # doctest: +SKIP
    """
    with errors_in_python():
        options = Options(
            format=format, label=label, header=header, skip_lines=skip_lines, ignore=_columns(ignore), text=_columns(text),
            categorical=_columns(categorical), missing=missing, missing_indicator=missing_indicator, decimal=decimal,
            thousands=thousands, sep=sep, encoding=encoding, dates=dates, zero_based=zero_based, sheet=sheet, columns=columns,
        )  # fmt: skip
        return blocks_of_files(paths, options, FeatureChoices(scale, degree, text_features), block_bytes, python_terms=True)


def _columns(given: Columns) -> tuple[str, ...]:
    return tuple(map(str, (given,) if isinstance(given, str | int) else given))


def blocks_of_files(
    paths: Paths,
    options: Options,
    choices: FeatureChoices | None = None,
    block_bytes: int = BLOCK_BYTES,
    *,
    python_terms: bool = False,
    as_streamed: bool = False,
) -> FileBlocks:
    """The blocks of files, as `read` describes them; errors name options of the command line unless `python_terms`.

    as_streamed : whether the columns of matrices, too, become features as by `rosenblatt train --stream`.
    """
    choices = choices or FeatureChoices()
    Choices(choices.degree, choices.scale, missing=options.missing, text_features=choices.text_features)  # checks them
    check_integer("degree", choices.degree)
    check_integer("block_bytes", block_bytes)
    files = expand(paths)
    if len(files) == 1 and (files[0] == "-" or files[0].startswith("example:")):
        raise DataError(files[0], "blocks are read from files, several times", advice="give files")
    empty = [path for path in files if os.path.isfile(path) and not os.path.getsize(path)]
    files = [path for path in files if path not in set(empty)]
    if not files:
        raise DataError(name_of(empty), "the files have no rows: they are empty")
    form = _form_of_first(files[0], options)
    made: FeatureChoices | None = choices
    if form.kind == CACHE or not (form.is_table or as_streamed):
        form, made = _of_matrix(form, choices)
    parts = [part for path in files for part in parts_of(path, form, block_bytes)]
    notes = [f"empty files left out: {comma_list(empty, MAX_LISTED_FILES)}"] if empty else []
    return FileBlocks(files, form, parts, block_bytes, made, notes, python_terms)


def _form_of_first(path: str, options: Options) -> FileForm:
    if os.path.isdir(path):
        return form_of_cache(path, options)
    with Source(path) as source:
        return form_of(source, options)


def _of_matrix(form: FileForm, choices: FeatureChoices) -> tuple[FileForm, FeatureChoices | None]:
    """The form of matrices, and the choices of their features, if they do not stay as they are."""
    fills = form.options.missing in ("mean", "median")
    if not fills:
        form = replace(form, options=replace(form.options, missing="refuse"))
    if choices.scale == "auto":
        choices = replace(choices, scale="none")
    plain = choices.scale == "none" and choices.degree == 1 and not fills
    return form, None if plain else choices
