"""Whether private copies take the layouts that people have."""
