"""A store that lives as long as the test."""

from msgspec.structs import replace

from httpdyno.model import Outcome, StartRecord, WindowRecord


class MemoryStore:
    """Keeps runs in lists; what is not a complete start is not returned."""

    def __init__(self) -> None:
        self.windows: list[WindowRecord] = []
        self.complete: list[StartRecord] = []
        self.outcomes: list[Outcome] = []

    def save_window(self, run_id: str, window: WindowRecord) -> None:
        """Keep a window."""
        del run_id
        key = _key(window)
        self.windows = [each for each in self.windows if _key(each) != key]
        self.windows.append(window)

    def save_start(self, run_id: str, start: StartRecord) -> None:
        """Keep a complete start."""
        del run_id
        self.complete.append(start)

    def starts(self, run_id: str, comparison: int | None = None) -> list[StartRecord]:
        """Return the complete starts."""
        del run_id
        return sorted(
            (self._whole(s) for s in self.complete if comparison in {None, s.comparison}),
            key=lambda s: (s.comparison, s.start),
        )

    def save_outcome(self, run_id: str, outcome: Outcome) -> None:
        """Keep the outcome."""
        del run_id
        self.outcomes.append(outcome)

    def _whole(self, start: StartRecord) -> StartRecord:
        """Return the start with its windows, which need not be saved with it again."""
        mine = (w for w in self.windows if _key(w)[:2] == (start.comparison, start.start))
        return start if start.windows else replace(start, windows=tuple(mine))

    def outcome(self, run_id: str) -> Outcome | None:
        """Return the last outcome."""
        del run_id
        return self.outcomes[-1] if self.outcomes else None


def _key(window: WindowRecord) -> tuple[int, int, int, int]:
    return (window.comparison, window.start, window.block, window.arm)
