"""Output of the commands: results, progress bars, error lines, and checks of files that will be written.

Results are printed to standard output, notes and progress to standard error. Commands print with the functions of this module
alone: names, labels and mails may contain control sequences, which no terminal may receive.
"""

from __future__ import annotations

import codecs
import errno
import io
import json
import os
import shutil
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, cast

import click

from ..reporting.text import wrap
from ..safe_text import UNSAFE_IN_LINES, printable
from ..validation import ParameterProblem

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    from ..progress import Progress

# A progress bar appears after this delay; faster work shows none.
BAR_DELAY_S = 1.0
# Line width if standard output is not a terminal.
PIPE_COLUMNS = 120
MIN_TEXT_COLUMNS = 20

# Exit codes, beside those of single commands.
INVALID_INPUT, INTERNAL_ERROR, INTERRUPTED, BROKEN_PIPE = 2, 70, 130, 141

# Options of other commands or of earlier versions, and what replaces them; the most similar name would be a wrong one.
USE_INSTEAD = {
    "--max-passes": "--max-iter",
    "--keep": "--algorithm",
    "--ridge": "--alpha",
    "--spam": "--as spam",
    "--ham": "--as ham",
}


# --- results and notes -----------------------------------------------------------------------------------------------------


def echo(text: str = "", *, err: bool = False) -> None:
    """Print lines of text to standard output or standard error."""
    click.echo(printable(text, lines=True), err=err)


def out(*, stderr: bool = False) -> Console:
    """Return a rich console on standard output or standard error. Text is printed as it is, without markup."""
    from rich.console import Console

    class SafeConsole(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else segment._replace(text=printable(segment.text, lines=True))

    width = None if stderr or _on_terminal() else PIPE_COLUMNS
    return SafeConsole(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def data_out() -> BinaryIO:
    """Return standard output for the contents of a file: the bytes as they are, or printable text on a terminal."""
    return cast("BinaryIO", _TerminalBytes()) if _on_terminal() else sys.stdout.buffer


def _on_terminal() -> bool:
    return sys.stdout.isatty()


class _TerminalBytes(io.RawIOBase):
    """A binary file that is shown on the terminal."""

    def __init__(self) -> None:
        super().__init__()
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        click.echo(printable(self._decoder.decode(bytes(data)), lines=True), nl=False)
        return len(data)

    def flush(self) -> None:
        sys.stdout.flush()


def print_json(result: object) -> None:
    echo(json_text(result, indent=1))


def json_text(value: object, indent: int | None = None) -> str:
    """JSON in UTF-8, with escapes for what is unsafe on a terminal."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False, default=_as_json)
    return UNSAFE_IN_LINES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _as_json(value: object) -> object:
    """Convert arrays and NumPy scalars; any other object becomes text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def note(sentence: str) -> None:
    """Print a note to standard error."""
    echo(sentence, err=True)


def print_fields(fields: list[tuple[str, str]]) -> None:
    """Print names on the left and their values on the right, wrapped to the terminal."""
    left = max(len(name) for name, _ in fields) + 2
    columns = shutil.get_terminal_size().columns if _on_terminal() else PIPE_COLUMNS
    for name, value in fields:
        room = max(MIN_TEXT_COLUMNS, columns - left)
        first, *more = wrap(printable(value, lines=True), room)
        click.echo(click.style(printable(name), bold=True) + " " * (left - len(name)) + first)
        for line in more:
            echo(" " * left + line)


# --- progress --------------------------------------------------------------------------------------------------------------


@contextmanager
def bar(title: str) -> Iterator[Bar | None]:
    """Show a progress bar on standard error while a fit runs.

    Yields a progress callback, or None if standard error is not a terminal.
    """
    if not sys.stderr.isatty():
        yield None
        return
    shown = Bar(title)
    try:
        yield shown
    finally:
        shown.close()


class Bar:
    """A progress callback that draws a bar; it can be closed and continues with the next call."""

    def __init__(self, title: str) -> None:
        self.title, self.started = title, time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, progress: Progress) -> None:
        if self._bar is None:
            if time.monotonic() - self.started < BAR_DELAY_S:
                return
            self._open()
        done = progress.passes + (progress.visited / progress.rows if progress.rows else 0.0)
        total = progress.max_iter if progress.gap is None else None  # solvers end at their tolerance, far below the limit
        self._bar.update(self._task, completed=done, total=total, text=str(progress))

    def _open(self) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        texts = [TextColumn(field, markup=False) for field in ("{task.description}", "{task.fields[text]}")]
        columns = (texts[0], BarColumn(), texts[1], TimeElapsedColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=out(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task(self.title, total=None, text="")

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


# --- errors: one line on standard error and an exit code; ROSENBLATT_DEBUG=1 also shows the traceback -------------------------


class Failure(click.ClickException):
    """An error that is printed as one line, with its exit code."""

    def __init__(self, sentence: str, exit_code: int = INVALID_INPUT) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code  # type: ignore[misc]

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(printable(f"rosenblatt: {self.message}"), file=file, err=file is None)


def usage(error: click.UsageError, ctx: click.Context) -> click.ClickException:
    """Turn an invalid command line into a `Failure`."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return error
    command = (error.ctx or ctx).command_path
    return Failure(f"{_usage_sentence(error)} (see {command} --help)")


def _usage_sentence(error: click.UsageError) -> str:
    """The message of an invalid command line, which names the option or argument first."""
    if isinstance(error, click.NoSuchOption):
        return f"there is no option {error.option_name}{_option_hint(error)}"
    if isinstance(error, click.BadParameter) and error.param is not None:
        options = [name for name in error.param.opts if name.startswith("--")]
        metavar = error.param.make_metavar(error.ctx or click.get_current_context())
        name = options[0] if options else metavar.split()[0].strip("[].")
        if isinstance(error, click.MissingParameter):
            return f"{name} is missing"
        return f"{name}: {one_line(click.ClickException(error.message)).rstrip('.')}"
    sentence = one_line(click.ClickException(error.format_message())).rstrip(".")
    return sentence[:1].lower() + sentence[1:]


def _option_hint(error: click.NoSuchOption) -> str:
    """The option to use instead, if the command has it."""
    instead = USE_INSTEAD.get(error.option_name)
    if instead is None:
        return f"; did you mean {error.possibilities[0]}?" if error.possibilities else ""
    return f"; use {instead}" if error.ctx and has_option(error.ctx.command, instead) else ""


def has_option(command: click.Command, option: str) -> bool:
    """Whether a command has an option, which may be followed by a value."""
    return any(option.split()[0] in parameter.opts for parameter in command.params)


def failure(error: BaseException) -> click.ClickException | click.exceptions.Exit:
    """Turn any exception into a `Failure` or an exit code."""
    if os.environ.get("ROSENBLATT_DEBUG"):
        traceback.print_exception(error)
    if isinstance(error, click.ClickException):
        return error
    if isinstance(error, KeyboardInterrupt):
        return Failure("interrupted; no files were changed", INTERRUPTED)
    if isinstance(error, BrokenPipeError) or (isinstance(error, OSError) and error.errno == errno.EPIPE):
        # The reader of our output has closed it; flushing at exit would raise the same error again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return click.exceptions.Exit(BROKEN_PIPE)
    if isinstance(error, MemoryError):
        detail = f" ({one_line(error)})" if str(error) else ""
        return Failure(f"not enough memory{detail}; `rosenblatt train --stream` trains on files larger than memory")
    if isinstance(error, FileNotFoundError) and error.filename:
        return Failure(f"{error.filename}: file not found")
    if isinstance(error, OSError) and error.strerror:
        named = f"{error.filename}: " if error.filename else ""
        return Failure(f"{named}{error.strerror.lower()}")
    if isinstance(error, ValueError | TypeError | OSError | ImportError):
        return Failure(_parameter_sentence(error) if isinstance(error, ParameterProblem) else one_line(error))
    return Failure(f"internal error, please report it: {type(error).__name__}: {one_line(error)}", INTERNAL_ERROR)


def _parameter_sentence(error: ParameterProblem) -> str:
    """The message about a parameter, which names the option instead if the running command has one for it."""
    option = _option_of_command(error.name)
    if option is None:
        return one_line(error)
    got = "none" if error.value is None else error.got
    why = f": {error.reason}" if error.reason else ""
    return " ".join(f"{option} must be {error.requirement}, got {got}{why}".split())


def _option_of_command(parameter: str) -> str | None:
    """The option of the running command that sets a parameter, or None."""
    ctx = click.get_current_context(silent=True)
    command = None if ctx is None else ctx.command
    if ctx is not None and isinstance(command, click.Group) and ctx.invoked_subcommand is not None:
        command = command.get_command(ctx, ctx.invoked_subcommand)
    for each in [] if command is None else command.params:
        if each.name == parameter and each.opts[0].startswith("--"):
            return each.opts[0]
    return None


def one_line(error: BaseException) -> str:
    """The message of an exception as one line."""
    return " ".join(str(error).split()) or type(error).__name__


# --- checks of output files, made before the work starts --------------------------------------------------------------------


def check_writable(path: str | None, *inputs: str | None, ending: str | tuple[str, ...] = "") -> None:
    """Raise a `Failure` if `path` cannot be written, or would overwrite an input."""
    if path is None:
        return
    if path == "-":
        raise Failure("standard output (-) is used for the summary: name a file instead")
    if ending and not path.lower().endswith(ending):
        endings = ending if isinstance(ending, str) else " or ".join(ending)
        raise Failure(f"{path}: the file name must end with {endings}")
    for given in inputs:
        if given is not None and os.path.exists(path) and os.path.exists(given) and os.path.samefile(path, given):
            raise Failure(f"{path}: the output would overwrite the input")
    folder = Path(path).parent
    if not folder.is_dir():
        raise Failure(f"{path}: there is no folder {folder}")
    if Path(path).is_dir():
        raise Failure(f"{path}: is a folder, not a file")
    if not os.access(folder, os.W_OK):
        raise Failure(f"{path}: no permission to write to folder {folder}")


def check_picture(path: str) -> None:
    """Raise a `Failure` if figures cannot be written in the format of `path`."""
    from ..reporting.page import EXTENSIONS

    if Path(path).suffix.lower() not in EXTENSIONS:
        raise Failure(f"{path}: a figure is written as {', '.join(EXTENSIONS)}, according to its file name")
    if not path.lower().endswith(".svg") and find_spec("matplotlib") is None:
        raise Failure(f"{path}: PNG and PDF need matplotlib: pip install 'rosenblatt[plot]'; .svg works without it")
