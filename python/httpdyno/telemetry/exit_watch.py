"""Ends of a server's processes under load, counted from sample to sample.

The kernel tells nobody but their parent that processes end, so they are looked for: whoever was
there and no longer is, or waits for its parent to ask how it ended, has ended. What comes and goes
between two samples is seen by none, so lives of a sample or two say that there are more such, and
then nothing is told.

A server whose parent replaces its dead by a clock, as Apache does once a second, has them end in
heaps: the watch is to hold several turns of that clock.
"""

import time
from collections.abc import Sequence, Set
from threading import Event, Thread

from httpdyno.model import Look
from httpdyno.telemetry.look.roster import Roster

EVERY_S = 0.01
"""Between two samples at the least."""
_MOST_CPU_RATIO = 0.05
"""Of a core that sampling takes: a pool of hundreds is looked at less often."""
_BRIEF_SAMPLES = 2
"""Who ended after no more of them might as well have been seen in none."""
_MOST_BRIEF_RATIO = 0.05
_PATIENCE_S = 5.0

Identity = tuple[int, int]
"""A process's number and when it began."""


class ExitTally:
    """Counts ends from one sample to the next. Pure."""

    def __init__(self) -> None:
        self.n_exits = 0
        self.n_brief = 0
        """Of those, whose lives were seen in hardly any sample."""
        self.n_samples = 0
        self._told: frozenset[Identity] = frozenset()
        """Who had ended in the last sample already."""
        self._since: dict[Identity, int] = {}
        """Of who is there, from which sample on; 0 is the first, before which nobody looked."""

    def see(self, alive: Set[Identity], ended: Set[Identity] = frozenset()) -> None:
        """Take in a sample.

        Args:
            alive: Who is there and has not ended.
            ended: Who has, and is still told of.
        """
        now, self.n_samples = self.n_samples, self.n_samples + 1
        gone = {each: since for each, since in self._since.items() if each not in alive}
        self.n_exits += len(gone)
        self.n_brief += sum(since > 0 and now - since <= _BRIEF_SAMPLES for since in gone.values())
        # Between two samples it came and ended.
        unseen = ended - self._since.keys() - self._told if now else frozenset()
        self.n_exits += len(unseen)
        self.n_brief += len(unseen)
        self._told = frozenset(ended)
        self._since = {each: self._since.get(each, now) for each in alive}

    @property
    def trouble(self) -> str:
        """Why the count is none, in words; empty where it is one."""
        if self.n_samples <= _BRIEF_SAMPLES:
            return "the server was seen too seldom"
        if self.n_brief > _MOST_BRIEF_RATIO * self.n_exits:
            return (
                f"{self.n_brief} of {self.n_exits} processes that ended had been there so briefly "
                "that as many may have come and gone unseen"
            )
        return ""


class ExitWatch:
    """Watches for ends of processes in a thread of its own: who looks once, as `Looking` has it."""

    def __init__(self, root_pids: Sequence[int], every_s: float = EVERY_S) -> None:
        """Watch some trees.

        Args:
            root_pids: Their first processes.
            every_s: Between two samples at the least.
        """
        self._roots = tuple(root_pids)
        self._every_s = every_s
        self._tally = ExitTally()
        self._is_over = Event()
        self._thread = Thread(target=self._run, name="exit watch", daemon=True)
        self._began_s = 0.0

    def start(self) -> None:
        """Begin to watch."""
        self._began_s = time.monotonic()
        self._thread.start()

    def stop(self) -> Look:
        """End it; return how many ended, in a look that has nothing else."""
        self._is_over.set()
        self._thread.join(_PATIENCE_S)
        seconds = time.monotonic() - self._began_s
        trouble = self._tally.trouble
        return Look(
            seconds=seconds,
            n_samples=self._tally.n_samples,
            deaths=self._tally.n_exits,
            hidden=(trouble,) if trouble else (),
        )

    def _run(self) -> None:
        roster = Roster(self._roots)
        sample(roster, self._tally)
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
