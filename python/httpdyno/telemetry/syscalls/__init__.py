"""System calls per request by kind, as strace sees them: never inside a timed window."""
