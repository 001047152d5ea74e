"""From data to a model and what is to be said about it: hold-out, fit, errors, margin, proof."""
