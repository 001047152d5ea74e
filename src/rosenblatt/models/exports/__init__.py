"""Export of linear models to ONNX, JSON, C and SQL, with the same scores."""
