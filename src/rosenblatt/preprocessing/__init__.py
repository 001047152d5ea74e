"""How a file's columns become features: learned from the training rows, kept with the model, applied at prediction."""
