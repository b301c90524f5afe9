"""What a server says of itself: status pages of Apache, nginx and php-fpm, gunicorn's statsd. Pure.

Which server a page is of is told by its content. gunicorn has no page: it sends three packets for
each answer, that there was one, its status, and how long the worker was at it, from when it had the
request until the answer was written; and one for each line of its log from warning upwards. How
many workers there are it says only when that changes.

Source: Apache 2.4's mod_status (in HTML and `?auto`, modules/generators/mod_status.c; with
`ExtendedStatus On` the second figure of `Acc` counts the requests of this child), nginx's
ngx_http_stub_status_module, PHP's sapi/fpm/fpm/fpm_status.c (`?full` has a part for each child, as
text or with `&json`); gunicorn 27's gunicorn/instrument/statsd.py, statsd's docs/metric_types.md.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from httpdyno.reason import Reason, because

APACHE = "Apache"
NGINX = "nginx"
PHP_FPM = "php-fpm"
GUNICORN = "gunicorn"

_SCOREBOARD = {
    "_": "_ waiting",
    "S": "S starting",
    "R": "R reading",
    "W": "W answering",
    "K": "K keep-alive",
    "D": "D DNS lookup",
    "C": "C closing",
    "L": "L logging",
    "G": "G ending gracefully",
    "I": "I ending idle",
}
"""Places that nobody has (`.`) are left out: they are no worker's time."""
IDLE, KEPT = _SCOREBOARD["_"], _SCOREBOARD["K"]
_BOARD = re.compile(r"<pre>([_SRWKDCLGI.\s]+)</pre>")
_STUB = re.compile(
    r"Active connections: *(?P<active>\d+)\s+server\saccepts\shandled\srequests[^\n]*\s+"
    r"\d+ +\d+ +(?P<requests>\d+)[^\n]*\s+"
    r"Reading: *(?P<reading>\d+) +Writing: *(?P<writing>\d+) +Waiting: *(?P<waiting>\d+)"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Status:
    """A server at one moment, as it says itself.

    The request that asked for the page is in it: as one that is being answered, and, of all that
    come after it, as one that was counted.
    """

    server: str
    """`APACHE`, `NGINX`, `PHP_FPM` or `GUNICORN`."""
    of: str
    """What the states are of: `workers`, `connections` or `processes`."""
    states: Mapping[str, int]
    """How many of them do what; empty where that is not told."""
    answering: str
    """The state that the one which answers this is in."""
    n_requests: int | None
    """So far; None where it is not counted (Apache's `ExtendedStatus Off`)."""
    uptime_s: float | None
    """None where it is not told."""
    counts_itself: bool = True
    """Whether the request that asked is among those that are counted."""
    answer_s: float | None = None
    """What an answer took of a worker since the status before, in the mean; None where it is not
    told."""
    remarks: tuple[Reason, ...] = ()
    """Figures of this kind of server only."""
    served: Mapping[int, int] = field(default_factory=dict)
    """Requests by process since it began; empty where the page does not tell each of them."""

    @property
    def others(self) -> Mapping[str, int]:
        """The states without the one that answers this."""
        left = Counter(self.states)
        left[self.answering] -= left[self.answering] > 0
        return {name: left[name] for name in self.states}


def status(text: str) -> Status | None:
    """Return what a status page says; None where it is none that is known."""
    if found := _STUB.search(text):
        return _nginx(found)
    told = _told(text)
    return replace(told, served=served_by_pid(text)) if told else None


def scoreboard(page: str) -> Status | None:
    """Return what Apache's page for people says of its workers; None of other pages."""
    found = _BOARD.search(page)
    return _apache({"Scoreboard": found[1]}) if found else None


def requests_per_s(before: Status, after: Status, elapsed_s: float) -> float | None:
    """Return the rate without a page's own request; None where the server began anew."""
    if before.n_requests is None or after.n_requests is None or elapsed_s <= 0:
        return None
    n = after.n_requests - before.n_requests
    return max(0, n - after.counts_itself) / elapsed_s if n >= 0 else None


def _told(text: str) -> Status | None:
    if text.lstrip().startswith("{"):
        return _php_fpm(_json(text))
    fields = _apache_page(text) or _fields(text)
    return _apache(fields) if "Scoreboard" in fields else _php_fpm(fields)


def _apache(fields: Mapping[str, str]) -> Status:
    seen = Counter(fields["Scoreboard"])
    return Status(
        server=APACHE,
        of="workers",
        states={words: seen[letter] for letter, words in _SCOREBOARD.items() if seen[letter]},
        answering=_SCOREBOARD["W"],
        n_requests=_whole(fields.get("Total Accesses")),
        uptime_s=_whole(fields.get("ServerUptimeSeconds", fields.get("Uptime"))),
        remarks=(because("telemetry.places_free", n=seen["."]),) if seen["."] else (),
    )


def _apache_page(text: str) -> dict[str, str]:
    """Return the fields of its page in HTML that `?auto` has, too; empty where it is none."""
    board, counted = _BOARD.search(text), _HTML_ACCESSES.search(text)
    if board is None or _HTML_TITLE not in text:
        return {}
    told = {"Scoreboard": "".join(board[1].split())}
    return told | ({"Total Accesses": counted[1]} if counted else {})


def _nginx(found: re.Match[str]) -> Status:
    states = {name: int(found[name]) for name in ("reading", "writing", "waiting")}
    return Status(
        server=NGINX,
        of="connections",
        states=states,
        answering="writing",
        n_requests=int(found["requests"]),
        uptime_s=None,
    )


def _php_fpm(fields: Mapping[str, Any]) -> Status | None:
    told = {name.replace(" ", "_"): _whole(value) for name, value in fields.items()}
    active, idle = told.get("active_processes"), told.get("idle_processes")
    if active is None or idle is None:
        return None
    waiting, n_busy, n_slow = map(
        told.get, ("listen_queue", "max_children_reached", "slow_requests")
    )
    remarks = (
        None if waiting is None else because("telemetry.in_queue", n=waiting),
        None if n_busy is None else because("telemetry.all_busy", n=n_busy),
        None if n_slow is None else because("telemetry.slow_requests", n=n_slow),
    )
    return Status(
        server=PHP_FPM,
        of="processes",
        states={"active": active, "idle": idle},
        answering="active",
        n_requests=told.get("accepted_conn"),
        uptime_s=told.get("start_since"),
        remarks=tuple(filter(None, remarks)),
    )


def _fields(text: str) -> dict[str, str]:
    """Return `name: value` lines; of a name that comes again (one of each process) the first."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip(), value.strip())
    return found


def _json(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _whole(value: object) -> int | None:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


_HTML_TITLE = "<title>Apache"
_HTML_ACCESSES = re.compile(r"<dt>Total accesses: (\d+)")
_MOST_DIGITS = 20
"""Of a counter of 64 bits."""


_APACHE_SLOT = re.compile(
    r"<tr><td><b>\d+-\d+</b></td><td>(?P<pid>\d+)</td>\s*<td>\d+/(?P<served>\d+)/\d+"
)
_PHP_FPM_SLOT = re.compile(
    r"^pid: +(?P<pid>\d+)\r?$(?:\n(?!pid:).*)*?\nrequests: +(?P<served>\d+)\r?$", re.MULTILINE
)


def served_by_pid(page: str) -> Mapping[int, int]:
    """Return requests by process; empty where the page has none.

    A child with threads has a place for each, which are added up.
    """
    found: Counter[int] = Counter()
    for pid, served in _slots(page):
        found[pid] += served
    return dict(found)


def _slots(page: str) -> Iterator[tuple[int, int]]:
    if page.lstrip().startswith("{"):
        yield from _slots_of_json(page)
        return
    for pattern in (_APACHE_SLOT, _PHP_FPM_SLOT):
        for each in pattern.finditer(page):
            yield int(each["pid"]), int(each["served"])


def _slots_of_json(page: str) -> Iterator[tuple[int, int]]:
    try:
        document = json.loads(page)
    except (ValueError, RecursionError):
        return
    processes = document.get("processes") if isinstance(document, dict) else None
    for each in processes if isinstance(processes, list) else ():
        if not isinstance(each, dict):
            continue
        pid, served = each.get("pid"), each.get("requests")
        if type(pid) is int and type(served) is int:  # true is no number
            yield pid, served


_METRIC = re.compile(
    rb"(?:^|\.)gunicorn\.(?P<name>[a-z_.0-9]+):(?P<value>\d{1,15}(?:\.\d{1,9})?)\|(?:c|ms)(?:\||$)"
)
"""Behind whatever prefix it is told to have. A sampling rate is always 1, tags may follow."""
_STATUS = "request.status."
_LOG = "log."
_ANSWERED = "requests"
_TOOK = "request.duration"
_LOGGED = ("critical", "exception", "error", "warning")


@dataclass(kw_only=True, slots=True)
class StatsdTotals:
    """All that came so far."""

    n_answers: int = 0
    n_timed: int = 0
    timed_s: float = 0.0
    """What these took of workers together."""
    classes: Counter[str] = field(default_factory=Counter)
    """Answers by the first digit of their status."""
    logged: Counter[str] = field(default_factory=Counter)
    """Lines of its log by level."""

    def add(self, packet: bytes) -> None:
        """Take in a packet; what is nothing of gunicorn's is nothing here."""
        for line in packet.splitlines():
            if found := _METRIC.search(line):
                self._add(found["name"].decode("ascii"), float(found["value"]))

    def _add(self, name: str, value: float) -> None:
        if name == _ANSWERED:
            self.n_answers += int(value)
        elif name == _TOOK:
            self.n_timed += 1
            self.timed_s += value / 1e3
        elif name.startswith(_STATUS):
            self.classes[name.removeprefix(_STATUS)[:1]] += int(value)
        elif name.startswith(_LOG):
            self.logged[name.removeprefix(_LOG)] += int(value)

    def __add__(self, other: "StatsdTotals") -> "StatsdTotals":
        """Return what both came to."""
        return StatsdTotals(
            n_answers=self.n_answers + other.n_answers,
            n_timed=self.n_timed + other.n_timed,
            timed_s=self.timed_s + other.timed_s,
            classes=self.classes + other.classes,
            logged=self.logged + other.logged,
        )


def statsd_status(before: StatsdTotals, now: StatsdTotals, n_lost: int) -> Status:
    """Return what was told, as a server's status.

    Args:
        before: What had come when it was asked for before.
        now: What has come until now.
        n_lost: Packets that came too fast to be taken in.
    """
    n_timed = now.n_timed - before.n_timed
    classes, logged = now.classes, now.logged
    remarks = [
        *(because("telemetry.answers_of_class", digit=d, n=classes[d]) for d in "45" if classes[d]),
        *(because("telemetry.log_lines", level=x, n=logged[x]) for x in _LOGGED if logged[x]),
        *([because("telemetry.packets_lost", n=n_lost)] if n_lost else []),
    ]
    return Status(
        server=GUNICORN,
        of="workers",
        states={},
        answering="",
        n_requests=now.n_answers,
        uptime_s=None,
        counts_itself=False,
        answer_s=(now.timed_s - before.timed_s) / n_timed if n_timed else None,
        remarks=tuple(remarks),
    )
