"""What a run looks like: charts, one self-contained page, single pictures, and small ones for the terminal."""
