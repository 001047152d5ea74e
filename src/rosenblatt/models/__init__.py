"""Models on disk: what was learnt, in one file that is written whole or not at all and never half believed."""
