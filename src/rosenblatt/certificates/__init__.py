"""What can be stated about data and proved, and the checker: standard library and NumPy alone, nothing else of ours."""
