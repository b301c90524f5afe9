"""The tables of a study file, exactly as people write them.

These types are the file's schema: names, types and defaults. What they mean together is checked
in `study/file.py`.
"""

from typing import Literal

import msgspec

from httpdyno.load.traffic_table import WorkloadTable
from httpdyno.model.base import Level, Record
from httpdyno.model.network import PrivateNetwork
from httpdyno.model.study import Candidate, Method
from httpdyno.study.target_table import (
    CompanionTable,
    FragmentsTable,
    ServerTable,
    SiteTable,
)


class KnobTable(Record, frozen=True):
    """`[[knobs]]`, in ladder order."""

    name: str
    """A setting that the server knows, or one of the application that templates or variables use.
    Of a site `MEMBER:NAME[@SCOPE]`; what there is only one of may be left out."""
    start: Level | msgspec.UnsetType = msgspec.UNSET
    """The value to start from. Of a site it may be left out, or be `as found`."""
    levels: tuple[Level, ...] = ()
    """What is tried, in this order. May be empty where a candidate sets the knob, or of the load.
    """
    title: str = ""
    """What it does, in a few words; of a setting that the server knows there is one already."""
    unit: str = ""
    """Of its numbers, for reports."""
    of: Literal["server", "load"] = "server"
    """`load`: it sets the workload of its side, and the server never hears of it: `connections`,
    `path` (of one request), `objects` (how many of those of one page), `requests_per_connection`,
    `slow` (a line as in `[workload]`, or `none`), `slow_buffer`, `headers.NAME` (empty: none)."""
    why: str = ""
    """Why it is worth trying."""
    book_ratio: tuple[float, ...] = ()
    """A published throughput ratio of each level, to be shown beside what is found."""


class ObjectiveTable(Record, frozen=True):
    """`[objective]`: what decides, and what must hold besides."""

    metric: str = "throughput_per_s"
    """What decides: `throughput_per_s`, `cpu_s_per_request`, `pss_bytes` (memory, shared pages
    counted once), `uss_bytes_per_process` (what a process has for itself alone, on average),
    `bytes_per_request`, or `latency_p50_s`, `latency_p90_s`, `latency_p95_s`, `latency_p99_s`,
    `latency_p999_s`; with `p50`, `p90`, `p95` and `p99` also `first_byte_p50_s` (until an answer
    begins), `page_p50_s` (pages with all their objects) and `usual_p50_s` (users who are not slow;
    their answers are `usual_throughput_per_s`; of those who are, `slow_p50_s` and
    `slow_throughput_per_s`). Of one request that has a `name` it is `latency_p90_s of NAME`, and so
    on. `calls_per_request` is the system calls of an answer, without what its connection takes, and
    `calls_per_request of open` those of a kind, as `inspect --census` names them, `.htaccess` or
    `missing`: each start counts them after its windows, by `strace` over some twenty answers.
    `handshakes_full_per_request` is for how many of the answers a server that speaks TLS signed,
    `lookups_per_request` is what it asks a resolver of its own. `exits_per_request` is how many of
    the server's processes end, told of a thousand requests: each start counts them after its
    windows, under four seconds of load more. `ready_s` is the time from a
    server's spawning until it answers: they come up one after the other then, and less than 0.1 s
    is not compared. `answers_ratio of MISS` is the share of the answers whose counted header
    (`workload.count_header`) began with that word, as the server spells it: more is better of a
    word that is or ends in `hit`, in small letters or capitals, and less of all others. With
    `[fragments]` it is `cpu_s_per_call`."""
    tie_breaker: str = ""
    """Another metric, which decides where the first is proven to lose little."""
    also: tuple[str, ...] = ()
    """Further metrics that each have a claim of their own, and decide nothing."""
    max_error_ratio: float = 0.001
    """Requests that may fail, as a share of all: beyond it a change is not kept, and by more than
    luck may do it is refused. With `0` one failure refuses it."""
    max_memory: str | None = None
    """What the server's processes may take together, such as `512MiB`, shared pages counted once; a
    change that takes more is not kept."""
    max_p99: str | None = None
    """The p99 latency beyond which a change is not kept."""
    margin: float = 0.01
    """Differences within ± this ratio are `equivalent`: too small to matter."""
    confidence: float = 0.95
    """That no verdict is a wrong `better` or `worse`, however often one looks."""


class BudgetTable(Record, frozen=True):
    """`[budget]`."""

    time: str = "5m"
    """How long the whole run may take; `--budget` says another one."""


class StudyFile(Record, frozen=True):
    """A study as it is written. `httpdyno study schema` prints its JSON Schema."""

    format: Literal[1, 2]
    """2 has all that is here. 1, of earlier studies, has no `site`, `fragments` or `candidates`."""
    name: str
    """A word, for commands and reports."""
    title: str
    """What the study is about, in a line."""
    knobs: tuple[KnobTable, ...] = ()
    """What may be changed, in the order in which a ladder tries it. A site may have none yet."""
    server: ServerTable | None = None
    """A server that is made for each start from the files of the study."""
    companions: tuple[CompanionTable, ...] = ()
    """Further servers, such as a proxy or a database: begun, measured and ended with it."""
    network: PrivateNetwork | None = None
    """Namespaces of mounts and of the network for all servers of a start, and the load with them:
    nothing leads out, every address is there, and names mean what is said here. That takes root, or
    a user namespace, which httpdyno makes itself; `httpdyno doctor` says where neither can be had.
    Commands of a whole run (`each = "run"`) are not in there."""
    site: SiteTable | None = None
    """Servers of your own, in place of `server`: private copies of them are measured."""
    fragments: FragmentsTable | None = None
    """Code that a program repeats inside one process, in place of `server`."""
    candidates: tuple[Candidate, ...] = ()
    """Several knobs at once, each one step of a ladder, or row of a table, with one verdict."""
    workload: WorkloadTable = WorkloadTable()
    """What is asked of the server, and how."""
    objective: ObjectiveTable = ObjectiveTable()
    """What decides, and what must hold besides."""
    method: Method = Method()
    """How the question is answered."""
    budget: BudgetTable = BudgetTable()
    """What it may cost."""
    about: str = ""
    """What a reader should know of it; paragraphs as in Markdown."""
    book_figure: str = ""
    """A published result, in words."""
    book_ratio: float | None = None
    """A published throughput ratio of final over start, to be shown beside what is found."""
