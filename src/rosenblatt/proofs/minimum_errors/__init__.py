"""The fewest training errors of any plane: found by search, proved by enumeration and by clashes."""
