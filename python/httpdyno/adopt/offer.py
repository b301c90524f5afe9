"""What a study of a site asks it for, from what a person gave. Pure but for reading a URL file."""

from collections.abc import Sequence
from pathlib import Path

from httpdyno.adopt.study_text import Offer
from httpdyno.errors import UsageError
from httpdyno.foreign_text import read_regular, reason
from httpdyno.load.url_file import request_line
from httpdyno.model import RequestSpec

_CONNECTIONS = 16
_LARGEST_BYTES = 16 << 20
_SAFE = ("", "GET", "HEAD")


def offered(
    *,
    paths: Sequence[str],
    url_file: Path | None,
    ready_path: str,
    connections: int | None,
    is_tls: bool,
) -> Offer:
    """Return what is asked for: the paths, the file's lines, or the ready path as a guess.

    Raises:
        UsageError: A line is no request, or one that changes something.
    """
    lines = [*paths]
    if url_file is not None:
        lines += _lines(url_file)
    requests = tuple(_request(line) for line in lines)
    return Offer(
        requests=requests or (RequestSpec(path=ready_path, expect_status=None),),
        connections=connections or _CONNECTIONS,
        is_tls=is_tls,
        is_guess=not requests,
    )


def _lines(file: Path) -> list[str]:
    try:
        text = read_regular(file, limit_bytes=_LARGEST_BYTES).decode()
    except (OSError, UnicodeDecodeError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise UsageError(f"`{file}` cannot be read: {why}") from error
    stripped = (line.strip() for line in text.splitlines())
    return [line for line in stripped if line and not line.startswith("#")]


def _request(text: str) -> RequestSpec:
    line = request_line(text, Path())
    if line.method not in _SAFE or line.body:
        raise UsageError(
            f"`{text}` may change something, and only GET and HEAD are asked of your own server",
            hint="write it into the study by hand, as a [[workload.requests]] with its method",
        )
    if not line.url.startswith("/"):
        raise UsageError(
            f"`{text}` names a host", hint="give paths from `/` on; `--host NAME` names the host"
        )
    return RequestSpec(path=line.url, method=line.method or "GET", expect_status=None)
