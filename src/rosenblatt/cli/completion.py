"""`rosenblatt completion`: the script with which a shell completes commands, options and algorithms."""

from __future__ import annotations

import click

from . import main


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the shell completion script.

    \b
    Examples:
      eval "$(rosenblatt completion bash)"                                       # in ~/.bashrc
      eval "$(rosenblatt completion zsh)"                                        # in ~/.zshrc
      rosenblatt completion fish > ~/.config/fish/completions/rosenblatt.fish
    """
    from click.shell_completion import get_completion_class

    from .console import echo

    completer = get_completion_class(shell)
    assert completer is not None
    echo(completer(main, {}, "rosenblatt", "_ROSENBLATT_COMPLETE").source())
