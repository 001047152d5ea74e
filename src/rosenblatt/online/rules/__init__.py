"""One file per learning rule: how far a row at a given margin moves the weights."""
