"""Requests as people list them: a line each, in a file or on the command line.

    [WEIGHT] [METHOD] URL-or-path [body, or @file] [-> STATUS]

A body stands behind its method only: what follows a path alone may be a space in the path. What
siege reads is a request too, `URL METHOD [body, or < file]`. A page is a line of its own kind:
`[WEIGHT] DOCUMENT: OBJECT OBJECT …`.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from httpdyno.errors import UsageError
from httpdyno.host.foreign_files import opened_regular, read_regular
from httpdyno.host.foreign_text import SCHEME, reason

LINE_HINT = "such as `/cart`, `8 /cart -> 404`, or `2 POST /login name=joe`"
FIRST_HINT = "such as `/welcome`, or `POST /login name=user{user} -> 302`"
PAGE_HINT = "such as `/index.html: /a.css /b.js`"
FROM_FILE = "@"
_EXPECTS = "->"

_LARGEST_BYTES = 64 << 20
"""About a million requests; each is rendered in memory."""

_WEIGHT = r"(?:(?P<weight>\d+(?:\.\d+)?)\s+)?"
_LINE = re.compile(
    _WEIGHT
    + rf"(?:(?P<method>[A-Z][A-Z-]*)\s+)?(?P<url>/\S*|{SCHEME}\S+|\*)(?:\s+(?P<body>\S.*?))??"
    + r"(?:\s+->\s*(?P<status>\d{3}|ok))?"
)
_PAGE = re.compile(_WEIGHT + rf"(?P<document>/\S*?|{SCHEME}\S+?):(?:\s+(?P<objects>\S.*))?")
_AS_SIEGE = re.compile(
    r"(?P<method>GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)(?:\s+(?P<file><\s*)?(?P<body>\S.*))?"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestLine:
    """One line, as it was written."""

    url: str
    """A whole URL, with its scheme, or a path from `/` on."""
    weight: float = 1.0
    method: str = ""
    """Empty where none was written."""
    body: str = ""
    body_file: str = ""
    """Path of the file that was named instead of a body."""
    expect_status: str = ""
    """A status or `ok`; empty where none was written."""
    objects: tuple[str, ...] = ()
    """Of a page: URLs or paths."""


def request_line(text: str, folder: Path) -> RequestLine:
    """Return what a line asks for.

    Args:
        text: The line, without surrounding space.
        folder: Where the files that it names are looked for.

    Raises:
        UsageError: It is not such a line, or names a file that cannot be read.
    """
    found = _LINE.fullmatch(text)
    if found is None:
        raise UsageError(f"`{text}` is not a request", hint=LINE_HINT)
    if (found["body"] or "").startswith(_EXPECTS):
        raise UsageError(
            f"`{text}` expects no status that there is", hint="such as `-> 302`, or `-> ok`"
        )
    method, body = found["method"] or "", found["body"] or ""
    if body and not method:
        method, body = _as_siege(found["url"], body)
    body, body_file = body_from(body, folder)
    return RequestLine(
        url=found["url"],
        weight=_weight(found["weight"]),
        method=method,
        body=body,
        body_file=body_file,
        expect_status=found["status"] or "",
    )


def _as_siege(url: str, rest: str) -> tuple[str, str]:
    """Return the method and the body that follow a path without a method."""
    found = _AS_SIEGE.fullmatch(rest)
    if found is None:
        raise UsageError(
            f"`{url}` is followed by `{rest}`, a body without a method",
            hint=f"write `POST {url} {rest}`; a space in a path is `%20`",
        )
    return found["method"], f"{FROM_FILE if found['file'] else ''}{found['body'] or ''}"


def first_line(text: str, folder: Path) -> RequestLine:
    """Return what a line asks each user to do first: a request without a weight.

    Raises:
        UsageError: As `request_line`.
    """
    found = _LINE.fullmatch(text)
    if found is None:
        raise UsageError(f"`{text}` is not a request", hint=FIRST_HINT)
    if found["weight"] is not None:
        raise UsageError(
            f"`{text}` has a weight, but each user does it once", hint="leave the weight out"
        )
    return request_line(text, folder)


def page_line(text: str) -> RequestLine:
    """Return the page that a line describes.

    Raises:
        UsageError: It is not such a line, or has no objects.
    """
    found = _PAGE.fullmatch(text)
    if found is None or not found["objects"]:
        raise UsageError(
            f"`{text}` " + ("names no objects" if found or ":" not in text else "is not a page"),
            hint=PAGE_HINT,
        )
    return RequestLine(
        url=found["document"],
        weight=_weight(found["weight"]),
        objects=tuple(found["objects"].split()),
    )


def read_url_file(file: Path) -> list[RequestLine]:
    """Return the requests of a file; blank lines and those that begin with `#` are skipped.

    Raises:
        UsageError: It cannot be read, has a line that is no request, or no request at all.
    """
    try:
        lines = read_regular(file, limit_bytes=_LARGEST_BYTES).decode("utf-8-sig").splitlines()
    except OSError as error:
        raise UsageError(
            f"the URL file `{file}` cannot be read: {reason(error)}",
            hint=f"name a file in which a line is a request, {LINE_HINT}",
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the URL file `{file}` is not text in UTF-8") from error
    requests = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if text and not text.startswith("#"):
            try:
                requests.append(request_line(text, file.parent))
            except UsageError as error:
                raise UsageError(f"line {number} of `{file}`: {error}", hint=error.hint) from error
    if not requests:
        raise UsageError(
            f"the URL file `{file}` holds no requests", hint=f"a line is one, {LINE_HINT}"
        )
    return requests


def body_from(text: str, folder: Path) -> tuple[str, str]:
    """Return a body and the path of a body's file, one of them empty; `@name` is a file.

    Raises:
        UsageError: The file cannot be read.
    """
    if not text.startswith(FROM_FILE):
        return text, ""
    file = folder / text.removeprefix(FROM_FILE)
    try:
        opened_regular(file).close()
    except OSError as error:
        raise UsageError(
            f"the body `{text}` cannot be read: {reason(error)}",
            hint="`@` stands before the name of a file",
        ) from error
    return "", str(file.absolute())


def _weight(text: str | None) -> float:
    weight = float(text or 1)
    if math.isinf(weight):
        raise UsageError(f"a weight of {len(text or '')} digits is none", hint=LINE_HINT)
    return weight


def prefixed(option: str, read: Callable[[str], RequestLine], text: str) -> RequestLine:
    """Read a line that an option holds; a complaint names the option.

    Raises:
        UsageError: As `read`.
    """
    try:
        return read(text.strip())
    except UsageError as error:
        raise UsageError(f"{option}: {error}", hint=error.hint) from error
