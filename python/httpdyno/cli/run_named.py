"""`run:ID`: how a stored run is named where a server, or something else, could be meant, too."""

from collections.abc import Sequence

_RUN = "run:"


def run_named(words: Sequence[str]) -> str | None:
    """Return the id of the run that is named as `run:ID`; None where something else is."""
    first = words[0] if len(words) == 1 else ""
    return first.removeprefix(_RUN) if first.startswith(_RUN) else None
