"""Options of commands that work on a cluster, and the cluster itself: a running one, or local processes for one command."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .console import INTERRUPTED, Failure, one_line
from .option_types import Size, WholeNumber

if TYPE_CHECKING:
    from distributed import Client

Command = TypeVar("Command", bound=Callable[..., Any])

LOCAL = "local"
PROTOCOLS = ("tcp", "tls", "ws", "wss", "ucx", "inproc")
WORDS = f"write {LOCAL}, {LOCAL}:4, tcp://HOST:8786 or tls://HOST:8786"


class ClusterAddress(click.ParamType):  # type: ignore[type-arg]
    """The address of a scheduler, or "local" with the number of workers."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        protocol, separator, rest = str(value).partition("://")
        if separator:
            if protocol not in PROTOCOLS or not rest:
                self.fail(f"{value!r} is not the address of a scheduler: {WORDS}", param, ctx)
            return str(value)
        kind, _, number = str(value).partition(":")
        if kind != LOCAL:
            self.fail(f"{value!r} is not a cluster: {WORDS}", param, ctx)
        if str(value) != LOCAL and not (number.isdecimal() and number.isascii() and int(number[:9])):
            self.fail(f"{value!r} must name a number of workers, such as {LOCAL}:4", param, ctx)
        return str(value)


_cluster = click.option(
    "--cluster", type=ClusterAddress(), metavar="ADDRESS",
    help="Work on a Dask cluster: tcp://HOST:PORT, or local:N for N processes of this machine (local: one for each core). "
    "Workers read the files themselves. Needs pip install 'rosenblatt[dask]'; see `rosenblatt cluster`.",
)  # fmt: skip
_block_size = click.option(
    "--block-size", "block_bytes", type=Size(), metavar="SIZE",
    help="With --cluster: the bytes of a file in a block, such as 16M.  [default: 64M]",
)  # fmt: skip


def on_cluster(command: Command) -> Command:
    """Add --cluster and --block-size, which the command gets as `cluster` and `block_bytes`."""
    return _cluster(_block_size(command))


def fit_on_cluster(command: Command) -> Command:
    """Add the options of fits on a cluster."""
    for option in reversed(
        (
            click.option(
                "--mode", type=click.Choice(["exact", "mixed"]),
                help="With --cluster: how online learners run. exact: row by row, as on one machine; mixed: shards learn side "
                "by side, and are averaged after every pass.  [default: exact]",
            ),
            click.option("--shards", type=WholeNumber(1), metavar="N",
                         help="Shards of --mode mixed; the model depends on it.  [default: the number of blocks, at most 8]"),
            click.option("--checkpoint", metavar="FILE",
                         help="With --cluster: keep what is done here, so that the same command continues after a failure."),
        )
    ):  # fmt: skip
        command = option(command)
    return on_cluster(command)


def refuse_without_cluster(cluster: str | None, given: dict[str, Any]) -> None:
    """Raise an error about options that need --cluster; `given` has the names of the parameters and their values."""
    if cluster is None and (name := next((name for name, value in given.items() if value is not None), None)):
        raise click.UsageError(f"{_option(name)} is used by --cluster only: add --cluster, or leave it out")


def refuse_with_cluster(given: dict[str, Any], why: str = "needs the rows on this machine") -> None:
    """Raise an error about the first option that was given; `given` has the names of the parameters and their values."""
    for name, value in given.items():
        if value is not None and value is not False and value != ():
            raise click.UsageError(f"{_option(name)} {why}: leave out {_option(name)} or --cluster")


def _option(parameter: str) -> str:
    for each in click.get_current_context().command.params:
        if each.name == parameter:
            return each.opts[0] if each.opts[0].startswith("--") else each.opts[-1]
    raise AssertionError(parameter)


# --- clusters --------------------------------------------------------------------------------------------------------------


def require_dask() -> None:
    """Raise a `Failure` if Dask is not installed; else silence its log, whose errors are raised, too."""
    if find_spec("dask") is None or find_spec("distributed") is None:
        raise Failure("clusters need the packages dask and distributed: pip install 'rosenblatt[dask]'")
    import dask.config

    loggers = ("distributed", "distributed.client", "tornado", "tornado.application", "asyncio")
    dask.config.set({"logging": dict.fromkeys(loggers, "critical")})


@contextmanager
def open_cluster(address: str, checkpoint: str | None = None) -> Iterator[Client]:
    """A client of the cluster at an address; a local one is started, and ends with the block."""
    require_dask()
    from ..cluster.dask_engine import ClusterError, connected

    try:
        with ExitStack() as stack:
            if address.partition(":")[0] == LOCAL:
                from .local_cluster import start_workers

                number = address.partition(":")[2]
                address = stack.enter_context(start_workers(int(number) if number else None)).scheduler_address
            _check_certificates(address)
            yield stack.enter_context(connected(address))
    except ClusterError as error:
        raise Failure(one_line(error).replace("use checkpoint= to continue fits", _about_checkpoint(checkpoint))) from None
    except KeyboardInterrupt:
        if checkpoint is None or not os.path.exists(checkpoint):
            raise
        raise Failure(f"interrupted; {_about_checkpoint(checkpoint)}", INTERRUPTED) from None


def _check_certificates(address: str) -> None:
    """Raise a `Failure` if an address needs certificates that the settings of Dask do not name, or that cannot be read."""
    if address.partition("://")[0] not in ("tls", "wss"):
        return
    from distributed.security import Security

    try:
        found = Security().get_connection_args("client").get("ssl_context")
    except OSError as error:
        raise Failure(f"the certificates for {address} cannot be read: {error.strerror or one_line(error)}") from None
    if found is None:
        settings = "DASK_DISTRIBUTED__COMM__TLS__CA_FILE, ...__CLIENT__CERT and ...__CLIENT__KEY"
        raise Failure(f"{address} needs certificates: set {settings} (see rosenblatt cluster --help)")


def workers_text(client: Client) -> str:
    """The number of workers, and the address of their scheduler."""
    from ..reporting.text import plural

    info = client.scheduler_info(n_workers=-1)
    return f"{plural(len(info['workers']), 'worker')} at {info['address']}"


def _about_checkpoint(checkpoint: str | None) -> str:
    if checkpoint is None:
        return "with --checkpoint FILE, the same command continues"
    return f"the same command continues from {checkpoint}"
