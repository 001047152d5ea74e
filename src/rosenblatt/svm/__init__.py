"""Batch solvers for support vector machines: hard margin, soft margin and Crammer-Singer."""
