"""Apache's directives that can be tuned. Source of all: httpd 2.4 and mod_fcgid documentation.

What can be set in a person's own Apache: declared once. Source of all: httpd 2.4 documentation.

What a change costs a running server was tried on one, by `tests/real/test_apache_cost.py`.

What is in force of one directive, in a survey; levels as text and back. Pure.

How many processes or threads wait idle, as one knob: narrow, as found, wide. Pure.

What Apache holds between settings: broken rules are said, companions are added. Pure.
"""

import re
from collections.abc import Mapping
from typing import Literal

from msgspec.structs import replace

from httpdyno.errors import AdapterError
from httpdyno.model import KnobInfo, Level, Reading, Survey, level_text
from httpdyno.model.rows import rows
from httpdyno.reason import Reason, because

_DOCS = "httpd.apache.org/docs/2.4/"


class ApacheKnob(KnobInfo, frozen=True):
    """A row of `settings.toml`: a directive, of what server it is a knob, and where."""

    of: Literal["both", "study", "own"] = "both"
    """Of the server that a study makes, of a person's own, or of both."""
    module: str = ""
    """Without it a person's own has no such knob."""
    is_threaded: bool | None = None
    """Only under threaded modules, only under prefork, or under all."""
    threaded_default: int | None = None
    """What is compiled in for threaded modules, where that differs."""
    is_scoped: bool = False
    """Whether virtual hosts or folders may have values of their own."""

    @property
    def info(self) -> KnobInfo:
        """Return what is a knob of it."""
        return self.bare()


def _at_docs(row: ApacheKnob) -> ApacheKnob:
    # mod_fcgid has a manual of its own, elsewhere.
    return row if row.source.startswith("httpd.") else replace(row, source=_DOCS + row.source)


ROWS = {
    name: _at_docs(row)
    for name, row in rows("httpdyno.servers.apache", "settings.toml", ApacheKnob).items()
}

MPM = ROWS.pop("mpm").info
"""No directive: which module is loaded. Where it is no knob, it is a setting of the study."""

KNOBS = {name: row.info for name, row in ROWS.items() if row.of != "own"}
"""Of the server that a study makes."""


SPARE = "spare_servers"
HTACCESS = "htaccess"
LINK_CHECKS = "link_checks"
BACKLOG = "ListenBacklog"

OWN_KNOBS = {name: row for name, row in ROWS.items() if row.of != "study"} | {
    # With mod_status, without which there is no such knob, it is on where nothing is said.
    "ExtendedStatus": replace(ROWS["ExtendedStatus"], default=True),
}

COMPANIONS = {
    "ServerLimit": "MaxRequestWorkers",
    "ThreadLimit": "ThreadsPerChild",
    "MinSpareServers": "StartServers",
    "MinSpareThreads": "StartServers",
    "MaxSpareServers": "MinSpareServers",
    "MaxSpareThreads": "MinSpareThreads",
    "StartServers": "MaxRequestWorkers",
    "ThreadsPerChild": "MaxRequestWorkers",
    "MaxRequestWorkers": "StartServers",
    "KeepAliveTimeout": "KeepAlive",
    "MaxKeepAliveRequests": "KeepAlive",
}
"""A directive that nothing sets → the one that it is written after."""

_FORMER = {"maxclients": "MaxRequestWorkers", "maxrequestsperchild": "MaxConnectionsPerChild"}


def present_name(directive: str) -> str:
    """Return what a directive is called since 2.4; the former names still count."""
    return _FORMER.get(directive.lower(), directive)


_ALSO_ONE_VALUE = (
    *("User", "Group", "ServerName", "DocumentRoot", "PidFile", "ErrorLog", "Timeout"),
    *("AllowOverride", "AccessFileName", "SSLSessionCache", "SSLEngine"),
)
ONE_VALUE = frozenset(
    name.lower() for name in (*OWN_KNOBS, *COMPANIONS, *COMPANIONS.values(), *_ALSO_ONE_VALUE)
)
"""Directives of which the last one in a scope counts, and no other."""

_TUNABLE = frozenset(name.lower() for name in (*OWN_KNOBS, *COMPANIONS))


def is_tunable(directive: str) -> bool:
    """Whether a directive is a knob, or is written along with one; in any case."""
    return directive.lower() in _TUNABLE


PREFORK = "prefork"
TLS_CACHE = "SSLSessionCache"
WRITTEN = " as written"
"""Behind a directive's name: a reading of its number where Apache says that it takes another."""
_COMPILED = {
    True: {
        "MaxRequestWorkers": 400,
        "ServerLimit": 16,
        "ThreadsPerChild": 25,
        "ThreadLimit": 64,
        "StartServers": 3,
        "MinSpareThreads": 75,
        "MaxSpareThreads": 250,
    },
    False: {
        "MaxRequestWorkers": 256,
        "ServerLimit": 256,
        "StartServers": 5,
        "MinSpareServers": 5,
        "MaxSpareServers": 10,
    },
}
"""Whether the module is threaded → directive → what httpd 2.4 has without any."""


def mpm_of(survey: Survey) -> str:
    """Return the module that runs the processes: `prefork`, `worker` or `event`."""
    known = ("event", "worker", PREFORK)
    return next((name for name in known if f"mpm_{name}_module" in survey.modules), PREFORK)


def is_threaded(survey: Survey) -> bool:
    """Whether processes have several threads."""
    return mpm_of(survey) != PREFORK


def reading_of(survey: Survey, name: str, scope: str = "") -> Reading | None:
    """Return what sets a directive in a scope; its name in any case."""
    found = (r for r in survey.readings if r.name.lower() == name.lower() and r.scope == scope)
    return next(found, None)


def number_of(survey: Survey, name: str) -> int:
    """Return the number that is in force for the whole server; Apache reads what is none as 0."""
    reading = reading_of(survey, name)
    if reading is None:
        return _COMPILED[is_threaded(survey)].get(name, 0)
    match = re.match(r"[+-]?\d+", reading.text.strip('"'))
    return int(match[0]) if match else 0


def level_of(info: KnobInfo, text: str) -> Level | None:
    """Return a directive's argument as a level of its knob; None where it is none."""
    bare = text.strip().strip('"')
    level: Level | None = bare
    if info.kind == "boolean":
        level = {"on": True, "off": False}.get(bare.lower())
    elif info.kind == "integer":
        level = int(bare) if re.fullmatch(r"\d+", bare) else None
    elif info.kind == "number":
        level = _number(bare)
    elif info.name == TLS_CACHE:
        level = _cache_size(bare)
    elif info.choices:
        level = next((c for c in info.choices if c.lower() == bare.lower()), None)
    return level if level is not None and info.takes(level) else None


def _cache_size(text: str) -> str | None:
    """Return the bytes of a shared cache, or `none`; None for caches of other kinds."""
    match = re.fullmatch(r"shmcb:.+\((\d+)\)", text)
    return match[1] if match else None


def size_span(argument: bytes) -> tuple[int, int]:
    """Return where the digits of a cache's size are in an argument of `SSLSessionCache`."""
    digits = argument.rpartition(b"(")[2]
    start = len(argument) - len(digits)
    return start, start + len(digits.partition(b")")[0])


def _number(text: str) -> float | None:
    if not re.fullmatch(r"\d+(\.\d+)?", text):
        return None
    value = float(text)
    return int(value) if value.is_integer() else value


def argument_text(level: Level) -> str:
    """Return a level as Apache writes it: `On`, not `true`."""
    if isinstance(level, bool):
        return "On" if level else "Off"
    return level_text(level)


def said_text(info: KnobInfo, text: str) -> str:
    """Return an argument as levels are written, so that both can be compared."""
    level = level_of(info, text)
    return text.strip() if level is None else level_text(level)


FOUND = "found"


def spare_names(survey: Survey) -> tuple[str, str, str]:
    """Return the directives that the knob writes: at first, fewest and most that are idle."""
    what = "Threads" if is_threaded(survey) else "Servers"
    return "StartServers", f"MinSpare{what}", f"MaxSpare{what}"


def spare_values(survey: Survey, level: str, numbers: Mapping[str, int]) -> dict[str, int]:
    """Return the directives of a level; none for the one that was found.

    Between starts what the middle of the band as found is, and changes nothing else. Narrow keeps
    as little idle as Apache takes; wide starts half of what there may be and ends none. Under
    threaded modules the most has to be a whole process above the fewest, else Apache makes it so
    without a word.

    Args:
        survey: What is in force as found.
        level: `found`, `between`, `narrow` or `wide`.
        numbers: What else is asked, such as `MaxRequestWorkers`.
    """
    if level == FOUND:
        return {}
    workers = numbers.get("MaxRequestWorkers", number_of(survey, "MaxRequestWorkers"))
    threads = 1
    if is_threaded(survey):
        threads = numbers.get("ThreadsPerChild", number_of(survey, "ThreadsPerChild"))
    threads = max(1, threads)
    processes = max(1, workers // threads)
    if level == "between":
        first, *band = spare_names(survey)
        fewest, most = (number_of(survey, name) for name in band)
        start = max(-(-fewest // threads), (fewest + max(fewest, most)) // 2 // threads)
        return {first: max(1, min(start, processes))}
    if level == "narrow":
        start, fewest, most = 1, threads, 2 * threads
    else:
        start = max(1, processes // 2)
        fewest = max(threads, workers // 2)
        most = max(workers, fewest + threads)
    return dict(zip(spare_names(survey), (start, fewest, most), strict=True))


_WORKERS = "MaxRequestWorkers"
_THREADS = "ThreadsPerChild"
_LIMIT = "ServerLimit"
_THREAD_LIMIT = "ThreadLimit"
SOMAXCONN = "net.core.somaxconn"
RULED = frozenset({_WORKERS, _THREADS, "ListenBacklog"})
"""Knobs that go with others or not."""


def companions(
    survey: Survey, asked: Mapping[str, int]
) -> tuple[dict[str, int], tuple[Reason, ...]]:
    """Return what has to be set besides what is asked, and why.

    Args:
        survey: What is in force as found.
        asked: The numbers that are asked for the whole server: directive → number.

    Raises:
        AdapterError: What is asked cannot be in force together; Apache would change it, some of
            it without a word.
    """
    numbers = _Numbers(survey, asked)
    _check_backlog(survey, asked)
    if is_threaded(survey):
        _complete_threads(numbers)
    limit = numbers[_LIMIT]
    servers = -(-numbers[_WORKERS] // numbers.threads)
    if servers > limit:
        numbers.add(_LIMIT, servers, _takes(_WORKERS, numbers[_WORKERS], _LIMIT, servers))
    _complete_spare(numbers)
    return numbers.added, tuple(numbers.notes)


def _takes(name: str, value: int, limit: str, needed: int) -> Reason:
    return because("apache.takes_limit", name=name, value=value, limit=limit, needed=needed)


class _Numbers:
    """Numbers as they will be: asked, added, or as found."""

    def __init__(self, survey: Survey, asked: Mapping[str, int]) -> None:
        self.survey = survey
        self.asked = asked
        self.added: dict[str, int] = {}
        self.notes: list[Reason] = []

    def __getitem__(self, name: str) -> int:
        known = {**self.asked, **self.added}
        return known[name] if name in known else number_of(self.survey, name)

    def add(self, name: str, value: int, why: Reason) -> None:
        if name in self.asked:
            raise AdapterError(
                f"{name} {self.asked[name]} does not go with the rest",
                hint=f"Take {name} out of the study, or have levels of it that go together.",
                why=[why],
            )
        self.added[name] = value
        self.notes.append(why)

    @property
    def threads(self) -> int:
        return max(1, self[_THREADS]) if is_threaded(self.survey) else 1


def _check_backlog(survey: Survey, asked: Mapping[str, int]) -> None:
    reading = survey.reading(SOMAXCONN)
    most = int(reading.text) if reading is not None and reading.text.isdecimal() else None
    backlog = asked.get("ListenBacklog", 0)
    if most is not None and backlog > most:
        raise AdapterError(
            f"ListenBacklog {backlog} would be cut off: {SOMAXCONN} is {most}",
            hint=f"Have levels of at most {most}, or raise {SOMAXCONN} first.",
        )


def _complete_threads(numbers: _Numbers) -> None:
    threads = numbers.threads
    if threads > numbers[_THREAD_LIMIT]:
        numbers.add(
            _THREAD_LIMIT,
            threads,
            _takes(_THREADS, threads, _THREAD_LIMIT, threads),
        )
    workers = numbers[_WORKERS]
    if workers % threads == 0:
        return
    up = -(-workers // threads) * threads
    if _WORKERS in numbers.asked:
        down = max(threads, workers // threads * threads)
        raise AdapterError(
            f"{_WORKERS} {workers} is no multiple of {_THREADS} {threads}; Apache would lower it",
            hint=f"Have {down} or {up}.",
        )
    why = because("apache.a_multiple", name=_WORKERS, of=_THREADS, threads=threads, n=up)
    numbers.add(_WORKERS, up, why)


def _complete_spare(numbers: _Numbers) -> None:
    _, least_name, most_name = spare_names(numbers.survey)
    least, most = numbers[least_name], numbers[most_name]
    needed = least + numbers.threads
    touches = {least_name, most_name, _THREADS} & {*numbers.asked, *numbers.added}
    if most < needed and touches:
        why = because(
            "apache.not_below", name=most_name, needed=needed, least_name=least_name, least=least
        )
        numbers.add(most_name, needed, why)
