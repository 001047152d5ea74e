"""One file per figure: from a fitted estimator and its rows to a `Chart`."""
