"""Certificates: statements proved about rows and labels, their files, and the checker.

This package uses the standard library and NumPy only. It imports nothing else of Rosenblatt, so that a check shares no code
with the solvers that found a proof.
"""
