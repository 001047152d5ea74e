"""The compiled code, and all of it. Imports nothing else of ours, so that it can be read, tested and replaced on its own."""
