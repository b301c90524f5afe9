"""What a server was seen to do while it was loaded, and what that says of its limit."""

from typing import Literal

import msgspec

from httpdyno.model.base import Record
from httpdyno.model.telemetry import OfWorkers
from httpdyno.reason import Reason

Doing = Literal[
    "running",
    "idle",
    "client_read",
    "client_write",
    "backend",
    "lock",
    "disk",
    "child",
    "sleep",
    "zombie",
    "other",
]
"""What a worker is at: on a CPU or ready for one; waiting for a new connection or any event; for a
client that says nothing (kept alive, or slow to ask); for a client that takes nothing; for another
server; for a lock; for a disk; for a child process; asleep by its own wish; dead and not reaped."""

LEAST_SAMPLES = 5
"""Of a look; of fewer nothing is said."""


class QueueSeen(Record, frozen=True, omit_defaults=True):
    """A listen queue over some samples."""

    address: str
    backlog: int
    """The most that may wait."""
    mean: float
    """Of connections that waited."""
    most: int


class OwnAccount(Record, frozen=True, omit_defaults=True):
    """What a server said of itself, on a status page or by statsd.

    The request that asked for the page is left out.
    """

    server: str
    """`Apache`, `nginx` or `php-fpm`; `gunicorn` by statsd."""
    of: str
    """What the states are of: `workers`, `connections` or `processes`."""
    n_answers: int
    """How often it said so; by statsd of how many answers it told."""
    states: dict[str, float]
    """Mean number by state. A page that takes a free worker comes when one is free, so it makes a
    full pool look less full than it is. Empty by statsd, which tells of answers only."""
    requests_per_s: float | None = None
    """By its own count; None where that is not told, or packets were dropped."""
    answer_s: float | None = None
    """How long a worker was at an answer, by its own clock: a mean, from when it had the request
    until the answer was written. None where that is not told."""
    remarks: tuple[Reason, ...] = ()
    """Figures of this kind of server only."""
    requests: OfWorkers | None = None
    """What a worker had answered since it began, at the end of the look; None where the page does
    not tell each of them."""


class CompanionSeen(Record, frozen=True, omit_defaults=True):
    """What of a server answers none of the load itself, such as the database behind it."""

    name: str
    """As the study calls it."""
    program: str = ""
    """What its first process calls itself, such as `postgres`; empty where it was gone."""
    addresses: tuple[str, ...] = ()
    """Where it listens."""
    cpu_s: float = 0.0
    """CPU time, reaped children included; the look's has it, too."""
    workers: float = 0.0
    """Mean number of its own."""
    doing: dict[str, float] = msgspec.field(default_factory=dict)
    """Mean number of these by what they were at (`Doing`)."""
    waiting: float = 0.0
    """Mean number of connections in its listen queues."""
    births: int = 0
    """Processes that came, of those that were seen; the look's has them, too, likewise below."""
    deaths: int = 0


class Look(Record, frozen=True, omit_defaults=True):
    """A server under load, looked at from outside; never while it is measured.

    Times and counts are of all of its processes over `seconds`, those of the machine are named so.
    Workers, what they wait for, queues and connections are of those alone who answer the load:
    what a study starts beside them is in `companions`.
    """

    seconds: float
    n_samples: int
    workers: float = 0.0
    """Mean number of those that work: threads of all processes but of those that only keep
    children."""
    doing: dict[str, float] = msgspec.field(default_factory=dict)
    """Mean number of workers by what they were at (`Doing`); empty where it could not be seen."""
    unclear: float = 0.0
    """Of the idle, those that waited at a condition variable or a semaphore and worked in between:
    for work, or for a lock of the program's own making. From outside both look the same."""
    backends: dict[str, float] = msgspec.field(default_factory=dict)
    """Mean number of workers by the address that they waited for: `127.0.0.1:5432`, `unix:/…`."""
    cpu_s: float = 0.0
    """CPU time, reaped children included."""
    cpus: float = 0.0
    """How many CPUs it may use, a quota considered."""
    wait_s: float = 0.0
    """Time ready to run and without a CPU, over all threads."""
    switches_voluntary: int = 0
    switches_involuntary: int = 0
    births: int = 0
    """Processes that came, of those that were seen: who lives for less than the time between two
    samples may be in none."""
    deaths: int = 0
    spawn_cpu_s: float | None = None
    """CPU time of processes that began and ended within; None where that is not known."""
    major_faults: int = 0
    read_bytes: int | None = None
    """From disks; None where it may not be read, likewise below."""
    written_bytes: int | None = None
    read_calls: int | None = None
    """Calls of read(2) and its like, and of write(2) and its like, on files and sockets alike. recv
    and send, and theirs, are not counted by the kernel."""
    write_calls: int | None = None
    calls: dict[str, float] = msgspec.field(default_factory=dict)
    """System calls of an answer by kind (`telemetry.syscalls.trace`), and among them `.htaccess`:
    opens of such a file, `missing`: looks for a file that there is not. Counted by strace over
    `n_traced` answers to one client after the other, when all else was seen; empty without."""
    n_traced: int = 0
    untraced: Reason | None = None
    """Why its calls were not counted, where they were to be."""
    queues: tuple[QueueSeen, ...] = ()
    overflows: int | None = None
    """Connections that found a full queue, of its network namespace."""
    connections: dict[str, float] = msgspec.field(default_factory=dict)
    """Mean number of TCP connections at its ports, by state."""
    unread: float = 0.0
    """Of these, how many had bytes that no process had read yet."""
    loops_asleep: float = 0.0
    """Mean number of processes that were asleep in the one thread that does their work: by its own
    wish, for a child, or at a condition variable or semaphore, which no other thread would give."""
    host_cpus: int = 0
    host_busy: float = 0.0
    """Mean number of the machine's CPUs that ran anything, the client's too."""
    shared_cpus: float = 0.0
    """How many CPUs the server and httpdyno may use together, its load client with it, where they
    share less than the machine: affinity and quotas; 0 where they share none that is less, and in
    looks of builds that did not ask."""
    shared_busy: float = 0.0
    """Mean number of these that ran anything; 0 where that is not told."""
    host_run_queue: float = 0.0
    """Mean number of threads that ran or were ready, on the whole machine."""
    host_forks: int | None = None
    """Processes and threads that were begun, on the whole machine: as many processes came at most.
    None where it is not told."""
    swap_ins: int = 0
    """Pages read back from swap, by the whole machine."""
    pressure: dict[str, float] = msgspec.field(default_factory=dict)
    """Part of the time in which some task waited, by `cpu`, `memory`, `io`; empty where the kernel
    does not tell it."""
    memory_limit_hits: int | None = None
    """How often its control group reached its memory limit; None where that is not told."""
    answers: float = 0.0
    """Right answers in that time."""
    offered: float = 0.0
    """Requests that were due in that time by a schedule; 0 in a closed loop."""
    clients: float = 0.0
    """Mean number of requests under way."""
    client_cpu_s: float = 0.0
    """CPU time of the load client."""
    client_lost_ratio: float | None = None
    """Part of the time in which its busiest thread could have run and had no CPU; None where that
    was not kept."""
    client_limit: str = ""
    """The load engine's own verdict on who was the limit."""
    companions: tuple[CompanionSeen, ...] = ()
    """What was started with it and answers none of the load itself."""
    own: tuple[OwnAccount, ...] = ()
    """What its status pages and its statsd said; empty where its configuration has neither."""
    hidden: tuple[Reason | str, ...] = ()
    """What could not be seen, and why."""


Limit = Literal[
    "cpu",
    "too_few_workers",
    "too_many_workers",
    "backend",
    "keep_alive",
    "slow_clients",
    "spawning",
    "disk",
    "memory",
    "listen_queue",
    "lock",
    "load_generator",
    "nothing",
    "unknown",
]
"""`nothing`: the server had room left for what was asked. `unknown`: it cannot be told, and the
reason says why."""


class AnswerTime(Record, frozen=True):
    """What an answer takes on average, on either side, by Little's law."""

    worker_s: float
    """Workers at requests, over answers a second: for so long one had a worker."""
    client_s: float
    """Requests under way, over answers a second. What is more than the former was spent in queues
    and on the wire."""
    split: dict[str, float] = msgspec.field(default_factory=dict)
    """Of `worker_s` the seconds that the worker was at each (`Doing`); empty where too few were
    seen."""


class Bottleneck(Record, frozen=True, omit_defaults=True):
    """What limits a server under a load, with what says so."""

    limit: Limit
    reason: Reason
    """What says so, with its numbers."""
    evidence: dict[str, float] = msgspec.field(default_factory=dict)
    """The figures that it rests on, by name with unit."""
    advice: Reason | None = None
    """What may help; None where nothing follows."""
    answer_time: AnswerTime | None = None
    """None where it cannot be seen that a request in service has a worker for itself."""
