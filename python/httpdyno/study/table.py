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
    """A file or folder: in the study's folder, or a whole path, such as of an installed package."""
    to: str
    """Where it goes: a path in the run folder; `{{ … }}` as in templates."""
    exclude: tuple[str, ...] = ()
    """Names of what is left out of a folder, at any depth, such as `node_modules` or `*.log`."""


class SideCommandTable(Record, frozen=True):
    """`[[server.prepare]]`, `[[server.finish]]`: a command beside the server."""

    run: tuple[str, ...]
    """Program and arguments, run in the run folder; placeholders as in `command`."""
    timeout: str = "20s"
    """As long it may take; then the start has failed."""
    each: Literal["start", "run"] = "start"
    """`run`: once for all starts of a run, in a folder that all of them know as `{shared}`; it uses
    no other placeholder but `{python}` and settings."""


class SiteCommandTable(SideCommandTable, frozen=True):
    """`[[site.prepare]]`, `[[site.finish]]`: a command that runs in the copy as a member does."""

    run: tuple[str, ...]
    """Program and arguments, an argument each; it sees and writes what the copy does. `{run}` is a
    folder of this copy's own, `{shared}` that of the run; `{knob.NAME}` as in `[server]`."""
    each: Literal["start", "run"] = "start"
    """`run`: once for all starts of a run, in a copy of its own, of which only `{shared}`, a
    folder, stays; all others can read it. It uses no other placeholder but `{python}`."""
    when: Literal["before", "up"] = "before"
    """`before` any member is started, or once all are `up`, for what asks them. Not of `finish`."""
    member: str = ""
    """Whose environment, user and folder it has; empty is the member behind all others."""
    folder: str = ""
    """Where it runs, where that is not the member's folder; a whole path."""
    user: str = ""
    """Whom it runs as, where that is not the member's user, such as `www-data`."""


class LimitsTable(Record, frozen=True):
    """`[server.limits]`: what all processes of a server may take together, at most."""

    memory: str = ""
    """A size, such as `512MiB`; `{knob.NAME}` puts a knob in, whose `none` is no limit. A server
    that runs into it is `infeasible`, whatever it had measured."""
    cpu: float | str = ""
    """CPU seconds a second: `0.5` is half a core, `2` two whole ones. Knobs as in `memory`."""
    cpu_period: str = "100ms"
    """In which its CPU seconds are given out; who has used them up stands still until the next one
    begins. Windows are lengthened to ten periods."""


class MemberLimitsTable(Record, frozen=True):
    """`[site.members.limits]`."""

    memory: str = ""
    """A size, such as `512MiB`. A copy that runs into it is `infeasible`."""
    cpu: float | str = ""
    """CPU seconds a second: `0.5` is half a core, `2` two whole ones."""
    cpu_period: str = "100ms"
    """In which its CPU seconds are given out, as in `[server.limits]`; systemd's is 100 ms, too."""


class ServerTable(Record, frozen=True):
    """`[server]`."""

    adapter: str
    """The kind of server, such as `gunicorn`; `httpdyno knobs` lists them."""
    base: str = ""
    """The server's own base configuration: a file in the study's folder, rendered as a template."""
    command: tuple[str, ...] = ()
    """Of `adapter = "command"`: program and arguments, an argument each; `{port}`, `{address}`,
    `{run}`, `{memory}`, `{knob.NAME}` or `{{ … }}` as in templates."""
    folder: str = ""
    """Where it runs, in place; relative to the study's folder. Empty is the run folder."""
    stop: str = "TERM"
    """The signal that asks the command to end, without `SIG`."""
    ready: str = ""
    """How it is known that a command is ready: `GET /path 200`, `tcp` or `log PATTERN`."""
    ready_path: str = "/"
    """Answers below 500 once the server is ready."""
    ready_status: int | None = None
    """The status of that answer, where it must be one."""
    tls: bool = False
    """Whether its listener speaks TLS; the certificate that it shows is not checked."""
    effective_path: str = ""
    """Where the application says its own settings, as a JSON object; compared with the knobs."""
    prepare: tuple[str | SideCommandTable, ...] = ()
    """Run before each start, for test data: one command as a list, or tables for several."""
    finish: tuple[SideCommandTable, ...] = ()
    """Run after each start, once the server has ended."""
    writable: tuple[str, ...] = ()
    """Folders that the server's own user may write in, where that is not the caller."""
    files: tuple[FileEntry, ...] = ()
    """What is copied into the run folder before each start."""
    templates: tuple[Template, ...] = ()
    """Files rendered anew for each start; one that renders to nothing is not written."""
    settings: dict[str, Level] = msgspec.field(default_factory=dict)
    """Settings of the adapter that stay as they are throughout the study."""
    limits: LimitsTable = LimitsTable()
    """What all of its processes may take together, at most, enforced by the kernel: each start of
    each configuration has a control group of its own for it, and is not started without."""
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    """Variables of the server, by name; `{knob.NAME}` or `{{ knob.NAME }}` puts a knob in."""
    pass_environment: tuple[str, ...] = ()
    """Variables that it gets from the shell of httpdyno; their values are never stored."""


class CompanionTable(ServerTable, frozen=True, kw_only=True):
    """`[[companions]]`: a further server of the study."""

    name: str
    """A word: what templates of servers that are begun later call it (`peer.NAME.address`), and
    what its knobs begin with (`NAME:SETTING`)."""
    side: Literal["behind", "front"] = "behind"
    """`behind` is begun before the server, which may name it; `front` after it, and may name the
    server as `peer.server`."""
    when: str = ""
    """Whether it is there: a template that says `true` or `false`; empty is always."""


class ResolverTable(Record, frozen=True):
    """`[network.resolver]`."""

    answers: str = "at once"
    """When it answers: `at once`, `never`, or after so long, such as `50ms`; a template of it, such
    as `{{ knob.resolver }}`."""
    names: dict[str, str | tuple[str, ...]] = msgspec.field(default_factory=dict)
    """What it knows: names with an address, or a list of them; an address is answered with its
    names. All others are told not to exist."""
    options: str = "timeout:1 attempts:1"
    """How servers ask it, as `options` of resolv.conf(5)."""


class NetworkTable(Record, frozen=True):
    """`[network]`."""

    hosts: tuple[str, ...] = ()
    """All of /etc/hosts but the machine's own name: lines such as `127.0.0.2 other.example`. Not
    even `localhost` is in there, since then nobody would be asked who 127.0.0.1 is."""
    resolver: ResolverTable | None = None
    """Whom the servers ask for names, in a process of httpdyno's that counts the questions. Without
    it nobody answers, and says so at once."""


class MemberTable(Record, frozen=True):
    """`[[site.members]]`: one server of the site, front to back."""

    name: str
    """Within the site, such as `front`; knobs are called `NAME:SETTING`."""
    kind: str
    """The kind of server, such as `nginx` or `php-fpm`."""
    main: str = ""
    """Its main configuration file, a whole path; may be left out where `command` says all."""
    command: tuple[str, ...] = ()
    """Program and arguments, where those are its own: an argument each."""
    program: str = ""
    """The program file that it runs, where it is not the distribution's usual one."""
    folder: str = ""
    """Where it runs; empty is `/`."""
    prefix: str = ""
    """What relative paths of its configuration start from, where that is not compiled in."""
    user: str = ""
    """The user that its service starts it as; empty is root, or whoever runs httpdyno."""
    unit: str = ""
    """Its systemd unit."""
    environment_names: tuple[str, ...] = ()
    """Variables of its service; values are read when it is started, and never stored."""
    environment_from: str = ""
    """Where the values are read: `unit:NAME`, or the path of an environment file."""
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    """Variables that its copies have besides, with their values; `{run}` is a folder of the copy's
    own, as in `{run}/shop.sqlite`."""
    serves: tuple[str, ...] = ()
    """Backend addresses that it answers at, such as `unix:/run/php/php8.2-fpm.sock`."""
    ready_timeout: str = "20s"
    """How long its private copy may take to come up."""
    limits: MemberLimitsTable = MemberLimitsTable()
    """What its processes in each private copy may take together, at most, enforced by the kernel.
    """


class SiteTable(Record, frozen=True):
    """`[site]`: a person's own servers, in place of `[server]`."""

    members: tuple[MemberTable, ...] = ()
    """The servers, front to back."""
    doors: tuple[Door, ...] = ()
    """What of the outside a private copy may reach; nothing else is reached."""
    snapshot: str = "snapshot"
    """Folder of the study that holds their files as they were found."""
    isolation: Isolation = "auto"
    """How private copies are kept apart: `auto` takes a cell where one can be had, else a wall."""
    listener: str = ""
    """The loaded listener: a port, `ip:port` or `unix:/path`; empty is the first without TLS."""
    host: str = ""
    """The host that requests ask for; empty is the listener's first name."""
    tls: bool = False
    """Whether the loaded listener speaks TLS; the certificate that it shows is not checked."""
    writes: tuple[str, ...] = ()
    """Folders that the copy writes in: copy-on-write for each. Whole paths."""
    ready: str = "/"
    """The path that answers once the site is ready."""
    ready_status: int | None = None
    """The status of that answer; any below 500 where it is left out."""
    caveats: tuple[str, ...] = ()
    """In what copies are not what the site is, a sentence each; told with each result."""
    prepare: tuple[SiteCommandTable, ...] = ()
    """Run in each copy before it is loaded, for test data."""
    finish: tuple[SiteCommandTable, ...] = ()
    """Run in each copy once its members have ended, for what it left behind a door."""


class FragmentsTable(Record, frozen=True):
    """`[fragments]`: code that a program repeats inside one process, in place of `[server]`."""

    command: tuple[str, ...]
    """Program and arguments, run in a folder of its own for each start; `{run}`, `{python}` and
    `{knob.NAME}` as in `[server]`. It reads lines `NAME COUNT`, calls that body so many times, and
    answers each with a line `CPU_NS WALL_NS` of what that took by its own clocks, or `0 0`; any
    other line is a refusal. It ends with its input."""
    knob: str
    """The knob whose levels are the names of bodies; its start is what all others are compared
    with."""
    empty: str
    """The name of the body with nothing in it: what a pass of that takes is taken off every call.
    """
    files: tuple[FileEntry, ...] = ()
    """What is copied into its folder before each start."""
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    """Variables of the program, by name; `{knob.NAME}` puts a knob in."""
    perl_modules: str = ""
    """Perl modules that the bodies need, with spaces between them."""


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
    `path` (of one request), `requests_per_connection`, `headers.NAME` (empty: none)."""
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
    counted once), `bytes_per_request`, or `latency_p50_s`, `latency_p90_s`, `latency_p99_s`,
    `latency_p999_s`; with `p50` and `p90` also `first_byte_p50_s` (until an answer begins),
    `page_p50_s` (pages with all their objects) and `usual_p50_s` (users who are not slow). With
    `[fragments]` it is `cpu_s_per_call`."""
    tie_breaker: str = ""
    """Another metric, which decides where the first is proven to lose little."""
    also: tuple[str, ...] = ()
    """Further metrics that each have a claim of their own, and decide nothing."""
    max_error_ratio: float = 0.001
    """Requests that may fail, as a share of all: beyond it a change is not kept."""
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
    """The knob that a sweep walks over: numbers ascending, words in the order given."""
    window: str = "50ms"
    """How long one arm is measured at a time; lengthened where latencies ask for it. With
    `[fragments]` it is what a batch of calls takes."""
    lead_in: str = "20ms"
    """The part of a window before its measuring starts."""
    warm_up: str = "500ms"
    """Load on each arm after its start, before the first window, and up to as long again, drawn for
    each start; `0s` leaves it fresh."""
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
    knobs: tuple[KnobTable, ...]
    """What may be changed, in the order in which a ladder tries it."""
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
