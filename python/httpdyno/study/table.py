"""The tables of a study file, exactly as people write them.

These types are the file's schema: names, types and defaults. What they mean together is checked
in `study/file.py`.
"""

from typing import Literal

import msgspec

from httpdyno.load.traffic_table import WorkloadTable
from httpdyno.model.base import Level, Record
from httpdyno.study.target_table import (
    CompanionTable,
    FragmentsTable,
    NetworkTable,
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


class CandidateTable(Record, frozen=True):
    """`[[candidates]]`: several knobs at once, one step of a ladder or row of a table."""

    name: str
    """What it is called in reports and in `compare --b NAME`."""
    set: dict[str, Level]
    """Knobs of the study with the values that they get, all at once."""
    title: str = ""
    """What it does, in a few words."""
    why: str = ""
    """Why it is worth trying."""
    book_ratio: float | None = None
    """A published throughput ratio, to be shown beside what is found."""


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
    on. {metrics} With `[fragments]` it is `cpu_s_per_call`."""
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


class PhaseTable(Record, frozen=True):
    """`[[method.phases]]`: a part of each turn, with a window of its own."""

    name: str
    """A word, such as `cold`."""
    run: tuple[str, ...] = ()
    """A command in the server's run folder before the window, such as one that empties a cache."""
    timeout: str = "20s"
    """As long the command may take."""
    pause: str = "0s"
    """Without load, before the window and after the command."""
    at: str | None = None
    """Run the command so long after the window began instead, such as a restart under load."""
    window: str | None = None
    """How long its window is, where that is not the method's."""
    requests: int | None = None
    """Its window ends with so many requests, such as the first one of each process; with the window
    where that ends first."""
    rate: str | None = None
    """Where the load has a `rate`: that of this phase, such as `2/s` before a burst."""


class MethodTable(Record, frozen=True):
    """`[method]`."""

    kind: Literal["ladder", "sweep", "table", "factorial"] = "ladder"
    """`ladder` tries one change after the other and keeps what is proven; `table` compares each
    with the start, and none builds on another; `sweep` walks over one knob; `factorial` measures
    every combination of two to four knobs with one level each."""
    knob: str = ""
    """The knob that a sweep walks over: numbers ascending, words in the order given. The curve is
    of the objective's metric."""
    window: str = "50ms"
    """How long one arm is measured at a time; lengthened where latencies ask for it. With
    `[fragments]` it is what a batch of calls takes."""
    lead_in: str = "20ms"
    """The part of a window before its measuring starts."""
    warm_up: str = "500ms"
    """Load on each arm after its start, before the first window, and up to as long again, drawn for
    each start; `0s` leaves it fresh."""
    warm_up_requests: int | None = None
    """The warm-up is so many answers of each arm instead, where what is measured hangs on how many
    requests a server has had; `warm_up` is then the longest that they may take."""
    blocks_per_start: int = 4
    """Windows of each arm in one start."""
    min_starts: int = 6
    """Starts of each arm below which nothing is claimed."""
    side_by_side: int = 8
    """Starts that may be up at the same time; 1 where a server changes while it rests."""
    cores: Literal["auto", "apart", "shared"] = "auto"
    """Whether load client and server have cores of their own. `auto`: from four cores on."""
    phases: tuple[PhaseTable, ...] = ()
    """What each turn of a server goes through, in this order, in place of a window of steady load:
    each phase has a window whose users all begin with it."""
    decides: str = ""
    """The phase that is compared, the others are told beside it; empty is the last one."""


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
    network: NetworkTable | None = None
    """Namespaces of mounts and of the network for all servers of a start, and the load with them:
    nothing leads out, every address is there, and names mean what is said here. That takes root, or
    a user namespace, which httpdyno makes itself; `httpdyno doctor` says where neither can be had.
    Commands of a whole run (`each = "run"`) are not in there."""
    site: SiteTable | None = None
    """Servers of your own, in place of `server`: private copies of them are measured."""
    fragments: FragmentsTable | None = None
    """Code that a program repeats inside one process, in place of `server`."""
    candidates: tuple[CandidateTable, ...] = ()
    """Several knobs at once, each one step of a ladder, or row of a table, with one verdict."""
    workload: WorkloadTable = WorkloadTable()
    """What is asked of the server, and how."""
    objective: ObjectiveTable = ObjectiveTable()
    """What decides, and what must hold besides."""
    method: MethodTable = MethodTable()
    """How the question is answered."""
    budget: BudgetTable = BudgetTable()
    """What it may cost."""
    about: str = ""
    """What a reader should know of it; paragraphs as in Markdown."""
    book_figure: str = ""
    """A published result, in words."""
    book_ratio: float | None = None
    """A published throughput ratio of final over start, to be shown beside what is found."""
