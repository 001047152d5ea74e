"""Proofs about data and hypotheses: separability, margins, mistake bounds, convergence, minimum errors and the doctor."""
