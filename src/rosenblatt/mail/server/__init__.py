"""The filter as a server: the protocol of spamd, so that the stock spamc works, and a small HTTP API."""

from ...serving.sockets import ServeError
from .limits import Limits, token_from
from .server import Addresses, Server, serve

__all__ = ["Addresses", "Limits", "ServeError", "Server", "serve", "token_from"]
