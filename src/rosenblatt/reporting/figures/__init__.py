"""Figures, one file each: from a fitted estimator and its rows to a `Chart`."""
