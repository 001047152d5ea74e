"""Online learning: the solver, its update log, and the readings of a log."""
