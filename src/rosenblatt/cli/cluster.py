"""`rosenblatt cluster`: workers of Dask on this machine, until Ctrl-C, and how to start them on several machines."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from .console import note, print_fields
from .option_types import Size, WholeNumber

DEFAULT_PORT = 8786  # as that of `dask scheduler`
SEVERAL_MACHINES = """\
On several machines, with the same version of rosenblatt[dask] and the files under the same paths:
  dask scheduler                                              on one of them
  dask worker tcp://HOST:8786 --nworkers -1 --nthreads 1      on each of them (-1: a process for each core)
  rosenblatt train "parts/*.csv" --cluster tcp://HOST:8786"""
TLS = """\
Anybody who reaches a scheduler can run programs on its workers. On a network of others, give --protocol tls,
--tls-ca-file, --tls-cert and --tls-key to `dask scheduler`, the last three to `dask worker tls://HOST:8786`,
and to `rosenblatt train --cluster tls://HOST:8786` as variables of the environment:
  DASK_DISTRIBUTED__COMM__TLS__CA_FILE       the certificate of the authority
  DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT  the own certificate
  DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY   and its key"""
HELP = f"""Start a Dask cluster on this machine, for --cluster of train, predict, evaluate and certify.

A scheduler and its workers listen on 127.0.0.1 until Ctrl-C; the address is printed. A worker that dies is started again.
For one command alone, --cluster local:4 does the same. Needs pip install 'rosenblatt[dask]'.

\b
{SEVERAL_MACHINES}

\b
{TLS}

\b
Examples:
  rosenblatt cluster --workers 4 --memory 2GB
  rosenblatt train "parts/*.csv" --cluster tcp://127.0.0.1:8786
"""


@click.command("cluster", help=HELP)
@click.option("--workers", type=WholeNumber(1), metavar="N", help="Worker processes.  [default: one for each core]")
@click.option("--threads", type=WholeNumber(1), default=1, show_default=True, metavar="N", help="Threads of a worker.")
@click.option(
    "--memory",
    type=Size(),
    metavar="SIZE",
    help="Memory of a worker, such as 2GB; near it, results go to disk.  [default: its share of this machine]",
)
@click.option("--port", type=WholeNumber(0, 65535), help="Port of the scheduler; 0: any free one.  [default: 8786, or any]")
def command(workers: int | None, threads: int, memory: int | None, port: int | None) -> None:
    from .cluster_options import require_dask

    require_dask()
    from ..reporting.text import byte_size, plural
    from .local_cluster import is_free, start_workers

    if port is None:
        port = DEFAULT_PORT if is_free(DEFAULT_PORT) else 0
    with _end_by_signal() as ended, start_workers(workers, threads, memory, port) as cluster:
        found = list(cluster.scheduler_info["workers"].values())
        each = f"{plural(found[0]['nthreads'], 'thread')} and {byte_size(found[0]['memory_limit'])}"
        address = cluster.scheduler_address
        use = f'rosenblatt train "parts/*.csv" --cluster {address}'
        print_fields([("cluster", address), ("workers", f"{len(found)}, each with {each}"), ("use", use)])
        note(f"\n{SEVERAL_MACHINES}\n\nTLS: see rosenblatt cluster --help\npress Ctrl-C to stop")
        ended.wait()


@contextmanager
def _end_by_signal() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set, instead of interrupting the workers while they start or end."""
    ended = threading.Event()
    before: dict[signal.Signals, Any] = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        before[number] = signal.signal(number, lambda *_: ended.set())
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
