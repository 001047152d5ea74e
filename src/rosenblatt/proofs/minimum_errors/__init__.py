"""The least training errors any plane can have: found by search, proved by enumeration and by clashes."""
