"""Kernels of the mail filter: HTML to text, and the columns of messages."""
