"""Text to sparse rows: hashed, or by a vocabulary."""
