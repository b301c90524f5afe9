"""The tables of a study file, exactly as people write them.

These types are the file's schema: names, types and defaults. What they mean together is checked
in `study/file.py`.
"""

from typing import Literal

import msgspec

from httpdyno.load.traffic_table import WorkloadTable
from httpdyno.model.base import Level, Record
from httpdyno.model.site import Door, Isolation
from httpdyno.model.study import Template


class FileEntry(Record, frozen=True):
    """`[[server.files]]`: what is copied into the run folder."""

    from_: str = msgspec.field(name="from")
    to: str


class ServerTable(Record, frozen=True):
    """`[server]`."""

    adapter: str
    base: str = ""
    command: tuple[str, ...] = ()
    folder: str = ""
    stop: str = "TERM"
    ready: str = ""
    ready_path: str = "/"
    ready_status: int | None = None
    effective_path: str = ""
    prepare: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    files: tuple[FileEntry, ...] = ()
    templates: tuple[Template, ...] = ()
    settings: dict[str, Level] = msgspec.field(default_factory=dict)
    environment: dict[str, str] = msgspec.field(default_factory=dict)


class MemberTable(Record, frozen=True):
    """`[[site.members]]`: one server of the site, front to back."""

    name: str
    kind: str
    main: str = ""
    command: tuple[str, ...] = ()
    program: str = ""
    folder: str = ""
    prefix: str = ""
    user: str = ""
    unit: str = ""
    environment_names: tuple[str, ...] = ()
    environment_from: str = ""
    serves: tuple[str, ...] = ()
    ready_timeout: str = "20s"


class SiteTable(Record, frozen=True):
    """`[site]`: a person's own servers, in place of `[server]`."""

    members: tuple[MemberTable, ...] = ()
    doors: tuple[Door, ...] = ()
    snapshot: str = "snapshot"
    isolation: Isolation = "auto"
    listener: str = ""
    host: str = ""
    writes: tuple[str, ...] = ()
    ready: str = "/"
    ready_status: int | None = None


class KnobTable(Record, frozen=True):
    """`[[knobs]]`, in ladder order."""

    name: str
    start: Level | msgspec.UnsetType = msgspec.UNSET
    levels: tuple[Level, ...] = ()
    title: str = ""
    unit: str = ""
    why: str = ""
    book_ratio: tuple[float, ...] = ()


class CandidateTable(Record, frozen=True):
    """`[[candidates]]`: several knobs at once, one step of a ladder."""

    name: str
    set: dict[str, Level]
    title: str = ""
    why: str = ""
    book_ratio: float | None = None


class ObjectiveTable(Record, frozen=True):
    """`[objective]`: what decides, and what must hold besides."""

    metric: str = "throughput_per_s"
    tie_breaker: str = ""
    also: tuple[str, ...] = ()
    max_error_ratio: float = 0.001
    max_p99: str | None = None
    margin: float = 0.01
    confidence: float = 0.95


class MethodTable(Record, frozen=True):
    """`[method]`."""

    kind: Literal["ladder", "sweep"] = "ladder"
    knob: str = ""
    window: str = "50ms"
    lead_in: str = "20ms"
    warm_up: str = "500ms"
    blocks_per_start: int = 4
    min_starts: int = 6
    side_by_side: int = 8
    cores: Literal["auto", "apart", "shared"] = "auto"


class BudgetTable(Record, frozen=True):
    """`[budget]`."""

    time: str = "5m"


class StudyFile(Record, frozen=True):
    """A study as it is written. `httpdyno study schema` prints its JSON Schema."""

    format: Literal[1, 2]
    name: str
    title: str
    knobs: tuple[KnobTable, ...]
    server: ServerTable | None = None
    site: SiteTable | None = None
    candidates: tuple[CandidateTable, ...] = ()
    workload: WorkloadTable = WorkloadTable()
    objective: ObjectiveTable = ObjectiveTable()
    method: MethodTable = MethodTable()
    budget: BudgetTable = BudgetTable()
    about: str = ""
    book_figure: str = ""
    book_ratio: float | None = None
