"""Model cards: what training stored about a model, and the Markdown page that is made of it."""
