"""Text to sparse rows, by feature hashing or by a vocabulary."""
