"""The two consoles: results on stdout, everything else on stderr."""

from rich.console import Console


def results() -> Console:
    """Return the console that results are printed on."""
    return Console(highlight=False, emoji=False)


def messages() -> Console:
    """Return the console for progress and remarks."""
    return Console(stderr=True, highlight=False, emoji=False)
