"""Options that several commands share: what a person says about a file, and --json."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from ..data.read_options import FORMATS, Options

if TYPE_CHECKING:
    from ..data.read_options import Options
    from ..data.table import Data
    from ..models.model import Model
    from ..preprocessing.recipe import Recipe


Command = TypeVar("Command", bound=Callable[..., Any])


def _several(ctx: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Given more than once, or separated by commas."""
    return tuple(name.strip() for each in value for name in each.split(",") if name.strip())


_ABOUT_DATA = (
    click.option("--format", type=click.Choice(FORMATS), help="The format of DATA, where its name does not tell."),
    click.option("--label", metavar="COLUMN", help="The column of labels: a name, or a position from 0 (-1: the last)."),
    click.option("--header/--no-header", default=None, help="Whether the first line of a table has names.  [default: found]"),
    click.option("--ignore", multiple=True, callback=_several, metavar="COLUMN", help="Columns to leave out, such as ids."),
    click.option("--text", multiple=True, callback=_several, metavar="COLUMN", help="Columns of text: bags of words."),
    click.option(
        "--categorical", multiple=True, callback=_several, metavar="COLUMN", help="Columns of names that look like numbers."
    ),
    click.option(
        "--missing", type=click.Choice(["refuse", "mean"]), default="refuse", show_default=True,
        help="Cells that are missing: refuse the file, or take the mean of the column (of names: none of them).",
    ),
    click.option("--zero-based", is_flag=True, help="svmlight: columns are counted from 0."),
)  # fmt: skip


def about_data(command: Command) -> Command:
    """The options that become `Options`."""
    for option in reversed(_ABOUT_DATA):
        command = option(command)
    return command


def options_of(given: dict[str, Any], **more: Any) -> Options:
    """Take what `about_data` added out of a command's arguments."""
    names = ("format", "label", "header", "ignore", "text", "categorical", "missing", "zero_based")
    return Options(**{name: given.pop(name) for name in names}, **more)


def options_for(model: Model, given: dict[str, Any]) -> Options:
    """How files are read for a model: as its training file was, unless something else is said here."""
    context = click.get_current_context()
    said = {name for name in given if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT}
    remembered = model.provenance.get("reading", {})
    given.update(
        {name: remembered[name] for name in ("label", "missing", "zero_based") if name in remembered and name not in said}
    )
    recipe = model.recipe
    if recipe is None:
        return options_of(given, required=model.names) if model.names else options_of(given, required_width=model.n_features)
    given.update(text=recipe.text, categorical=recipe.categorical)
    return options_of(given, required=recipe.required, numeric=recipe.number_names)


as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
data_argument = click.argument("data", metavar="DATA")
model_argument = click.argument("model", metavar="MODEL")
seed = click.option("--seed", "--random-state", "seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True,
                    help="Seed of everything that is drawn.")  # fmt: skip
holdout = click.option("--holdout", type=float, metavar="SHARE", help="Rows of each class to test on.  [default: 0.2]")
test_file = click.option("--test", metavar="FILE", help="Test on this file instead of rows held out.")


# --- A group of commands that are imported when they are called: one file each.


class Lazy(click.Group):
    """`listed` has the commands with their help, so that listing them imports none; `package` is where their files are."""

    listed: dict[str, str]
    package: str

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.listed)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.listed:
            return None
        command: click.Command = importlib.import_module(f".{name}", self.package).command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in self.listed and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], self.listed, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(self.listed)}."
            raise click.UsageError(f"no command {args[0]!r}: {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.listed.items()))


# --- A whole file as rows and labels, its columns as they stand.


class Whole(NamedTuple):
    data: Data
    recipe: Recipe
    X: Any
    y: Any


def rows_and_labels(path: str, options: Options, degree: int = 1) -> Whole:
    from ..data.readers.read import read
    from ..data.table import typed_labels
    from ..training.preparation import as_matrix, learn_recipe, require_labels
    from ..training.request import Request

    data = require_labels(read(path, options))
    recipe = learn_recipe(Request(data=path, options=options, degree=degree, scale="none"), [data])
    return Whole(data, recipe, as_matrix(recipe.rows(data)), typed_labels(data.labels))
