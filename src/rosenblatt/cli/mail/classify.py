"""`rosenblatt mail classify`: spam, ham or unsure."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ..console import Failure, failure
from ..options import as_json
from .common import home, opened

# --- Exit codes of `mail classify`, which are bogofilter's: 0 spam, 1 ham, 2 unsure, 3 something is wrong.

CODES = {"spam": 0, "ham": 1, "unsure": 2}
WRONG = 3


class Classifying(click.Command):
    """Whatever goes wrong ends with 3: everywhere else that is 2, which here means unsure."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        try:
            return super().make_context(*args, **kwargs)
        except click.UsageError as wrong:
            from ..console import usage

            raise with_code(usage(wrong, click.get_current_context())) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.Abort, click.exceptions.Exit):
            raise
        except click.UsageError as wrong:
            from ..console import usage

            raise with_code(usage(wrong, ctx)) from None
        except Exception as wrong:
            from ..console import failure

            raise with_code(failure(wrong)) from None


def with_code(failed: Any) -> Any:
    if isinstance(failed, click.ClickException):
        failed.exit_code = WRONG  # type: ignore[misc]
    return failed


# ---


@click.command("classify", cls=Classifying)
@click.argument("paths", metavar="[FILE]...", nargs=-1)
@click.option("--filter", "through", is_flag=True, help="Pass the mail through, with a header X-Rosenblatt added.")
@click.option("-e", "zero", is_flag=True, help="Exit code 0 whatever the mail is, as mail filters that must not fail want it.")
@click.option("--reasons", type=click.IntRange(0, 20), default=3, show_default=True, help="--filter: reasons in the header.")
@home
@as_json
def command(paths: tuple[str, ...], through: bool, zero: bool, reasons: int, home: str, as_json: bool) -> None:
    """Say whether mail is spam: the verdict, the probability of spam, the score, and whose they are.

    Reads standard input where no file is given. Exit codes are bogofilter's: 0 spam, 1 ham, 2 unsure, 3 something is wrong;
    with more than one mail, 0. With --filter the mail goes to standard output with `X-Rosenblatt: spam; score=...; reasons=...`
    as its last header, and is the same byte for byte otherwise, except that headers of that name which were there are dropped;
    a compressed file is unpacked.
    Should anything be wrong with the filter, the mail goes through as it came.

    \b
    Examples:
      rosenblatt mail classify new.eml
      rosenblatt mail classify --json ~/Mail/.Inbox
      :0fw                                            # in ~/.procmailrc
      | rosenblatt mail classify --filter -e
    """

    if through:
        if as_json:
            raise click.UsageError("--filter prints the mail, not JSON")
        code = pass_through(home, paths, reasons)
    else:
        code = classify(home, paths, as_json)
    if code and not zero:
        raise click.exceptions.Exit(code)


# --- What `mail classify` does. Nothing here may import what takes long: a mail server calls it for every mail.


def classify(home: str, paths: tuple[str, ...], as_json: bool) -> int:
    from .common import Reading, report_skipped

    reading, label, source = Reading(paths or ("-",)), "", ""

    def raws() -> Iterator[bytes]:
        nonlocal source
        for mail in reading:
            source = mail.source
            yield mail.raw

    with opened(home) as spam_filter:
        for found in spam_filter.classify_many(raws()):
            label = found.label
            if as_json:
                click.echo(json.dumps({"mail": source, **found._asdict()}, ensure_ascii=False))
            else:
                click.echo(f"{label:6}  {found.probability:.4f}  {found.score:+8.3f}  {source}")
    report_skipped(reading)
    if reading.skipped or not reading.seen:
        if not reading.skipped:
            click.echo("rosenblatt: there was no mail", err=True)
        return WRONG
    return CODES[label] if reading.seen == 1 else 0


def pass_through(home: str, paths: tuple[str, ...], reasons: int) -> int:
    """The mail with its header, unpacked if it is a file that is compressed; as it came where anything goes wrong."""
    if len(paths) > 1:
        raise click.UsageError("--filter takes one mail")
    if sys.stdout is None:  # which whoever called has closed
        raise Failure("standard output is closed, and the mail has nowhere to go")
    piped = paths in ((), ("-",))
    raw = _piped() if piped else Path(paths[0]).read_bytes()
    try:
        mail = raw if piped else _unpacked(paths[0], raw)
        _expect_one(mail, piped)
        stamped, label = _stamped(home, mail, reasons)
    except Exception as wrong:
        _write(raw)
        told = failure(wrong)
        click.echo(
            f"rosenblatt: {getattr(told, 'message', told)}{'; the mail goes through as it came' if raw else ''}", err=True
        )
        return WRONG
    _write(*stamped)
    return CODES[label]


def _piped() -> bytes:
    return b"" if sys.stdin is None else sys.stdin.buffer.read()  # None: whoever called has closed it


def _unpacked(path: str, raw: bytes) -> bytes:
    from ...data.readers.sources import Source

    with Source(path, io.BytesIO(raw)) as source:
        return raw if source.compression is None else source.read()


def _expect_one(raw: bytes, piped: bool) -> None:
    """A mail server pipes one mail: what in it looks like the beginning of another must not save it from the filter."""
    if not raw:
        raise ValueError("there is no mail")
    if not piped:
        from ...mail.boxes import is_several

        if is_several(raw):
            raise ValueError("--filter takes one mail, this file has several")


def _stamped(home: str, raw: bytes, reasons: int) -> tuple[tuple[memoryview, bytes, memoryview], str]:
    from ...mail.identity import pieces
    from ...mail.verdict import header_value, supporting

    with opened(home) as spam_filter:
        found = spam_filter.classify(raw)
        why: list[Any] = supporting(found.label, spam_filter.explain_words(raw, 4 * reasons))[:reasons] if reasons else []
    return pieces(raw, header_value(found, why)), found.label


def _write(*pieces: bytes | memoryview) -> None:
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
