"""From results to text, JSON, HTML and charts; pure."""
