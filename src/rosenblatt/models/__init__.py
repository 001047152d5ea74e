"""Model files: saving, loading and exporting fitted classifiers."""
