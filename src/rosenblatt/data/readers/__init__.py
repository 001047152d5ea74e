"""Readers of data files: svmlight, delimited text, JSON lines, Parquet, Arrow, npz and idx; whole or in chunks."""
