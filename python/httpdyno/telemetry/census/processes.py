"""Which threads of a trace are one process, who began whom, and who works at a request. Pure."""

import re
from collections.abc import Iterable, Mapping

from httpdyno.telemetry.census.call import Call
from httpdyno.telemetry.census.kind import TRANSFERS, kind_of

_BEGINNING = frozenset({"clone", "clone3", "fork", "vfork"})
_SPOKEN_THROUGH = re.compile(r"(socket|pipe|TCP|TCPv6|UNIX|UDP|UDPv6)(-\w+)?:")


class Processes:
    """Follows a trace as it goes on."""

    def __init__(self, process_of: Mapping[int, int]) -> None:
        """Begin with those that there were.

        Args:
            process_of: Thread → process.
        """
        self._process_of = dict(process_of)
        self._begun_by: dict[int, int] = {}

    def of(self, call: Call) -> int:
        """Return the process that made a call."""
        return self._process_of.setdefault(call.thread, call.thread)

    def working(self, calls: Iterable[Call]) -> set[int]:
        """Return the processes that work at what is going on, and take note of those that begin.

        Others only do what they do every second: they wait, and look after their children.
        """
        found: set[int] = set()
        for call in calls:
            process = self.of(call)
            if call.name in _BEGINNING and call.result:
                self._began(call, process, call.result)
            if _is_work(call):
                found.add(process)
        seen = set(self._process_of.values())
        return {each for each in seen if not found.isdisjoint(self._line(each))}

    def _began(self, call: Call, process: int, thread: int) -> None:
        if "CLONE_THREAD" in call.arguments:
            self._process_of[thread] = process
        else:
            self._process_of[thread] = thread
            self._begun_by[thread] = process

    def _line(self, process: int) -> list[int]:
        """Return a process, who began it, who began that one, and so on, as far as it was seen."""
        line = [process]
        while (mother := self._begun_by.get(line[-1])) is not None and mother not in line:
            line.append(mother)
        return line


def _is_work(call: Call) -> bool:
    kind = kind_of(call)
    if kind == "accept":
        return not call.error
    return bool(
        kind in TRANSFERS
        and call.result is not None
        and call.result > 0
        and _SPOKEN_THROUGH.match(call.file)
    )
