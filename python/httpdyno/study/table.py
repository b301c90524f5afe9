"""The tables of a study file, exactly as people write them.

These types are the file's schema: names, types and defaults. What they mean together is checked
in `study/file.py`.
"""

from typing import Literal

import msgspec

from httpdyno.load.traffic import WorkloadTable
from httpdyno.model.base import Level, Record
from httpdyno.model.server import PrivateNetwork
from httpdyno.model.site import Site
from httpdyno.model.study import Candidate, Method, ServerSpec
from httpdyno.model.workload import Objective
from httpdyno.model.written import Duration
from httpdyno.study.target_table import (
    CompanionTable,
    FragmentsTable,
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


class BudgetTable(Record, frozen=True):
    """`[budget]`."""

    time_s: Duration = 300.0
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
    server: ServerSpec | None = None
    """A server that is made for each start from the files of the study."""
    companions: tuple[CompanionTable, ...] = ()
    """Further servers, such as a proxy or a database: begun, measured and ended with it."""
    network: PrivateNetwork | None = None
    """Namespaces of mounts and of the network for all servers of a start, and the load with them:
    nothing leads out, every address is there, and names mean what is said here. That takes root, or
    a user namespace, which httpdyno makes itself; `httpdyno doctor` says where neither can be had.
    Commands of a whole run (`each = "run"`) are not in there."""
    site: Site | None = None
    """Servers of your own, in place of `server`: private copies of them are measured."""
    fragments: FragmentsTable | None = None
    """Code that a program repeats inside one process, in place of `server`."""
    candidates: tuple[Candidate, ...] = ()
    """Several knobs at once, each one step of a ladder, or row of a table, with one verdict."""
    workload: WorkloadTable = WorkloadTable()
    """What is asked of the server, and how."""
    objective: Objective = Objective()
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
