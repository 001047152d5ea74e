"""Where the filter lives."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click


def default_home() -> str:
    data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return str(Path(data) / "rosenblatt" / "mail")


def _named(_: click.Context, __: click.Parameter, value: str) -> str:
    if not value.strip():
        raise click.BadParameter(f"it must name a directory, got {value!r}")
    return value


home = click.option(
    "--home", metavar="DIR", envvar="ROSENBLATT_MAIL", default=default_home, callback=_named,
    help="Where the filter lives.  [default: ROSENBLATT_MAIL or ~/.local/share/rosenblatt/mail]",
)  # fmt: skip


def opened(home: str, create: bool = False, **settings: Any) -> Any:
    from ...mail.filter import Filter

    return Filter.open(home, create=create, settings=settings or None)
