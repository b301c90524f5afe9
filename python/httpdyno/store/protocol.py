"""What experiments need of a store; the database and the in-memory one have it."""

from typing import Protocol

from httpdyno.model import Outcome, StartRecord, StartServers, WindowRecord


class StudyStore(Protocol):
    """Where a run's windows and starts are kept as they end."""

    def begin_start(self, run_id: str, start: StartRecord) -> None:
        """Store that a start is being measured; what there was of it before is dropped.

        Raises:
            StoreError: It was already completed.
        """

    def save_servers(self, run_id: str, comparison: int, start: int, servers: StartServers) -> None:
        """Store which processes the servers of a start are that was begun.

        It is for whoever looks meanwhile: a start that is complete has none any more.
        """

    def save_window(self, run_id: str, window: WindowRecord) -> None:
        """Store one window of a start that was begun; it is there when this returns.

        Raises:
            StoreError: The start was already completed.
        """

    def save_start(self, run_id: str, start: StartRecord) -> None:
        """Store that a start is complete; its windows are stored already.

        Saved again, it replaces what was there. Where the record names windows, exactly those
        belong to the start afterwards.
        """

    def starts(self, run_id: str, comparison: int | None = None) -> list[StartRecord]:
        """Return the starts with their windows, by comparison and start.

        The one under way, and one that nobody finished, is there with the windows that ended, and
        is not `is_complete`.
        """

    def outcome(self, run_id: str) -> Outcome | None:
        """Return what was stored last; None before anything was."""

    def save_outcome(self, run_id: str, outcome: Outcome) -> None:
        """Store what the run found so far; replaces what was there."""
