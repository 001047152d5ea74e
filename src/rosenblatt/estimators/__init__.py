"""The estimators, with the interface of scikit-learn."""
