"""A status page that tells how many requests each worker served, where a person says it is."""

from collections.abc import Callable, Mapping

from httpdyno.errors import TargetError, UsageError
from httpdyno.load.target import is_loopback, parse_url, resolve
from httpdyno.servers.patience import Patience
from httpdyno.servers.probe import ask
from httpdyno.telemetry.status_slots import served_by_pid

_FIRST_PATIENCE_S = 10.0
_PATIENCE_S = 0.5
_MOST_BYTES = 1 << 22


def worker_status(url: str) -> Callable[[], Mapping[int, int] | None]:
    """Return what has a server say how many requests each worker served; None where it does not.

    It is asked once here, since a wrong address stays wrong.

    Raises:
        UsageError: The page is not on this machine's loopback.
        TargetError: It tells nothing of that.
    """
    target = parse_url(url)
    address = resolve(target)
    if not is_loopback(address):
        raise UsageError(
            f"`--status {url}` is not on this machine's loopback",
            hint="such as `http://127.0.0.1/server-status`",
        )

    def said(patience_s: float = _PATIENCE_S) -> Mapping[int, int] | None:
        answer = ask(
            address,
            target.path,
            Patience(patience_s),
            body_patience=Patience(patience_s),
            most_bytes=_MOST_BYTES,
            host=target.authority,
            is_tls=target.is_tls,
        )
        return served_by_pid(answer.body.decode("utf-8", "replace")) or None

    if said(_FIRST_PATIENCE_S) is None:
        raise TargetError(
            f"`--status {url}` does not tell how many requests each worker served",
            hint="expected Apache's `server-status`, as a page and not `?auto`, with "
            "`ExtendedStatus On`, or php-fpm's status page with `?full`",
        )
    return said
