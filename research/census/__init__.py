"""System calls per request, beside those that the book counted."""
