"""The book then and now, for terminals, pages and scripts."""
