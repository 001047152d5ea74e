"""Kernels on text: n-grams, hashing, vocabularies."""
