"""Whether a copy is the server: what a request costs in a cell and behind a wall."""
