"""The filter on disk: a log in SQLite, the state that is its replay, and a snapshot of that state."""
