"""A study with everything resolved: defaults filled in, units converted, files found."""

import math
from typing import Annotated, Literal

import msgspec

from httpdyno.model.base import Level, Record
from httpdyno.model.knob import Configuration, Knob, level_text, with_load_knobs
from httpdyno.model.server import PrivateNetwork, ServerLimits, SideCommand
from httpdyno.model.site import Site
from httpdyno.model.workload import Objective, Workload
from httpdyno.model.written import DERIVED, Count, Duration, DurationOrZero, Rate

_SHOWN = 1e5


class Template(Record, frozen=True):
    """A file rendered anew for each start; one that renders to nothing is not written."""

    source: str
    """Path in the study's folder."""
    to: str
    """Where it goes: a path in the run folder (`{{ run }}` for templates)."""


class Peer(Record, frozen=True):
    """Where another server of the study is, for the templates of this one."""

    address: str
    """`ip:port`."""
    run: str
    """Its folder on disk."""
    memory: str
    """Its folder in memory."""

    @property
    def port(self) -> str:
        """The port alone."""
        return self.address.rpartition(":")[2]


class FileEntry(Record, frozen=True):
    """`[[server.files]]`: what is copied into the run folder."""

    source: str = msgspec.field(name="from")
    """A file or folder: in the study's folder, or a whole path, such as of an installed package."""
    to: str
    """Where it goes: a path in the run folder; `{{ … }}` as in templates."""
    exclude: tuple[str, ...] = ()
    """Names of what is left out of a folder, at any depth, such as `node_modules` or `*.log`."""


class ServerSpec(Record, frozen=True):
    """`[server]`: the target server of a study, before any knob is set."""

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
    prepare: tuple[str | SideCommand, ...] = ()
    """Run before each start, for test data: one command as a list, or tables for several."""
    finish: tuple[SideCommand, ...] = ()
    """Run after each start, once the server has ended."""
    writable: tuple[str, ...] = ()
    """Folders that the server's own user may write in, where that is not the caller."""
    files: tuple[FileEntry, ...] = ()
    """What is copied into the run folder before each start."""
    templates: tuple[Template, ...] = ()
    """Files rendered anew for each start; one that renders to nothing is not written."""
    settings: dict[str, Level] = msgspec.field(default_factory=dict)
    """Settings of the adapter that stay as they are throughout the study."""
    limits: ServerLimits = ServerLimits()
    """What all of its processes may take together, at most, enforced by the kernel: each start of
    each configuration has a control group of its own for it, and is not started without."""
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    """Variables of the server, by name; `{knob.NAME}` or `{{ knob.NAME }}` puts a knob in."""
    pass_environment: tuple[str, ...] = ()
    """Variables that it gets from the shell of httpdyno; their values are never stored."""
    before: Annotated[tuple[SideCommand, ...], DERIVED] = ()
    """The tables of `prepare`, which has its plain command alone then."""
    companions: Annotated[tuple["Companion", ...], DERIVED] = ()
    """Further servers, started and measured and ended with it; theirs have none."""
    loaded: Annotated[str, DERIVED] = ""
    """The companion that is loaded, a template of its name; empty, or `server`, is this one."""
    network: Annotated[PrivateNetwork | None, DERIVED] = None
    """A network that it has for itself with its companions; None is that of the machine."""
    peers: Annotated[dict[str, Peer], DERIVED] = msgspec.field(default_factory=dict)
    """Those of a start that are named in its templates. A study has none."""
    shape: Annotated[tuple[str, ...], DERIVED] = ()
    """Knobs that say which servers there are, which is loaded, and what their network is: none of
    them need tell. A study has none."""

    @property
    def prepare_command(self) -> tuple[str, ...]:
        """The plain command of `prepare`; empty where there is none."""
        return tuple(part for part in self.prepare if isinstance(part, str))


class Companion(ServerSpec, frozen=True, kw_only=True):
    """`[[companions]]`: a further server of the study, such as a proxy or a database."""

    name: str
    """A word: what templates of servers that are begun later call it (`peer.NAME.address`), and
    what its knobs begin with (`NAME:SETTING`)."""
    side: Literal["behind", "front"] = "behind"
    """`behind` is begun before the server, which may name it; `front` after it, and may name the
    server as `peer.server`."""
    when: str = ""
    """Whether it is there: a template that says `true` or `false`; empty is always."""


def limits_of(server: ServerSpec, site: Site | None) -> tuple[tuple[str, ServerLimits], ...]:
    """Return the limits of each server that has any, by its name: of companions, or members."""
    of_all = [("server", server.limits), *((c.name, c.limits) for c in server.companions)]
    if site is not None:
        of_all = [(member.name, member.limits) for member in site.members]
    return tuple((name, limits) for name, limits in of_all if limits)


class Phase(Record, frozen=True):
    """`[[method.phases]]`: a part of each turn, with a window of its own."""

    name: str
    """A word, such as `cold`."""
    run: tuple[str, ...] = ()
    """A command in the server's run folder before the window, such as one that empties a cache."""
    timeout_s: Duration = 20.0
    """As long the command may take."""
    pause_s: DurationOrZero = 0.0
    """Without load, before the window and after the command."""
    at_s: Duration | None = None
    """Run the command so long after the window began instead, such as a restart under load."""
    window_s: Duration | None = None
    """How long its window is, where that is not the method's."""
    n_requests: Count = msgspec.field(default=0, name="requests")
    """Its window ends with so many requests, such as the first one of each process; with the window
    where that ends first."""
    rate_per_s: Rate | None = None
    """Where the load has a `rate`: that of this phase, such as `2/s` before a burst."""

    @property
    def command(self) -> SideCommand | None:
        """What is run at the server: before the pause, or `at_s` after the window began."""
        return SideCommand(run=self.run, timeout_s=self.timeout_s) if self.run else None


class Method(Record, frozen=True):
    """`[method]`: how the question is answered."""

    kind: Literal["ladder", "sweep", "table", "factorial"] = "ladder"
    """`ladder` tries one change after the other and keeps what is proven; `table` compares each
    with the start, and none builds on another; `sweep` walks over one knob; `factorial` measures
    every combination of two to four knobs with one level each."""
    knob: str = ""
    """The knob that a sweep walks over: numbers ascending, words in the order given. The curve is
    of the objective's metric."""
    window_s: Duration = 0.05
    """How long one arm is measured at a time; lengthened where latencies ask for it. With
    `[fragments]` it is what a batch of calls takes."""
    lead_in_s: DurationOrZero = 0.02
    """The part of a window before its measuring starts."""
    warm_up_s: DurationOrZero = 0.5
    """Load on each arm after its start, before the first window, and up to as long again, drawn for
    each start; `0s` leaves it fresh."""
    warm_up_requests: Count = 0
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
    phases: tuple[Phase, ...] = ()
    """What each turn of a server goes through, in this order, in place of a window of steady load:
    each phase has a window whose users all begin with it."""
    decides: str = ""
    """The phase that is compared, the others are told beside it; empty is the last one."""

    @property
    def turn_s(self) -> float:
        """What a turn of an arm takes by what is asked: windows, lead-in, pauses."""
        if self.phases:
            return sum(self.window_of(phase) + phase.pause_s for phase in self.phases)
        return self.lead_in_s + self.window_s

    def window_of(self, phase: Phase) -> float:
        """Return how long the window of one of its phases is."""
        return self.window_s if phase.window_s is None else phase.window_s

    @property
    def is_fresh(self) -> bool:
        """Whether it asks for what fresh servers do at first, or after what a phase does."""
        return bool(self.phases) or (self.warm_up_s <= 0 and self.lead_in_s <= 0)

    @property
    def is_all_at_once(self) -> bool:
        """Whether all that is compared is up in each start, not two at a time."""
        return self.kind in {"sweep", "factorial"}


class Candidate(Record, frozen=True):
    """`[[candidates]]`: several knobs at once, one step of a ladder or row of a table."""

    name: str
    """What it is called in reports and in `compare --b NAME`."""
    values: dict[str, Level] = msgspec.field(name="set")
    """Knobs of the study with the values that they get, all at once."""
    title: str = ""
    """What it does, in a few words."""
    why: str = ""
    """Why it is worth trying."""
    book_ratio: float | None = None
    """A published throughput ratio, to be shown beside what is found."""


class Fragments(Record, frozen=True):
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


class Question(Record, frozen=True):
    """What a study file says and the study has as it stands there."""

    name: str
    """A word, for commands and reports."""
    title: str
    """What the study is about, in a line."""
    knobs: tuple[Knob, ...] = ()
    """What may be changed, in the order in which a ladder tries it. A site may have none yet."""
    site: Site | None = None
    """Servers of your own, in place of `server`: private copies of them are measured."""
    fragments: Fragments | None = None
    """Code that a program repeats inside one process, in place of `server`."""
    candidates: tuple[Candidate, ...] = ()
    """Several knobs at once, each one step of a ladder, or row of a table, with one verdict."""
    objective: Objective = Objective()
    """What decides, and what must hold besides."""
    method: Method = Method()
    """How the question is answered."""
    about: str = ""
    """What a reader should know of it; paragraphs as in Markdown."""
    book_figure: str = ""
    """A published result, in words."""
    book_ratio: float | None = None
    """A published throughput ratio of final over start, to be shown beside what is found."""


class Study(Question, frozen=True, kw_only=True):
    """A question: a target, its knobs, a workload, an objective, a method, a budget."""

    folder: str
    """Where the study's files are."""
    server: ServerSpec
    """Of a site how requests find it, of code how its program is started."""
    workload: Workload
    budget_s: float
    """Infinite: without a limit, each comparison goes on until it is decided."""
    may_differ: tuple[str, ...] = ()
    """Patterns of what may differ between bodies that are else compared."""
    counted_header: str = ""
    """A header of answers whose first words are counted beside the windows; empty for none."""
    file: str = ""
    """The study file's name in its folder."""

    @property
    def limits(self) -> tuple[tuple[str, ServerLimits], ...]:
        """The limits of each server that has any, by its name."""
        return limits_of(self.server, self.site)

    @property
    def limit_words(self) -> str:
        """The limits for people, with whose they are where there are several servers."""
        has_one = self.site is None and not self.server.companions
        each = (w.words if has_one else f"{name}: {w.words}" for name, w in self.limits)
        return "; ".join(each)

    @property
    def is_until_decided(self) -> bool:
        """Whether it is decisions that end it, and no time."""
        return math.isinf(self.budget_s)

    def start_configuration(self) -> Configuration:
        """Return the configuration that the study starts from."""
        return Configuration(values={knob.name: knob.start for knob in self.knobs})

    def of_server(self, configuration: Configuration) -> Configuration:
        """Return the part of a configuration that the server gets."""
        load = self._load_names
        if not load:
            return configuration
        values = {name: v for name, v in configuration.values.items() if name not in load}
        return Configuration(values=values)

    def load_of(self, configuration: Configuration) -> Workload:
        """Return the workload with a configuration's knobs of the load."""
        load = self._load_names
        values = {name: v for name, v in configuration.values.items() if name in load}
        return with_load_knobs(self.workload, values)

    @property
    def _load_names(self) -> frozenset[str]:
        return frozenset(knob.name for knob in self.knobs if knob.of == "load")

    def knob(self, name: str) -> Knob:
        """Return the knob of that name; KeyError if there is none."""
        for knob in self.knobs:
            if knob.name == name:
                return knob
        raise KeyError(name)

    def candidate(self, name: str) -> Candidate:
        """Return the candidate of that name; KeyError if there is none."""
        for candidate in self.candidates:
            if candidate.name == name:
                return candidate
        raise KeyError(name)


class Step(Record, frozen=True):
    """One change that a ladder tries: another level of a knob, or a candidate."""

    knob: str = ""
    """Empty where it is a candidate."""
    to: Level = ""
    candidate: str = ""
    """Its name; empty where it is a level of one knob."""
    set: dict[str, Level] = msgspec.field(default_factory=dict)
    """What the candidate sets; empty where it is a level of one knob."""
    book_ratio: float | None = None

    @property
    def values(self) -> dict[str, Level]:
        """What it sets, by knob."""
        return self.set if self.candidate else {self.knob: self.to}

    @property
    def label(self) -> str:
        """`knob → level`, or the candidate's name."""
        return self.candidate or f"{self.knob} → {level_text(self.to)}"

    @property
    def whole_label(self) -> str:
        """`knob=level`, or the candidate's name with all that it sets."""
        values = Configuration(values=self.values).label()
        return f"{self.candidate}: {values}" if self.candidate else values


class Plan(Record, frozen=True):
    """What a run will do, resolved before anything is touched."""

    study: Study
    seed: int
    steps: tuple[Step, ...] = ()
    """What is known to be tried: steps of a ladder, rows of a table, levels of a sweep. None where
    it is proposed as the run goes."""
    compare: tuple[Configuration, Configuration] | None = None
    """Set when the question is just: is the second better than the first?"""
    reference: Configuration | None = None
    """Set when each step is compared with this one configuration, and none builds on another."""
    borders: tuple[float, ...] = ()
    """Ratios b over a of the metric at which whoever asked says another word: a comparison of two
    goes on until its interval holds none of them, whatever its own verdict is by then. Empty: until
    that is said."""
    command: Literal["tune", "compare"] = "tune"
    inputs: dict[str, str] = msgspec.field(default_factory=dict)
    """Digests of what was read besides, by name: the study's files, inherited variables. Set when a
    run begins."""

    @property
    def objective(self) -> Objective:
        """What decides each comparison.

        Where several are answers of one question they share the study's risk of a wrong word
        (Bonferroni), so that with its confidence none of them is wrong.
        """
        objective = self.study.objective
        if self.reference is None:
            return objective
        # Rounded towards more confidence, to what a report shows of it.
        risk = math.floor((1 - objective.confidence) / len(self.steps) * _SHOWN) / _SHOWN
        return msgspec.structs.replace(objective, confidence=1 - risk)
