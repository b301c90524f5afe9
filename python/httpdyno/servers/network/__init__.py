"""Where servers listen, and how they are asked."""
