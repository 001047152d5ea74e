"""The filter as a server: the protocol of spamd, so that the stock spamc works, and a small HTTP API."""

from .limits import Limits
from .server import Addresses, Server, serve

__all__ = ["Addresses", "Limits", "Server", "serve"]
