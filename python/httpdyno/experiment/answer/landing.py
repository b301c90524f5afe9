"""Where the redirects of a URL lead, asked once before the load begins."""

from dataclasses import dataclass, replace
from urllib.parse import urljoin

from msgspec import structs

from httpdyno.errors import TargetError, UsageError
from httpdyno.experiment.answer.ask import Question, Visitor
from httpdyno.load.target import Target, check_permitted, parse_url, resolve
from httpdyno.model import RequestSpec, TlsSpec, Workload

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST = 10
_CREDENTIALS = frozenset({"authorization", "cookie"})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    """A server that is asked."""

    addresses: tuple[str, ...]
    networks: tuple[str, ...] = ()


def landing(
    target: Target, request: RequestSpec, allowed_host: str | None, timeout_s: float
) -> Target:
    """Return where redirects lead from a target; the same where it answers itself.

    Raises:
        TargetError: A server does not answer.
        UsageError: Redirects lead to where nobody may load, or round and round.
    """
    begin = target
    for _ in range(_MOST):
        location = _location(target, request, allowed_host, timeout_s)
        if not location:
            return target
        target = replace(parse_url(urljoin(target.url, location)), unix_path=target.unix_path)
        named = {name.lower() for name, _ in request.headers}
        if named & _CREDENTIALS and not _is_same_server(begin, target):
            raise UsageError(
                f"`{begin.url}` leads to `{target.origin}`, which your credentials are not for",
                hint=f"load `{target.url}` itself, with the credentials that are",
            )
    raise UsageError(f"`{begin.url}` leads from redirect to redirect, {_MOST} times")


def _is_same_server(begin: Target, end: Target) -> bool:
    """Whether it is the same server, or the same host by TLS."""
    is_by_tls = end.host == begin.host and end.is_tls and not begin.is_tls
    return end.origin == begin.origin or is_by_tls


def _location(
    target: Target, request: RequestSpec, allowed_host: str | None, timeout_s: float
) -> str:
    """Return where an answer leads; empty where it is none."""
    address = resolve(target, allowed_host=allowed_host)
    check_permitted(target, address, allowed_host=allowed_host)
    own = tuple(each for each in request.headers if each[0].lower() != "host")
    there = structs.replace(request, path=target.path, headers=(("Host", target.authority), *own))
    tls = TlsSpec(server_name=target.host) if target.is_tls else None
    visitor = Visitor(running=_Place(addresses=(address,)), workload=Workload(tls=tls))
    answer = visitor.ask(Question(request=there), limit_s=timeout_s)
    if not answer.status:
        raise TargetError(f"`{target.url}` did not answer: {answer.words}")
    return answer.location if answer.status in _REDIRECTS else ""
