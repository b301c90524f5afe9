"""What a study has found: as text, JSON, a page with charts, and the list of those stored."""
