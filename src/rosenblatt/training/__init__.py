"""From a file to a tested model: hold out rows, make features, fit, count errors, compare algorithms, summarize."""
