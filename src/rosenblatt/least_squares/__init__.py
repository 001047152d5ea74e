"""Least-squares solvers: linear, and nonlinear with a sigmoid activation."""
