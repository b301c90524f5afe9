"""From what people say of requests to the server, its requests and their mix."""

import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs

from httpdyno.errors import UsageError
from httpdyno.host.foreign_files import opened_regular
from httpdyno.host.foreign_text import is_whole_url
from httpdyno.load.target import Target, parse_url, quoted_path
from httpdyno.load.url_file import (
    RequestLine,
    body_from,
    first_line,
    page_line,
    prefixed,
    read_url_file,
    request_line,
)
from httpdyno.model import FORM_TYPE, RequestSpec, VisitStep

_ANY_STATUS = "ok"
_USUAL_STATUS = 200
_OF_LOG = ("data", "first", "location", "mix", "method", "page", "url_file")
_OF_MIX = ("mix", "url_file", "page")
_OF_URLS = ("data", "location", "method")
_ASKED_BEFORE = frozenset({"GET", "HEAD"})
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\{\s*[\"}]|\[\s*[\[{\"\d\]])")
"""How objects and lists begin."""
_LOOKED_AT_BYTES = 4096
_CODINGS = ("gzip", "deflate", "br")
"""Those that browsers have had for ten years."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestWords:
    """What was said of requests, by the names of options; empty where nothing was."""

    method: str | None = None
    header: Sequence[str] | None = None
    user: str | None = None
    compressed: bool = False
    location: bool = False
    data: str | None = None
    mix: Sequence[str] | None = None
    url_file: str | None = None
    page: Sequence[str] | None = None
    first: Sequence[str] | None = None
    expect_status: str | None = None
    expect_length: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Requests:
    """What is asked of which server."""

    target: Target
    """Its path is that of the first URL."""
    specs: tuple[RequestSpec, ...]
    steps: tuple[VisitStep, ...]
    """Empty where the requests go in turn."""
    first: tuple[RequestSpec, ...] = ()
    """What each user does once."""
    headers: tuple[tuple[str, str], ...]
    """Of each request without a body."""


def requests_from(urls: list[str], options: RequestWords, *, unix_path: str = "") -> Requests:
    """Return what the options ask for.

    Raises:
        UsageError: One of them makes no sense, or they name more than one server.
    """
    lines = _lines(options)
    first = [
        prefixed("`--first`", lambda each: first_line(each, Path()), text)
        for text in options.first or []
    ]
    targets = [parse_url(url) for url in urls]
    target = replace(_server(targets, [*lines, *first]), unix_path=unix_path)
    if lines:
        _refuse_urls_beside_lines(targets, options)
    else:
        lines = [_line_of(each, options) for each in targets]
    _check_weights(lines, options)
    builder = _Builder(target, options)
    for line in lines:
        builder.add(line)
    return Requests(
        target=target,
        specs=tuple(builder.specs),
        steps=builder.steps(),
        first=tuple(builder.spec_of(each) for each in first),
        headers=builder.headers(has_body=False),
    )


def server_of_log(urls: list[str], options: RequestWords, *, unix_path: str = "") -> Requests:
    """Return the server that a log is replayed to, and what is added to each request.

    Raises:
        UsageError: Options say what to ask for, as the log does.
    """
    for key in _OF_LOG:
        if getattr(options, key):
            raise UsageError(
                f"`--{key.replace('_', '-')}` cannot be beside `--replay`: the log says what is "
                "asked for",
                hint="leave it out; `-H` adds a header to each request",
            )
    targets = [parse_url(url) for url in urls]
    if len(targets) > 1 or (targets and targets[0].path != "/"):
        raise UsageError(
            "with `--replay` the URL names the server only, the log has the paths",
            hint="such as `http://localhost:8000`",
        )
    target = replace(_server(targets, []), unix_path=unix_path)
    headers = _Builder(target, options).headers(has_body=False)
    return Requests(target=target, specs=(), steps=(), headers=headers)


def is_json_as_form(request: RequestSpec) -> bool:
    """Whether a body that looks like JSON goes out as a form, as it does by itself."""
    if FORM_TYPE not in request.headers:
        return False
    if not request.body_file:
        return _JSON.match(request.body.encode()) is not None
    with opened_regular(request.body_file) as file:
        return _JSON.match(file.read(_LOOKED_AT_BYTES)) is not None


def expected_by_log(options: RequestWords) -> Callable[[int], int | None] | None:
    """Return what is right whatever the log says, or None where nobody said so."""
    if options.expect_status is None:
        return None
    status = _status(options.expect_status)
    return lambda _: status


def _lines(options: RequestWords) -> list[RequestLine]:
    here = Path()
    lines = [
        prefixed("`--mix`", lambda each: request_line(each, here), text)
        for text in options.mix or []
    ]
    if options.url_file is not None:
        lines += read_url_file(Path(options.url_file))
    return lines + [prefixed("`--page`", page_line, text) for text in options.page or []]


def _server(targets: list[Target], lines: list[RequestLine]) -> Target:
    """Return the first target, having made sure that there is just one server."""
    named = [url for line in lines for url in (line.url, *line.objects) if is_whole_url(url)]
    every = [*targets, *(parse_url(url) for url in named)]
    if not every:
        raise UsageError("no URL says what to load", hint="such as `http://localhost:8000/`")
    for each in every:
        if each.origin != every[0].origin:
            raise UsageError(
                f"`{every[0].origin}` and `{each.origin}` are two servers, one run loads one",
                hint="start a `httpdyno load` for each, or compare them in a study",
            )
    return every[0]


def _refuse_urls_beside_lines(targets: list[Target], options: RequestWords) -> None:
    if len(targets) > 1 or (targets and targets[0].path != "/"):
        raise UsageError(
            f"`{targets[-1].url}` is not asked for beside `--mix`, `--url-file` or `--page`: the "
            "URL then names the server only",
            hint=f"add it to the mix: `--mix {targets[-1].path}`",
        )
    for key in _OF_URLS:
        if getattr(options, key) not in {None, False}:
            raise UsageError(
                f"`--{key}` is for the URLs of the command line, but there is a mix",
                hint="say it in the line: `--mix 'POST /login name=joe'`",
            )


def _check_weights(lines: list[RequestLine], options: RequestWords) -> None:
    """Refuse a mix in which nothing is sent."""
    if any(line.weight > 0 for line in lines):
        return
    given = [f"`--{key.replace('_', '-')}`" for key in _OF_MIX if getattr(options, key)]
    raise UsageError(
        f"nothing of {' and '.join(given)} is to be sent: all weights are 0",
        hint="give a weight above 0 to what is to be sent",
    )


def _line_of(target: Target, options: RequestWords) -> RequestLine:
    body, body_file = "", ""
    if options.data is not None:
        try:
            body, body_file = body_from(options.data, Path())
        except UsageError as error:
            raise UsageError(f"`--data`: {error}", hint=error.hint) from error
    usual = "GET" if options.data is None else "POST"
    if options.method == "":
        raise UsageError("`-X` names no HTTP method", hint="such as `-X PUT`")
    method = (options.method or usual).upper()
    if options.location and method not in _ASKED_BEFORE:
        raise UsageError(
            f"`--location` asks once before the load, and a {method} may change something",
            hint="load where it leads, or take any answer as right with `--expect-status ok`",
        )
    return RequestLine(url=target.path, method=method, body=body, body_file=body_file)


class _Builder:
    """Collects requests and steps; what several pages have is one request."""

    def __init__(self, target: Target, options: RequestWords) -> None:
        self._target = target
        self._given = (
            *(header_of(text) for text in options.header or []),
            *_credentials(options),
            *_codings(options),
        )
        self._expect_status = _status(options.expect_status)
        self._expect_length = _length(options.expect_length)
        self._objects: dict[RequestSpec, int] = {}
        self._steps: list[VisitStep] = []
        self.specs: list[RequestSpec] = []

    def add(self, line: RequestLine) -> None:
        place = len(self.specs)
        self.specs.append(self.spec_of(line))
        objects = tuple(self._object(each) for each in line.objects)
        self._steps.append(VisitStep(request=place, objects=objects, weight=line.weight))

    def spec_of(self, line: RequestLine) -> RequestSpec:
        has_body = bool(line.body or line.body_file)
        method = line.method or ("POST" if has_body else "GET")
        spec = self._spec(line.url, method, line.body, line.body_file)
        if not line.expect_status:
            return spec
        return structs.replace(spec, expect_status=_status(line.expect_status))

    def steps(self) -> tuple[VisitStep, ...]:
        is_plain = all(each.weight == 1 and not each.objects for each in self._steps)
        return () if is_plain else tuple(self._steps)

    def headers(self, *, has_body: bool) -> tuple[tuple[str, str], ...]:
        names = {name.lower() for name, _ in self._given}
        usual = [("Host", self._target.authority), *([FORM_TYPE] if has_body else [])]
        return (*(each for each in usual if each[0].lower() not in names), *self._given)

    def _object(self, url: str) -> int:
        spec = self._spec(url, "GET")
        if spec not in self._objects:
            self._objects[spec] = len(self.specs)
            self.specs.append(spec)
        return self._objects[spec]

    def _spec(self, url: str, method: str, body: str = "", body_file: str = "") -> RequestSpec:
        path = parse_url(url).path if is_whole_url(url) else quoted_path(url.partition("#")[0])
        return RequestSpec(
            path=path,
            method=method,
            headers=self.headers(has_body=bool(body or body_file)),
            body=body,
            body_file=body_file,
            expect_status=self._expect_status,
            expect_length=self._expect_length,
        )


def header_of(text: str) -> tuple[str, str]:
    """Return name and value of what stands after `-H`.

    Raises:
        UsageError: It has no colon.
    """
    name, colon, value = text.partition(":")
    if not colon:
        raise UsageError(f"`-H {text}` has no colon", hint="such as `-H 'Accept: text/html'`")
    return name.strip(), value.strip()


def _credentials(options: RequestWords) -> list[tuple[str, str]]:
    """Return the header that says who asks (RFC 7617); none where nobody was named."""
    if options.user is None:
        return []
    if ":" not in options.user:
        raise UsageError("`-u` has no colon", hint="such as `-u NAME:PASSWORD`")
    _refuse_both("-u", "Authorization", options)
    return [("Authorization", f"Basic {b64encode(options.user.encode()).decode()}")]


def _codings(options: RequestWords) -> list[tuple[str, str]]:
    """Return the header that asks for compressed answers; none where nobody wants them."""
    if not options.compressed:
        return []
    _refuse_both("--compressed", "Accept-Encoding", options)
    return [("Accept-Encoding", ", ".join(_CODINGS))]


def _refuse_both(option: str, header: str, options: RequestWords) -> None:
    if any(header_of(text)[0].lower() == header.lower() for text in options.header or []):
        raise UsageError(
            f"`{option}` and the header `{header}` say the same", hint="keep one of them"
        )


def _status(text: str | None) -> int | None:
    if text is None:
        return _USUAL_STATUS
    if text == _ANY_STATUS:
        return None
    if not text.isdecimal():
        raise UsageError(
            f"`--expect-status {text}` is not a status",
            hint="give a number, or `ok` for 2xx and 3xx",
        )
    return int(text)


def _length(n_bytes: int | None) -> int | None:
    if n_bytes is not None and n_bytes < 0:
        raise UsageError(f"`--expect-length {n_bytes}` makes no sense; expected 0 bytes or more")
    return n_bytes
