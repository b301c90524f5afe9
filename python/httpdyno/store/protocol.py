"""What experiments need of a store; the database and the in-memory one of tests both have it."""

from typing import Protocol

from httpdyno.model import Outcome, StartRecord, WindowRecord


class StudyStore(Protocol):
    """Where a run's windows and starts are kept as they end."""

    def save_window(self, run_id: str, window: WindowRecord) -> None:
        """Store one window; it is there when this returns."""

    def save_start(self, run_id: str, start: StartRecord) -> None:
        """Store that a start is complete; its windows are stored already."""

    def starts(self, run_id: str, comparison: int | None = None) -> list[StartRecord]:
        """Return the complete starts with their windows, by comparison and start."""

    def outcome(self, run_id: str) -> Outcome | None:
        """Return what was stored last; None before anything was."""

    def save_outcome(self, run_id: str, outcome: Outcome) -> None:
        """Store what the run found so far; replaces what was there."""
