"""Ends of a server's processes under load, counted from sample to sample.

The kernel tells nobody but their parent that processes end, so they are looked for: whoever was
there and no longer is, or waits for its parent to ask how it ended, has ended. Who is gone, all of
it, between two samples is seen in none; so those that were there for a sample or two say that there
are more such, and then nothing is told. Who lives for a moment and waits long to be asked is seen.

A server whose parent replaces its dead by a clock, as Apache does once a second, has them end in
heaps: a watch is to hold several turns of that clock.
"""

import time
from collections.abc import Sequence, Set
from threading import Event, Thread

from httpdyno.telemetry.profile.roster import Roster

EVERY_S = 0.01
"""Between two samples at the least."""
_MOST_CPU_RATIO = 0.05
"""Of a core that sampling takes: a pool of hundreds is looked at less often."""
_BRIEF_SAMPLES = 2
"""Who was there for no more of them might as well have been seen in none."""
_MOST_BRIEF_RATIO = 0.05
_PATIENCE_S = 5.0

Identity = tuple[int, int]
"""A process's number and when it began."""


class ExitTally:
    """Counts ends from one sample to the next. Pure."""

    def __init__(self) -> None:
        self.n = 0
        self.n_brief = 0
        """Of those that are gone, who were there in hardly any sample, alive or ended."""
        self.n_samples = 0
        self._alive: frozenset[Identity] = frozenset()
        self._since: dict[Identity, int] = {}
        """Of who is there, alive or ended, from which sample on; in the first they were before."""

    def see(self, alive: Set[Identity], ended: Set[Identity] = frozenset()) -> None:
        """Take in a sample.

        Args:
            alive: Who is there and has not ended.
            ended: Who has, and is still told of.
        """
        now, self.n_samples = self.n_samples, self.n_samples + 1
        there = alive | ended
        # Between two samples somebody may come and end.
        new_ended = ended - self._since.keys() if now else frozenset()
        self.n += len(self._alive - alive) + len(new_ended)
        gone = [since for each, since in self._since.items() if each not in there]
        self.n_brief += sum(since > 0 and now - since <= _BRIEF_SAMPLES for since in gone)
        self._alive = frozenset(alive)
        self._since = {each: self._since.get(each, now) for each in there}

    @property
    def trouble(self) -> str:
        """Why the count is none, in words; empty where it is one."""
        if self.n_samples <= _BRIEF_SAMPLES:
            return "the server was seen too seldom"
        if self.n_brief > _MOST_BRIEF_RATIO * self.n:
            return (
                f"{self.n_brief} of {self.n} processes that ended had been there so briefly "
                "that as many may have come and gone unseen"
            )
        return ""


class ExitWatch:
    """Watches for ends of processes in a thread of its own."""

    def __init__(self, root_pids: Sequence[int], every_s: float = EVERY_S) -> None:
        """Watch some trees.

        Args:
            root_pids: Their first processes.
            every_s: Between two samples at the least.
        """
        self._roots = tuple(root_pids)
        self._every_s = every_s
        self._tally = ExitTally()
        self._has_begun, self._is_over = Event(), Event()
        self._thread = Thread(target=self._run, name="exit watch", daemon=True)

    def start(self) -> None:
        """Begin to watch; who ends from when this returns is seen."""
        self._thread.start()
        self._has_begun.wait(_PATIENCE_S)

    def stop(self) -> ExitTally:
        """End it; return what was seen."""
        self._is_over.set()
        self._thread.join()
        return self._tally

    def _run(self) -> None:
        roster = Roster(self._roots)
        sample(roster, self._tally)
        self._has_begun.set()
        pause_s = self._every_s
        while not self._is_over.wait(pause_s):
            began_s = time.thread_time()
            sample(roster, self._tally)
            pause_s = max(self._every_s, (time.thread_time() - began_s) / _MOST_CPU_RATIO)


def sample(roster: Roster, tally: ExitTally) -> None:
    """Take in who is there now."""
    roster.update(is_whole=True)
    ended = {each.identity for each in roster.members.values() if each.is_zombie}
    tally.see({each.identity for each in roster.members.values()} - ended, ended)
