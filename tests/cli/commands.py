"""Calling the command line from tests."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from click.testing import CliRunner

from rosenblatt.cli import main


class Result(NamedTuple):
    code: int
    out: str
    err: str
    shown: str  # both, as a terminal shows them

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def rosenblatt(*arguments: Any, input: bytes | str | None = None) -> Result:  # noqa: A002
    """What `rosenblatt ARGUMENTS` prints and returns; an internal error fails the test."""
    found = CliRunner().invoke(main, [str(argument) for argument in arguments], input=input)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert found.exit_code != 70, found.stderr
    return Result(found.exit_code, found.stdout, found.stderr, found.output)
