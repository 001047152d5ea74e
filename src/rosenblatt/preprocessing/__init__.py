"""Columns to features: recipes fitted to the training rows and stored with the model, and text transformers."""
