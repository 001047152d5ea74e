"""What is proved about data and hypotheses: separable or not, how wide, how many mistakes."""
