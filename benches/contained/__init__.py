"""Whether a private copy is contained: what of its attempts is seen outside, and is named."""
