"""The command line: one file per command, imported when it is called.

Exit codes: 0 done, and the answer is yes where one was asked for; 1 the answer is no (`verify`: rejected, `certify`: not
separable); 2 the command line or a file is wrong; 3 `certify`: undecided in the time allowed; 70 a fault of ours; 130
interrupted.
"""

from __future__ import annotations

from typing import Any

import click

from .. import __version__
from .options import Lazy

# With their help, so that listing the commands imports none of them.
COMMANDS = {
    "train": "Learn a model from a file, and say how good it is.",
    "predict": "Label the rows of a file.",
    "evaluate": "Say how well a model labels the rows of a file.",
    "compare": "Try all algorithms on a file.",
    "show": "Show what is in a model file.",
    "certify": "Prove that a file's classes can be separated, or that they cannot.",
    "verify": "Check a certificate against a file.",
    "doctor": "Say why a perceptron does not converge on a file.",
    "studio": "Watch an algorithm find its plane, in the browser.",
    "convert": "Turn a file into another format.",
    "export": "Turn a model into ONNX, JSON, C or SQL.",
    "mail": "A spam filter: learn, classify, explain, serve.",
    "demo": "See it train, prove, compare and report, on data that is at hand.",
    "completion": "Print what makes a shell complete this command.",
}


class Commands(Lazy):
    listed, package = COMMANDS, __name__

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as wrong:
            from .console import usage

            raise usage(wrong, ctx) from None
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except (Exception, KeyboardInterrupt) as wrong:
            from .console import failure

            raise failure(wrong) from None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="rosenblatt")
def main() -> None:
    """Linear classifiers that show their work.

    DATA is a file - svmlight, CSV, TSV, JSON lines, Parquet, Arrow, npz, idx; .gz, .bz2, .xz and .zst are unpacked - or "-" for
    standard input, or a set that is at hand: example:iris, wine, breast-cancer, digits, blobs, spirals, xor, separable.

    \b
    Examples:
      rosenblatt train adult.data --missing mean
      rosenblatt predict adult.safetensors new.csv > labels.txt
      rosenblatt certify example:iris

    Results go to standard output, everything else to standard error. Exit codes: 0 done (and yes), 1 no, 2 something given is
    wrong, 3 undecided, 70 a fault of ours, 130 interrupted.
    """
