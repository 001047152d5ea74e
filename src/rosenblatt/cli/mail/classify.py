"""`rosenblatt mail classify`: spam, ham or unsure.

The exit codes are those of bogofilter: 0 spam, 1 ham, 2 unsure, 3 error. A mail server may call this command for every mail, so
that nothing here may import slow modules.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from ...reporting.text import fixed
from ..console import Failure, data_out, echo, failure, json_text
from ..options import WholeNumber, as_json
from .common import home, opened_taught

CODES = {"spam": 0, "ham": 1, "unsure": 2}
ERROR = 3
Error = TypeVar("Error", bound=Exception)


class Classifying(click.Command):
    """A command whose errors have the exit code 3, since 2, the code of errors elsewhere, means unsure."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        try:
            return super().make_context(*args, **kwargs)
        except click.UsageError as error:
            from ..console import usage

            raise with_code(usage(error, click.get_current_context())) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.Abort, click.exceptions.Exit):
            raise
        except click.UsageError as error:
            from ..console import usage

            raise with_code(usage(error, ctx)) from None
        except Exception as error:
            from ..console import failure

            raise with_code(failure(error)) from None


def with_code(error: Error) -> Error:
    """The error with the exit code 3."""
    if isinstance(error, click.ClickException):
        error.exit_code = ERROR  # type: ignore[misc]
    return error


@click.command("classify", cls=Classifying)
@click.argument("paths", metavar="[FILE]...", nargs=-1)
@click.option("--filter", "through", is_flag=True, help="Print the mail with a header X-Rosenblatt added.")
@click.option(
    "-e", "zero", is_flag=True, help="Exit with 0 for any verdict, for mail systems that take other codes as failures."
)
@click.option(
    "--reasons", type=WholeNumber(0, 20), default=3, show_default=True, help="Number of reasons in the header of --filter."
)
@home
@as_json
def command(paths: tuple[str, ...], through: bool, zero: bool, reasons: int, home: str, as_json: bool) -> None:
    """Classify mail: print the verdict, the probability of spam, the score and the source of each mail.

    Reads standard input if no file is given; files that are not mails are skipped. Exit codes as in bogofilter: 0 spam, 1 ham,
    2 unsure, 3 error; 0 for more than one mail. --filter writes the mail to standard output with `X-Rosenblatt: spam;
    score=...; reasons=...` as its last header; earlier headers of that name are removed, all other bytes stay, and a
    compressed file is decompressed. If the filter fails, or has learned nothing, the mail is written unchanged.

    \b
    Examples:
      rosenblatt mail classify new.eml
      rosenblatt mail classify --json ~/Mail/.Inbox
      :0fw                                            # in ~/.procmailrc
      | rosenblatt mail classify --filter -e
    """

    if through:
        if as_json:
            raise click.UsageError("--filter and --json cannot be combined")
        code = pass_through(home, paths, reasons)
    else:
        code = classify(home, paths, as_json)
    if code and not zero:
        raise click.exceptions.Exit(code)


def classify(home: str, paths: tuple[str, ...], as_json: bool) -> int:
    """Print the verdicts; returns the exit code."""
    from .common import Reading, report_skipped

    reading, label, source = Reading(paths or ("-",)), "", ""

    def raws() -> Iterator[bytes]:
        nonlocal source
        for mail in reading:
            source = mail.source
            yield mail.raw

    with opened_taught(home) as spam_filter:
        for found in spam_filter.classify_many(raws()):
            label = found.label
            if as_json:
                echo(json_text({"mail": source, **found._asdict()}))
            else:
                echo(f"{label:6}  {fixed(found.probability, 4)}  {fixed(found.score, 3, signed=True):>8}  {source}")
    report_skipped(reading)
    if reading.skipped or not reading.seen:
        if not reading.skipped:
            echo("rosenblatt: no mail found", err=True)
        return ERROR
    return CODES[label] if reading.seen == 1 else 0


def pass_through(home: str, paths: tuple[str, ...], reasons: int) -> int:
    """Print the mail with its header, or unchanged after an error; returns the exit code."""
    if len(paths) > 1:
        raise click.UsageError("--filter takes one mail")
    if sys.stdout is None:  # closed by the caller
        raise Failure("standard output is closed; the mail cannot be written")
    piped = paths in ((), ("-",))
    raw = _piped() if piped else Path(paths[0]).read_bytes()
    try:
        mail = raw if piped else _unpacked(paths[0], raw)
        _expect_one(mail, "" if piped else paths[0])
        stamped, label = _stamped(home, mail, reasons)
    except Exception as error:
        _write(raw)
        failed = failure(error)
        unchanged = "; the mail was passed through unchanged" if raw else ""
        echo(f"rosenblatt: {getattr(failed, 'message', failed)}{unchanged}", err=True)
        return ERROR
    _write(*stamped)
    return CODES[label]


def _piped() -> bytes:
    return b"" if sys.stdin is None else sys.stdin.buffer.read()  # None: closed by the caller


def _unpacked(path: str, raw: bytes) -> bytes:
    from ...data.readers.sources import Source

    with Source(path, io.BytesIO(raw)) as source:
        return raw if source.compression is None else source.read()


def _expect_one(raw: bytes, path: str) -> None:
    """Refuse files with several mails or none. A pipe has one: nothing that it contains may bypass the filter."""
    if not raw:
        raise ValueError("the file is empty" if path else "no mail on standard input")
    if path:
        from ...mail.boxes import PEEK_BYTES, before_mbox, is_mail, is_several

        if is_several(raw):
            raise ValueError("--filter takes one mail, but the file has several")
        if before_mbox(raw[:PEEK_BYTES]) is None and not is_mail(path, raw[:PEEK_BYTES], True):
            raise ValueError(f"{path}: not a mail")


def _stamped(home: str, raw: bytes, reasons: int) -> tuple[tuple[memoryview, bytes, memoryview], str]:
    from ...mail.identity import pieces
    from ...mail.verdict import header_value, supporting

    with opened_taught(home) as spam_filter:
        found = spam_filter.classify(raw)
        why = supporting(found.label, spam_filter.explain(raw, 4 * reasons, by="words"))[:reasons] if reasons else []
    return pieces(raw, header_value(found, why)), found.label


def _write(*pieces: bytes | memoryview) -> None:
    written = data_out()
    for piece in pieces:
        written.write(piece)
    written.flush()
