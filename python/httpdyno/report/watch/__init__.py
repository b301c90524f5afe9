"""A server that is watched, as a view for a terminal, a line and JSON."""
