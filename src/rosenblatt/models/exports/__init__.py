"""Linear models in other languages: ONNX, JSON, C and SQL, with the scores that they have here."""
