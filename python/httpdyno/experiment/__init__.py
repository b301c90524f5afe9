"""Effects in order: from a plan to trials, comparisons and an outcome."""
