"""Shared by both web servers: sockets, HTTP with limits and timeouts, request bodies, and shutdown."""
