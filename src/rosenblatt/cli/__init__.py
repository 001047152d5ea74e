"""The command line: one module per command, imported when the command is called.

Exit codes: 0 success, and a positive answer from `certify` and `verify`; 1 a negative answer (`certify`: not separable,
`verify`: rejected); 2 invalid command line or file; 3 `certify`: undecided within the time limit; 70 internal error;
130 interrupted.
"""

from __future__ import annotations

import difflib
import importlib
from typing import Any

import click

from .. import __version__

COMMANDS = {
    "train": "Train a model on a file and report its accuracy.",
    "predict": "Predict the labels of the rows of a file.",
    "explain": "Explain the prediction of a row, and what would change it.",
    "evaluate": "Measure the accuracy of a model on a labeled file.",
    "compare": "Compare all algorithms on a file.",
    "show": "Show the contents of a model file.",
    "certify": "Prove that the classes of a file are linearly separable, or that they are not.",
    "verify": "Check a certificate against a file.",
    "doctor": "Explain why a perceptron does not converge on a file.",
    "studio": "Watch an algorithm learn, in the browser.",
    "convert": "Convert a file to another format.",
    "export": "Export a model to ONNX, JSON, C, JavaScript or SQL.",
    "mail": "A spam filter: learn, classify, explain, serve.",
    "cluster": "Start a Dask cluster on this machine, for training and predicting with --cluster.",
    "demo": "Show training, proofs, comparison and reports on example data.",
    "completion": "Print the shell completion script.",
}


class LazyGroup(click.Group):
    """Command group whose help lists the commands without importing them.

    `listed` maps the names of the commands to their one-line help; `package` is the package of their modules. Each module has
    a function `command`.
    """

    listed: dict[str, str]
    package: str

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.listed)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.listed:
            return None
        command: click.Command = importlib.import_module(f".{name}", self.package).command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.listed and not args[0].startswith("-"):
            similar = difflib.get_close_matches(args[0], self.listed, 1)
            hint = f"did you mean {similar[0]!r}?" if similar else f"choose from {', '.join(self.listed)}"
            raise click.UsageError(f"unknown command {args[0]!r}: {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.listed.items()))


class Commands(LazyGroup):
    """The commands of `rosenblatt`; every exception becomes one line on standard error and an exit code."""

    listed, package = COMMANDS, __name__

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            from .console import usage

            raise usage(error, ctx) from None
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except (Exception, KeyboardInterrupt) as error:
            from .console import failure

            raise failure(error) from None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="rosenblatt")
def main() -> None:
    """Linear classifiers that show their work.

    DATA is a file, "-" for standard input, or an example; train, predict, evaluate and certify take several files or a pattern
    such as "parts/*.csv". Formats: svmlight, CSV, TSV, JSON lines, Parquet, Arrow, npz, idx;
    .gz, .bz2, .xz and .zst are decompressed. Examples: example:iris, wine, breast-cancer, digits, blobs, spirals, xor,
    separable.

    \b
    Examples:
      rosenblatt train adult.data
      rosenblatt predict adult.safetensors new.csv > labels.txt
      rosenblatt certify example:iris

    Results are printed to standard output, progress and notes to standard error. Exit codes: 0 success (or yes), 1 no,
    2 invalid command line or file, 3 undecided, 70 internal error, 130 interrupted.
    """
