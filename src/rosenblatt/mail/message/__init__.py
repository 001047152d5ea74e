"""Raw mail to the named text fields of a `Message`."""
