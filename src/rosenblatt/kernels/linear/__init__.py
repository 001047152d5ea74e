"""Kernels on rows and weights."""
