"""Rosenblatt beside its peers: the same work in the same process, interleaved, medians. Run with `scripts/bench`."""
