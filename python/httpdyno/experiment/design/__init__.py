"""From a study to a plan, and whether it can run."""
