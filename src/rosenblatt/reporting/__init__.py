"""Results as text, terminal graphics, figures (SVG, PNG, PDF) and a self-contained HTML report."""
