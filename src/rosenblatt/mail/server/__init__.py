"""The filter as a server: the spamd protocol, for the stock spamc, and a small HTTP API."""

from ...serving.sockets import ServeError
from .limits import Limits, token_from
from .server import Addresses, Server, serve

__all__ = ["Addresses", "Limits", "ServeError", "Server", "serve", "token_from"]
