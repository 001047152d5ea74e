"""The filter as a server: the protocol of spamd, so that the stock spamc works, and a small HTTP API."""

from ...serving.sockets import ServeError
from .limits import Limits
from .server import Addresses, Server, serve
from .tokens import token_from

__all__ = ["Addresses", "Limits", "ServeError", "Server", "serve", "token_from"]
