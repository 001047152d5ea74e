"""Files to rows: svmlight, CSV, JSON lines, Parquet, npz, idx; whole or in chunks, compressed or not."""
