"""The doctor: findings about rows on which a perceptron does not converge, or converges slowly."""
