"""Access logs in common or combined format, as requests with the gaps they had.

What a log leaves out is decided here, and told in the manual:

- Most logs know the second only. Sent as one burst at its beginning, the requests of a second
  would load a server in a way that nobody did, so they are laid over it: evenly (usual), at
  random as independent users come, or as that burst, which is the worst that the log allows.
- A right answer is any 2xx or 3xx; what the log says was refused (a 404, a 403) must be refused
  again. An old 500 is no reason to expect a new one.
- Bodies and headers are in no access log: a POST goes without one.
"""

import gzip
import random
import re
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote_from_bytes

from httpdyno.errors import UsageError
from httpdyno.host.foreign_files import opened_regular
from httpdyno.host.foreign_text import reason
from httpdyno.load.target import KEPT_IN_PATH
from httpdyno.model import Replay, ReplayedLog, RequestSpec

_S = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_YEAR_NS = 31_557_600 * _S
_LONGEST_NS = 1 << 62
"""About 146 years; the engine counts 64 bits of nanoseconds."""
_GZIP = b"\x1f\x8b"
_SHOWN_BYTES = 60

_BLOCK_BYTES = 64 << 10
"""Small, because one odd line makes its block be read line by line."""
_LONGEST_LINE_BYTES = 1 << 20

# `HOST IDENT USER [TIME] "REQUEST" STATUS …`, as most lines are, and as any may be: a virtual
# host before it, a name with spaces or a bracket, escapes. What is before the time is not needed.
# Possessive, so that a line that is none costs no more than one that is.
_TIME = rb"\[(\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d(?:\.\d{1,9})? [+-]\d{4})\] "
_USUAL = re.compile(rb'(?m)^[^\["\n]*+' + _TIME + rb'"([^"\\\n]*+" \d{3}) .*+$')
_ANY = re.compile(rb"[^\n]*?" + _TIME + rb'"((?:[^"\\\n]++|\\.)*+" (?:\d{3}|-))(?:\s|$)')
_PLAIN_PATH = re.compile(rb"/[A-Za-z0-9/%:@!$&'()*+,;=._~?-]*")
_ESCAPE = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"b": b"\b", b"v": b"\v", b"f": b"\f"}
_METHOD = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}")
_ORIGIN = re.compile(rb"\Ahttps?://[^/?#]+", re.IGNORECASE)
_MONTHS = (b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec").split()

# Given up by the client, or asked to come later: nothing that the path itself deserves.
_PASSING_STATUSES = frozenset({408, 425, 429, 499})


@dataclass(frozen=True, kw_only=True)
class Recording:
    """What of a log can be sent again."""

    requests: tuple[RequestSpec, ...]
    """Each that is different, once."""
    offsets_ns: "array[int]"
    """When each is due, from the first on, ascending; (n,)."""
    steps: "array[int]"
    """Which request each is; (n,)."""
    log: ReplayedLog
    """What it held."""

    @property
    def duration_s(self) -> float:
        """From the first request to the last."""
        return self.offsets_ns[-1] / _S


def read_access_log(
    replay: Replay,
    *,
    seed: int = 0,
    headers: tuple[tuple[str, str], ...] = (),
    expect: Callable[[int], int | None] | None = None,
) -> Recording:
    """Read a log, plain or gzipped.

    Args:
        replay: Which log, which of its methods, and how fast.
        seed: Gives the instants where requests are spread at random.
        headers: Sent with each request.
        expect: From the status in the log (0 for none) to the one that is right; None there is
            any 2xx or 3xx. Not given, it is as told above.

    Raises:
        UsageError: It cannot be read, or holds nothing that can be sent.
    """
    file = Path(replay.log)
    reader = _Reader({method.encode() for method in replay.methods}, headers, expect or _expected)
    try:
        with _opened(file) as stream:
            reader.read(_blocks(stream))
    except OSError as error:
        raise UsageError(f"the access log `{file}` cannot be read: {reason(error)}") from error
    except (EOFError, zlib.error) as error:
        raise UsageError(
            f"the access log `{file}` cannot be read: {str(error)[:1].lower()}{str(error)[1:]}"
        ) from error
    if not reader.at_ns:
        raise reader.nothing(file, replay)
    at_ns, steps = _in_order(reader.at_ns, reader.steps)
    if not reader.has_fractions and replay.spread != "burst":
        at_ns = _spread(at_ns, random.Random(seed) if replay.spread == "random" else None)
    first_ns = at_ns[0]
    if (at_ns[-1] - first_ns) / replay.speed > _LONGEST_NS:
        raise UsageError(
            f"the access log `{file}` spans {(at_ns[-1] - first_ns) / _YEAR_NS:,.0f} years: no "
            "replay lasts that long",
            hint="leave out the lines whose year is wrong, or raise `--speed`",
        )
    return Recording(
        requests=tuple(reader.requests),
        offsets_ns=array("Q", [int((each - first_ns) / replay.speed) for each in at_ns]),
        steps=array("I", steps),
        log=ReplayedLog(
            n_lines=reader.n_lines,
            n_malformed=reader.n_malformed,
            first_malformed=reader.first_malformed,
            left_out=dict(reader.left_out.most_common()),
            is_whole_seconds=not reader.has_fractions,
        ),
    )


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    with opened_regular(file) as stream:
        is_packed = stream.read(len(_GZIP)) == _GZIP
        stream.seek(0)
        if not is_packed:
            yield stream
            return
        with gzip.open(stream, "rb") as unpacked:
            yield unpacked  # type: ignore[misc]


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Yield whole lines, many at once."""
    rest = b""
    while data := stream.read(_BLOCK_BYTES):
        whole, line_end, rest = (rest + data).rpartition(b"\n")
        if line_end:
            yield whole + line_end
        # Of a file that is no text nothing is kept that could be a line.
        rest = rest[:_LONGEST_LINE_BYTES]
    if rest:
        yield rest + b"\n"


class _Reader:
    """Takes the lines of a log one after the other."""

    def __init__(
        self,
        methods: set[bytes],
        headers: tuple[tuple[str, str], ...],
        expect: Callable[[int], int | None],
    ) -> None:
        self._methods = methods
        self._headers = headers
        self._expect = expect
        self.requests: list[RequestSpec] = []
        self.at_ns: list[int] = []
        self.steps: list[int] = []
        self.n_lines = 0
        self.n_malformed = 0
        self.first_malformed = 0
        self.first_malformed_line = b""
        self.left_out: Counter[str] = Counter()
        self.has_fractions = False
        self._places: dict[tuple[bytes, str, int | None], int] = {}
        # Most lines repeat what an earlier one said, so each is taken apart once.
        self._known: dict[bytes, int | str | None] = {}
        self._times: dict[bytes, int | None] = {}

    def read(self, blocks: Iterable[bytes]) -> None:
        n_before = 0
        for block in blocks:
            n = block.count(b"\n")
            found = _USUAL.findall(block)
            if len(found) == n:
                self.n_lines += n
                self._take(enumerate(found, start=n_before + 1))
            else:
                self._take(self._each(block, n_before + 1))
            n_before += n

    def _each(self, block: bytes, first: int) -> Iterator[tuple[int, tuple[bytes, bytes]]]:
        for number, line in enumerate(block.split(b"\n"), start=first):
            if not line or line.isspace():
                continue
            self.n_lines += 1
            found = _ANY.match(line)
            if found is None:
                self._malformed(number, line)
            else:
                yield number, (found[1], found[2])

    def _take(self, lines: Iterable[tuple[int, tuple[bytes, bytes]]]) -> None:
        known, times = self._known, self._times
        for number, (time, request) in lines:
            at_ns = times[time] if time in times else self._time(time)
            place = known[request] if request in known else self._place(request)
            if at_ns is None or place is None:
                self._malformed(number, b'[%s] "%s' % (time, request))
            elif isinstance(place, str):
                self.left_out[place] += 1
            else:
                self.at_ns.append(at_ns)
                self.steps.append(place)

    def _malformed(self, number: int, line: bytes) -> None:
        self.n_malformed += 1
        if not self.first_malformed:
            self.first_malformed, self.first_malformed_line = number, line

    def _time(self, text: bytes) -> int | None:
        at_ns = self._times[text] = _time_ns(text)
        self.has_fractions |= b"." in text
        return at_ns

    def _place(self, request: bytes) -> int | str | None:
        place = self._known[request] = self._new_place(request)
        return place

    def _new_place(self, text: bytes) -> int | str | None:
        """Return the index of a request, the method that leaves it out, or None if it is none.

        Args:
            text: `GET /path HTTP/1.1" 200`.
        """
        request, _, status = text.rpartition(b'" ')
        words = request.split(b" ")
        method, target = words[0], b" ".join(words[1:])
        if words[-1].startswith(b"HTTP/"):
            target = b" ".join(words[1:-1])
        if not _METHOD.fullmatch(method) or not target:
            return None
        if method not in self._methods:
            return method.decode()
        path = _path(target)
        if path is None:
            return None
        expected = self._expect(int(status) if status.isdigit() else 0)
        key = (method, path, expected)
        if key not in self._places:
            self._places[key] = len(self.requests)
            self.requests.append(
                RequestSpec(
                    path=path,
                    method=method.decode(),
                    headers=self._headers,
                    expect_status=expected,
                )
            )
        return self._places[key]

    def nothing(self, file: Path, replay: Replay) -> UsageError:
        """Return why nothing of the log can be sent."""
        if self.left_out:
            methods = ", ".join(f"{n:,} {method}" for method, n in self.left_out.most_common())
            return UsageError(
                f"the access log `{file}` holds no {' or '.join(replay.methods)}, but {methods}",
                hint=f"`--replay-methods {next(iter(self.left_out))}` sends them, without a body",
            )
        if not self.n_lines:
            return UsageError(f"the access log `{file}` is empty")
        line = self.first_malformed_line.strip().decode("ascii", "backslashreplace")
        shown = line if len(line) <= _SHOWN_BYTES else f"{line[:_SHOWN_BYTES]}…"
        return UsageError(
            f"the access log `{file}` holds no line in common or combined log format; line "
            f"{self.first_malformed} is `{shown}`",
            hint='such as `::1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 2326`',
        )


def _time_ns(text: bytes) -> int | None:
    """Return nanoseconds since 1970 of `10/Oct/2000:13:55:36 -0700`; None if there is no such."""
    moment, zone = text.split(b" ")
    whole, _, fraction = moment.partition(b".")
    day, month, rest = whole.split(b"/")
    year, hour, minute, second = rest.split(b":")
    offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[3:5]))
    try:
        at = datetime(
            int(year),
            _MONTHS.index(month) + 1,
            int(day),
            int(hour),
            int(minute),
            int(second),
            tzinfo=timezone(-offset if zone[:1] == b"-" else offset),
        )
        since = at - _EPOCH
    except ValueError:
        return None
    seconds = since.days * 86_400 + since.seconds
    return seconds * _S + int(fraction.ljust(9, b"0") or b"0")


def _path(target: bytes) -> str | None:
    """Return a request's target as it can be sent again; None where it names no path."""
    if _PLAIN_PATH.fullmatch(target):
        return target.decode()
    raw = _ESCAPE.sub(_unescaped, target) if b"\\" in target else target
    if not raw.startswith(b"/"):
        if raw == b"*":
            return "*"
        raw, n = _ORIGIN.subn(b"", raw, count=1)
        if not n:
            return None
        raw = raw if raw.startswith(b"/") else b"/" + raw
    return quote_from_bytes(raw, safe=KEPT_IN_PATH)


def _unescaped(found: re.Match[bytes]) -> bytes:
    code, letter = found.groups()
    return bytes.fromhex(code.decode()) if code else _ESCAPED.get(letter, letter)


def _expected(status: int) -> int | None:
    return status if 400 <= status < 500 and status not in _PASSING_STATUSES else None  # noqa: PLR2004


def _in_order(at_ns: list[int], steps: list[int]) -> tuple[list[int], list[int]]:
    """Return both by time: servers log a request when it ends, not when it came."""
    ascending = sorted(at_ns)
    if ascending == at_ns:
        return at_ns, steps
    # Stable: within a second the log's order is the best there is.
    order = sorted(range(len(at_ns)), key=at_ns.__getitem__)
    return ascending, [steps[index] for index in order]


def _spread(at_ns: list[int], dice: random.Random | None) -> list[int]:
    """Return the instants with each second's requests laid over it."""
    spread: list[int] = []
    for second_ns, n in Counter(at_ns).items():  # as ascending as they are
        if dice is None:
            spread += range(second_ns + _S // (2 * n), second_ns + _S, _S // n)[:n]
        else:
            spread += sorted(second_ns + dice.randrange(_S) for _ in range(n))
    return spread
