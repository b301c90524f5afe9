"""The study file as people write it: what is a record of the study itself stands there.

The types are the file's schema: names, types and defaults. What they mean together is checked in
`study/file.py`.
"""

from typing import Literal

from httpdyno.load.setting import WorkloadTable
from httpdyno.model.base import Record
from httpdyno.model.server import PrivateNetwork
from httpdyno.model.study import Companion, Question, ServerSpec
from httpdyno.model.written import Duration


class BudgetTable(Record, frozen=True):
    """`[budget]`."""

    time_s: Duration = 300.0
    """How long the whole run may take; `--budget` says another one."""


class StudyFile(Question, frozen=True, kw_only=True):
    """A study as it is written. `httpdyno study schema` prints its JSON Schema."""

    format: Literal[1, 2]
    """2 has all that is here. 1, of earlier studies, has no `site`, `fragments` or `candidates`."""
    server: ServerSpec | None = None
    """A server that is made for each start from the files of the study."""
    companions: tuple[Companion, ...] = ()
    """Further servers, such as a proxy or a database: begun, measured and ended with it."""
    network: PrivateNetwork | None = None
    """Namespaces of mounts and of the network for all servers of a start, and the load with them:
    nothing leads out, every address is there, and names mean what is said here. That takes root, or
    a user namespace, which httpdyno makes itself; `httpdyno doctor` says where neither can be had.
    Commands of a whole run (`each = "run"`) are not in there."""
    workload: WorkloadTable = WorkloadTable()
    """What is asked of the server, and how."""
    budget: BudgetTable = BudgetTable()
    """What it may cost."""
