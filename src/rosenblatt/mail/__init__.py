"""The spam filter: raw mail to text, text to features, features to a decision, and a log of what was learnt."""
