"""What it costs to look at a server: the time of looking, and what the server has less of."""
