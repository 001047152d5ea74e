"""Kernels for rows and weights: products, updates, sweeps and solvers."""
