"""Least-squares solvers: linear, and through a squashing function."""
