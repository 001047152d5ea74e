"""Explanations of single predictions: what each column contributed, and the nearest change that decides otherwise."""
