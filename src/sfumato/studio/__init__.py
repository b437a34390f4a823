"""Serves the studio: built web pages, with the words and networks of this package beside them."""
