"""The server: sockets, the spamd and HTTP sides, signals, and shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...serving.sockets import ServeError, close, is_loopback, listen, listen_at, run_until_signal
from .engine import Engine, Filters
from .limits import EXTRA_CONNECTIONS, Budget, Limits, checked_token
from .monitoring import Journal, Log, Metrics
from .spamd import Spamd

if TYPE_CHECKING:
    from ...serving.http import Web
    from .http import Api

PORT, HTTP_PORT = 7830, 7831  # port 783 of spamd needs root


class Addresses(NamedTuple):
    """The addresses of a server."""

    spamd: tuple[str, int] | None
    socket: str | None
    http: tuple[str, int] | None
    notes: tuple[str, ...] = ()  # messages for the user of the command


class Server:
    """The configuration of a server, checked on construction; `run` serves until `stop` is called, from any thread.

    Parameters
    ----------
    host : str, default="127.0.0.1"
        The address to listen on.
    port : int or None, default=7830
        The port of the spamd protocol; 0 is any free one, None is no port.
    socket_path : str or path or None, default=None
        A Unix socket for the spamd protocol.
    socket_mode : int, default=0o600
        The permissions of that socket.
    http_port : int or None, default=7831
        The port of the HTTP API; 0 is any free one, None is no port.
    token : str or None, default=None
        The token that HTTP clients must send.
    tell : bool, default=True
        Whether clients of the Unix socket may teach the filter, unless its permissions admit all users.
    allow_tell : bool, default=False
        Whether clients without a token may teach the filter over TCP, with the spamd protocol or HTTP, and over a socket that
        all users can write to. With a token, HTTP clients may in any case.
    remote_spamd : bool, default=False
        Whether the spamd protocol may listen on addresses other than loopback.
    limits : Limits or None, default=None
        Limits on the resources of clients.
    workers : int or None, default=None
        The number of threads for verdicts; None is up to 4.
    warm : bool, default=True
        Load compiled code before the first request, which takes about a second.
    log, warn : callable or None, default=None
        Called with a line for each request, and with errors of the server or its filter, each once a minute at most.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int | None = PORT,
        socket_path: str | os.PathLike[str] | None = None,
        socket_mode: int = 0o600,
        http_port: int | None = HTTP_PORT,
        token: str | None = None,
        tell: bool = True,
        allow_tell: bool = False,
        remote_spamd: bool = False,
        limits: Limits | None = None,
        workers: int | None = None,
        warm: bool = True,
        log: Log | None = None,
        warn: Log | None = None,
    ) -> None:
        self._workers, self._warm, self._journal = workers, warm, Journal(log, warn)
        self._host, self._port, self._path, self._http_port = host, port, socket_path, http_port
        self._mode = socket_mode
        self._sockets: tuple[list[socket.socket], list[socket.socket]] | None = None  # for spamd and for HTTP
        self._token, self._tell, self._allow_tell, self._remote = token, tell, allow_tell, remote_spamd
        self._limits = (limits or Limits()).checked()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = asyncio.Event()
        self._notes: list[str] = []
        self._check()

    def _check(self) -> None:
        if self._port is None and self._path is None and self._http_port is None:
            raise ServeError("nothing to serve: give a port, a socket or an HTTP port")
        if self._port is not None and not self._remote and not is_loopback(self._host):
            raise ServeError(
                f"host {self._host!r} is reachable from other machines, and the spamd protocol has no passwords: any client "
                "could use the filter; use --remote-spamd to allow that, or --host 127.0.0.1"
            )
        if self._allow_tell and not self._tell:
            raise ServeError("tell=False and allow_tell=True exclude each other: pass one of --no-tell and --allow-tell")
        if not 0 <= self._mode <= 0o777:
            raise ServeError(f"socket_mode must be from 0 to 0o777, got {self._mode:#o}")
        if self._token is not None:
            checked_token(self._token)
        if self._http_port is not None and importlib.util.find_spec("starlette") and importlib.util.find_spec("uvicorn"):
            if self._token is None and not is_loopback(self._host):
                raise ServeError(f"host {self._host!r} is reachable from other machines: HTTP needs a token (--token-file)")
        elif self._http_port is not None:
            self._notes.append("HTTP is off: starlette and uvicorn are not installed (pip install 'rosenblatt[serve]')")
            self._http_port = None

    def stop(self) -> None:
        """Finish requests in progress, refuse new ones, and end."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended already
                self._loop.call_soon_threadsafe(self._stopped.set)

    @contextlib.contextmanager
    def bound(self) -> Iterator[None]:
        """Open the sockets, so that a port in use is reported before a filter is opened or created; `run` then serves."""
        with contextlib.ExitStack() as stack:
            self._sockets = self._bind(stack)
            try:
                yield
            finally:
                self._sockets = None

    async def run(self, spam_filter: Filters, ready: Callable[[Addresses], object] | None = None) -> None:
        """Serve a filter; `ready` is called when the server listens."""
        self._loop = asyncio.get_running_loop()
        async with contextlib.AsyncExitStack() as stack:
            if self._sockets is None:
                stack.enter_context(self.bound())
            assert self._sockets is not None
            spamd_sockets, http_sockets = self._sockets
            engine = Engine(spam_filter, self._workers, self._journal)
            stack.push_async_callback(asyncio.to_thread, engine.close, self._limits.stop_seconds)
            if self._warm:
                await asyncio.to_thread(engine.warm)
            await asyncio.to_thread(engine.check_learning)
            metrics, budget = Metrics(), Budget(self._limits.bytes_at_once)
            private = not self._mode & stat.S_IWOTH
            spamd = Spamd(
                engine,
                self._limits,
                budget,
                metrics,
                self._journal,
                tell_tcp=self._allow_tell,
                tell_socket=self._tell and (private or self._allow_tell),
            )
            listeners = [await asyncio.start_server(spamd.connected, sock=each) for each in spamd_sockets]
            api, web, serving = None, None, None
            if http_sockets:
                from .http import Api

                local = is_loopback(self._host)
                api = Api(
                    engine,
                    self._limits,
                    budget,
                    metrics,
                    token=self._token,
                    tell=self._allow_tell or self._token is not None,
                    local=local,
                    journal=self._journal,
                )
                web = self._web(api, metrics)
                serving = asyncio.create_task(web.serve(http_sockets))
                while not web.started and not serving.done():
                    await asyncio.sleep(0.01)
            if ready is not None:
                ready(self._addresses(spamd_sockets, http_sockets))
            await self._stopped.wait()
            if api is not None and web is not None:
                api.stopping = True
                web.stop()
            await close(spamd_sockets, listeners, spamd.protocol)
            await spamd.stop(self._limits.stop_seconds)
            if serving is not None:
                await serving

    def _web(self, api: Api, metrics: Metrics) -> Web:
        from ...serving.http import Web

        return Web(
            api.application(),
            idle_seconds=self._limits.idle_seconds,
            stop_seconds=self._limits.stop_seconds,
            header_bytes=self._limits.header_bytes,
            connections=self._limits.connections,
            extra_connections=EXTRA_CONNECTIONS,
            counted=lambda change: metrics.connections.update(http=change),
        )

    def _bind(self, stack: contextlib.ExitStack) -> tuple[list[socket.socket], list[socket.socket]]:
        spamd = [] if self._port is None else listen(self._host, self._port)
        for each in spamd:
            stack.callback(each.close)
        if self._path is not None:
            spamd.append(listen_at(self._path, self._mode))
            stack.callback(spamd[-1].close)
            stack.callback(Path(self._path).unlink, missing_ok=True)
        http = [] if self._http_port is None else listen(self._host, self._http_port)
        for each in http:
            stack.callback(each.close)
        return spamd, http

    def _addresses(self, spamd: list[socket.socket], http: list[socket.socket]) -> Addresses:
        return Addresses(
            None if self._port is None else spamd[0].getsockname()[:2],
            None if self._path is None else os.fspath(self._path),
            http[0].getsockname()[:2] if http else None,
            tuple(self._notes),
        )


def serve(spam_filter: Filters, server: Server, ready: Callable[[Addresses], object] | None = None) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP, and finish requests in progress.

    A second SIGTERM or SIGINT ends at once, which is safe because acknowledged lessons are on disk.
    """
    run_until_signal(lambda: server.run(spam_filter, ready), server.stop)
