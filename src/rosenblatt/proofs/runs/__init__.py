"""Proofs about a run: whether it can end, and the two inequalities of the perceptron's proof along it."""
