"""Process tree and host counters, read over the same windows as the load."""
