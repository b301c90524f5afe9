"""From measured starts to claims, verdicts and warnings; pure."""
