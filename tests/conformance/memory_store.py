"""A store that lives as long as the test."""

from msgspec.structs import replace

from httpdyno.errors import StoreError
from httpdyno.model import LoadOutcome, Outcome, StartRecord, StartServers, WindowRecord


class MemoryStore:
    """Keeps one run of a study in lists, and any number of load tests."""

    def __init__(self) -> None:
        self._windows: dict[tuple[int, int], dict[tuple[int, int], WindowRecord]] = {}
        """Of starts by block and arm, in the order of their coming."""
        self.begun: list[StartRecord] = []
        """Starts that are under way, or that nobody finished."""
        self.complete: list[StartRecord] = []
        self.servers: dict[tuple[int, int], StartServers] = {}
        """By comparison and start, also of those that are complete."""
        self.outcomes: list[Outcome] = []
        self.loads: list[LoadOutcome] = []

    @property
    def windows(self) -> list[WindowRecord]:
        """All windows, start by start."""
        return [each for mine in self._windows.values() for each in mine.values()]

    def begin_start(self, run_id: str, start: StartRecord) -> None:
        """Keep that a start is being measured."""
        self._require_open(run_id, start)
        self._forget(start)
        self._windows.pop(_key(start), None)
        self.begun.append(replace(start, windows=(), is_complete=False))

    def save_servers(self, run_id: str, comparison: int, start: int, servers: StartServers) -> None:
        """Keep which processes the servers of a start are."""
        del run_id
        self.servers[comparison, start] = servers

    def save_window(self, run_id: str, window: WindowRecord) -> None:
        """Keep a window."""
        self._require_open(run_id, window)
        mine = self._windows.setdefault(_key(window), {})
        mine.pop((window.block, window.arm), None)
        mine[window.block, window.arm] = window

    def save_start(self, run_id: str, start: StartRecord) -> None:
        """Keep a complete start, with exactly the windows that it names, if it names any."""
        del run_id
        self._forget(start)
        if start.windows:
            self._windows[_key(start)] = {(each.block, each.arm): each for each in start.windows}
        self.complete.append(start)

    def starts(self, run_id: str, comparison: int | None = None) -> list[StartRecord]:
        """Return the starts, complete ones and others."""
        del run_id
        known = (*self.complete, *self.begun)
        return sorted(
            (self._whole(s) for s in known if comparison in {None, s.comparison}),
            key=lambda s: (s.comparison, s.start),
        )

    def save_outcome(self, run_id: str, outcome: Outcome) -> None:
        """Keep the outcome."""
        del run_id
        self.outcomes.append(outcome)

    def outcome(self, run_id: str) -> Outcome | None:
        """Return the last outcome."""
        del run_id
        return self.outcomes[-1] if self.outcomes else None

    def save_load(self, outcome: LoadOutcome, *, headline: str = "") -> str:
        """Keep a load test."""
        del headline
        self.loads.append(outcome)
        return str(len(self.loads))

    def load(self, run_id: str) -> LoadOutcome:
        """Return a load test."""
        if run_id not in {str(number) for number in range(1, len(self.loads) + 1)}:
            raise StoreError(f"there is no run {run_id}", hint="give the id of one")
        return self.loads[int(run_id) - 1]

    def _whole(self, start: StartRecord) -> StartRecord:
        """Return the start with its windows, which need not be saved with it again."""
        mine = self._windows.get(_key(start), {})
        return start if start.windows else replace(start, windows=tuple(mine.values()))

    def _require_open(self, run_id: str, what: StartRecord | WindowRecord) -> None:
        key = _key(what)
        if any(_key(each) == key for each in self.begun):
            return
        if any(_key(each) == key for each in self.complete):
            raise StoreError(
                f"start {what.start} of comparison {what.comparison} of run {run_id} "
                "is complete: it takes no more windows"
            )

    def _forget(self, start: StartRecord) -> None:
        key = _key(start)
        self.begun = [each for each in self.begun if _key(each) != key]
        self.complete = [each for each in self.complete if _key(each) != key]


def _key(what: StartRecord | WindowRecord) -> tuple[int, int]:
    return (what.comparison, what.start)
