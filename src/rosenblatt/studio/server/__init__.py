"""The web server of the studio."""
