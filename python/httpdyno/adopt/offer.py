"""What a study of a site asks it for, from what a person gave. Pure but for reading a URL file."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from httpdyno.adopt.study_text import Offer
from httpdyno.errors import UsageError
from httpdyno.experiment.answer.coding import accepted
from httpdyno.load.check import check_headers
from httpdyno.load.url_file import RequestLine, read_url_file, request_line
from httpdyno.model import RequestSpec

_CONNECTIONS = 16
_SAFE = ("", "GET", "HEAD")


def offered(  # noqa: PLR0913 - what a person may say of requests
    *,
    paths: Sequence[str],
    url_file: Path | None,
    ready_path: str,
    connections: int | None,
    is_tls: bool,
    headers: Sequence[tuple[str, str]] = (),
) -> Offer:
    """Return what is asked for: the paths, the file's lines, or the ready path as a guess.

    It is asked for as browsers do, who take compressed answers, where the headers do not say else.

    Raises:
        UsageError: A line is no request, or one that changes something; a header cannot be sent.
    """
    check_headers(headers)
    is_said = any(name.lower() == "accept-encoding" for name, _ in headers)
    usual = () if is_said else (("Accept-Encoding", accepted()),)
    sent = (*usual, *(each for each in headers if each[1]))
    lines = [request_line(path, Path()) for path in paths]
    if url_file is not None:
        lines += read_url_file(url_file)
    guess = RequestSpec(path=ready_path, expect_status=None)
    requests = tuple(map(_request, lines)) or (guess,)
    return Offer(
        requests=tuple(structs.replace(each, headers=sent) for each in requests),
        connections=connections or _CONNECTIONS,
        is_tls=is_tls,
        is_guess=not lines,
    )


def _request(line: RequestLine) -> RequestSpec:
    if line.method not in _SAFE or line.body or line.body_file:
        raise UsageError(
            f"`{line.method} {line.url}` may change something, and only GET and HEAD are asked of "
            "your own server",
            hint="write it into the study by hand, as a [[workload.requests]] with its method",
        )
    if not line.url.startswith("/"):
        raise UsageError(
            f"`{line.url}` names a host",
            hint="give paths from `/` on; `--host NAME` names the host",
        )
    return RequestSpec(path=line.url, method=line.method or "GET", expect_status=None)
