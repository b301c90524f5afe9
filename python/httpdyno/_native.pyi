"""The compiled load engine. Only `httpdyno.load` may import it.

Messages are MessagePack. A spec is what `httpdyno.load.message` makes; results are `Measurement`
and `LiveLoad` of `httpdyno.model`, whose docstrings say what is in them.
"""

from collections.abc import Callable
from typing import final

__all__ = [
    "ERROR_KINDS",
    "EngineError",
    "LoadRun",
    "__version__",
    "check",
    "check_tls",
    "start",
    "unread",
]

__version__: str

ERROR_KINDS: tuple[str, ...]
"""The names of the kinds of error, the keys that `Measurement.errors` may have."""

class EngineError(Exception):
    """The engine cannot run.

    Its first argument is the sentence. Of a value that was refused there are three more: its place
    in the spec, such as `users.new_ratio`, the value as text, and what was expected.
    """

@final
class LoadRun:
    """A run under way on the engine's own threads."""

    @property
    def schedule_hash(self) -> int:
        """For the provenance: the same for the same arrivals, seed and mix."""
    def wait(self, timeout_s: float) -> bool:
        """Wait with the interpreter released; True when the run is over.

        Raises what `on_edge` raised, or EngineError when the engine failed.
        """
    def stop(self) -> None:
        """Send nothing more, count what is in flight as `unfinished`, end soon. Idempotent."""
    def results(self, first: int) -> list[bytes]:
        """Return the windows that ended so far from this number on, each a message, in order."""
    def entrances(self) -> list[tuple[int, bytes]]:
        """Return what the arms' first steps came to so far, each the arm's number and a message."""
    def live(self) -> bytes | None:
        """Return the window that is under way, at most 0.1 s old; None between windows."""

def check(spec: bytes) -> None:
    """Refuse a spec that makes no sense, as `start` would, without starting anything.

    Raises EngineError.
    """

def check_tls(message: bytes) -> None:
    """Refuse TLS that cannot work, such as a key of another certificate; connects to nothing."""

def start(spec: bytes, on_edge: Callable[[int, bool], None] | None) -> LoadRun:
    """Check the spec and start the run.

    `on_edge(window_index, is_opening)` is called before a window's first request and after its
    last answer, when nothing is in flight and every thread waits. Raising ends the run.
    """

def unread(spec: bytes) -> list[str]:
    """Return the places in a spec that the engine does not look at, such as `tls.roots_file`."""
