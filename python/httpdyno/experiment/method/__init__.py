"""What a run does, in order: stages, comparisons, and the methods made of them."""
