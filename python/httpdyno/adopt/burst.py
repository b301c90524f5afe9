"""A burst of load on a copy that is rehearsed: what only shows when many ask at once.

Only GET is sent, and only what the study asks anyway. Nothing is measured: other things may run on
this machine meanwhile. What counts is what the kernel and the copy say of it: queues that were
full, requests that were turned away, handshakes, whether CPUs were idle while connections waited.
"""

import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import structs

from httpdyno.errors import AdapterError
from httpdyno.host.sock_diag import Diagnosis
from httpdyno.load.engine import start_load
from httpdyno.load.message import WindowPlan
from httpdyno.model import Burst, Measurement, Workload
from httpdyno.servers.stack.running import RunningCopy
from httpdyno.telemetry.account import ReadyTime, account_of
from httpdyno.telemetry.kernel import cpu_ticks, tcp_extensions

BURST_S = 2.0
_LOOK_S = 0.05
_ASIDE_S = 0.4
"""Between two looks at more than sockets, and the more the longer such a look takes."""
_ASIDE_RATIO = 0.1
"""Of the time, at most, for those."""
_DRAIN_S = 1.0
_TIMEOUT_S = 5.0
_OVERFLOWS = "ListenOverflows"


def burst(
    running: RunningCopy,
    load: Workload,
    duration_s: float,
    *,
    aside: Callable[[], None] | None = None,
) -> Burst | None:
    """Load a copy for a moment; None where there is nothing to ask it for.

    Args:
        running: The copy, which is ready.
        load: The study's, of which what is no GET is left out.
        duration_s: For so long.
        aside: Called now and then while it is loaded.

    Raises:
        EngineError: The engine cannot run it.
    """
    asked = tuple(
        structs.replace(each, expect_status=None) for each in load.requests if each.method == "GET"
    )
    if not asked or duration_s <= 0:
        return None
    account = account_of(running)
    network = running.seat.network
    overflows, cpu_s, machine = _overflows(network), account.read().cpu_s, cpu_ticks()
    began_s = time.monotonic()
    queues = _Queues()
    ready = ReadyTime(account)
    handle = start_load(
        structs.replace(load, requests=asked, timeout_s=_TIMEOUT_S),
        running.addresses,
        [WindowPlan(arm=0, lead_in_s=0.0, measure_s=duration_s)],
        networks=running.networks,
        drain_s=_DRAIN_S,
    )
    aside_s = began_s + _ASIDE_S
    with ExitStack() as stack:
        stack.callback(handle.stop)
        diagnosis = _opened(network, stack)
        while not handle.wait(_LOOK_S):
            queues.look(diagnosis)
            now_s = time.monotonic()
            if now_s >= aside_s:
                ready.look()
                if aside is not None:
                    aside()
                took_s = time.monotonic() - now_s
                aside_s = now_s + max(_ASIDE_S, took_s / _ASIDE_RATIO)
    cpu_s = account.read().cpu_s - cpu_s
    idle, total = (now - then for now, then in zip(cpu_ticks(), machine, strict=True))
    took_s = time.monotonic() - began_s
    [measured] = handle.measurements()
    after = _overflows(network)
    return _told(
        measured,
        load.connections,
        took_s,
        queues=queues,
        ready_s=ready.for_each_run_s(cpu_s),
        overflows=None if overflows is None or after is None else after - overflows,
        cpu_s=cpu_s,
        idle_ratio=idle / total if total > 0 else 0.0,
    )


def _told(  # noqa: PLR0913 - what there is to tell
    measured: Measurement,
    connections: int,
    took_s: float,
    *,
    queues: "_Queues",
    ready_s: float | None,
    overflows: int | None,
    cpu_s: float,
    idle_ratio: float,
) -> Burst:
    n_answers = sum(measured.statuses.values())
    return Burst(
        duration_s=took_s,
        connections=connections,
        n_answers=n_answers,
        n_failed=max(0, measured.offered - n_answers),
        statuses=dict(sorted(measured.statuses.items())),
        n_connects=measured.connects,
        n_handshakes_full=measured.handshakes_full,
        n_handshakes_resumed=measured.handshakes_resumed,
        waiting=queues.waiting,
        unread=queues.unread,
        overflows=overflows,
        cpu_s=max(0.0, cpu_s),
        ready_s=ready_s,
        idle_ratio=idle_ratio,
    )


@dataclass(kw_only=True, slots=True)
class _Queues:
    """Where clients of a copy wait, by some looks."""

    waiting: dict[str, int] = field(default_factory=dict)
    _unread: dict[str, list[int]] = field(default_factory=dict)
    _n_looks: int = 0

    @property
    def unread(self) -> dict[str, int]:
        """As `Burst` has it. Something that was sent just now is unread at some look anywhere."""
        whole = {k: [*v, *[0] * (self._n_looks - len(v))] for k, v in self._unread.items()}
        return {k: n for k, v in whole.items() if (n := statistics.median_low(v)) > 0}

    def look(self, diagnosis: Diagnosis | None) -> None:
        """Look once; of a copy that has no network of its own nothing is known."""
        if diagnosis is None:
            return
        with suppress(AdapterError):
            listening = diagnosis.listening()
            ports = {each.address: _port(each.address) for each in listening}
            unread = diagnosis.unread({port for port in ports.values() if port})
            self._n_looks += 1
            for each in listening:
                if each.waiting > self.waiting.get(each.address, 0):
                    self.waiting[each.address] = each.waiting
            for address, port in ports.items():
                if n := unread.get(port, 0):
                    self._unread.setdefault(address, []).append(n)


def _opened(network: str, stack: ExitStack) -> Diagnosis | None:
    if not network:
        return None
    with suppress(AdapterError):
        return stack.enter_context(closing(Diagnosis(network)))
    return None


def _port(address: str) -> int:
    """Return the port of a listening address; 0 of a unix socket."""
    port = address.rpartition(":")[2]
    return int(port) if port.isdecimal() and not address.startswith("unix:") else 0


def _overflows(network: str) -> int | None:
    """Return the count of a copy's own network; None where it has none of its own."""
    if not network:
        return None
    with suppress(OSError, ValueError):
        text = (Path(network).parent.parent / "net/netstat").read_text()
        return tcp_extensions(text).get(_OVERFLOWS, 0)
    return None
