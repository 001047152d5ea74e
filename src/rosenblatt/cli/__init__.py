"""The command line: one file per command, loaded when it is called."""

from __future__ import annotations

import click

from rosenblatt import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rosenblatt")
def main() -> None:
    """Linear classifiers that show their work.

    Example: rosenblatt demo
    """


@main.command()
@click.option("--seed", default=0, show_default=True, help="Seed of the orders in which rows are visited.")
def demo(seed: int) -> None:
    """Train every reading of a perceptron on scikit-learn's breast-cancer data and say what came out.

    Example: rosenblatt demo --seed 3
    """
    from .demo import run_demo

    run_demo(seed)
