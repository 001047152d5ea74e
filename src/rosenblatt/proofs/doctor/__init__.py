"""Why did it not converge? Findings in plain sentences, each with its evidence."""
