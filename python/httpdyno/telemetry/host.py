"""The machine that results are made on: its facts, its card, how steady it is, its file systems.

A result is one of its machine: beside it stands what a system call, a process, a switch, a copy and
a round trip took there. Each but the requests, which a load engine measures, is the median of
several runs of some hundredths of a second, so a card is good for a comparison with another
machine's, and for no claim. Taking one takes about a second, which is much beside a short run: it
is taken once in a boot and kept.

What a comparison can resolve is bounded by what else the machine does. A piece of work that takes
longer than its neighbours was disturbed: by another process, by the hypervisor, by a changing
clock frequency. `measure_noise` works, where collectors only read: it is for a machine that is not
measured just now.
"""

import logging
import math
import os
import platform
import posixpath
import re
import resource
import socket
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import structs

import httpdyno
from httpdyno.host.foreign_text import reason
from httpdyno.host.own_files import data_folder
from httpdyno.host.process_identity import boot_id
from httpdyno.model import HostFacts, MachineCard, Record
from httpdyno.telemetry.kernel import others_s, text_of


def host_facts(server_version: str = "") -> HostFacts:
    """Return versions, processor, limits and load of this machine.

    Args:
        server_version: The server's own version line, where one is measured.
    """
    return HostFacts(
        httpdyno=httpdyno.__version__,
        python=platform.python_version(),
        kernel=f"{platform.system()} {platform.release()}",
        cpu=cpu_name(text_of("/proc/cpuinfo")) or platform.machine(),
        n_cpus=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        limits=_limits(),
        load_average=os.getloadavg(),
        server=server_version,
    )


def cpu_name(cpuinfo: str) -> str:
    """Return the processor's name in /proc/cpuinfo; empty where it has none."""
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return " ".join(value.split())
    return ""


def _limits() -> dict[str, int]:
    """Return what bounds connections and processes; −1 is no limit."""
    limits = {
        "open_files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "processes": resource.getrlimit(resource.RLIMIT_NPROC)[0],
    }
    ports = text_of("/proc/sys/net/ipv4/ip_local_port_range").split()
    if len(ports) == 2:  # noqa: PLR2004 - first and last
        limits["local_ports"] = int(ports[1]) - int(ports[0]) + 1
    somaxconn = text_of("/proc/sys/net/core/somaxconn").strip()
    if somaxconn:
        limits["somaxconn"] = int(somaxconn)
    return limits


_RUNS = 5
_RUN_S = 0.02
_COPY_BYTES = 64 << 20
_MUCH = 0.2
"""Cores of others: the kernel and who looks use less."""
_MISSING = "/nowhere/at/all"


def machine_card(requests_per_s: float | None) -> MachineCard:
    """Measure this machine; takes about a second.

    Args:
        requests_per_s: Of the smallest ones over loopback, which takes a load engine: it is
            measured by who has one. None where it could not be.
    """
    before_s, began_s = others_s(), time.perf_counter()
    card = MachineCard(
        stat_s=_each_s(_stat),
        fork_s=_each_s(_fork),
        switch_s=_through_pipes_s() / 2,
        copy_bytes_per_s=_COPY_BYTES / _copy_s(),
        round_trips_per_s=1 / _round_trip_s(),
        requests_per_s=requests_per_s,
    )
    others_cores = (others_s() - before_s) / (time.perf_counter() - began_s)
    is_much = others_cores >= _MUCH
    return structs.replace(card, others_cores=round(others_cores, 2)) if is_much else card


def _stat() -> None:
    try:
        os.stat(_MISSING)  # noqa: PTH116 - the call itself
    except OSError:
        return


def _fork() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _each_s(act: Callable[[], None]) -> float:
    """Return what one takes, the median of several runs."""
    means = []
    for _ in range(_RUNS):
        n, began_s = 0, time.perf_counter()
        while (passed_s := time.perf_counter() - began_s) < _RUN_S:
            act()
            n += 1
        means.append(passed_s / n)
    return statistics.median(means)


def _copy_s() -> float:
    source, target = bytearray(_COPY_BYTES), bytearray(_COPY_BYTES)
    times = []
    for _ in range(_RUNS + 1):
        began_s = time.perf_counter()
        memoryview(target)[:] = source
        times.append(time.perf_counter() - began_s)
    # The first one gets its pages.
    return statistics.median(times[1:])


def _through_pipes_s() -> float:
    """Return a round between two processes on one core."""
    here, there = os.pipe(), os.pipe()
    core = {min(os.sched_getaffinity(0))}
    own = os.sched_getaffinity(0)
    pid = os.fork()
    if pid == 0:
        # Its own ends of the other side would keep it from seeing the end.
        os.close(here[1])
        os.close(there[0])
        _echo(core, lambda: os.read(here[0], 1), lambda data: os.write(there[1], data))
    os.close(here[0])
    os.close(there[1])

    def round_trip() -> None:
        os.write(here[1], b"x")
        os.read(there[0], 1)

    try:
        os.sched_setaffinity(0, core)
        return _each_s(round_trip)
    finally:
        os.sched_setaffinity(0, own)
        os.close(here[1])
        os.close(there[0])
        os.waitpid(pid, 0)


def _round_trip_s() -> float:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        pid = os.fork()
        if pid == 0:
            with socket.create_connection(listener.getsockname()) as end:
                listener.close()
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                _echo(None, lambda: end.recv(1), end.send)
        connection, _ = listener.accept()
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def round_trip() -> None:
            connection.send(b"x")
            connection.recv(1)

        found = _each_s(round_trip)
    os.waitpid(pid, 0)
    return found


def _echo(
    core: set[int] | None, read: Callable[[], bytes], write: Callable[[bytes], object]
) -> None:
    """Answer until the other side is gone; never returns."""
    try:
        if core is not None:
            os.sched_setaffinity(0, core)
        while data := read():
            write(data)
    finally:
        os._exit(0)


logger = logging.getLogger(__name__)

_FILE = "machine.json"


class Circumstances(Record, frozen=True):
    """What a card is of; under others it is taken again."""

    boot: str
    n_cpus: int
    """That this process may run on."""
    version: str
    """Of httpdyno: another one may take it otherwise."""


class KeptCard(Record, frozen=True):
    """A card, and when it was taken."""

    card: MachineCard
    taken_at: str
    """ISO 8601, UTC."""
    of: Circumstances


RequestsPerS = Callable[[], float | None]
"""Measures how many of the smallest requests are answered here; None where that failed."""


def card_of_boot(requests_per_s: RequestsPerS) -> KeptCard:
    """Return the card that was taken last in this boot; take and keep one where there is none.

    It forks, so no other thread of this process may be at work.
    """
    kept = known_card()
    if kept is not None and kept.card.requests_per_s is not None:
        return kept
    return fresh_card(requests_per_s)


def known_card() -> KeptCard | None:
    """Return the card that was taken last in this boot; None where none is kept. It takes none."""
    kept, now = _kept(), circumstances()
    if kept is None or not kept.of.boot:  # a boot that is not shown may be any
        return None
    return kept if kept.of == now else None


def fresh_card(requests_per_s: RequestsPerS) -> KeptCard:
    """Take a card, and keep it in the place of an earlier one; forks as `card_of_boot`."""
    taken_at = datetime.now(UTC).isoformat(timespec="seconds")
    fresh = KeptCard(card=machine_card(requests_per_s()), taken_at=taken_at, of=circumstances())
    path = data_folder() / _FILE
    beside = path.with_name(f"{_FILE}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(msgspec.json.format(msgspec.json.encode(fresh)))
        beside.replace(path)
    except OSError as error:
        # The next run takes one again: a second is lost, and no result.
        logger.info("cannot keep `%s`: %s", path, reason(error))
    return fresh


def circumstances() -> Circumstances:
    """Return what a card that is taken now is of."""
    return Circumstances(
        boot=boot_id(), n_cpus=len(os.sched_getaffinity(0)), version=httpdyno.__version__
    )


def _kept() -> KeptCard | None:
    try:
        return msgspec.json.decode((data_folder() / _FILE).read_bytes(), type=KeptCard)
    except (OSError, msgspec.MsgspecError):
        return None


_PIECE = range(20_000)
"""About a millisecond of arithmetic: long against the clock, short against a scheduler's slice."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Noise:
    """What was seen over some time of steady work on one core."""

    measured_s: float
    not_running_ratio: float
    """Part of the time that this process wanted to run and another ran in its place."""
    spread_ratio: float
    """The slow tenth over the fast tenth of equal pieces; 1.0 is perfectly steady."""


def measure_noise(duration_s: float = 0.5) -> Noise:
    """Work for a while and return how disturbed that was."""
    pieces_s: list[float] = []
    began_s, cpu_began_s = time.perf_counter(), time.process_time()
    before_s = began_s
    while before_s - began_s < duration_s:
        sum(each * each for each in _PIECE)
        now_s = time.perf_counter()
        pieces_s.append(now_s - before_s)
        before_s = now_s
    wall_s, cpu_s = before_s - began_s, time.process_time() - cpu_began_s
    return Noise(
        measured_s=wall_s,
        not_running_ratio=max(0.0, 1.0 - cpu_s / wall_s),
        spread_ratio=spread_ratio(pieces_s),
    )


def spread_ratio(pieces_s: list[float]) -> float:
    """Return the ninetieth over the tenth percentile."""
    ordered = sorted(pieces_s)
    last = len(ordered) - 1
    return ordered[math.ceil(0.9 * last)] / ordered[math.floor(0.1 * last)]


_ESCAPED = re.compile(r"\\([0-7]{3})")
_PLACE, _BEFORE_TYPE = 4, " - "


def filesystems(folders: Iterable[str], pid: int | None = None) -> Mapping[str, str]:
    """Return folder → type, such as `tmpfs` or `nfs4`; those of which it is not known are left out.

    Args:
        folders: Absolute paths; what of one is not there yet lies where its parent does.
        pid: The process that sees them; None: as this one does.
    """
    text = ""
    with suppress(OSError):
        place = Path("/proc", "self" if pid is None else str(pid), "mountinfo")
        text = place.read_text(encoding="utf-8", errors="surrogateescape")
    mounts = parsed_mounts(text)
    found = {folder: filesystem(folder, mounts) for folder in folders}
    return {folder: kind for folder, kind in found.items() if kind}


def parsed_mounts(text: str) -> tuple[tuple[str, str], ...]:
    """Return place and type of each line of `mountinfo`, in their order."""
    found = []
    for line in text.splitlines():
        head, _, tail = line.partition(_BEFORE_TYPE)
        words, kinds = head.split(), tail.split()
        if len(words) > _PLACE and kinds:
            path = _ESCAPED.sub(lambda match: chr(int(match[1], 8)), words[_PLACE])
            found.append((path, kinds[0]))
    return tuple(found)


def filesystem(folder: str, mounts: Iterable[tuple[str, str]]) -> str:
    """Return the type of the deepest mount that a folder lies in, of several there the last."""
    path = posixpath.normpath(folder)
    best, kind = -1, ""
    for place, each in mounts:
        is_in = place in ("/", path) or path.startswith(f"{place}/")
        if is_in and len(place) >= best:
            best, kind = len(place), each
    return kind
