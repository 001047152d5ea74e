"""Probabilities of classes, from the scores of a model."""
