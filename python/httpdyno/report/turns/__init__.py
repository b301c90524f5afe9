"""Servers that run already and were loaded in turns, as text, JSON and HTML."""
