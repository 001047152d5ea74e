"""Options of the commands: how a file is read, the parameters of the estimators, and others that several commands share."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from ..catalog import ALGORITHMS, Option, command_line_options
from ..data.readers import FORMATS, MISSING_CHOICES, Options, is_example
from ..preprocessing.text_kinds import AUTO as AUTO_TEXT
from ..preprocessing.text_kinds import parse_text_features
from .option_types import ClassWeights, Size
from .option_types import Number as Number
from .option_types import NumberOrWord as NumberOrWord
from .option_types import Seconds as Seconds
from .option_types import WholeNumber as WholeNumber

if TYPE_CHECKING:
    from ..array_types import Array, Matrix
    from ..data.table import Data
    from ..models.model import Model
    from ..preprocessing.recipe import Recipe


Command = TypeVar("Command", bound=Callable[..., Any])
Loaded = TypeVar("Loaded")
PATTERN_MARKS = frozenset("*?[")  # in names of several files
THOUSANDS_NAMES = {",": ",", ".": ".", "space": " ", "'": "'"}
SEPARATOR_NAMES = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}


def _split_columns(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Accept an option that is repeated, or whose values are separated by commas."""
    return tuple(name.strip() for each in value for name in each.split(",") if name.strip())


def _named_mark(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    return None if value is None else THOUSANDS_NAMES[value]


def _separator(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    value = SEPARATOR_NAMES.get(value or "", value)
    try:
        return Options(sep=value).sep
    except ValueError as error:
        raise click.BadParameter(str(error).removeprefix("sep "), ctx, parameter) from None


def _text_features(ctx: click.Context, parameter: click.Parameter, value: str) -> str:
    try:
        parse_text_features(value)
    except ValueError as error:
        raise click.BadParameter(str(error).removeprefix("text_features "), ctx, parameter) from None
    return value


def _encoding(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    try:
        return Options(encoding=value).encoding
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, parameter) from None


_ABOUT_DATA = (
    click.option("--format", type=click.Choice(FORMATS), help="Format of DATA, if its name does not show it."),
    click.option("--label", metavar="COLUMN", help="Label column: a name, or a position from 0 (-1: the last)."),
    click.option("--header/--no-header", default=None, help="Whether the table has a header line.  [default: detected]"),
    click.option(
        "--skip-lines", type=WholeNumber(0), default=0, metavar="N",
        help="Delimited text: leave out N lines above the table, such as a title.",
    ),
    click.option(
        "--ignore", multiple=True, callback=_split_columns, metavar="COLUMN",
        help="Columns to exclude, such as ids: names, or positions from 0.",
    ),
    click.option(
        "--text", multiple=True, callback=_split_columns, metavar="COLUMN",
        help="Text columns (see `train --text-features`): names, or positions from 0.",
    ),
    click.option(
        "--categorical", multiple=True, callback=_split_columns, metavar="COLUMN",
        help="Categorical columns that look numeric: names, or positions from 0.",
    ),
    click.option("--decimal", type=click.Choice([".", ","]), help="Decimal mark of numbers.  [default: found]"),
    click.option(
        "--thousands", type=click.Choice([*THOUSANDS_NAMES]), callback=_named_mark,
        help="Mark between groups of thousands.  [default: found]",
    ),
    click.option(
        "--sep", metavar="CHARACTER", callback=_separator, help="Character between cells, or: tab, space.  [default: found]"
    ),
    click.option(
        "--encoding", metavar="NAME", callback=_encoding,
        help="Encoding of text, such as windows-1252.  [default: UTF-8, or found]",
    ),
    click.option(
        "--dates", type=click.Choice(["auto", "ignore", "dmy", "mdy"]), default="auto", show_default=True,
        help="Columns of dates: read as numbers, or left out; dmy, mdy: with the day or the month first.",
    ),
    click.option("--zero-based", is_flag=True, help="svmlight: column numbers start at 0."),
    click.option(
        "--sheet", metavar="SHEET",
        help="Sheet of a workbook, or file in a zip archive: a name, or a number from 1.  [default: the first, the only one]",
    ),
    click.option(
        "--max-memory", type=Size(), metavar="SIZE",
        help="Memory that DATA may take, such as 8G.  [default: 80 % of what is free; 200 times the size of a compressed file]",
    ),
)  # fmt: skip


def _missing(default: str) -> Callable[[Command], Command]:
    return click.option(
        "--missing", type=click.Choice(MISSING_CHOICES), default=default, show_default=True,
        help="Missing cells: refuse the file, or fill them with the mean or median (auto) of the column. "
        "Missing categories are a category of their own.",
    )  # fmt: skip


def about_data(command: Command) -> Command:
    """Add the options that describe how a file is read; `options_of` collects them."""
    for option in (_missing("refuse"), *reversed(_ABOUT_DATA)):
        command = option(command)
    return command


def about_filled_data(command: Command) -> Command:
    """Add the options that describe how a file is read, with missing cells filled by default; `options_of` collects them."""
    for option in (_missing("auto"), *reversed(_ABOUT_DATA)):
        command = option(command)
    return command


def about_model_data(command: Command) -> Command:
    """Add the options that describe how a file is read for a model; `options_for` collects them."""
    missing = click.option(
        "--missing", type=click.Choice(["refuse", "fill"]),
        help="Missing cells: refuse the file, or fill them with the numbers of the training file.  [default: as in training]",
    )  # fmt: skip
    for option in (missing, *reversed(_ABOUT_DATA)):
        command = option(command)
    return command


def about_training_data(command: Command) -> Command:
    """Add the options that describe how a file is read and its missing cells are filled; `options_of` collects them."""
    indicator = click.option(
        "--missing-indicator", is_flag=True, help="Add a feature for each numeric column with missing cells, which marks them."
    )
    return about_filled_data(indicator(command))


def options_of(given: dict[str, Any], **more: Any) -> Options:
    """Remove the options of `about_data` from a command's arguments and return them as `Options`."""
    names = (
        "format", "label", "header", "skip_lines", "ignore", "text", "categorical", "missing", "decimal", "thousands",
        "sep", "encoding", "dates", "zero_based", "sheet", "max_memory",
    )  # fmt: skip
    more["missing_indicator"] = given.pop("missing_indicator", False)
    return Options(**{name: given.pop(name) for name in names}, **more)


def options_for(model: Model, given: dict[str, Any]) -> Options:
    """Return the options for reading a model's input: those of its training file, unless given on the command line."""
    if model.recipe is not None and model.recipe.kind == "mail":
        from .console import Failure

        raise Failure("the model is a mail filter, which has no columns; use `rosenblatt mail classify`")
    context = click.get_current_context()
    from ..models.reading import reading_of

    explicit = {name for name in given if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT}
    chosen = explicit - {"text", "categorical"}
    known = {name: value for name, value in reading_of(model).items() if name not in chosen}
    given.update({name: known.pop(name) for name in [*known] if name in given})
    given["missing"] = {"fill": "auto", None: "refuse"}.get(given["missing"], given["missing"])
    return options_of(given, **known)


class AlgorithmName(click.Choice[str]):
    """A name in the catalog, or "auto"; the error suggests the most similar name."""

    def __init__(self) -> None:
        super().__init__(["auto", *ALGORITHMS])

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        similar = difflib.get_close_matches(str(value), self.choices, 1)
        hint = f"did you mean {similar[0]!r}?" if similar else f"choose from {', '.join(self.choices)}"
        return f"unknown algorithm {value!r}; {hint}"


# --- options of several commands -------------------------------------------------------------------------------------------

as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
data_argument = click.argument("data", metavar="DATA")
files_argument = click.argument("data", metavar="DATA...", nargs=-1, required=True)
model_argument = click.argument("model", metavar="MODEL")
text_features = click.option(
    "--text-features", default=AUTO_TEXT, show_default=True, metavar="KIND", callback=_text_features,
    help="Features of text columns: words; words-2 (and pairs); chars-3-5 (runs of characters); two kinds: words-2,chars-3-5. "
    "With a weight: words:tfidf, :counts, :binary, :log-tfidf; auto: words:log-tfidf.",
)  # fmt: skip
seed = click.option("--seed", "--random-state", "seed", type=WholeNumber(0, 2**32 - 1), default=0, show_default=True,
                    help="Seed of the random numbers.")  # fmt: skip
holdout = click.option(
    "--holdout",
    type=NumberOrWord(float),
    metavar="SHARE",
    help="Share of rows held out for testing; 0: none.  [default: 0.2, if that is at least 10 rows]",
)
test_file = click.option(
    "--test", metavar="FILE", help="Test on this file, or on those of a pattern in quotes, instead of held-out rows."
)


# --- the parameters of the estimators, under the names of the library ---------------------------------------------------------


def parameters(command: Command) -> Command:
    """Add an option for each parameter of the catalog."""
    for name, option in reversed(command_line_options().items()):
        dashed = name.replace("_", "-")
        declaration = f"--{dashed}/--no-{dashed}" if option.kind == "flag" else f"--{dashed}"
        command = click.option(declaration, name, type=_type(option), default=None, help=option.help)(command)
    return command


def _type(option: Option) -> Any:
    if option.kind == "choice":
        return click.Choice(list(option.words))
    if option.kind == "weights":
        return ClassWeights(option.words)
    if option.kind in ("int", "float"):
        return NumberOrWord(int if option.kind == "int" else float, option.words)
    return None


def pop_parameters(arguments: dict[str, Any]) -> dict[str, Any]:
    """Remove the parameters from a command's arguments, and return those that were given on the command line."""
    context, given = click.get_current_context(), {}
    for name in command_line_options():
        value = arguments.pop(name)
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            given[name] = value
    return given


# --- reading labeled files -------------------------------------------------------------------------------------------------


class LabeledRows(NamedTuple):
    """A file as a matrix and labels, with the recipe that made the matrix."""

    data: Data
    recipe: Recipe
    X: Matrix
    y: Array


def files_of(data: Sequence[str], *, exist: bool = False) -> tuple[str, ...]:
    """The files that arguments name, of which some may be patterns; several files, or with `exist` all, must exist."""
    files = tuple(data)
    if len(data) > 1 or os.path.isdir(data[0]) or PATTERN_MARKS & set(data[0]):
        from ..data.readers.several import expand

        files = tuple(expand(list(data)))
    for path in files if len(files) > 1 or exist else ():
        if not os.path.exists(path) and path != "-" and not is_example(path):
            from .console import Failure

            raise Failure(f"{path}: file not found")
    return files


def load_first(load: Callable[[str], Loaded], first: str, second: str) -> Loaded:
    """Load the first of a command's two files. If it fails but the second file loads, the message asks about their order."""
    try:
        return load(first)
    except ValueError as error:
        from .console import Failure, one_line

        try:
            load(second if os.path.isfile(second) else "")
        except (ValueError, OSError):
            raise error from None
        raise Failure(f"{one_line(error)} (were the arguments swapped?)") from None


def read_labeled_rows(path: str | tuple[str, ...], options: Options, degree: int = 1) -> LabeledRows:
    """Read whole files for a proof; columns are encoded but not scaled. Integers that floats do not hold are refused."""
    from ..data.readers.several import Files
    from ..data.table import rounded_integers, typed_labels
    from ..training.preparation import as_matrix, learn_recipe, require_labels
    from ..training.request import Request

    with Files(path) as files:
        data = files.read(options)
    labels = require_labels(data)
    rounded = rounded_integers(data)
    if rounded is not None:
        raise rounded
    recipe = learn_recipe(Request(data=path, options=options, degree=degree, scale="none"), [data])
    return LabeledRows(data, recipe, as_matrix(recipe.rows(data)), typed_labels(labels))


def print_notes(rows: LabeledRows) -> None:
    """Print to standard error how the file was read and its columns were encoded."""
    from .console import note

    for sentence in filter(None, (rows.data.note, *rows.recipe.notes)):
        note(sentence)
