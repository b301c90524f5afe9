"""How a command says to a shell what came of it; the errors have theirs (`errors.py`)."""

EXIT_NOT_BORNE_OUT = 1
"""Done, and the answer is no: what the steps kept was taken back at the end."""
EXIT_USAGE = 2
EXIT_BUG = 70
EXIT_INTERRUPTED = 130
EXIT_UNREAD = 141
"""As a shell says of a program that SIGPIPE ended."""
