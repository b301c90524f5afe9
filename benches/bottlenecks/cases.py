"""The fourteen built bottlenecks: for each word of the verdict a server of which it is true.

What is accepted is that word alone: each of them is built so that no other one would help.
"""

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass

from benches.bottlenecks import servers
from benches.bottlenecks.memory_group import memory_group
from benches.bottlenecks.place import PROGRAMS, Built, NotBuiltError, Place, free_port

from httpdyno.model import RequestSpec, SlowUsers, Think, Users, Workload
from httpdyno.model.look import Limit
from httpdyno.model.workload import Constant

N_MANY = 200
MAPPED_BYTES = 128 << 20
MEMORY_BYTES = 32 << 20
USUAL = Users()
SHORT = 1
"""Requests of a connection: it closes after each."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A server whose limit, or whose room, is known."""

    name: str
    accepted: frozenset[Limit]
    build: Callable[[Place], Built]


def cpu(place: Place) -> Built:
    """Fixed work of the CPU, and twice as many workers as this machine has cores."""
    return pool(place, closed(8), "--workers", 2 * n_cpus(), "--work", "walk:40", is_kept=False)


def too_few_workers(place: Place) -> Built:
    """Two workers that sleep 20 ms for each request; 14 of 16 users wait in the queue."""
    port = free_port()
    pid = servers.gunicorn(place, port, work="sleep:0.02", options="--workers 2")
    return Built(pids=(pid,), port=port, workload=closed(16))


def too_many_workers(place: Place) -> Built:
    """The work of `cpu` in a hundred times as many workers, each of which walks its own memory.

    More of them than cores are ready at all times, and each is taken off its core several times
    for one answer. A pool of the right size does as much with a hundredth of the queue.
    """
    return pool(place, closed(N_MANY), "--workers", N_MANY, "--work", "walk:40", is_kept=False)


def backend(place: Place) -> Built:
    """As many workers as users, all of them at a backend that takes one question at a time."""
    behind = free_port()
    place.python("backend.py", behind, port=behind)
    return pool(place, closed(8), "--workers", 8, "--work", f"ask:{behind}")


def keep_alive(place: Place) -> Built:
    """Four processes, and 16 users who keep their connection while they think."""
    settings = (
        "StartServers 4\nMinSpareServers 1\nMaxSpareServers 4\nMaxRequestWorkers 4\n"
        "KeepAlive On\nKeepAliveTimeout 5\n"
    )
    port = free_port()
    pid = servers.apache(place, port, mpm="prefork", settings=settings)
    users = Users(think=Think(mean_s=0.15))
    workload = closed(16, path="/style.css", users=users, per_connection=5)
    return Built(pids=(pid,), port=port, workload=workload)


def slow_clients(place: Place) -> Built:
    """Four processes that send half a megabyte to users who take their time."""
    settings = (
        "StartServers 4\nMinSpareServers 1\nMaxSpareServers 4\nMaxRequestWorkers 4\n"
        "KeepAlive Off\nSendBufferSize 65536\nEnableSendfile Off\n"
    )
    port = free_port()
    pid = servers.apache(place, port, mpm="prefork", settings=settings)
    slow = SlowUsers(ratio=0.75, bytes_per_s=1e6)
    workload = closed(16, path="/film", slow=slow, per_connection=SHORT)
    return Built(pids=(pid,), port=port, workload=workload)


def spawning(place: Place) -> Built:
    """A new Perl for each request, which does nothing but say ok."""
    settings = (
        "StartServers 8\nMinSpareServers 1\nMaxSpareServers 8\nMaxRequestWorkers 8\n"
        f"<Directory {place.folder}/www>\n    Options ExecCGI\n"
        "    SetHandler cgi-script\n</Directory>\n"
    )
    port = free_port()
    pid = servers.apache(place, port, mpm="prefork", settings=settings, more=("cgi",))
    return Built(pids=(pid,), port=port, workload=closed(8, path="/page.pl"))


def ending_workers(place: Place) -> Built:
    """Eight processes that end after five answers each; Apache begins others once a second.

    For nearly all of the time none is there, and the parent that will begin others is asleep.
    """
    settings = (
        "StartServers 8\nMinSpareServers 1\nMaxSpareServers 8\nMaxRequestWorkers 8\n"
        "MaxConnectionsPerChild 5\nKeepAlive Off\n"
    )
    port = free_port()
    pid = servers.apache(place, port, mpm="prefork", settings=settings)
    workload = closed(3, path="/style.css", per_connection=SHORT)
    return Built(pids=(pid,), port=port, workload=workload)


def disk(place: Place) -> Built:
    """Each request is on the disk before it is answered."""
    (folder := place.folder / "kept").mkdir()
    return pool(place, closed(8), "--workers", 8, "--work", f"sync:{folder}")


def memory(place: Place) -> Built:
    """A file of 128 MiB, read anywhere, where all workers may have 32 MiB of memory."""
    mapped = place.folder / "mapped"
    with mapped.open("wb") as file:
        for _ in range(MAPPED_BYTES >> 20):
            file.write(bytes(1 << 20))
        file.flush()
        os.fsync(file.fileno())
        # Pages belong to the group that first had them: the workers shall have to ask.
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    join = memory_group(place.stack, MEMORY_BYTES)
    port = free_port()
    command = [
        *("/bin/sh", "-c", f'echo $$ >{join} && exec "$@"', "sh"),
        *(sys.executable, "-S", str(PROGRAMS / "pool.py"), "--port", str(port)),
        *("--workers", "4", "--work", f"touch:{mapped}", "--keep-alive"),
    ]
    pid = place.started(command, port=port)
    return Built(pids=(pid,), port=port, workload=closed(4))


def listen_queue(place: Place) -> Built:
    """A backlog of one: users who come while another one waits are sent away for a second."""
    users = Users(think=Think(mean_s=0.02, is_exponential=True))
    workload = closed(64, users=users, per_connection=SHORT, per_s=200.0)
    words = ("--workers", 8, "--backlog", 1, "--work", "sleep:0.002")
    return pool(place, workload, *words, is_kept=False)


def lock(place: Place) -> Built:
    """Eight workers and one lock, held for 5 ms of each request."""
    return pool(place, closed(8), "--workers", 8, "--work", f"locked:{place.folder}/lock")


def load_generator(place: Place) -> Built:
    """Answers that take long to read: each of their bytes is a chunk. Each side has a core."""
    cores = sorted(os.sched_getaffinity(0))
    taskset = shutil.which("taskset")
    if len(cores) < 2 or not taskset:  # noqa: PLR2004 - one for each side
        raise NotBuiltError("it takes two cores and `taskset`")
    port = free_port()
    command = [
        *(taskset, "-c", str(cores[1]), sys.executable, "-S", str(PROGRAMS / "pool.py")),
        *("--port", str(port), "--workers", "8", "--keep-alive"),
        *("--answer", "100000", "--bytewise"),
    ]
    pid = place.started(command, port=port)
    return Built(pids=(pid,), port=port, workload=closed(8), client_cpus=(cores[0],))


def nothing(place: Place) -> Built:
    """Fifty requests a second for a server that can do many times as many."""
    port = free_port()
    pid = servers.gunicorn(place, port, work="burn:0.002", options="--workers 4")
    workload = Workload(arrival=Constant(rate_per_s=50.0), connections=64)
    return Built(pids=(pid,), port=port, workload=workload)


def pool(place: Place, workload: Workload, *words: object, is_kept: bool = True) -> Built:
    """Return a pool of the bench's own, under a load."""
    port = free_port()
    kept = ("--keep-alive",) if is_kept else ()
    pid = place.python("pool.py", "--port", port, *words, *kept, port=port)
    return Built(pids=(pid,), port=port, workload=workload)


def closed(  # noqa: PLR0913 - what a case names, each of them optional
    n_users: int,
    *,
    path: str = "/",
    users: Users = USUAL,
    slow: SlowUsers | None = None,
    per_connection: int = 0,
    per_s: float = 0.0,
) -> Workload:
    """Return a closed loop."""
    return Workload(
        requests=(RequestSpec(path=path),),
        connections=n_users,
        connections_per_s=per_s,
        requests_per_connection=per_connection,
        users=users,
        slow=slow,
    )


def n_cpus() -> int:
    """Return how many cores there are."""
    return len(os.sched_getaffinity(0))


def case(name: Limit, build: Callable[[Place], Built]) -> Case:
    """Return a case whose one right word is its name."""
    return Case(name=name, accepted=frozenset({name}), build=build)


CASES = (
    case("cpu", cpu),
    case("too_few_workers", too_few_workers),
    case("too_many_workers", too_many_workers),
    case("backend", backend),
    case("keep_alive", keep_alive),
    case("slow_clients", slow_clients),
    case("spawning", spawning),
    Case(name="ending_workers", accepted=frozenset({"spawning"}), build=ending_workers),
    case("disk", disk),
    case("memory", memory),
    case("listen_queue", listen_queue),
    case("lock", lock),
    case("load_generator", load_generator),
    case("nothing", nothing),
)
