"""Rows larger than memory: a cache of raw arrays on disk, and learning from it."""
