"""What runs here, as text and JSON."""
