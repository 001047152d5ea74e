"""What is solved, not swept: least squares and support vectors."""
