"""What makes no sense as a workload, each in one sentence, before anything is sent.

The engine knows the ranges of numbers, and is asked for them. Checked here is what it is never
told, how a log is read, and how requests are written. Those the engine refuses too where it renders
them; here they are refused in the words of who wrote them, and more narrowly: only a final status
(200 to 999) is a right answer, where the engine would also take one from 100 on.
"""

import math
import os
import re
import string
from collections.abc import Sequence

import msgspec
from msgspec import structs

from httpdyno import _native
from httpdyno.errors import EngineError, UsageError
from httpdyno.host.foreign_files import opened_regular
from httpdyno.host.foreign_text import reason
from httpdyno.load.message import WindowPlan, spec_message
from httpdyno.model import RateStage, Replay, RequestSpec, Stages, Workload

PLACEHOLDERS = ("n", "user", "random")
"""What `{…}` can stand for in a path, a header's value or a body."""

PLACEHOLDER = re.compile(r"\{\{[A-Za-z_]+\}\}|\{([A-Za-z_]+)\}")
"""One of them, by its name, or `{{n}}`, which is the text `{n}` itself."""
# RFC 9110 section 5.6.2.
_TOKEN = frozenset("!#$%&'*+-.^_`|~" + string.digits + string.ascii_letters)
_NOWHERE = "127.0.0.1:1"
"""An address that is only checked."""
_ANY_WINDOW = WindowPlan(arm=0, lead_in_s=0.0, measure_s=1.0)
_STAND_IN = (RequestSpec(),)
# It has an end, as a log has.
_STAND_IN_FOR_A_LOG = Stages(stages=(RateStage(duration_s=1.0, from_per_s=1.0, to_per_s=1.0),))


class OutOfRange(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that the engine refuses."""

    place: str
    """As the engine calls it: `users.new_ratio`."""
    value: str
    expected: str
    """In words: `1 to 1000000`."""

    @property
    def sentence(self) -> str:
        """What is wrong, where nobody said it in words of their own."""
        place = self.place.removeprefix("arms[0].").replace("steps", "mix", 1)
        return f"the workload's `{place}` is {self.value}; expected {self.expected}"


def out_of_range(
    workload: Workload,
    windows: Sequence[WindowPlan] = (_ANY_WINDOW,),
    *,
    threads: int = 1,
    seed: int = 0,
    spin_s: float = 0.0,
) -> OutOfRange | None:
    """Return the first of the settings that the engine refuses; None where it takes them all.

    Not asked about are what requests say and certificates (`check_request`, `message.check_tls`),
    and a replay's log, which is not read.

    Raises:
        EngineError: It could not understand what it was asked; a bug.
    """
    asked = structs.replace(workload, requests=_STAND_IN * len(workload.requests), tls=None)
    asked = structs.replace(asked, first=_STAND_IN * len(workload.first))
    if isinstance(workload.arrival, Replay):
        asked = structs.replace(asked, arrival=_STAND_IN_FOR_A_LOG, requests=_STAND_IN, steps=())
    message = spec_message(
        asked,
        [_NOWHERE],
        None,
        windows=windows,
        threads=threads,
        cpus=(),
        seed=seed,
        drain_s=0.0,
        spin_s=spin_s,
        n_traced=0,
    )
    try:
        _native.check(message)
    except _native.EngineError as error:
        sentence, *refused = error.args
        if not refused:
            raise EngineError(sentence) from error
        place, value, expected = refused
        return OutOfRange(place=place, value=value, expected=expected)
    return None


def check_workload(workload: Workload) -> None:
    """Refuse a workload that makes no sense, before anything is sent.

    Raises:
        UsageError: With the sentence that says what.
    """
    if isinstance(workload.arrival, Replay):
        _check_replay(workload.arrival)
    refused = out_of_range(workload)
    if refused is not None:
        raise UsageError(refused.sentence)
    for request in (*workload.first, *workload.requests):
        check_request(request)


def _check_replay(replay: Replay) -> None:
    if not (math.isfinite(replay.speed) and replay.speed > 0):
        raise UsageError(f"a log at {replay.speed:g} times its speed never goes on")
    if not replay.methods:
        raise UsageError("no method of the log is to be sent", hint="such as GET")


def check_request(request: RequestSpec) -> None:
    """Refuse a request that cannot be sent.

    Raises:
        UsageError: With the sentence that says what.
    """
    if not request.method or not _TOKEN.issuperset(request.method):
        raise UsageError(f"`{request.method}` is not an HTTP method, such as GET or POST")
    _check_path(request.path)
    if request.body_file:
        n_body_bytes = _size_bytes(request.body_file)
    else:
        n_body_bytes = len(request.body.encode())
    check_headers(request.headers, n_body_bytes=n_body_bytes)
    status = request.expect_status
    if status is not None and not 200 <= status <= 999:  # noqa: PLR2004 - final statuses
        raise UsageError(f"{status} is not a final status, expected 200 to 999")
    length = request.expect_length
    if length is not None and length < 0:
        raise UsageError(f"a body of {length} bytes is none, expected 0 or more")


def check_headers(headers: Sequence[tuple[str, str]], *, n_body_bytes: int = 0) -> None:
    """Refuse headers that cannot be sent.

    Raises:
        UsageError: With the header's own name.
    """
    for name, value in headers:
        if not name or not _TOKEN.issuperset(name):
            raise UsageError(f"`{name}` is not a header's name")
        if any(each in value for each in "\r\n\0"):
            raise UsageError(f"the header `{name}` holds a line break or a NUL")
        _check_placeholders(
            value, f"the header `{name}`", hint="write `{{…}}` for braces themselves"
        )
        match name.lower():
            case "transfer-encoding":
                raise UsageError(
                    f"the header `{name}` cannot be sent: a body goes out whole, with its length",
                    hint="leave it out",
                )
            case "content-length" if value.strip() != str(n_body_bytes):
                raise UsageError(
                    f"the header `{name}: {value}` is wrong: the body has {n_body_bytes:,} bytes",
                    hint="leave it out; the right one is sent without it",
                )
    hosts = [value for name, value in headers if name.lower() == "host"]
    if len(hosts) > 1:
        named = " and ".join(f"`{host}`" for host in hosts)
        raise UsageError(f"the header `Host` is given {len(hosts)} times: {named}", hint="keep one")


def _check_path(path: str) -> None:
    if not path.startswith("/") and path != "*":
        raise UsageError(f"the path `{path}` does not start with `/`")
    if not path.isascii() or any(each <= " " or each == "\x7f" for each in path):
        raise UsageError(
            f"the path {path!r} holds what a request line cannot",
            hint="percent-encode it: a space is `%20`",
        )
    _check_placeholders(path, f"the path `{path}`", hint="write `%7B…%7D` for braces themselves")


def _check_placeholders(text: str, where: str, *, hint: str) -> None:
    for word in PLACEHOLDER.findall(text):
        if word and word not in PLACEHOLDERS:
            known = ", ".join(f"`{{{name}}}`" for name in PLACEHOLDERS)
            raise UsageError(f"{where} holds `{{{word}}}`, expected one of {known}", hint=hint)


def _size_bytes(file: str) -> int:
    try:
        with opened_regular(file) as body:
            return body.seek(0, os.SEEK_END)
    except OSError as error:
        raise UsageError(f"the body `{file}` cannot be read: {reason(error)}") from error
