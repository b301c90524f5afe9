"""What a server's sockets do: who waits to be accepted, and its connections by state.

Listening sockets are few and soon told. For connections the kernel goes through all of the machine:
it took 6.6 ms of CPU time with 100 of them and 15 ms with 4,000 (Linux 6.18, on a busy machine of
two cores), so who looks each second reads them seldom enough to take a small share of a core, and
says how old they are.
"""

import math
import os
import time
import weakref
from collections.abc import Collection, Mapping

from httpdyno.errors import AdapterError
from httpdyno.host.procfs import content
from httpdyno.host.sock_diag import Diagnosis, ListenQueue
from httpdyno.reason import because
from httpdyno.telemetry.kernel import Sockets, tcp_extensions
from httpdyno.telemetry.worker import not_visible

EACH_SECOND_RATIO = 0.001
"""CPU seconds per second of who reads connections for long."""
_UNIX = "unix:"


class ServerSockets:
    """Those of one server, looked at again and again. Not for several threads at once."""

    def __init__(self, inodes: Collection[int], *, most_ratio: float = math.inf) -> None:
        """Watch a server's sockets.

        Args:
            inodes: Of the sockets that it listens at.
            most_ratio: CPU seconds per second that reading connections is to take.
        """
        self._inodes = inodes
        self._most_ratio = most_ratio
        self._diagnosis: Diagnosis | None = None
        self._states: Mapping[str, int] = {}
        self._read_at_s = -math.inf
        self._due_s = -math.inf

    @property
    def states_age_s(self) -> float:
        """How long ago connections were read; infinite before they were."""
        return time.monotonic() - self._read_at_s

    def look(self, pid: int) -> Sockets:
        """Return what they do now.

        Args:
            pid: Of one of its processes, whose network namespace is that of all.
        """
        told = tcp_extensions(content(b"/proc/%d/net/netstat" % pid).decode(errors="replace"))
        overflows, drops = told.get("ListenOverflows"), told.get("ListenDrops")
        try:
            asked = self._asked(pid)
            mine = [each for each in asked.listening() if each.inode in self._inodes]
            at_tcp = [each.address for each in mine if not each.address.startswith(_UNIX)]
            if at_tcp and time.monotonic() >= self._due_s:
                self._read(asked, {int(address.rpartition(":")[2]) for address in at_tcp})
        except OSError:
            return Sockets(
                overflows=overflows,
                drops=drops,
                hidden=(because("telemetry.queues", why=not_visible()),),
            )
        except AdapterError as error:
            return Sockets(
                overflows=overflows,
                drops=drops,
                hidden=(because("telemetry.queues_failed", error=error.reason),),
            )
        return Sockets(
            queues=tuple(
                ListenQueue(address=each.address, waiting=each.waiting, backlog=each.backlog)
                for each in mine
            ),
            states=self._states if at_tcp else {},
            overflows=overflows,
            drops=drops,
        )

    def _asked(self, pid: int) -> Diagnosis:
        """Return who tells of its namespace, opened once."""
        if self._diagnosis is None:
            network = f"/proc/{pid}/ns/net"
            is_own = os.readlink(network) == os.readlink("/proc/self/ns/net")  # noqa: PTH115 - as names
            self._diagnosis = Diagnosis("" if is_own else network)
            weakref.finalize(self, self._diagnosis.close)
        return self._diagnosis

    def _read(self, asked: Diagnosis, ports: Collection[int]) -> None:
        began_s = time.thread_time()
        self._states = asked.connection_states(ports)
        self._read_at_s = time.monotonic()
        self._due_s = self._read_at_s + (time.thread_time() - began_s) / self._most_ratio
