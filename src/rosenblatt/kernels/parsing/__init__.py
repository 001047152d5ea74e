"""Kernels that parse numbers, svmlight and delimited text."""
